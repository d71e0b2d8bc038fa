"""A problem seen through other columns: formulas in the place of inputs, and formulas found there brought back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from nalm.solver.data.problem import Problem
from nalm.solver.formula.algebra import Formula, substituted
from nalm.solver.formula.calculus import Array, evaluate


@dataclass(frozen=True, eq=False)
class Derived:
    """A problem whose columns are formulas over the columns of another."""

    problem: Problem
    columns: tuple[Formula, ...]

    def back(self, formulas: Iterable[Formula]) -> Iterator[Formula]:
        """Formulas over the derived columns as formulas over the original ones."""
        return (substituted(formula, self.columns) for formula in formulas)


def derived(problem: Problem, columns: Sequence[Formula], target: Array | None = None) -> Derived | None:
    """The problem over other columns, and with another target; None if a column has no value at some row.

    Physical units are asked of the formulas that are brought back.
    """
    table = np.stack([evaluate(column, problem.X) for column in columns], axis=1)
    y = problem.y if target is None else target
    if not (np.isfinite(table).all() and np.isfinite(y).all()):
        return None
    return Derived(replace(problem, X=table, y=y, printed=None, dimensions=None), tuple(columns))
