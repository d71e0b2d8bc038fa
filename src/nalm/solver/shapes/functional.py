"""Elementary functions, inside a formula and around it, met with the arithmetic shapes.

- around: if y = f(u), then the inverse of f takes the target to u, and u is searched by arithmetic shapes;
- inside: a function of a small tree becomes one more column; which of hundreds is worth a search, one regression each
  decides;
- beside powers: y = c * prod(x_i ** e_i) * h(k * m), m a monomial: logarithms make it a sum with one unknown, k;
- with unknown scale and phase: y = sum(w_i * x_i) + a * x_j * sin(w x + p), one scan over w.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, permutations
from itertools import product as every

import numpy as np

from nalm.solver.data.problem import Problem
from nalm.solver.formula.algebra import ONE, Applied, Formula, Input, WeightedSum, inputs, product, total
from nalm.solver.formula.calculus import Array, Indices, evaluate
from nalm.solver.formula.functions import Function, undone, value_of
from nalm.solver.settings import SETTINGS
from nalm.solver.shapes.beam import Beam
from nalm.solver.shapes.derived import derived
from nalm.solver.shapes.shape import Groups

Arithmetic = Callable[[Problem], Groups]
"""The arithmetic shapes that a derived problem is searched with."""

HALF, TWO = Fraction(1, 2), Fraction(2)
INSIDE = (Function.SIN, Function.COS, Function.EXP, Function.LOG, Function.TANH, Function.TAN, Function.ATAN)
INSIDE_MORE = (Function.ASIN, Function.ACOS, Function.ABS)


def around(problem: Problem, chosen: Sequence[Function], arithmetic: Arithmetic) -> Groups:
    """Formulas `f(u)` with an arithmetic u; for the exponential u may also hold logarithms, so that powers stand beside
    it, and for an inverse function u may hold sines and cosines of inputs."""
    for function in chosen:
        target = undone(function, problem.y)
        if target is None or np.ptp(target) == 0 or not np.allclose(value_of(function, target), problem.y, rtol=1e-9):
            continue  # no argument on the main branch gives these values
        for columns in _columns_below(problem, function):
            found = derived(problem, columns, target)
            if found is not None:
                for group in arithmetic(found.problem):
                    yield (Applied(function, formula) for formula in found.back(group))


def _columns_below(problem: Problem, function: Function) -> Iterator[list[Formula]]:
    plain: list[Formula] = [Input(i) for i in range(problem.columns)]
    yield plain
    if function is Function.EXP:
        positive = [i for i in range(problem.columns) if np.all(problem.X[:, i] > 0)]
        if positive:
            yield [*plain, *(Applied(Function.LOG, Input(i)) for i in positive)]
    if function in (Function.ASIN, Function.ACOS, Function.ATAN):
        for i, wave in every(range(problem.columns), (Function.SIN, Function.COS)):
            yield [*plain[:i], *plain[i + 1 :], Applied(wave, Input(i))]


def inside(
    problem: Problem, columns: Indices, chosen: Sequence[Function], cheap: Arithmetic, more: Arithmetic
) -> Groups:
    """Formulas that hold one function of a small tree as if it were an input, in the place of the inputs it reads.

    All promising functions are searched with the cheap shapes before any is searched with more.
    """
    features = _finite(problem, _features(columns, chosen))
    telling = _most_telling(problem, features)
    for arithmetic, views in ((cheap, (_others, _every, _roots)), (more, (_others,))):
        for feature, view in every(telling, views):
            found = derived(problem, [*view(problem, inputs(feature)), feature])
            if found is not None:
                for group in arithmetic(found.problem):
                    yield found.back(group)


def _others(problem: Problem, read: frozenset[int]) -> list[Formula]:
    return [Input(i) for i in range(problem.columns) if i not in read]


def _every(problem: Problem, read: frozenset[int]) -> list[Formula]:
    return [*_others(problem, read), *(Input(i) for i in sorted(read))]


def _roots(problem: Problem, read: frozenset[int]) -> list[Formula]:
    """Square roots of the other inputs, which have roots of their own in sums of intensities and of squares."""
    positive = all(np.all(problem.X[:, i] > 0) for i in range(problem.columns) if i not in read)
    return [product([(x, HALF)]) for x in _others(problem, read)] if positive else []


def _finite(problem: Problem, features: Iterable[Formula]) -> list[Formula]:
    """Features with a value at every row and more than one value; of those equal up to their sign, the first."""
    kept: dict[tuple[float, ...], Formula] = {}
    for feature in features:
        values = evaluate(feature, problem.X)
        if np.isfinite(values).all() and np.ptp(values) > 0:
            few = values[: SETTINGS.probes] * (-1 if values[0] < 0 else 1)
            kept.setdefault(tuple(float(f"{v:.9g}") for v in few), feature)
    return list(kept.values())


def product_with_functions(problem: Problem, columns: Indices, chosen: Sequence[Function]) -> Groups:
    """Formulas `c * prod(x_i ** e_i) * f(u) ** a * g(v) ** b ...` with up to three functions of small trees."""
    yield _products_with_functions(problem, columns, chosen)


def _products_with_functions(problem: Problem, columns: Indices, chosen: Sequence[Function]) -> Iterator[Formula]:
    if np.any(problem.y == 0) or np.any(problem.X == 0) or problem.rows < problem.columns + 12:
        return
    features = [*_finite(problem, _features(columns, chosen)), *_gaps(columns)]
    with np.errstate(all="ignore"):
        logs = np.stack([np.log(np.abs(evaluate(f, problem.X))) for f in features], axis=1)
    usable = np.flatnonzero(np.isfinite(logs).all(axis=0))
    base = np.column_stack([np.log(np.abs(problem.X)), np.ones(problem.rows)])
    target = np.log(np.abs(problem.y))
    basis = np.linalg.qr(base)[0]
    left = logs[:, usable] - basis @ (basis.T @ logs[:, usable])
    fresh = np.linalg.norm(left, axis=0)
    usable, left, fresh = usable[fresh > 1e-6], left[:, fresh > 1e-6], fresh[fresh > 1e-6]
    rest = target - basis @ (basis.T @ target)
    height = float(np.linalg.norm(rest))
    if not len(usable) or not height > 0:
        return
    beam = Beam(left / fresh, rest / height)
    bar = max(SETTINGS.close, SETTINGS.rounded * float(np.sqrt(problem.rows)) / height, 3 * problem.blur)
    for size in range(1, SETTINGS.functions_in_product + 1):
        supports, errors = beam.lengthened(size, SETTINGS.pairs_kept)
        for support in supports[errors < bar]:
            trees = [features[int(usable[k])] for k in support]
            fitted = np.linalg.lstsq(np.column_stack([logs[:, usable[support]], base]), target, rcond=None)[0]
            yield from _powers(problem, trees, np.asarray(fitted, np.float64))


def _gaps(columns: Indices) -> list[Formula]:
    """Sums and differences of two inputs, which stand beside functions of them."""
    pairs = combinations([int(i) for i in columns], 2)
    return [total([(Fraction(1), Input(i)), (Fraction(s), Input(j))]) for i, j in pairs for s in (1, -1)]


def _powers(problem: Problem, trees: list[Formula], fitted: Array) -> Iterator[Formula]:
    """The product with exponents rounded to halves, and the factor in front."""
    halves = np.round(fitted[:-1] * 2) / 2
    if np.max(np.abs(fitted[:-1] - halves)) > 0.05 or np.max(np.abs(halves)) > 12:
        return
    bodies = [*trees, *(Input(i) for i in range(problem.columns))]
    body = product((b, Fraction(float(e))) for b, e in zip(bodies, halves, strict=True) if e)
    ratio = problem.y / evaluate(body, problem.X)
    if np.all(np.isfinite(ratio)) and np.median(ratio) != 0:
        yield WeightedSum(((float(np.median(ratio)), body),))


def _features(columns: Indices, chosen: Sequence[Function]) -> Iterator[Formula]:
    for function in chosen:
        for argument in _arguments([int(i) for i in columns]):
            if function in INSIDE or isinstance(argument, Input):
                yield Applied(function, argument)


def _arguments(columns: list[int]) -> Iterator[Formula]:
    """Small trees as they stand in functions: inputs, twice and half of them, squares, and two or three joined."""
    single: list[Formula] = [Input(i) for i in columns]
    yield from single
    yield from (total([(factor, x)]) for x in single for factor in (HALF, TWO, Fraction(-1)))
    yield from (product([(x, power)]) for x in single for power in (2, 3, HALF, -1))
    yield from (total([(Fraction(-1), product([(x, 2)]))]) for x in single)
    yield from (total([(Fraction(1), x), (Fraction(1), product([(x, 2)]))]) for x in single)
    yield from (total([(Fraction(1), product([(x, power)])), (Fraction(1), ONE)]) for x in single for power in (1, 2))
    for a, b in combinations(single, 2):
        pair = (
            total([(Fraction(1), a), (Fraction(-1), b)]),
            total([(Fraction(1), a), (Fraction(1), b)]),
            product([(a, 1), (b, 1)]),
        )
        yield from pair
        yield from (total([(HALF, tree)]) for tree in pair)
        yield total([(Fraction(-1), product([(a, 1), (b, 1)]))])
    for a, b in permutations(single, 2):
        yield product([(a, 1), (b, -1)])
        yield total([(Fraction(-1), product([(a, 1), (b, -1)]))])
    for c, (a, b) in every(single, combinations(single, 2)):
        if c not in (a, b):
            yield total([(HALF, product([(total([(Fraction(1), a), (Fraction(-1), b)]), 1), (c, 1)]))])


def _most_telling(problem: Problem, features: list[Formula]) -> list[Formula]:
    """The features that, beside a quadratic in all inputs and times another, explain most of the target.

    The target enters as it is and as its square, so that roots are seen as well.
    """
    rows = slice(0, SETTINGS.telling_rows)
    X = problem.X[rows]
    z = X / np.maximum(np.max(np.abs(X), axis=0), 1e-300)
    line = np.hstack([np.ones((len(z), 1)), z])
    i, j = np.triu_indices(z.shape[1])
    quadratic = np.hstack([line, z[:, i] * z[:, j]])
    multiples = quadratic if len(z) >= 3 * quadratic.shape[1] else line
    if not features or len(z) < quadratic.shape[1] + multiples.shape[1] + 4:
        return features[: SETTINGS.telling_features]
    basis = np.linalg.qr(quadratic)[0]
    values = np.stack([evaluate(feature, X) for feature in features])  # (features, rows)
    values = values / np.max(np.abs(values), axis=1, keepdims=True)
    times = values[:, :, None] * multiples  # (features, rows, multiples)
    left = times - basis @ (basis.T @ times)
    gram = left.transpose(0, 2, 1) @ left
    gram = gram + SETTINGS.telling_ridge * np.trace(gram, axis1=1, axis2=2)[:, None, None] * np.eye(multiples.shape[1])
    kept: list[int] = []
    for y in (problem.y[rows], problem.y[rows] ** 2):
        rest = y - basis @ (basis.T @ y)
        along = left.transpose(0, 2, 1) @ rest
        try:
            explained = np.sum(along * np.linalg.solve(gram, along[..., None])[..., 0], axis=1)
        except np.linalg.LinAlgError:
            continue
        ranked = np.argsort(-explained, kind="stable")[: SETTINGS.telling_features]
        kept += [int(k) for k in ranked]
    return [features[k] for k in dict.fromkeys(kept)]


def _left(design: Array, y: Array) -> float:
    """The share of the target that a regression leaves."""
    if len(design) <= design.shape[1] + 2:
        return np.inf
    basis = np.linalg.qr(design)[0]
    rest = y - basis @ (basis.T @ y)
    size = float(np.linalg.norm(y - y.mean()))
    return float(np.linalg.norm(rest)) / size if size > 0 else np.inf


@dataclass(frozen=True)
class _Profile:
    """A function of k * m that may stand beside powers: its logarithm at numbers, and as a formula."""

    log: Callable[[Array], Array]
    formula: Callable[[Formula], Formula]


def _exp(u: Formula) -> Formula:
    return Applied(Function.EXP, u)


def _negative(u: Formula) -> Formula:
    return total([(Fraction(-1), u)])


PROFILES = (
    _Profile(lambda a: a, _exp),
    _Profile(lambda a: np.log(np.abs(np.expm1(a))), lambda u: total([(Fraction(1), _exp(u)), (Fraction(-1), ONE)])),
    _Profile(lambda a: np.log(np.exp(a) + 1), lambda u: total([(Fraction(1), _exp(u)), (Fraction(1), ONE)])),
    _Profile(
        lambda a: np.log(2 * np.cosh(a)), lambda u: total([(Fraction(1), _exp(u)), (Fraction(1), _exp(_negative(u)))])
    ),
    _Profile(lambda a: np.log(np.abs(np.tanh(a))), lambda u: Applied(Function.TANH, u)),
    _Profile(lambda a: np.log(np.abs(np.sin(a))), lambda u: Applied(Function.SIN, u)),
    _Profile(lambda a: np.log(np.abs(np.cos(a))), lambda u: Applied(Function.COS, u)),
    _Profile(
        lambda a: np.log(np.abs(1 - np.cos(a))),
        lambda u: total([(Fraction(1), ONE), (Fraction(-1), Applied(Function.COS, u))]),
    ),
)
EXACT_SCALES = (1.0, 0.5, 2.0, np.pi, 2 * np.pi, 1 / (2 * np.pi))


def beside_powers(problem: Problem, columns: Indices) -> Groups:
    """Formulas `c * prod(x_i ** e_i) * h(k * m) ** e` with a monomial m and a function h such as exp(u) - 1."""
    yield _products_with_profile(problem, columns)


def _products_with_profile(problem: Problem, columns: Indices) -> Iterator[Formula]:
    if np.any(problem.y == 0) or np.any(problem.X <= 0) or problem.rows < problem.columns + 8:
        return
    base = np.column_stack([np.log(problem.X), np.ones(problem.rows)])
    basis = np.linalg.qr(base)[0]
    target = np.log(np.abs(problem.y))
    rest = target - basis @ (basis.T @ target)
    height = float(np.linalg.norm(rest))
    if not height > SETTINGS.rounded * np.sqrt(problem.rows):
        return
    monomials = list(_grid_monomials([int(i) for i in columns]))
    values = np.stack([evaluate(m, problem.X) for m in monomials], axis=1)
    found: list[tuple[float, _Profile, float, int]] = []
    for profile in PROFILES:
        scales = (1.0,) if profile is PROFILES[0] else EXACT_SCALES + tuple(_scale_scan(values))
        for scale in scales:
            with np.errstate(all="ignore"):
                logs = profile.log(scale * values)
            fine = np.flatnonzero(np.isfinite(logs).all(axis=0))
            left = logs[:, fine] - basis @ (basis.T @ logs[:, fine])
            fresh = np.linalg.norm(left, axis=0)
            with np.errstate(all="ignore"):
                error = 1 - np.abs(rest @ left) / (fresh * height)
            error[~(fresh > 1e-7 * np.sqrt(problem.rows))] = np.inf
            for k in np.argsort(error, kind="stable")[: SETTINGS.profiles_kept]:
                if error[k] < SETTINGS.profile_close:
                    found.append((float(error[k]), profile, scale, int(fine[k])))
    for _, profile, scale, number in sorted(found, key=lambda f: f[0])[: 4 * SETTINGS.profiles_kept]:
        yield from _with_profile(problem, profile, scale, monomials[number], values[:, number], base, target)


def _scale_scan(values: Array) -> Iterator[float]:
    """Scales at which a typical argument runs from small to a few."""
    typical = float(np.median(np.max(np.abs(values), axis=0)))
    yield from (float(s) / typical for s in np.geomspace(0.2, 12, 24))


def _with_profile(
    problem: Problem, profile: _Profile, scale: float, monomial: Formula, values: Array, base: Array, target: Array
) -> Iterator[Formula]:
    """The formula of a scale that is near: the scale is refined, then all exponents are fitted and rounded."""
    scale = scale if profile is PROFILES[0] else _refined_scale(profile, scale, values, base, target)
    logs = profile.log(scale * values)
    fitted = np.linalg.lstsq(np.column_stack([logs, base]), target, rcond=None)[0]
    if profile is PROFILES[0]:  # the exponential's scale and exponent are one number
        scale, fitted = float(fitted[0]), np.concatenate([[1.0], fitted[1:]])
    halves = np.round(fitted[:-1] * 2) / 2
    if np.max(np.abs(fitted[:-1] - halves)) > 0.06 or halves[0] == 0:
        return
    nearest = next((s for s in EXACT_SCALES[:3] if abs(abs(scale) / s - 1) < 1e-4), None)
    exact = None if nearest is None else Fraction(nearest).limit_denominator(2) * (1 if scale > 0 else -1)
    for number in ([exact] if exact is not None else []) + [float(scale)]:
        argument = WeightedSum(((number, monomial),)) if number != 1 else monomial
        powers = [(Input(i), Fraction(float(e))) for i, e in enumerate(halves[1:]) if e]
        body = product([(profile.formula(argument), Fraction(float(halves[0]))), *powers])
        ratio = problem.y / evaluate(body, problem.X)
        if np.all(np.isfinite(ratio)) and np.median(ratio) != 0:
            yield WeightedSum(((float(np.median(ratio)), body),))


def _refined_scale(profile: _Profile, scale: float, values: Array, base: Array, target: Array) -> float:
    """The scale near `scale` that leaves the least, by golden section."""

    def left(k: float) -> float:
        with np.errstate(all="ignore"):
            logs = profile.log(k * values)
        return _left(np.column_stack([base, logs]), target) if np.isfinite(logs).all() else np.inf

    low, high = 0.85 * scale, 1.15 * scale
    golden = (np.sqrt(5) - 1) / 2
    a, b = high - golden * (high - low), low + golden * (high - low)
    left_a, left_b = left(a), left(b)
    for _ in range(60):
        if left_a < left_b:
            high, b, left_b = b, a, left_a
            a = high - golden * (high - low)
            left_a = left(a)
        else:
            low, a, left_a = a, b, left_b
            b = low + golden * (high - low)
            left_b = left(b)
    middle = (low + high) / 2
    return scale if left(scale) <= left(middle) else float(middle)


def _grid_monomials(columns: list[int]) -> Iterator[Formula]:
    """Products with exponents -1, 0, 1 of all columns, and their squares; one sign of each, as h knows k's sign."""
    for exponents in every((0, 1, -1), repeat=len(columns)):
        first = next((e for e in exponents if e), 0)
        if first:
            factors = [(Input(i), e) for i, e in zip(columns, exponents, strict=True) if e]
            yield product(factors)
            yield product([(f, 2 * e) for f, e in factors])
    for i, j in permutations(columns, 2):
        for power in (1, 2):
            gap = total([(Fraction(1), Input(i)), (Fraction(-1), Input(j))])
            for k in columns:
                if k not in (i, j) and i < j:
                    yield product([(gap, power), (Input(k), -power)])


def waves(problem: Problem, columns: Indices, chosen: Sequence[Function]) -> Groups:
    """Formulas `c + sum(w_i * x_i) + a * x_j ** e * f(k x_i + p)`: sine with a phase, exponential, tanh."""
    for i in (int(c) for c in columns):
        yield _waves_of(problem, i, chosen)


def _waves_of(problem: Problem, column: int, chosen: Sequence[Function]) -> Iterator[Formula]:
    x = problem.X[:, column]
    reach, distinct = float(np.ptp(x)), len(np.unique(x))
    if reach == 0 or distinct < SETTINGS.wave_points or problem.rows < problem.columns + 12:
        return
    base = np.column_stack([np.ones(problem.rows), problem.X])
    factors: list[tuple[Formula, Array]] = [(ONE, np.ones(problem.rows))]
    factors += [(Input(j), problem.X[:, j]) for j in range(problem.columns)]
    most = min(np.pi * distinct / 2, SETTINGS.wave_scales)  # two points for each half wave
    sizes = np.geomspace(0.05, 30, 40)
    grids = {
        Function.SIN: np.arange(0.5, most, 0.5) / reach,
        Function.EXP: np.concatenate([-sizes[::-1], sizes]) / reach,
        Function.TANH: sizes / reach,
    }
    for function, (factor, values) in every([f for f in grids if f in chosen], factors):
        scan = _Scan(base, values, x, problem.y, function)
        scale = scan.best(grids[function])
        if scale is not None and function is Function.SIN:
            yield from _sine(problem, base, factor, values, column, scale)
        elif scale is not None:
            yield from _other(problem, base, factor, values, column, scale, function)


class _Scan:
    """What a wave of each scale leaves of the target, beside a base of other terms that is projected out once."""

    def __init__(self, base: Array, factor: Array, x: Array, y: Array, function: Function) -> None:
        rows = slice(0, SETTINGS.telling_rows)
        self.basis = np.linalg.qr(base[rows])[0]
        self.factor, self.x, self.function = factor[rows, None], x[rows, None], function
        rest = y[rows] - self.basis @ (self.basis.T @ y[rows])
        height = float(np.linalg.norm(rest))
        self.rest = rest / height if height > 0 else rest

    def best(self, grid: Array) -> float | None:
        """The scale that leaves least, refined between its neighbours; None if no wave is there."""
        left = self._left(grid)
        place = int(np.argmin(left))
        if not left[place] < SETTINGS.wave_close:
            return None
        for _ in range(4):  # rounds of a finer grid: to a millionth of the first step
            low, high = grid[max(place - 1, 0)], grid[min(place + 1, len(grid) - 1)]
            grid = np.linspace(low, high, 61)
            place = int(np.argmin(self._left(grid)))
        return float(grid[place])

    def _left(self, scales: Array) -> Array:
        """The relative error for each scale: from one column, or from two for a sine of any phase."""
        with np.errstate(all="ignore"):
            argument = self.x * scales
            if self.function is Function.EXP:  # from its largest value down, so that nothing overflows
                columns = [np.exp(argument - np.max(argument, axis=0))]
            elif self.function is Function.TANH:
                columns = [np.tanh(argument)]
            else:
                columns = [np.sin(argument), np.cos(argument)]
            fresh = [self._fresh(self.factor * column) for column in columns]
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
