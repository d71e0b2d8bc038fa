"""A line and one wave of unknown scale and phase, `a * x_j * sin(w u + p)`, or another curve: one scan over w."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations, permutations
from itertools import product as every

import numpy as np

from nalm.solver.data.problem import Problem
from nalm.solver.formula.algebra import ONE, Applied, Formula, Input, monomial, total
from nalm.solver.formula.calculus import Array, Indices, evaluate
from nalm.solver.formula.functions import Function
from nalm.solver.settings import SETTINGS
from nalm.solver.shapes.functions.line import Line, fitted_beside, lines_of, rows_beside
from nalm.solver.shapes.shape import Groups


def waves(problem: Problem, columns: Indices, chosen: Sequence[Function], multiplied: bool = True) -> Groups:
    """Formulas `c + sum(w_i * x_i) + a * f(k u + p)`: sine with a phase, exponential, tanh, logarithm of 1 + k u.

    The argument u is an input, or the product or quotient of two. If `multiplied`, the function may also stand times
    one of the columns, and that of a single input times the inverse of one.
    """
    lines = lines_of(problem)
    apart = [int(j) for j in columns if np.all(problem.X[:, j] != 0)]
    factors: list[tuple[Formula, Array]] = [(ONE, np.ones(problem.rows))]
    if multiplied:
        factors += [(Input(int(j)), problem.X[:, j]) for j in columns]
    inverses = [(monomial((j, -1)), 1 / problem.X[:, j]) for j in apart] if multiplied else []
    for i, line in every(columns, lines):
        yield _waves_of(problem, line, Input(int(i)), chosen, [*factors, *inverses])
    first = [int(i) for i in columns[: SETTINGS.waved_columns]]
    products = [monomial((i, 1), (j, 1)) for i, j in combinations(first, 2)]
    quotients = [monomial((i, 1), (j, -1)) for i, j in permutations(first, 2) if j in apart]
    for argument, line in every([*products, *quotients], lines):
        yield _waves_of(problem, line, argument, chosen, factors)


def _waves_of(
    problem: Problem, line: Line, argument: Formula, chosen: Sequence[Function], factors: list[tuple[Formula, Array]]
) -> Iterator[Formula]:
    x = evaluate(argument, problem.X)
    reach, distinct = float(np.ptp(x)), len(np.unique(x))
    if reach == 0 or distinct < SETTINGS.wave_points or problem.rows < problem.columns + SETTINGS.spare_rows:
        return
    most = min(np.pi * distinct / 2, SETTINGS.wave_scales)  # two points for each half wave
    sizes = np.arange(*SETTINGS.share_scan) if line.of_shares else np.geomspace(*SETTINGS.growth_scan)
    grids = {
        Function.SIN: np.arange(0.5, most, 0.5) / reach,
        Function.EXP: np.concatenate([-sizes[::-1], sizes]) / reach,
        Function.TANH: sizes / reach,
        Function.LOG: sizes / reach if np.min(x) >= 0 else sizes[:0],
    }
    for function in (f for f in grids if f in chosen and len(grids[f])):
        rough = _Scan(line, x, function, SETTINGS.rough_rows, problem.seed, rough=True)
        fine = _Scan(line, x, function, SETTINGS.telling_rows, problem.seed)
        places = rough.best(np.stack([values for _, values in factors]), rough.waves(grids[function]))
        for (factor, values), place in zip(factors, places, strict=True):
            scale = None if place is None else fine.refined(values, grids[function], place)
            if scale is not None and function is Function.SIN:
                yield from _sine(problem, line, factor, values, argument, scale)
            elif scale is not None:
                yield from _other(problem, line, factor, values, argument, scale, function)


class _Scan:
    """What a wave of each scale, times a factor, leaves of the target, beside a line that is projected out once.

    A rough scan computes sines in float32, which takes a fiftieth of the time; the other functions are few, and some of
    them are so nearly a line that float32 would see only rounding beside one.
    """

    def __init__(self, line: Line, x: Array, function: Function, rows: int, seed: int, rough: bool = False) -> None:
        self.precision = "float32" if rough and function is Function.SIN else "float64"
        self.rows, self.basis = rows_beside(line.columns, rows, seed)
        self.x, self.function = x[self.rows, None], function
        self.weights, y = line.weights[self.rows], line.y[self.rows]
        rest = y - self.basis @ (self.basis.T @ y)
        height = float(np.linalg.norm(rest))
        self.rest = rest / height if height > 0 else rest

    def best(self, factors: Array, waves: list[Array]) -> list[int | None]:
        """For each factor `(factors, rows)`, which of the waves leaves least; None if none is likely to be there."""
        left = self._left_roughly(factors, waves)
        places = np.argmin(left, axis=1)
        return [int(at) if row[at] < SETTINGS.wave_likely else None for row, at in zip(left, places, strict=True)]

    def _left_roughly(self, factors: Array, waves: list[Array]) -> Array:
        """The relative error for each factor and scale, of all at once by products of matrices.

        The length of what is new in a wave follows from a difference of squares, which costs digits; where too few of
        them are left, all counts as left.
        """
        times = self._weighted(factors)
        onto = (times[:, None] * np.vstack([self.basis.T, self.rest])).reshape(-1, times.shape[1])
        along = [(onto @ wave).reshape(len(times), -1, wave.shape[1]) for wave in waves]  # (factors, basis + 1, scales)

        def new(one: int, other: int) -> Array:
            return np.asarray(
                times**2 @ (waves[one] * waves[other]) - np.sum(along[one][:, :-1] * along[other][:, :-1], axis=1)
            )

        with np.errstate(all="ignore"):
            length, target = new(0, 0), along[0][:, -1]
            explained, determined = target**2 / length, length / (times**2 @ waves[0] ** 2)
            if len(waves) == 2:
                second, both, other = new(1, 1), new(0, 1), along[1][:, -1]
                beside = second - both**2 / length
                explained = explained + (other - target * both / length) ** 2 / beside
                determined = np.minimum(determined, beside / (times**2 @ waves[1] ** 2))
        explained = np.where(determined > SETTINGS.wave_determined, explained, 0.0)
        return np.asarray(np.sqrt(1 - np.clip(explained, 0.0, 1.0)))

    def refined(self, factor: Array, grid: Array, place: int) -> float | None:
        """The scale that leaves least around a place of the grid; None if no wave is there."""
        if not self._left(factor, self.waves(grid[[place]]))[0] < SETTINGS.wave_close:
            return None
        for neighbour in (3, 1, 1, 1):  # fewer rows found the place; then finer grids: to a millionth of the first step
            low, high = grid[max(place - neighbour, 0)], grid[min(place + neighbour, len(grid) - 1)]
            grid = np.linspace(low, high, 61)
            place = int(np.argmin(self._left(factor, self.waves(grid))))
        return float(grid[place])

    def waves(self, scales: Array) -> list[Array]:
        """The wave at each scale, `(rows, scales)`: one for each function, two for a sine of any phase."""
        if self.function is Function.SIN:  # of any phase, so it may begin anywhere: small arguments have more digits
            argument = ((self.x - self.x[0]) * scales).astype(self.precision)
            return [np.sin(argument).astype(float), np.cos(argument).astype(float)]
        argument = self.x * scales
        if self.function is Function.EXP:  # from its largest value down, so that nothing overflows
            return [np.exp(argument - np.max(argument, axis=0))]
        return [np.tanh(argument) if self.function is Function.TANH else np.log1p(argument)]

    def _left(self, factor: Array, columns: list[Array]) -> Array:
        """The relative error for each scale."""
        weighted = self._weighted(factor[None]).T
        with np.errstate(all="ignore"):
            fresh = [self._fresh(weighted * column) for column in columns]
            if len(fresh) == 2:
                fresh[1] = fresh[1] - fresh[0] * np.sum(fresh[0] * fresh[1], axis=0)
                fresh[1] = fresh[1] / np.linalg.norm(fresh[1], axis=0)
            explained = sum((self.rest @ column) ** 2 for column in fresh)
        return np.asarray(np.nan_to_num(np.sqrt(np.maximum(1 - explained, 0)), nan=1.0))

    def _weighted(self, factors: Array) -> Array:
        """Factors at the scanned rows, times the weights of these; of any size, so they are scaled to 1."""
        times = factors[:, self.rows] * self.weights
        largest = np.max(np.abs(times), axis=1, keepdims=True)
        return np.asarray(times / np.where(largest > 0, largest, 1.0))

    def _fresh(self, columns: Array) -> Array:
        left = columns - self.basis @ (self.basis.T @ columns)
        return np.asarray(left / np.linalg.norm(left, axis=0))


def _sine(
    problem: Problem, line: Line, factor: Formula, values: Array, argument: Formula, scale: float
) -> Iterator[Formula]:
    angle = scale * evaluate(argument, problem.X)
    if found := fitted_beside(line, factor, values, [np.sin(angle), np.cos(angle)]):
        for wave in turned(argument, scale, found.weights, problem.blur):
            yield from found.formulas([wave])


def turned(
    argument: Formula, scale: float, weights: Sequence[float] | Array, blur: float
) -> Iterator[tuple[float, Formula]]:
    """`w * sin(scale * u) + v * cos(scale * u)`, for the weights (w, v), as one wave and its size: without a phase, if
    it may have none for all that data with this relative error tell, and with one."""
    sine, cosine = weights
    size, phase = float(np.hypot(sine, cosine)), float(np.arctan2(cosine, sine))
    if size == 0:
        return
    # An exact 1 opens sums: a fitted one in front of fitted numbers could not be told from them.
    inner = total([(Fraction(1) if scale == 1 else scale, argument)])
    quarter = round(phase / (np.pi / 2))
    if abs(phase - quarter * np.pi / 2) < SETTINGS.wave_phase + blur:
        sign = -1.0 if quarter in (-1, 2, -2) else 1.0
        yield sign * size, Applied(Function.COS if quarter % 2 else Function.SIN, inner)
    yield size, Applied(Function.SIN, total([(Fraction(1), inner), (phase, ONE)]))


def _other(
    problem: Problem, line: Line, factor: Formula, values: Array, argument: Formula, scale: float, function: Function
) -> Iterator[Formula]:
    scaled: list[tuple[float, Formula]] = [(scale, argument)]
    wave = Applied(function, total([(1.0, ONE), *scaled] if function is Function.LOG else scaled))
    with np.errstate(all="ignore"):
        found = fitted_beside(line, factor, values, [evaluate(wave, problem.X)])
    if found:
        yield from found.formulas([(found.weights[0], wave)])
