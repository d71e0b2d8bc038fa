"""What a smooth regression leaves at rows that it has not seen: a bound of the noise, and a sign of it.

Where more rows no longer help, or where what is left follows no column any more, it is noise. This decides how shapes
propose, and what is searched in which order or not at all; no claim rests on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy import linalg

from nalm.solver.data.columns import standard
from nalm.solver.data.problem import Problem
from nalm.solver.formula.calculus import Array, Indices
from nalm.solver.settings import SETTINGS
from nalm.solver.shapes.screen import by_importance
from nalm.solver.verdict.structure import rows_to_be_white, white


@dataclass(frozen=True, eq=False)
class Regression:
    """A kernel regression: its columns, and its errors at the first rows, each left out, in the target's deviations.

    `even` are the errors over what the regression itself expects of each: a row far from all others is foretold badly.
    """

    columns: tuple[int, ...]
    errors: Array
    even: Array

    @property
    def left(self) -> float:
        """The share of the target's deviation that it leaves."""
        return float(np.sqrt(np.mean(self.errors**2)))


@lru_cache(maxsize=1)
def regression(problem: Problem) -> Regression:
    """The best of several kernel regressions, on those columns that help to foretell rows left out."""
    return _regression(problem, _helpful(problem), np.arange(min(problem.rows, SETTINGS.kernel_rows)))


def levels_off(problem: Problem) -> bool:
    """Does a regression foretell rows well from the others, and from half of the others nearly as well?"""
    rows = min(problem.rows, SETTINGS.kernel_rows)
    if rows < SETTINGS.fewest_to_level:
        return False
    whole = regression(problem)
    error = _typical(whole.errors)
    if not SETTINGS.negligible_noise < error < SETTINGS.foretold:
        return False
    return _typical(_regression(problem, whole.columns, np.arange(rows // 2)).errors) < SETTINGS.levelled * error


@lru_cache(maxsize=1)
def telling(problem: Problem) -> tuple[int, ...] | None:
    """The columns that tell of the target, if all that they leave of it is noise: none at all, if it is noise itself.

    None where they leave more, or where the rows are too few to say so. A wave that turns faster than the rows follow
    each other passes for noise.
    """
    if white(problem):
        return ()
    rows = min(problem.rows, SETTINGS.kernel_rows)
    if rows < rows_to_be_white(problem):  # then a regression, which takes tenths of a second, decides nothing
        return None
    whole = regression(problem)
    if not SETTINGS.negligible_noise < whole.left < SETTINGS.told:
        return None
    return whole.columns if white(problem.of_rows(slice(0, rows)).of_target(whole.even)) else None


def _helpful(problem: Problem) -> tuple[int, ...]:
    """The fewest of the most important columns that foretell rows as well as more of them do, in their order."""
    rows = problem.spread_rows(SETTINGS.choosing_rows)
    order = by_importance(problem)[: SETTINGS.most_helpful].tolist()

    def error(columns: Sequence[int]) -> float:
        return _regression(problem, columns, rows, SETTINGS.choosing_widths).left

    if len(order) == 1:
        return (order[0],)
    errors = [error(order[: last + 1]) for last in range(len(order))]
    enough = SETTINGS.as_helpful * min(errors)
    last = next(i for i, one in enumerate(errors) if one <= enough)
    chosen = order[: last + 1]
    for column in order[:last]:
        rest = [i for i in chosen if i != column]
        if error(rest) <= enough:
            chosen = rest
    return tuple(sorted(chosen))


def _typical(errors: Array) -> float:
    """The median size, which corners of the data do not sway."""
    return float(np.median(np.abs(errors)))


def _regression(
    problem: Problem, columns: Sequence[int], rows: Indices, widths: Sequence[float] = SETTINGS.regression_widths
) -> Regression:
    """The best of several on these columns, by its errors at each of these rows when it is fitted to the others."""
    z, y = standard(problem.X[:, list(columns)])[rows], standard(problem.y)[rows]
    distance = np.sum(z**2, axis=1)[:, None] + np.sum(z**2, axis=1) - 2 * z @ z.T
    tried: list[Regression] = []
    for width in widths:
        sizes, directions = linalg.eigh(np.exp(-distance / (2 * z.shape[1] * width**2)), driver="evd")
        along = directions.T @ y
        for ridge in SETTINGS.regression_ridges:
            shrunk = 1 / (np.maximum(sizes, 0) + ridge)
            weights, precision = directions @ (shrunk * along), directions**2 @ shrunk
            tried.append(Regression(tuple(columns), weights / precision, weights / np.sqrt(precision)))
    return min(tried, key=lambda one: _typical(one.errors))
