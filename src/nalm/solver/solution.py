"""What a search returns: the formula, the verdict, the evidence, and everything else that was tried."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from nalm.solver.algebra.calculus import Array, evaluate
from nalm.solver.algebra.notation import neat, to_sympy
from nalm.solver.verdict.judge import Candidate, Status

if TYPE_CHECKING:
    from nalm.core.reading import Expression
    from nalm.core.unit import Unit


@dataclass(frozen=True)
class Evidence:
    """Why a verdict was given.

    Attributes:
        backward_error: the largest error over the rows, in units of what float32 rounding and the noise explain.
        samples: rows used.
        noise: the relative noise of the target that was given or, if it was unknown and needed, estimated.
        constants: each fitted real number with its standard deviation.
        notes: what else there is to know, in plain sentences.
    """

    backward_error: float
    samples: int
    noise: float
    constants: tuple[tuple[float, float], ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Solution:
    """The result of `nalm.solve`.

    `status` is `exact`, `real coefficient`, `ambiguous` (a formula fits, but so do others) or `none`. With `none` the
    formula is only the best approximation among the shapes that were tried: it never means that no law exists.
    """

    chosen: Candidate
    status: Status
    evidence: Evidence
    names: tuple[str, ...]
    tried: tuple[Candidate, ...] = field(repr=False)
    unit: Unit | None = field(repr=False)
    seconds: float

    @property
    def exact(self) -> bool:
        return self.status is Status.EXACT

    @property
    def expression(self) -> Expression:
        """The formula as the same object that `nalm.read` gives."""
        return expression_of(self.chosen, self.names, self.unit)

    @property
    def candidates(self) -> list[dict[str, Any]]:
        """The best of what was tried, one row for each complexity and the chosen one marked, simplest first."""
        rows = pareto([*self.tried, self.chosen])
        return [
            {
                "chosen": row is self.chosen,
                "formula": str(expression_of(row, self.names)),
                "shape": row.shape,
                "complexity": row.complexity,
                "relative_error": row.relative_error,
                "backward_error": row.backward_error,
                "status": str(self.status if row is self.chosen else row.status),
            }
            for row in rows
        ]

    def predict(self, X: Any) -> Array:
        """Values of the formula at new rows."""
        return evaluate(self.chosen.formula, np.asarray(X, dtype=np.float64))

    def __str__(self) -> str:
        head = f"{self.expression}   [{self.status}, backward error {self.evidence.backward_error:.2g}]"
        return "\n".join([head, *(f"  note: {note}" for note in self.evidence.notes)])

    def _repr_latex_(self) -> str:
        return self.expression._repr_latex_()


def expression_of(candidate: Candidate, names: Sequence[str], unit: Unit | None = None) -> Expression:
    """A candidate's formula over its column names."""
    import sympy

    from nalm.core.reading import Expression

    symbols = tuple(sympy.Symbol(name, real=True) for name in names)
    return Expression((neat(to_sympy(candidate.formula, symbols)),), symbols, not candidate.constants, unit)


def pareto(tried: Sequence[Candidate], most: int = 12) -> list[Candidate]:
    """The candidates no simpler one beats, plus the last given, simplest first."""
    kept: list[Candidate] = []
    least = float("inf")
    for candidate in sorted(tried, key=lambda c: (c.complexity, c.relative_error)):
        if candidate.relative_error < least or candidate is tried[-1]:
            if candidate is not tried[-1] and any(candidate.formula == k.formula for k in kept):
                continue
            kept.append(candidate)
            least = min(least, candidate.relative_error)
    unique = [c for c in kept if c is tried[-1] or c.formula != tried[-1].formula]
    return unique if len(unique) <= most else [*unique[: most - 1], unique[-1]]
