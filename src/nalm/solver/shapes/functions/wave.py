"""A line and one wave of unknown scale and phase, `a * x_j * sin(w x + p)`: one scan over w."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from nalm.solver.data.problem import Problem
from nalm.solver.formula.algebra import ONE, Applied, Formula, Input, WeightedSum, product, total
from nalm.solver.formula.calculus import Array, Indices, evaluate
from nalm.solver.formula.functions import Function
from nalm.solver.settings import SETTINGS
from nalm.solver.shapes.shape import Groups


def waves(problem: Problem, columns: Indices, chosen: Sequence[Function]) -> Groups:
    """Formulas `c + sum(w_i * x_i) + a * x_j ** e * f(k x_i + p)`: sine with a phase, exponential, tanh."""
    for i in (int(c) for c in columns):
        yield _waves_of(problem, i, chosen)


def _waves_of(problem: Problem, column: int, chosen: Sequence[Function]) -> Iterator[Formula]:
    x = problem.X[:, column]
    reach, distinct = float(np.ptp(x)), len(np.unique(x))
    if reach == 0 or distinct < SETTINGS.wave_points or problem.rows < problem.columns + SETTINGS.spare_rows:
        return
    base = np.column_stack([np.ones(problem.rows), problem.X])
    factors: list[tuple[Formula, Array]] = [(ONE, np.ones(problem.rows))]
    factors += [(Input(j), problem.X[:, j]) for j in range(problem.columns)]
    most = min(np.pi * distinct / 2, SETTINGS.wave_scales)  # two points for each half wave
    sizes = np.geomspace(*SETTINGS.growth_scan)
    grids = {
        Function.SIN: np.arange(0.5, most, 0.5) / reach,
        Function.EXP: np.concatenate([-sizes[::-1], sizes]) / reach,
        Function.TANH: sizes / reach,
    }
    for function in (f for f in grids if f in chosen):
        scan = _Scan(base, x, problem.y, function, grids[function])
        for factor, values in factors:
            scale = scan.best(values)
            if scale is not None and function is Function.SIN:
                yield from _sine(problem, base, factor, values, column, scale)
            elif scale is not None:
                yield from _other(problem, base, factor, values, column, scale, function)


class _Scan:
    """What a wave of each scale, times a factor, leaves of the target, beside a base that is projected out once."""

    def __init__(self, base: Array, x: Array, y: Array, function: Function, grid: Array) -> None:
        self.rows = slice(0, SETTINGS.telling_rows)
        self.basis = np.linalg.qr(base[self.rows])[0]
        self.x, self.function, self.grid = x[self.rows, None], function, grid
        self.coarse = self._waves(grid)  # the same for every factor
        rest = y[self.rows] - self.basis @ (self.basis.T @ y[self.rows])
        height = float(np.linalg.norm(rest))
        self.rest = rest / height if height > 0 else rest

    def best(self, factor: Array) -> float | None:
        """The scale that leaves least, refined between its neighbours; None if no wave is there."""
        factor, grid = factor[self.rows, None], self.grid
        left = self._left(factor, self.coarse)
        place = int(np.argmin(left))
        if not left[place] < SETTINGS.wave_close:
            return None
        for _ in range(4):  # rounds of a finer grid: to a millionth of the first step
            low, high = grid[max(place - 1, 0)], grid[min(place + 1, len(grid) - 1)]
            grid = np.linspace(low, high, 61)
            place = int(np.argmin(self._left(factor, self._waves(grid))))
        return float(grid[place])

    def _waves(self, scales: Array) -> list[Array]:
        """The wave at each scale, `(rows, scales)`: one for each function, two for a sine of any phase."""
        argument = self.x * scales
        if self.function is Function.EXP:  # from its largest value down, so that nothing overflows
            return [np.exp(argument - np.max(argument, axis=0))]
        if self.function is Function.TANH:
            return [np.tanh(argument)]
        return [np.sin(argument), np.cos(argument)]

    def _left(self, factor: Array, columns: list[Array]) -> Array:
        """The relative error for each scale."""
        with np.errstate(all="ignore"):
            fresh = [self._fresh(factor * column) for column in columns]
            if len(fresh) == 2:
                fresh[1] = fresh[1] - fresh[0] * np.sum(fresh[0] * fresh[1], axis=0)
                fresh[1] = fresh[1] / np.linalg.norm(fresh[1], axis=0)
            explained = sum((self.rest @ column) ** 2 for column in fresh)
        return np.asarray(np.nan_to_num(np.sqrt(np.maximum(1 - explained, 0)), nan=1.0))

    def _fresh(self, columns: Array) -> Array:
        left = columns - self.basis @ (self.basis.T @ columns)
        return np.asarray(left / np.linalg.norm(left, axis=0))


def _sine(
    problem: Problem, base: Array, factor: Formula, values: Array, column: int, scale: float
) -> Iterator[Formula]:
    x = problem.X[:, column]
    design = np.column_stack([values * np.sin(scale * x), values * np.cos(scale * x), base])
    fitted = np.linalg.lstsq(design, problem.y, rcond=None)[0]
    size, phase = float(np.hypot(fitted[0], fitted[1])), float(np.arctan2(fitted[1], fitted[0]))
    if size == 0:
        return
    inner = WeightedSum(((scale, Input(column)),))
    kept = _kept(base, np.asarray(fitted[2:], np.float64), problem.y)
    quarter = round(phase / (np.pi / 2))
    if abs(phase - quarter * np.pi / 2) < SETTINGS.wave_phase:
        wave = Applied(Function.COS if quarter % 2 else Function.SIN, inner)
        sign = -1.0 if quarter in (-1, 2, -2) else 1.0
        yield total([(sign * size, product([(factor, 1), (wave, 1)])), *kept])
    shifted = WeightedSum(((scale, Input(column)), (phase, ONE)))
    yield total([(size, product([(factor, 1), (Applied(Function.SIN, shifted), 1)])), *kept])


def _other(
    problem: Problem, base: Array, factor: Formula, values: Array, column: int, scale: float, function: Function
) -> Iterator[Formula]:
    wave = Applied(function, WeightedSum(((scale, Input(column)),)))
    with np.errstate(all="ignore"):
        design = np.column_stack([values * evaluate(wave, problem.X), base])
    if not np.isfinite(design).all():
        return
    fitted = np.linalg.lstsq(design, problem.y, rcond=None)[0]
    yield total(
        [
            (float(fitted[0]), product([(factor, 1), (wave, 1)])),
            *_kept(base, np.asarray(fitted[1:], np.float64), problem.y),
        ]
    )


def _kept(base: Array, weights: Array, y: Array) -> list[tuple[float, Formula]]:
    """The terms of the base that matter: the constant and the inputs."""
    height = float(np.max(np.abs(y)))
    share = np.abs(weights) * np.max(np.abs(base), axis=0) / height
    terms: list[Formula] = [ONE, *(Input(i) for i in range(base.shape[1] - 1))]
    return [(float(w), t) for w, t, s in zip(weights, terms, share, strict=True) if s > SETTINGS.close]
