"""A unit fed by a sum unit: which rows take part is found by trying, the rows themselves by Gauss-Newton.

The numbers of the upper unit and the rows below cannot be learned at the same time: a wrong exponent makes every row
wrong, and between two layers of sums every split is as good as another. So the upper unit's numbers are whole from the
start: two factors, and if no grid point explains the data within an attempt, another number of factors, other signs of
exponents, and new rows. A sum of sums takes one row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from nalm.training.rule.graph import feeds
from nalm.training.rule.joint import StackState
from nalm.training.rule.regression import solve
from nalm.training.rule.ruled import Ruled
from nalm.training.rule.watch import Watched, same_memory

DIVISOR = 0.5  # all coefficients of a row that divides, at the start


@dataclass(frozen=True)
class Pattern:
    """How many numbers of a row are 1 and how many -1."""

    up: int
    down: int

    @property
    def rows(self) -> int:
        """How many rows below take part."""
        return self.up + self.down


def patterns(factors: int, grid: tuple[float, ...], linear: bool = False) -> list[Pattern]:
    """What is tried, in this order.

    Few factors first, and again after each larger number, as an attempt may have been unlucky; one factor, which is a
    mere sum, last. A unit that can divide is tried on a quotient before a product, and on each twice in a row.

    >>> [(p.up, p.down) for p in patterns(4, (0, 1))]
    [(2, 0), (3, 0), (2, 0), (4, 0), (3, 0), (2, 0), (1, 0)]
    >>> [(p.up, p.down) for p in patterns(2, (-1, 0, 1))]
    [(1, 1), (1, 1), (2, 0), (2, 0), (0, 2), (0, 2), (1, 0), (0, 1)]
    """
    if linear:
        return [Pattern(1, 0)]
    if -1 not in grid:
        several = [Pattern(n, 0) for most in range(2, factors + 1) for n in range(most, 1, -1)]
        return [*several, Pattern(1, 0)]
    several = [Pattern(n - d, d) for n in range(2, factors + 1) for d in range(n + 1)]
    several.sort(key=lambda p: (p.rows, abs(p.up - p.down), p.down))
    return [*(p for p in several for _ in range(2)), Pattern(1, 0), Pattern(0, 1)]


@dataclass(frozen=True)
class Member:
    """A unit of a stack and its search."""

    ruled: Ruled
    search: StackState


@dataclass
class Factors:
    """The pair.

    Attributes:
        rows: the sum unit.
        upper: the unit above it.
        above: a sum unit above that one, which can absorb any scale.
        cancelling: the part of a change of the rows' scales that cancels in all products, as a matrix
            `(*runs, rows, rows)`; None until it is asked for, as it changes only with the attempt.
    """

    rows: Member
    upper: Member
    above: Member | None = None
    cancelling: Tensor | None = None

    @property
    def patterns(self) -> list[Pattern]:
        """What is tried, see the function of this name."""
        return patterns(self.upper.search.numbers.shape[-1], self.upper.ruled.grid, self.upper.ruled.form.linear)

    def open(self, attempt: Tensor, which: Tensor) -> None:
        """Set the upper numbers of an attempt in some runs."""
        upper, rows = self.upper.search, self.rows.search
        choices = torch.stack([self._numbers(p) for p in self.patterns]).to(upper.numbers)
        upper.keep(which, numbers=choices[attempt % len(choices)])
        self.cancelling = None
        # a divisor that begins with equal coefficients does not pass through zero on data of one sign
        divisor = (upper.numbers < 0).any(-2).unsqueeze(-1)
        rows.keep(which, numbers=torch.where(divisor, DIVISOR, rows.numbers))

    def _numbers(self, pattern: Pattern) -> Tensor:
        """Each output takes its own rows as long as there are any `(out, in)`."""
        out, inputs = self.upper.search.numbers.shape[-2:]
        row = torch.tensor([1.0] * pattern.up + [-1.0] * pattern.down + [0.0] * (inputs - pattern.rows))
        return torch.stack([row.roll(o * pattern.rows) for o in range(out)])

    def balance(self, pace: float, ok: Tensor) -> None:
        """Let the largest coefficient of each row approach 1, as far as the products do not change.

        Rows that feed one product are defined up to scales which cancel in it. A sum above makes up for any scale.
        """
        if self.upper.ruled.form.linear:
            return
        rows, exponents = self.rows.search, self.upper.search.numbers
        size = rows.numbers.abs().amax(-1, keepdim=True).clamp(min=1e-12).log()  # (*runs, rows, 1)
        shift = -pace * size * (exponents != 0).any(-2).to(size).unsqueeze(-1)
        if self.above is None:
            if self.cancelling is None:
                same = torch.eye(exponents.shape[-1]).to(exponents)
                self.cancelling = same - exponents.mT @ solve(exponents @ exponents.mT, exponents, 1e-12)
            shift = self.cancelling @ shift
        else:
            above = self.above.search
            above.keep(ok, numbers=above.numbers * (-(exponents @ shift)).mT.exp())
        rows.keep(ok, numbers=rows.numbers * shift.exp())


def find_pairs(members: Sequence[Member], watched: Sequence[Watched]) -> list[Factors]:
    """All units whose inputs are exactly the outputs of a sum unit, lowest first; a unit is in one pair only."""
    seen = {id(m): w for m, w in zip(members, watched, strict=True)}
    sums = [m for m in members if m.ruled.form.linear]
    found: list[Factors] = []
    for upper in members:
        below = [rows for rows in sums if rows is not upper and feeds(seen[id(rows)], seen[id(upper)], same_memory)]
        above = [top for top in sums if top is not upper and feeds(seen[id(upper)], seen[id(top)], same_memory)]
        if below:
            found.append(Factors(below[0], upper, above[0] if above else None))
    return found
