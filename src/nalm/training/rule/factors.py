"""A product unit fed by a sum unit: which rows take part is found by trying, the rows themselves by Gauss-Newton.

Exponents and rows cannot be learned at the same time: a wrong exponent makes every row wrong. So the exponents of such
a pair are whole from the start: two factors, and if no grid point explains the data within an attempt, another number
of factors, other signs of exponents, and new rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from nalm.training.rule.regression import solve
from nalm.training.rule.track import Track

DIVISOR = 0.5  # all coefficients of a row that divides, at the start


def patterns(factors: int, grid: tuple[float, ...]) -> list[tuple[int, int]]:
    """How many exponents are 1 and how many -1, in the order in which they are tried.

    Few factors first, and again after each larger number, as an attempt may have been unlucky; one factor, which is a
    mere sum, last. A unit that can divide is tried on a quotient before a product, and on each twice in a row.

    >>> patterns(4, (0, 1))
    [(2, 0), (3, 0), (2, 0), (4, 0), (3, 0), (2, 0), (1, 0)]
    >>> patterns(2, (-1, 0, 1))
    [(1, 1), (1, 1), (2, 0), (2, 0), (0, 2), (0, 2), (1, 0), (0, 1)]
    """
    if -1 not in grid:
        return [*((n, 0) for most in range(2, factors + 1) for n in range(most, 1, -1)), (1, 0)]
    several = [(n - d, d) for n in range(2, factors + 1) for d in range(n + 1)]
    several.sort(key=lambda p: (sum(p), abs(p[0] - p[1]), p[1]))
    return [*(p for p in several for _ in range(2)), (1, 0), (0, 1)]


@dataclass(frozen=True)
class Factors:
    """The pair.

    Attributes:
        rows: the sum unit.
        product: the product unit above it.
        above: a sum unit above that one, which can absorb any scale.
    """

    rows: Track
    product: Track
    above: Track | None = None

    @property
    def patterns(self) -> list[tuple[int, int]]:
        """What is tried, see the function of this name."""
        return patterns(self.product.numbers.shape[-1], self.product.grid)

    def open(self, attempt: Tensor, which: Tensor) -> None:
        """Set the exponents of an attempt in some runs."""
        choices = torch.stack([self._exponents(*p) for p in self.patterns]).to(self.product.numbers)
        self.product.keep(which, "numbers", choices[attempt % len(choices)])
        self.product.keep(which, "snapped", torch.ones_like(self.product.snapped))
        # a divisor that begins with equal coefficients does not pass through zero on data of one sign
        divisor = (self.product.numbers < 0).any(-2).unsqueeze(-1)
        self.rows.keep(which, "numbers", torch.where(divisor, DIVISOR, self.rows.numbers))

    def _exponents(self, up: int, down: int) -> Tensor:
        """Each output takes its own factors as long as there are any `(out, in)`."""
        out, inputs = self.product.numbers.shape[-2:]
        row = torch.tensor([1.0] * up + [-1.0] * down + [0.0] * (inputs - up - down))
        return torch.stack([row.roll(o * (up + down)) for o in range(out)])

    def balance(self, pace: float, ok: Tensor) -> None:
        """Let the largest coefficient of each row approach 1, as far as the products do not change.

        Rows that feed one product are defined up to scales which cancel in it. A sum above makes up for any scale.
        """
        size = self.rows.numbers.abs().amax(-1, keepdim=True).clamp(min=1e-12).log()  # (*runs, rows, 1)
        exponents = self.product.numbers
        shift = -pace * size * (exponents != 0).any(-2).to(size).unsqueeze(-1)
        if self.above is None:
            shift = shift - exponents.mT @ solve(exponents @ exponents.mT, exponents @ shift, 1e-12)
        else:
            self.above.keep(ok, "numbers", self.above.numbers * (-(exponents @ shift)).mT.exp())
        self.rows.keep(ok, "numbers", self.rows.numbers * shift.exp())
