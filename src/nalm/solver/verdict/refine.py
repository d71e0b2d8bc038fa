"""The numbers of a formula: refined on the data, made exact where they are, written in the digits the data allow."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from scipy import stats

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

USUAL = (Fraction(1), Fraction(2), Fraction(1, 2))
"""Numbers that every second law holds, with either sign."""


def refine(problem: Problem, formula: Formula, rounds: int = 3) -> tuple[Formula, Array]:
    """Gauss-Newton on the real constants with every row weighted by its tolerance, and their standard deviations.

    The weights matter: near a pole plain least squares sees only the pole.
    """
    spread = np.zeros(0)
    for rounds_left in reversed(range(rounds)):
        values = np.array(real_constants(formula))
        if not len(values):
            break
        now, by_input, by_constant = gradients(formula, problem.X)
        with np.errstate(all="ignore"):
            weight = 1 / problem.tolerance(by_input)
            design, misfit = by_constant * values * weight[:, None], (problem.y - now) * weight
        usable = np.isfinite(design).all(axis=1) & np.isfinite(misfit)
        length = np.max(np.abs(design[usable]), axis=0, initial=0.0)
        if usable.sum() < max(len(values), 2) or not np.all(length > 0):
            return formula, np.full(len(values), np.inf)
        unit = design[usable] / length  # weights of 1e300 have no squares
        step, _, rank, _ = np.linalg.lstsq(unit, misfit[usable], rcond=None)
        if not rounds_left:
            left = misfit[usable] - unit @ step
            with np.errstate(all="ignore"):
                scale = max(SETTINGS.least_misfit, float(np.sqrt(np.mean(left**2))))
                variances = np.maximum(np.diag(np.linalg.pinv(unit.T @ unit)), 0)
                spread = np.abs(values) * np.sqrt(variances) * scale / length
        step = step / length
        if rank < len(values):
            return formula, np.full(len(values), np.inf)
        formula = with_constants(formula, [float(v) for v in values * (1 + step)])
    return formula, spread


def with_exact_constants(formula: Formula, spread: Array, blurred: bool = False) -> Iterator[Formula]:
    """The formula with as many constants as possible made rational or shared, then fewer, last as it was."""
    values = real_constants(formula)
    nearest = [rational(value, deviation, blurred) for value, deviation in zip(values, spread, strict=True)]
    if blurred:
        nearest = _vouched(values, spread, nearest)
    made = [k for k, exact in enumerate(nearest) if exact is not None]
    # Under noise one of several may be real: 1.0001 (x + 0.9999) is x + 1.0001 for all that the data can tell.
    for kept in [made, *([k for k in made if k != real] for real in made if blurred)]:
        if kept:
            chosen: list[Number] = [nearest[k] or v if k in kept else v for k, v in enumerate(values)]
            yield simplified(with_constants(formula, chosen))
    if (
        len(values) > 1
        and (shared := _with_shared_factor(formula, dict(zip(values, spread, strict=True)), blurred)) != formula
    ):
        yield shared
    yield formula


def usual_together(problem: Problem, formula: Formula) -> Formula | None:
    """The formula with all numbers near 1, 2 or 1/2 made so, where so many at once are no chance; None if they are not.

    Numbers that trade against each other are known much better together than one by one. What counts is the volume of
    the region they may lie in: its root must be below the reach within which such numbers are believed together.
    """
    values = np.array(real_constants(formula))
    usual = [_nearest_usual(value) for value in values]
    now, by_input, by_constant = gradients(formula, problem.X)
    with np.errstate(all="ignore"):
        weight = 1 / problem.tolerance(by_input)
        design, misfit = by_constant * values * weight[:, None], (problem.y - now) * weight
    if not (np.isfinite(design).all() and np.isfinite(misfit).all()):
        return None
    noise = max(SETTINGS.least_misfit, float(np.sqrt(np.sum(misfit**2) / max(problem.rows - len(values), 1))))
    away = np.array([float(number) / value - 1 for number, value in zip(usual, values, strict=True)])
    chosen = [k for k in range(len(values)) if abs(away[k]) < SETTINGS.usual_away]
    while len(chosen) > 1:
        others = [k for k in range(len(values)) if k not in chosen]
        whole = np.asarray(np.linalg.qr(design[:, [*others, *chosen]], mode="r"))
        triangle = whole[len(others) :, len(others) :] / noise
        moved = triangle @ away[chosen]
        volume = np.abs(np.diag(triangle))
        if not np.all(volume > 0):
            return None
        reach = SETTINGS.number_reach * float(np.exp(-np.mean(np.log(volume))))
        if float(moved @ moved) <= float(stats.chi2.isf(SETTINGS.neighbour_level, len(chosen))):
            if reach > SETTINGS.usual_together:
                return None
            numbers: list[Number] = [usual[k] if k in chosen else float(values[k]) for k in range(len(values))]
            return simplified(with_constants(formula, numbers))
        spread = np.sqrt(np.diag(np.linalg.pinv(triangle.T @ triangle)))
        chosen.remove(max(chosen, key=lambda k: abs(away[k]) / spread[chosen.index(k)]))
    return None


def _nearest_usual(value: float) -> Fraction:
    size = min(USUAL, key=lambda number: abs(abs(value) / float(number) - 1))
    return size if value > 0 else -size


def _vouched(values: list[float], spread: Array, nearest: list[Fraction | None]) -> list[Fraction | None]:
    """Several coefficients that are all close to 1, 2 or 1/2 vouch for each other: less likely by chance than one."""
    usual = [_usual(value, deviation, SETTINGS.usual_together) for value, deviation in zip(values, spread, strict=True)]
    if sum(number is not None for number in usual) < 2:
        return nearest
    return [near or number for near, number in zip(nearest, usual, strict=True)]


def _usual(value: float, deviation: float, chance: float) -> Fraction | None:
    """One of 1, 2, 1/2 and their negatives within reach, if that is no chance: reach as a share of the number."""
    reach = SETTINGS.number_reach * deviation
    for size in USUAL:
        if abs(abs(value) - size) <= reach <= chance * size:
            return size if value > 0 else -size
    return None


def _with_shared_factor(formula: Formula, spread: dict[float, float], blurred: bool) -> Formula:
    """Sums whose coefficients are all real and in simple ratios become one real factor times an exact sum."""
    match formula:
        case WeightedSum(terms):
            inner = [(c, _with_shared_factor(t, spread, blurred)) for c, t in terms]
            first = inner[0][0]
            ratios = [
                rational(c / first, (abs(c / first) * spread[first] + spread[c]) / abs(first), blurred)
                if isinstance(c, float) and isinstance(first, float) and first
                else None
                for c, _ in inner
            ]
            if len(inner) > 1 and None not in ratios:
                return WeightedSum(
                    ((first, total((r, t) for r, (_, t) in zip(ratios, inner, strict=True) if r is not None)),)
                )
            return WeightedSum(tuple(inner))
        case PowerProduct(factors):
            return PowerProduct(tuple((_with_shared_factor(f, spread, blurred), e) for f, e in factors))
        case Applied(function, argument):
            return Applied(function, _with_shared_factor(argument, spread, blurred))
        case _:
            return formula


def rational(value: float, deviation: float, blurred: bool = False) -> Fraction | None:
    """The fraction with the smallest denominator that the data cannot tell from `value`, or None.

    A denominator q is believed only if fractions that fine are much further apart than the uncertainty. Where data are
    `blurred` the numbers 1, 2 and 1/2, which every second law holds, are believed sooner than others.

    >>> rational(0.49999999, 1e-7), rational(0.4123, 1e-7), rational(0.4999, 0.1)
    (Fraction(1, 2), None, None)
    """
    if blurred and (usual := _usual(value, deviation, SETTINGS.usual_chance)) is not None:
        return usual
    reach = max((SETTINGS.number_reach if blurred else SETTINGS.fraction_reach) * deviation, 1e-12 * abs(value))
    if not np.isfinite(value) or value == 0 or not reach < 1e15:
        return None
    for q in range(1, SETTINGS.largest_denominator + 1):
        p = round(value * q)
        if reach * q * q > (SETTINGS.number_chance if blurred else SETTINGS.fraction_chance):
            return None
        if p and abs(value - p / q) <= reach:
            return Fraction(p, q)
    return None


def tidy(problem: Problem, formula: Formula, spread: Array) -> Formula:
    """The formula with its constants in the fewest digits that the data allow: 9.81 rather than 9.8100000503.

    Numbers that trade against each other are known better together than one by one, so they may need a digit more.
    """
    values = real_constants(formula)
    reaches = [SETTINGS.shortest_reach / 10**more for more in range(3)]
    if problem.printed is not None and len(values) == 1:  # within bounds no number is likelier than another
        reaches = [SETTINGS.fraction_reach, *reaches]
    for reach in reaches:
        short = with_constants(formula, [_shortest(v, reach * s) for v, s in zip(values, spread, strict=True)])
        if problem.holds(short):
            return short
    return formula


def _shortest(value: float, reach: float) -> float:
    """The number with the fewest digits within reach."""
    shorter = (float(f"{value:.{digits}g}") for digits in range(1, 16))
    return next((v for v in shorter if abs(v - value) <= reach), value)
