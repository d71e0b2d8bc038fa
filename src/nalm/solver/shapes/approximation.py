"""What is left to predict with when nothing else fits: the mean and the straight line."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from nalm.solver.data.problem import Problem
from nalm.solver.formula.algebra import ONE, Constant, Formula, Input, total
from nalm.solver.shapes.linear import least_squares


def approximations(problem: Problem) -> Iterator[Formula]:
    """The mean, and the line with the least squared error."""
    yield Constant(float(np.mean(problem.y)))
    line = least_squares(np.column_stack([problem.X, np.ones(problem.rows)]), problem.y)
    if np.all(np.isfinite(line)):
        features: list[Formula] = [*(Input(i) for i in range(problem.columns)), ONE]
        yield total((float(w), f) for w, f in zip(line, features, strict=True))
