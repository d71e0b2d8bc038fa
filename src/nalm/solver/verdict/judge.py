"""From a proposed formula to a verdict: refine its real constants, make them exact where they are, verify.

The rules here are the promise of the solver: a formula is called exact only when it passes the backward-error test at
every row, holds no fitted real number, and (for real coefficients) is not merely a good approximation.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

import numpy as np

from nalm.solver.algebra.calculus import Array, gradients
from nalm.solver.algebra.formula import (
    Formula,
    Number,
    Product,
    Sum,
    real_constants,
    simplified,
    size,
    total,
    with_constants,
)
from nalm.solver.problem import Problem
from nalm.solver.verdict.certainty import doubt
from nalm.solver.verdict.structure import structured

MOST_CONSTANTS = 3
LEAST_DETERMINED = 2e-5
LEAST_DETERMINED_UNDER_NOISE = 0.05
LARGEST_DENOMINATOR = 12
SINGLE_ROUNDINGS = 1.2
"""The backward error that one rounding of every input and of the target explains is 1."""

HOPELESS = 1e3
"""After one Gauss-Newton step an error this many times the limit will not come down."""


class Status(StrEnum):
    """What is claimed about a formula."""

    EXACT = "exact"
    REAL = "real coefficient"
    AMBIGUOUS = "ambiguous"
    NONE = "none"


@dataclass(frozen=True)
class Candidate:
    """One formula that was tried, with its errors.

    `backward_error` is in units of what rounding (and known noise) explains: below 4 (6) means equal.
    `constants` are the fitted real numbers with their standard deviations; `doubt` is why it is only `ambiguous`.
    """

    formula: Formula
    shape: str
    status: Status
    backward_error: float
    relative_error: float
    constants: tuple[tuple[float, float], ...] = ()
    doubt: str = ""

    @property
    def complexity(self) -> int:
        return size(self.formula)

    @property
    def found(self) -> bool:
        """Is it claimed to be the law (with or without a real coefficient)?"""
        return self.status in (Status.EXACT, Status.REAL)


def judge(problem: Problem, formula: Formula, shape: str) -> Candidate:
    """The verdict on one formula; its real constants are refined and made exact where the data determine that."""
    if not real_constants(formula):
        status = Status.EXACT if _exact(problem, formula) else Status.NONE
        return _candidate(problem, formula, shape, status)
    refined, spread = refine(problem, formula, rounds=1)
    if problem.backward_error(refined) > HOPELESS * problem.limit:
        return _candidate(problem, refined, shape, Status.NONE, spread)
    refined, spread = refine(problem, refined, rounds=2)
    for exact in with_exact_constants(refined, spread):
        if not real_constants(exact) and _exact(problem, exact):
            return _candidate(problem, exact, shape, Status.EXACT)
        again, spread_again = refine(problem, exact)
        if real_constants(again) and _acceptable(problem, again, spread_again):
            return _candidate(problem, _tidy(problem, again, spread_again), shape, Status.REAL, spread_again)
    return _candidate(problem, refined, shape, Status.NONE, spread)


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
        case Sum(terms):
            inner = [(c, _with_shared_factor(t, spread)) for c, t in terms]
            first = inner[0][0]
            ratios = [
                rational(c / first, (abs(c / first) * spread[first] + spread[c]) / abs(first))
                if isinstance(c, float) and isinstance(first, float)
                else None
                for c, _ in inner
            ]
            if len(inner) > 1 and None not in ratios:
                return Sum(((first, total((r, t) for r, (_, t) in zip(ratios, inner, strict=True) if r is not None)),))
            return Sum(tuple(inner))
        case Product(factors):
            return Product(tuple((_with_shared_factor(f, spread), e) for f, e in factors))
        case _:
            return formula


def rational(value: float, deviation: float) -> Fraction | None:
    """The fraction with the smallest denominator that the data cannot tell from `value`, or None.

    A denominator q is believed only if fractions that fine are much further apart than the uncertainty.

    >>> rational(0.49999999, 1e-7), rational(0.4123, 1e-7), rational(0.4999, 0.1)
    (Fraction(1, 2), None, None)
    """
    reach = max(4 * deviation, 1e-12 * abs(value))
    if not np.isfinite(value) or value == 0 or not reach < 1e15:
        return None
    for q in range(1, LARGEST_DENOMINATOR + 1):
        p = round(value * q)
        if reach * q * q > 4e-3:
            return None
        if p and abs(value - p / q) <= reach:
            return Fraction(p, q)
    return None


def _tidy(problem: Problem, formula: Formula, spread: Array) -> Formula:
    """The formula with its constants in the fewest digits that the data allow: 9.81 rather than 9.8100000503."""
    values = real_constants(formula)
    short = with_constants(formula, [_shortest(v, s) for v, s in zip(values, spread, strict=True)])
    return short if problem.holds(short) else formula


def _shortest(value: float, deviation: float) -> float:
    return next(
        (v for digits in range(1, 16) if abs((v := float(f"{value:.{digits}g}")) - value) <= 2 * deviation), value
    )


def _exact(problem: Problem, formula: Formula) -> bool:
    """Does a formula without fitted numbers hold, with errors that look random?"""
    return problem.holds(formula) and (bool(problem.noise) or not structured(problem, formula))


def _acceptable(problem: Problem, formula: Formula, spread: Array) -> bool:
    """May a formula with real constants be claimed? Free constants on a narrow range fit anything smooth.

    So they must be few, well determined, and leave errors that look like rounding, not like an approximation.
    """
    values = np.abs(real_constants(formula))
    if len(values) > MOST_CONSTANTS or not problem.holds(formula):
        return False
    if np.any(spread > (LEAST_DETERMINED_UNDER_NOISE if problem.blur else LEAST_DETERMINED) * values):
        return False
    if not problem.noise and problem.backward_error(formula) > SINGLE_ROUNDINGS:
        return False
    return not structured(problem, formula)


def _candidate(
    problem: Problem, formula: Formula, shape: str, status: Status, spread: Array | None = None
) -> Candidate:
    constants = () if spread is None else tuple(zip(real_constants(formula), map(float, spread), strict=True))
    doubts = doubt(problem, formula) if status is not Status.NONE else ""
    errors = problem.backward_error(formula), problem.relative_rms(formula)
    return Candidate(formula, shape, Status.AMBIGUOUS if doubts else status, *errors, constants, doubts)
