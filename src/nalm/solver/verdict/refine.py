"""The numbers of a formula: refined on the data, made exact where they are, written in the digits the data allow."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from nalm.solver.data.problem import Problem
from nalm.solver.formula.algebra import (
    Applied,
    Formula,
    Number,
    PowerProduct,
    WeightedSum,
    real_constants,
    simplified,
    total,
    with_constants,
)
from nalm.solver.formula.calculus import Array, gradients
from nalm.solver.settings import SETTINGS


def refine(problem: Problem, formula: Formula, rounds: int = 3) -> tuple[Formula, Array]:
    """Gauss-Newton on the real constants with every row weighted by its tolerance, and their standard deviations.

    The weights matter: near a pole plain least squares sees only the pole.
    """
    spread = np.zeros(0)
    for _ in range(rounds):
        values = np.array(real_constants(formula))
        if not len(values):
            break
        now, by_input, by_constant = gradients(formula, problem.X)
        with np.errstate(all="ignore"):
            weight = 1 / problem.tolerance(by_input)
            design, misfit = by_constant * values * weight[:, None], (problem.y - now) * weight
        usable = np.isfinite(design).all(axis=1) & np.isfinite(misfit)
        if usable.sum() < max(len(values), 2):
            return formula, np.full(len(values), np.inf)
        step, _, rank, _ = np.linalg.lstsq(design[usable], misfit[usable], rcond=None)
        inverse = np.linalg.pinv(design[usable].T @ design[usable])
        left = misfit[usable] - design[usable] @ step
        scale = max(0.3, float(np.sqrt(np.mean(left**2))))
        spread = np.abs(values) * np.sqrt(np.maximum(np.diag(inverse), 0)) * scale
        if rank < len(values):
            return formula, np.full(len(values), np.inf)
        formula = with_constants(formula, [float(v) for v in values * (1 + step)])
    return formula, spread


def with_exact_constants(formula: Formula, spread: Array) -> Iterator[Formula]:
    """The formula with as many constants as possible made rational or shared, then fewer, last as it was."""
    values = real_constants(formula)
    nearest = [rational(value, deviation) for value, deviation in zip(values, spread, strict=True)]
    if any(exact is not None for exact in nearest):
        chosen: list[Number] = [v if exact is None else exact for v, exact in zip(values, nearest, strict=True)]
        yield simplified(with_constants(formula, chosen))
    if len(values) > 1 and (shared := _with_shared_factor(formula, dict(zip(values, spread, strict=True)))) != formula:
        yield shared
    yield formula


def _with_shared_factor(formula: Formula, spread: dict[float, float]) -> Formula:
    """Sums whose coefficients are all real and in simple ratios become one real factor times an exact sum."""
    match formula:
        case WeightedSum(terms):
            inner = [(c, _with_shared_factor(t, spread)) for c, t in terms]
            first = inner[0][0]
            ratios = [
                rational(c / first, (abs(c / first) * spread[first] + spread[c]) / abs(first))
                if isinstance(c, float) and isinstance(first, float)
                else None
                for c, _ in inner
            ]
            if len(inner) > 1 and None not in ratios:
                return WeightedSum(
                    ((first, total((r, t) for r, (_, t) in zip(ratios, inner, strict=True) if r is not None)),)
                )
            return WeightedSum(tuple(inner))
        case PowerProduct(factors):
            return PowerProduct(tuple((_with_shared_factor(f, spread), e) for f, e in factors))
        case Applied(function, argument):
            return Applied(function, _with_shared_factor(argument, spread))
        case _:
            return formula


def rational(value: float, deviation: float) -> Fraction | None:
    """The fraction with the smallest denominator that the data cannot tell from `value`, or None.

    A denominator q is believed only if fractions that fine are much further apart than the uncertainty.

    >>> rational(0.49999999, 1e-7), rational(0.4123, 1e-7), rational(0.4999, 0.1)
    (Fraction(1, 2), None, None)
    """
    reach = max(SETTINGS.fraction_reach * deviation, 1e-12 * abs(value))
    if not np.isfinite(value) or value == 0 or not reach < 1e15:
        return None
    for q in range(1, SETTINGS.largest_denominator + 1):
        p = round(value * q)
        if reach * q * q > SETTINGS.fraction_chance:
            return None
        if p and abs(value - p / q) <= reach:
            return Fraction(p, q)
    return None


def tidy(problem: Problem, formula: Formula, spread: Array) -> Formula:
    """The formula with its constants in the fewest digits that the data allow: 9.81 rather than 9.8100000503."""
    values = real_constants(formula)
    short = with_constants(formula, [_shortest(v, s) for v, s in zip(values, spread, strict=True)])
    return short if problem.holds(short) else formula


def _shortest(value: float, deviation: float) -> float:
    return next(
        (
            v
            for digits in range(1, 16)
            if abs((v := float(f"{value:.{digits}g}")) - value) <= SETTINGS.shortest_reach * deviation
        ),
        value,
    )
