"""What is left to predict with when nothing exact fits."""

from __future__ import annotations

import numpy as np

from .formula import ONE, Constant, Formula, Input, total
from .judge import Candidate, Status
from .linear import least_squares
from .problem import Problem


def approximations(problem: Problem) -> list[Candidate]:
    """The mean and the straight line: what is left to predict with when nothing else fits."""
    formulas: list[Formula] = [Constant(float(np.mean(problem.y)))]
    line = least_squares(np.column_stack([problem.X, np.ones(problem.rows)]), problem.y)
    if np.all(np.isfinite(line)):
        features: list[Formula] = [*(Input(i) for i in range(problem.columns)), ONE]
        formulas.append(total((float(w), f) for w, f in zip(line, features, strict=True)))
    return [
        Candidate(f, "approximation", Status.NONE, problem.backward_error(f), problem.relative_rms(f)) for f in formulas
    ]
