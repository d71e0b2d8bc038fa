"""Whether two formulas that both fit the data are the same function."""

from __future__ import annotations

import numpy as np

from .formula import Formula, evaluate
from .problem import Problem


def agrees_elsewhere(problem: Problem, one: Formula, other: Formula, within: float = 1e-5) -> bool:
    """Compares two formulas on inputs stretched beyond the data."""
    rng = np.random.default_rng(0)
    stretched = problem.X[:64] * rng.uniform(0.5, 3.0, (min(64, problem.rows), problem.columns))
    a, b = evaluate(one, stretched), evaluate(other, stretched)
    both = np.isfinite(a) & np.isfinite(b)
    with np.errstate(all="ignore"):
        gap = np.abs(a[both] - b[both]) / np.maximum(np.abs(a[both]), np.abs(b[both]))
    return bool(np.median(np.nan_to_num(gap)) < within) if len(gap) else True
