"""Powers of inputs times h(k * m), m a monomial and k unknown: exp(u) - 1, cosh(u), sin(u) and others as h."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, permutations
from itertools import product as every

import numpy as np

from nalm.solver.data.problem import Problem
from nalm.solver.formula.algebra import (
    ONE,
    Applied,
    Formula,
    Input,
    PowerProduct,
    WeightedSum,
    monomial,
    product,
    total,
)
from nalm.solver.formula.calculus import Array, Indices, evaluate
from nalm.solver.formula.functions import Function
from nalm.solver.settings import SETTINGS
from nalm.solver.shapes.linear import least_squares, snap
from nalm.solver.shapes.shape import Groups


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
    _Profile(
        lambda a: np.maximum(a, 0) + np.log(-np.expm1(-np.abs(a))),  # exp(a) may be no number
        lambda u: total([(Fraction(1), _exp(u)), (Fraction(-1), ONE)]),
    ),
    _Profile(
        lambda a: np.maximum(-a, 0) + np.log(-np.expm1(-np.abs(a))),
        lambda u: total([(Fraction(1), ONE), (Fraction(-1), _exp(_negative(u)))]),
    ),
    _Profile(
        lambda a: np.maximum(a, 0) + np.log1p(np.exp(-np.abs(a))),
        lambda u: total([(Fraction(1), _exp(u)), (Fraction(1), ONE)]),
    ),
    _Profile(
        lambda a: np.abs(a) + np.log1p(np.exp(-2 * np.abs(a))),
        lambda u: total([(Fraction(1), _exp(u)), (Fraction(1), _exp(_negative(u)))]),
    ),
    _Profile(
        lambda a: np.abs(a) + np.log(-np.expm1(-2 * np.abs(a))),
        lambda u: total([(Fraction(1), _exp(u)), (Fraction(-1), _exp(_negative(u)))]),
    ),
    _Profile(lambda a: np.log(np.abs(np.tanh(a))), lambda u: Applied(Function.TANH, u)),
    _Profile(lambda a: np.log(np.abs(np.sin(a))), lambda u: Applied(Function.SIN, u)),
    _Profile(lambda a: np.log(np.abs(np.cos(a))), lambda u: Applied(Function.COS, u)),
    _Profile(
        lambda a: np.log(np.abs(1 - np.cos(a))),
        lambda u: total([(Fraction(1), ONE), (Fraction(-1), Applied(Function.COS, u))]),
    ),
)


POWERS_IN_NOISE = (1, -1, 2, -2)
"""Under noise a free power trades against the scale: exp(u) - 1 to the minus fifth looks like exp(-8 u)."""

EXACT_SCALES = (1.0, 0.5, 2.0, np.pi, 2 * np.pi, 1 / (2 * np.pi))


def beside_powers(problem: Problem, columns: Indices) -> Groups:
    """Formulas `c * prod(x_i ** e_i) * h(k * m) ** e` with a monomial m and a function h such as exp(u) - 1."""
    yield _products_with_profile(problem, columns)


def _products_with_profile(problem: Problem, columns: Indices) -> Iterator[Formula]:
    if np.any(problem.y == 0) or np.any(problem.X == 0) or problem.rows < problem.columns + SETTINGS.spare_rows:
        return
    sharpest = np.argsort(-problem.log_weights, kind="stable")  # all alike without noise
    rough_rows, rows = (sharpest[: n + problem.columns + 1] for n in (SETTINGS.rough_rows, SETTINGS.scanned_rows))
    monomials, usual = _monomials(tuple(int(i) for i in columns))
    values = _values(monomials, problem.X[rows])
    scan = _Scan(problem.of_rows(rows), values, "float64")
    rough = _Scan(problem.of_rows(rough_rows), values[: len(rough_rows)], "float32")
    if not scan.height > SETTINGS.rounded * np.sqrt(len(rows)):
        return
    scanned = [np.full(usual, scale) for scale in EXACT_SCALES] + list(_scale_scan(values[:, :usual]))
    found: list[_Near] = []
    for profile in PROFILES:
        near: list[_Near] = []
        is_exponential = profile is PROFILES[0]
        powers = POWERS_IN_NOISE if problem.noisy and not is_exponential else (None,)
        # An exponential needs no scan, as its scale is a coefficient, so there is time for more arguments.
        for scales in [np.ones(len(monomials))] if is_exponential else scanned:
            likely = np.arange(len(scales))
            if not is_exponential:  # no power comes nearer than a free one
                likely = likely[rough.errors(profile, scales, likely, (None,))[0] < SETTINGS.profile_likely]
            for power, errors in zip(powers, scan.errors(profile, scales, likely, powers), strict=True):
                for k in np.argsort(errors, kind="stable")[: SETTINGS.profiles_kept]:
                    if errors[k] < SETTINGS.profile_close:
                        chosen = int(likely[k])
                        near.append(_Near(float(errors[k]), profile, float(scales[chosen]), monomials[chosen], power))
        # Under noise every function comes near with some scale, so each has its turn.
        found += sorted(near, key=lambda n: n.error)[: SETTINGS.profiles_kept if problem.noisy else None]
    for close in sorted(found, key=lambda n: n.error)[: None if problem.noisy else 4 * SETTINGS.profiles_kept]:
        yield from _with_profile(problem, close)


class _Scan:
    """How near functions of scaled monomials come to the target at some rows, beside the logarithms of the inputs.

    Few rows in float32 turn down nearly all of them: a sine takes fifty times as long in float64.
    """

    def __init__(self, some: Problem, values: Array, precision: str) -> None:
        base, target = logarithms(some)
        basis = np.linalg.qr(base)[0]
        rest = target - basis @ (basis.T @ target)
        self.height = float(np.linalg.norm(rest))
        self.values, self.weights = values, some.log_weights[:, None].astype(precision)
        self.basis, self.rest = basis.astype(precision), rest.astype(precision)
        # Of a logarithm, beside those of the inputs, rounding leaves a few times this for each unit of its length.
        self.unclear = SETTINGS.rough_unclear if precision == "float32" else 0.0

    def errors(self, profile: _Profile, scales: Array, which: Indices, powers: Sequence[int | None]) -> Array:
        """One minus the correlation, `(powers, which)`, of the target with a function of each of some monomials; 0
        where rounding hides it, infinite without values or where the logarithms of the inputs are all there is."""
        if not len(which):
            return np.zeros((len(powers), 0))
        with np.errstate(all="ignore"):
            argument = (scales[which] * self.values[:, which]).astype(self.basis.dtype)
            logs = profile.log(argument) * self.weights
            left = logs - self.basis @ (self.basis.T @ logs)
            fresh = np.linalg.norm(left, axis=0)
            along = self.rest @ left
            errors = np.stack([1 - _correlation(along, fresh, self.height, power) for power in powers])
            root = np.sqrt(len(logs))
            errors[:, fresh <= self.unclear * (np.linalg.norm(logs, axis=0) + root)] = 0.0
            errors[:, ~(fresh > SETTINGS.fresh_logarithm * root)] = np.inf
        return errors


@dataclass(frozen=True)
class _Near:
    """A function of a scaled monomial that is near, and the power it stands in; None for any."""

    error: float
    profile: _Profile
    scale: float
    monomial: Formula
    power: int | None


def _correlation(along: Array, fresh: Array, height: float, power: int | None) -> Array:
    """Of the target with functions, or what it would be for the error they leave in one power.

    Args:
        along: the products of what is left of the target and of the functions, `(functions,)`.
        fresh: the lengths of what is left of the functions.
        height: that of the target.
    """
    if power is None:
        return np.abs(along) / (fresh * height)
    error = 1 - 2 * power * along / height**2 + power**2 * (fresh / height) ** 2
    return np.sqrt(np.maximum(1 - error, 0))


def logarithms(problem: Problem) -> tuple[Array, Array]:
    """Logarithms of the inputs, with a column of ones, and of the target, each row times its weight."""
    weights = problem.log_weights
    base = np.column_stack([np.log(np.abs(problem.X)), np.ones(problem.rows)])
    return base * weights[:, None], np.log(np.abs(problem.y)) * weights


def _scale_scan(values: Array) -> Iterator[Array]:
    """Scales of every monomial, `(monomials,)`, at which a typical argument runs from small to a few.

    Each has its own: a wavelength times a temperature is a thousandth, its inverse a thousand.
    """
    with np.errstate(all="ignore"):
        typical = np.median(np.abs(values), axis=0)
        yield from (size / typical for size in np.geomspace(*SETTINGS.profile_scan))


def _with_profile(problem: Problem, near: _Near) -> Iterator[Formula]:
    """The formula of a scale that is near: the scale is refined, then all exponents are fitted and rounded."""
    base, target = logarithms(problem)
    profile, scale, monomial = near.profile, near.scale, near.monomial
    values, weights = evaluate(monomial, problem.X), problem.log_weights

    def logs_at(k: float) -> Array:
        with np.errstate(all="ignore"):
            return np.asarray(profile.log(k * values) * weights)

    scale = scale if profile is PROFILES[0] else _refined_scale(logs_at, scale, base, target, near.power)
    logs = logs_at(scale)
    if not np.isfinite(logs).all():  # the scan saw a part of the rows; at another one the function may be 0
        return
    if near.power is not None:
        halves = np.concatenate([[float(near.power)], _halves(base[:, -1:], base[:, :-1], target - near.power * logs)])
    else:
        fitted = least_squares(np.column_stack([logs, base]), target)
        if profile is PROFILES[0]:  # the exponential's scale and exponent are one number
            scale, fitted = float(fitted[0]), np.concatenate([[1.0], fitted[1:]])
        halves = np.round(fitted[:-1] * 2) / 2
        if problem.noisy:
            halves[1:] = _halves(np.column_stack([base[:, -1], logs]), base[:, :-1], target)
        if np.max(np.abs(fitted[:-1] - halves)) > SETTINGS.nearly_half + problem.blur or halves[0] == 0:
            return
    if not np.isfinite(halves).all():
        return
    nearest = next((s for s in EXACT_SCALES[:3] if abs(abs(scale) / s - 1) < SETTINGS.exact_scale), None)
    exact = None if nearest is None else Fraction(nearest).limit_denominator(2) * (1 if scale > 0 else -1)
    for number in ([exact] if exact is not None else []) + [float(scale)]:
        argument = WeightedSum(((number, monomial),)) if number != 1 else monomial
        powers = [(Input(i), Fraction(float(e))) for i, e in enumerate(halves[1:]) if e]
        body = product([(profile.formula(argument), Fraction(float(halves[0]))), *powers])
        ratio = problem.y / evaluate(body, problem.X)
        if np.all(np.isfinite(ratio)) and np.median(ratio) != 0:
            yield WeightedSum(((float(np.median(ratio)), body),))


def _halves(real: Array, rounded: Array, target: Array) -> Array:
    """Exponents of the columns of `rounded`, made halves one after another; the others and `real` are refitted."""
    basis = np.linalg.qr(real)[0]
    return snap(rounded - basis @ (basis.T @ rounded), target - basis @ (basis.T @ target), step=0.5)


def _refined_scale(
    logs_at: Callable[[float], Array], scale: float, base: Array, target: Array, power: int | None
) -> float:
    """The scale near `scale` that leaves the least, in one power if one is given, by golden section."""

    def left(k: float) -> float:
        logs = logs_at(k)
        if not np.isfinite(logs).all():
            return np.inf
        # What is left counts as it is, not as a share of what there is to explain, which also depends on the scale.
        return _left(np.column_stack([base, logs]), target) if power is None else _left(base, target - power * logs)

    low, high = (1 - SETTINGS.profile_neighbour) * scale, (1 + SETTINGS.profile_neighbour) * scale
    golden = (np.sqrt(5) - 1) / 2
    a, b = high - golden * (high - low), low + golden * (high - low)
    left_a, left_b = left(a), left(b)
    for _ in range(SETTINGS.profile_rounds):
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


def _left(design: Array, y: Array) -> float:
    """The size of what a regression leaves of the target."""
    if len(design) <= design.shape[1] + 2:
        return np.inf
    basis = np.linalg.qr(design)[0]
    return float(np.linalg.norm(y - basis @ (basis.T @ y)))


@lru_cache(maxsize=4)  # the same without noise and with it
def _monomials(columns: tuple[int, ...]) -> tuple[tuple[Formula, ...], int]:
    """All arguments that are tried, and how many of them at every scale."""
    usual = list(_grid_monomials(list(columns)))
    return (*usual, *_squares_beside_two(list(columns))), len(usual)


def _values(monomials: Sequence[Formula], X: Array) -> Array:
    """At rows without zeros, `(rows, monomials)`: products of inputs as sums of logarithms, all at once."""
    exponents = np.zeros((X.shape[1], len(monomials)))
    others = []
    for k, formula in enumerate(monomials):
        factors = formula.factors if isinstance(formula, PowerProduct) else ((formula, 1),)
        for factor, exponent in factors:
            if isinstance(factor, Input):
                exponents[factor.index, k] = exponent
            else:
                others.append(k)
    with np.errstate(all="ignore"):
        values = np.exp(np.log(np.abs(X)) @ exponents) * (1 - 2 * ((X < 0) @ exponents % 2))
    for k in others:
        values[:, k] = evaluate(monomials[k], X)
    return np.asarray(values)


def _grid_monomials(columns: list[int]) -> Iterator[Formula]:
    """Products with exponents -1, 0, 1 of all columns, their squares, and one column's square beside another."""
    for exponents in every((0, 1, -1), repeat=len(columns)):
        first = next((e for e in exponents if e), 0)
        if first:
            powers = [(i, e) for i, e in zip(columns, exponents, strict=True) if e]
            yield monomial(*powers)
            yield monomial(*((i, 2 * e) for i, e in powers))
    for (i, j), e, f in every(permutations(columns, 2), (2, -2), (1, -1)):
        yield monomial((i, e), (j, f))
    for i, j in permutations(columns, 2):
        for power in (1, 2):
            gap = total([(Fraction(1), Input(i)), (Fraction(-1), Input(j))])
            for k in columns:
                if k not in (i, j) and i < j:
                    yield product([(gap, power), (Input(k), -power)])


def _squares_beside_two(columns: list[int]) -> Iterator[Formula]:
    """x ** 2 / (D t), as it stands in Gaussians that spread, and m v ** 2 / T."""
    for i, e in every(columns, (2, -2)):
        for (j, k), f, g in every(combinations([c for c in columns if c != i], 2), (1, -1), (1, -1)):
            yield monomial((i, e), (j, f), (k, g))
