"""What a smooth regression leaves at rows that it has not seen: a bound of the noise, and a sign of it.

Where more rows no longer help, what is left is noise. This decides only how shapes propose and what is tried first; no
claim rests on it.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy import linalg

from nalm.solver.data.columns import standard
from nalm.solver.data.problem import Problem
from nalm.solver.formula.calculus import Array
from nalm.solver.settings import SETTINGS


@lru_cache(maxsize=1)
def left_out(problem: Problem) -> Array:
    """Errors at rows left out, in deviations of the target, of the best kernel regression of several."""
    return _left_out(problem, min(problem.rows, SETTINGS.kernel_rows))


def levels_off(problem: Problem) -> bool:
    """Does a regression foretell rows well from the others, and from half of the others nearly as well?"""
    rows = min(problem.rows, SETTINGS.kernel_rows)
    if rows < SETTINGS.fewest_to_level:
        return False
    whole = _typical(left_out(problem))
    if not SETTINGS.negligible_noise < whole < SETTINGS.foretold:
        return False
    return _typical(_left_out(problem, rows // 2)) < SETTINGS.levelled * whole


def _typical(errors: Array) -> float:
    """The median size, which corners of the data do not sway."""
    return float(np.median(np.abs(errors)))


def _left_out(problem: Problem, rows: int) -> Array:
    z, y = standard(problem.X)[:rows], standard(problem.y)[:rows]
    distance = np.sum(z**2, axis=1)[:, None] + np.sum(z**2, axis=1) - 2 * z @ z.T
    errors: list[Array] = []
    for width in SETTINGS.regression_widths:
        sizes, directions = linalg.eigh(np.exp(-distance / (2 * z.shape[1] * width**2)), driver="evd")
        along = directions.T @ y
        for ridge in SETTINGS.regression_ridges:
            shrunk = 1 / (np.maximum(sizes, 0) + ridge)
            errors.append((directions @ (shrunk * along)) / (directions**2 @ shrunk))
    return min(errors, key=_typical)
