"""A product unit fed by a sum unit: which rows take part is found by trying, the rows themselves by Gauss-Newton.

Exponents and rows cannot be learned at the same time: a wrong exponent makes every row wrong. So the exponents of such
a pair are whole from the start: two factors, and if no grid point explains the data within an attempt, another number
of factors, other signs of exponents, and new rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from nalm.rule.evidence import Evidence
from nalm.rule.track import Track
from nalm.start import Fan, glorot_bound
from nalm.uniforms import uniforms

REDRAW_STREAM = 0x5EED


def patterns(factors: int, grid: tuple[float, ...]) -> list[tuple[int, int]]:
    """How many exponents are 1 and how many -1, in the order in which they are tried.

    Few factors first; one, which is a mere sum, last. A unit that can divide is tried on a quotient before a product.

    >>> patterns(3, (0, 1))
    [(2, 0), (3, 0), (2, 0), (3, 0), (1, 0)]
    >>> patterns(2, (-1, 0, 1))
    [(1, 1), (2, 0), (0, 2), (1, 1), (2, 0), (0, 2), (1, 0), (0, 1)]
    """
    several = [(n - d, d) for n in range(2, factors + 1) for d in (range(n + 1) if -1 in grid else [0])]
    several.sort(key=lambda p: (sum(p), abs(p[0] - p[1]) if -1 in grid else 0, p[1]))
    one = [(1, 0), (0, 1)] if -1 in grid else [(1, 0)]
    return [*several, *several, *one]


@dataclass
class Factors:
    """The pair, and where each run is in its search.

    Attributes:
        rows: the sum unit.
        product: the product unit above it.
        attempt: which attempt each run is in `(*runs,)`.
        since: steps since that attempt began `(*runs,)`.
    """

    rows: Track
    product: Track
    attempt: Tensor = field(init=False)
    since: Tensor = field(init=False)

    def __post_init__(self) -> None:
        self.attempt = torch.zeros(self.rows.unit.runs, dtype=torch.int64, device=self.rows.numbers.device)
        self.since = torch.zeros_like(self.attempt)
        # a run's redraws depend on its own first weights only, not on who shares its cohort
        self.seeds = self.rows.numbers.float().sum((-2, -1)).view(torch.int32).to(torch.int64) & 0xFFFFFFFF
        self.patterns = patterns(self.product.numbers.shape[-1], self.product.grid)
        self._open(torch.ones_like(self.attempt, dtype=torch.bool))

    def state(self) -> dict[str, Any]:
        """The names of the pair and where its search is."""
        tensors = {name: getattr(self, name).clone() for name in ("attempt", "since", "seeds")}
        return {"rows": self.rows.name, "product": self.product.name, **tensors}

    def load(self, state: dict[str, Any]) -> None:
        """Go on with a saved search."""
        for name in ("attempt", "since", "seeds"):
            setattr(self, name, state[name].to(self.attempt.device).clone())

    def _open(self, which: Tensor) -> None:
        """Set the exponents of the attempt in some runs."""
        choices = torch.stack([self._exponents(*p) for p in self.patterns]).to(self.product.numbers)
        self.product.keep(which, "numbers", choices[self.attempt % len(self.patterns)])
        self.product.keep(which, "snapped", torch.ones_like(self.product.snapped))

    def _exponents(self, up: int, down: int) -> Tensor:
        """Each output takes its own factors as long as there are any `(out, in)`."""
        out, inputs = self.product.numbers.shape[-2:]
        row = torch.tensor([1.0] * up + [-1.0] * down + [0.0] * (inputs - up - down))
        return torch.stack([row.roll(o * (up + down)) for o in range(out)])

    def orient(self, evidence: Evidence, ok: Tensor) -> None:
        """At the start of an attempt: a product with the wrong sign is put right by turning one row."""
        wrong = (evidence.y * evidence.implied).mean(-1).sum(-1) < 0
        turn = ok & wrong & (self.since == 0)
        first = self.product.numbers.abs().sum(-2).argmax(-1)  # (*runs,)
        sign = 1 - 2 * torch.nn.functional.one_hot(first, self.rows.numbers.shape[-2]).to(self.rows.numbers)
        self.rows.keep(turn, "numbers", self.rows.numbers * sign.unsqueeze(-1))

    def balance(self, pace: float, ok: Tensor) -> None:
        """Rows that feed one product are defined up to scale only: let their largest coefficients become equal."""
        size = self.rows.numbers.abs().amax(-1, keepdim=True).clamp(min=1e-12).log()
        used = (self.product.numbers != 0).any(-2).to(size).unsqueeze(-1)
        mean = (used * size).sum(-2, keepdim=True) / used.sum(-2, keepdim=True).clamp(min=1)
        self.rows.keep(ok, "numbers", self.rows.numbers * (-pace * used * (size - mean)).exp())

    def again(self, patience: int, ok: Tensor) -> None:
        """Begin a new attempt where no grid point was found in time; later rounds take longer."""
        rounds = 1 + self.attempt // len(self.patterns)
        solved = self.rows.snapped.all(-1)
        self.since = torch.where(solved, 1, self.since + ok)
        stuck = self.since > patience * rounds
        if not bool(stuck.any()):
            return
        self.attempt = torch.where(stuck, self.attempt + 1, self.attempt)
        self.since = torch.where(stuck, 0, self.since)
        out, inputs = self.rows.numbers.shape[-2:]
        u = uniforms(self.seeds, REDRAW_STREAM, self.attempt[..., None, None, None], (out, inputs))
        bound = min(0.5, glorot_bound(Fan(inputs, out)))
        self.rows.keep(stuck, "numbers", bound * (2 * u.to(self.rows.numbers) - 1))
        self._open(stuck)
