"""Curves with two unknown numbers inside, `exp(-a x) * sin(b x + p)`: a scan over pairs of them, the rest is linear."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, permutations
from itertools import product as every
from typing import TypeAlias

import numpy as np

from nalm.solver.data.problem import Problem
from nalm.solver.formula.algebra import ONE, Applied, Formula, Input, WeightedSum, inputs, monomial, product, total
from nalm.solver.formula.calculus import Array, Indices, evaluate
from nalm.solver.formula.functions import Function
from nalm.solver.settings import SETTINGS
from nalm.solver.shapes.functions.line import Beside, Line, fitted_beside, lines_of, rows_beside
from nalm.solver.shapes.functions.wave import turned
from nalm.solver.shapes.shape import Groups


@dataclass(frozen=True)
class _Curves:
    """Curves that differ in two numbers a and b, beside a line.

    Attributes:
        needs: the functions they are written with.
        pairs: `(pairs, 2)`, the numbers to start from.
        parts: `(pairs, rows)` each, up to a factor: what the curves of all pairs are sums of.
        written: the curve of one pair as formulas, in one or several ways; given is how terms are fitted beside a line.
    """

    needs: tuple[Function, ...]
    pairs: Array
    parts: Callable[[Array, Array, Array], list[Array]]
    written: Callable[[float, float, Fit], Iterator[Formula]]


Fit: TypeAlias = Callable[[list[Formula]], Beside | None]


def curves(problem: Problem, columns: Indices, chosen: Sequence[Function]) -> Groups:
    """Formulas `c + sum(w_i * x_i) + curve`: damped waves, products and sums of two waves, sums of two exponentials or
    powers, peaks and steps; without noise also with an input for an amplitude, times the curve."""
    if problem.rows < problem.columns + SETTINGS.spare_rows:
        return
    lines = lines_of(problem)
    few = [int(i) for i in columns[: SETTINGS.curved_columns]]
    amplitudes: list[Formula] = [] if problem.noisy else [Input(i) for i in few]
    families = [f for f in _families(problem, few, logarithms=Function.LOG in chosen) if set(f.needs) <= set(chosen)]
    for factor, family, line in every([ONE, *amplitudes], families, lines):
        yield _proposed(problem, line, factor, family)


def _proposed(problem: Problem, line: Line, factor: Formula, family: _Curves) -> Iterator[Formula]:
    times = evaluate(factor, problem.X)

    def fit(terms: list[Formula]) -> Beside | None:
        with np.errstate(all="ignore"):
            return fitted_beside(line, factor, times, [evaluate(term, problem.X) for term in terms])

    scan, least = _Left(problem, line, times, family, SETTINGS.curve_rows), np.min(np.abs(family.pairs[:, 1]))
    if not len(starts := scan.starts()):
        return
    fine = _Left(problem, line, times, family, SETTINGS.telling_rows)
    for (a, b), left in zip(*fine.refined(starts), strict=True):
        # A wave that hardly turns is a line, written oddly.
        if left < fine.worth and abs(b) > least / 2:
            yield from family.written(float(a), float(b), fit)


class _Left:
    """What curves, times a factor, leave of the target at some rows beside the line, which is projected out.

    `worth` is the share of the rest that a curve may leave to be written down.
    """

    def __init__(self, problem: Problem, line: Line, times: Array, family: _Curves, rows: int) -> None:
        some, self.basis = rows_beside(line.columns, rows, problem.seed)
        self.X, self.family = problem.X[some], family
        weights, y = line.weights[some] * times[some], line.y[some]
        self.weights = weights / (np.max(np.abs(weights)) or 1.0)  # of any size
        rest = y - self.basis @ (self.basis.T @ y)
        height = float(np.linalg.norm(rest)) or 1.0
        self.rest = rest / height
        self.worth = max(SETTINGS.curve_left, SETTINGS.far_off * problem.blur * float(np.linalg.norm(y)) / height)

    def starts(self) -> Array:
        """The pairs that leave least, none of them beside another, `(starts, 2)`; none if no such curve is there."""
        explained = sum((along @ self.rest) ** 2 for along in self._directions(self.family.pairs, "float32"))
        left = np.sqrt(np.maximum(1 - np.nan_to_num(explained), 0))
        taken: list[Array] = []
        for k in np.argsort(left, kind="stable"):
            pair = self.family.pairs[k]
            if len(taken) == SETTINGS.curve_starts or not left[k] < SETTINGS.wave_close:
                break
            if all(np.max(np.abs(pair / other - 1)) > SETTINGS.curve_apart for other in taken):
                taken.append(pair)
        return np.array(taken).reshape(-1, 2)

    def refined(self, starts: Array) -> tuple[Array, Array]:
        """The pairs near the starts that leave least, and what they leave: Levenberg-Marquardt, side by side."""
        pairs, damping = starts.copy(), np.full(len(starts), SETTINGS.first_damping)
        left = self._left(pairs)
        squares = np.sum(left**2, axis=1)
        for _ in range(SETTINGS.curve_steps):
            ahead = self._left(np.concatenate([pairs + SETTINGS.curve_ahead * starts * e for e in np.eye(2)]))
            slopes = (ahead.reshape(2, *left.shape) - left) / SETTINGS.curve_ahead  # by shares of the starts
            normal = np.einsum("isn,jsn->sij", slopes, slopes)
            normal += np.einsum("s,sii,ij->sij", damping, normal, np.eye(2)) + 1e-300 * np.eye(2)
            try:
                step = np.linalg.solve(normal, np.einsum("isn,sn->si", slopes, left)[..., None])[..., 0]
            except np.linalg.LinAlgError:
                break
            tried = pairs - np.clip(step, -SETTINGS.longest_share, SETTINGS.longest_share) * starts
            tried_left = self._left(tried)
            tried_squares = np.sum(tried_left**2, axis=1)
            better = tried_squares < squares
            gained = better & (tried_squares < (1 - SETTINGS.curve_gain) * squares)
            damping = np.where(better, damping / 5, damping * 4)
            pairs[better], left[better], squares[better] = tried[better], tried_left[better], tried_squares[better]
            failing = ~better & (damping < SETTINGS.hopeful_damping)
            if not np.any((gained | failing) & (squares > SETTINGS.converged**2)):
                break
        return pairs, np.sqrt(squares)

    def _left(self, pairs: Array) -> Array:
        """For each pair, `(pairs, rows)`; all of it where the curve has no value."""
        left = np.repeat(self.rest[None], len(pairs), axis=0)
        with np.errstate(all="ignore"):
            for along in self._directions(pairs):
                left = left - along * np.sum(left * along, axis=1, keepdims=True)
        return np.where(np.isfinite(left), left, 1.0)

    def _directions(self, pairs: Array, precision: str = "float64") -> list[Array]:
        """What the parts of each curve add to the line, orthonormal, `(pairs, rows)` each; a scan needs few digits."""
        weights, basis = self.weights.astype(precision), self.basis.astype(precision)
        directions: list[Array] = []
        with np.errstate(all="ignore"):
            for part in self.family.parts(pairs[:, :1], pairs[:, 1:], self.X):
                weighted = part.astype(precision, copy=False) * weights
                fresh = weighted - (weighted @ basis) @ basis.T
                for other in directions:
                    fresh = fresh - other * np.sum(other * fresh, axis=1, keepdims=True)
                directions.append(fresh / np.linalg.norm(fresh, axis=1, keepdims=True))
        return directions


def _families(problem: Problem, columns: list[int], logarithms: bool) -> Iterator[_Curves]:
    """All of one input first, then those of two; powers, which are exponentials of logarithms, only with these."""
    positive = [i for i in columns if logarithms and np.all(problem.X[:, i] > 0)]
    logs: dict[int, Formula] = {i: Applied(Function.LOG, Input(i)) for i in positive}
    for i in columns:
        yield _damped(problem, Input(i), Input(i))
        yield _peak(problem, i)
        yield _step(problem, i)
        yield _shifted_power(problem, i)
        yield _two_exponentials(problem, Input(i))
        yield _two_waves(problem, Input(i))
        yield _damped(problem, monomial((i, 2)), Input(i))
        if i in logs:
            yield _two_exponentials(problem, logs[i])
            yield _damped(problem, logs[i], Input(i))
    for i, j in permutations(columns, 2):
        yield _damped(problem, Input(i), Input(j))
        yield _damped(problem, monomial((i, 2)), Input(j))
    for i, j in combinations(columns, 2):
        yield _waves_multiplied(problem, Input(i), Input(j))


def _exponential(argument: Formula, rate: float) -> Formula:
    return Applied(Function.EXP, WeightedSum(((rate, argument),)))


def _growth(rates: Array, values: Array) -> Array:
    """exp(rate * value) as shares of its largest value, so that nothing overflows."""
    argument = rates * values
    return np.asarray(np.exp(argument - np.max(argument, axis=1, keepdims=True)))


def _of_each(numbers: Array, function: Callable[[Array], Array]) -> Array:
    """The function of numbers `(k, 1)` at the rows, `(k, rows)`, computed once for each different number."""
    different, which = np.unique(numbers, return_inverse=True)
    return function(different[:, None])[which.ravel()]


def _both_waves(turns: Array, values: Array) -> list[Array]:
    """Sines and cosines."""
    return [
        _of_each(turns, lambda each: np.sin(each * values)),
        _of_each(turns, lambda each: np.cos(each * values)),
    ]


def _rates(problem: Problem, argument: Formula) -> Array:
    """Rates at which an exponential goes from nearly a line to a jump, of both signs."""
    sizes = np.geomspace(*SETTINGS.rate_scan) / (float(np.ptp(evaluate(argument, problem.X))) or 1.0)
    return np.concatenate([-sizes[::-1], sizes])


def _turns(problem: Problem, argument: Formula, scan: tuple[float, float, float] = SETTINGS.turn_scan) -> Array:
    """Radians for a unit of the argument."""
    return np.arange(*scan) / (float(np.ptp(evaluate(argument, problem.X))) or 1.0)


def _both(first: Array, second: Array) -> Array:
    return np.array(list(every(first, second)))


def _sines(argument: Formula, scale: float) -> list[Formula]:
    """The sine and the cosine of a scaled argument."""
    angle = total([(scale, argument)])
    return [Applied(Function.SIN, angle), Applied(Function.COS, angle)]


def _damped(problem: Problem, grown: Formula, waved: Formula) -> _Curves:
    """exp(a u) * sin(b v + p)."""

    def parts(a: Array, b: Array, X: Array) -> list[Array]:
        envelope = _of_each(a, lambda rates: _growth(rates, evaluate(grown, X)))
        return [envelope * wave for wave in _both_waves(b, evaluate(waved, X))]

    def written(a: float, b: float, fit: Fit) -> Iterator[Formula]:
        envelope = _exponential(grown, a)
        if found := fit([product([(envelope, 1), (wave, 1)]) for wave in _sines(waved, b)]):
            for size, wave in turned(waved, b, found.weights, problem.blur):
                yield from found.formulas([(size, product([(envelope, 1), (wave, 1)]))])

    own = inputs(grown) == inputs(waved)
    turns = _turns(problem, waved, SETTINGS.turn_scan if own else SETTINGS.turn_scan_of_two)
    pairs = _both(_rates(problem, grown), turns)
    return _Curves((Function.EXP, Function.SIN, Function.COS), pairs, parts, written)


def _two_exponentials(problem: Problem, argument: Formula) -> _Curves:
    """exp(a u) and exp(b u): two decays, or two powers if u is a logarithm."""

    def parts(a: Array, b: Array, X: Array) -> list[Array]:
        values = evaluate(argument, X)
        return [_of_each(rate, lambda rates: _growth(rates, values)) for rate in (a, b)]

    def written(a: float, b: float, fit: Fit) -> Iterator[Formula]:
        terms = [_exponential(argument, rate) for rate in (a, b)]
        if found := fit(terms):
            yield from found.formulas(zip(found.weights, terms, strict=True))

    pairs = np.array(list(combinations(_rates(problem, argument), 2)))
    return _Curves((Function.EXP,), pairs, parts, written)


def _two_waves(problem: Problem, argument: Formula) -> _Curves:
    """sin(a u + p) and sin(b u + q)."""

    def parts(a: Array, b: Array, X: Array) -> list[Array]:
        values = evaluate(argument, X)
        return [*_both_waves(a, values), *_both_waves(b, values)]

    def written(a: float, b: float, fit: Fit) -> Iterator[Formula]:
        if found := fit([*_sines(argument, a), *_sines(argument, b)]):
            one, other = (
                turned(argument, a, found.weights[:2], problem.blur),
                turned(argument, b, found.weights[2:], problem.blur),
            )
            for both in every(one, other):
                yield from found.formulas(both)

    turns = _turns(problem, argument)
    pairs = np.array([(a, b) for a, b in every(_strongest(problem, argument, turns), turns) if a != b])
    return _Curves((Function.SIN, Function.COS), pairs, parts, written)


def _strongest(problem: Problem, argument: Formula, turns: Array) -> Array:
    """The turns whose waves, each alone, the target holds most of."""
    u, y = evaluate(argument, problem.X)[:, None], problem.y - np.mean(problem.y)
    power = np.abs(y @ np.exp(1j * u * turns))
    return turns[np.argsort(-power, kind="stable")[: SETTINGS.strongest]]


def _waves_multiplied(problem: Problem, one: Formula, other: Formula) -> _Curves:
    """sin(a u + p) * sin(b v + q), or a wave that travels: sin(a u + b v + p)."""

    def parts(a: Array, b: Array, X: Array) -> list[Array]:
        return [u * v for u, v in every(_both_waves(a, evaluate(one, X)), _both_waves(b, evaluate(other, X)))]

    def written(a: float, b: float, fit: Fit) -> Iterator[Formula]:
        found = fit([product([(f, 1), (g, 1)]) for f, g in every(_sines(one, a), _sines(other, b))])
        if not found:
            return
        (ss, sc), (cs, cc) = weights = np.reshape(found.weights, (2, 2))
        left, sizes, right = np.linalg.svd(weights)
        if sizes[1] < problem.reach(SETTINGS.close) * sizes[0]:
            first, second = turned(one, a, left[:, 0], problem.blur), turned(other, b, right[0], problem.blur)
            for (s, wave), (t, beside) in every(first, second):
                yield from found.formulas([(s * t * float(sizes[0]), product([(wave, 1), (beside, 1)]))])
        for sign in (1, -1):  # sin(u + v) = sin(u)cos(v) + cos(u)sin(v), cos(u + v) = cos(u)cos(v) - sin(u)sin(v)
            sine, cosine = (sc + sign * cs) / 2, (cc - sign * ss) / 2
            if np.hypot(sine, cosine) > np.linalg.norm(weights) / 2:
                angle = total([(a, one), (sign * b, other)])
                for travelling in turned(angle, 1.0, (sine, cosine), problem.blur):
                    yield from found.formulas([travelling])

    scan = SETTINGS.turn_scan_of_two
    pairs = _both(_turns(problem, one, scan), _turns(problem, other, scan))
    return _Curves((Function.SIN, Function.COS), pairs, parts, written)


def _centres_and_widths(problem: Problem, column: int) -> Array:
    """Centres within the data, and widths from a small part of their range to several times that."""
    x = problem.X[:, column]
    centres = np.quantile(x, (np.arange(SETTINGS.centres) + 0.5) / SETTINGS.centres)
    return _both(centres, np.geomspace(*SETTINGS.width_scan) * float(np.ptp(x)))


def _shifted_power(problem: Problem, column: int) -> _Curves:
    """(x + a) ** b, with a base that is positive at every row."""
    x = problem.X[:, column]

    def parts(a: Array, b: Array, X: Array) -> list[Array]:
        return [_growth(b, np.log(X[:, column] + a))]

    def written(a: float, b: float, fit: Fit) -> Iterator[Formula]:
        term = _exponential(Applied(Function.LOG, WeightedSum(((Fraction(1), Input(column)), (a, ONE)))), b)
        if found := fit([term]):
            yield from found.formulas([(found.weights[0], term)])

    shifts = np.geomspace(*SETTINGS.shift_scan) * float(np.ptp(x)) - float(np.min(x))
    exponents = np.array(SETTINGS.shifted_exponents)
    pairs = _both(shifts, np.concatenate([-exponents, exponents]))
    return _Curves((Function.EXP, Function.LOG), pairs, parts, written)


def _peak(problem: Problem, column: int) -> _Curves:
    """exp(-((x - a) / b) ** 2)."""

    def parts(a: Array, b: Array, X: Array) -> list[Array]:
        return [np.exp(-(((X[:, column] - a) / b) ** 2))]

    def written(a: float, b: float, fit: Fit) -> Iterator[Formula]:
        away = WeightedSum(((Fraction(1), Input(column)), (-a, ONE)))
        term = _exponential(product([(away, 2)]), -1 / b**2)
        if found := fit([term]):
            yield from found.formulas([(found.weights[0], term)])

    return _Curves((Function.EXP,), _centres_and_widths(problem, column), parts, written)


def _step(problem: Problem, column: int) -> _Curves:
    """1 / (1 + exp(-(x - a) / b)), the logistic curve; with another constant beside it, tanh((x - a) / (2 b))."""

    def parts(a: Array, b: Array, X: Array) -> list[Array]:
        return [np.tanh((X[:, column] - a) / (2 * b))]

    def written(a: float, b: float, fit: Fit) -> Iterator[Formula]:
        falling = Applied(Function.EXP, WeightedSum(((-1 / b, Input(column)), (a / b, ONE))))
        logistic = product([(total([(Fraction(1), ONE), (Fraction(1), falling)]), -1)])
        odd = Applied(Function.TANH, WeightedSum(((0.5 / b, Input(column)), (-0.5 * a / b, ONE))))
        for term in (odd, logistic):
            if found := fit([term]):
                yield from found.formulas([(found.weights[0], term)])

    return _Curves((Function.EXP, Function.TANH), _centres_and_widths(problem, column), parts, written)
