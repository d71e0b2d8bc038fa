"""From a proposed formula to a verdict: refine its real constants, make them exact where they are, verify.

The rules here are the promise of the solver: a formula is called exact only when it passes the backward-error test at
every row, holds no fitted real number, and (for real coefficients) is not merely a good approximation.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import chain

import numpy as np
from scipy import stats

from nalm.solver.data.problem import Problem
from nalm.solver.formula.algebra import Constant, Formula, real_constants, size, with_real_coefficients
from nalm.solver.formula.calculus import Array
from nalm.solver.settings import SETTINGS
from nalm.solver.verdict.candidate import Candidate, Fitted, Status, Verdict
from nalm.solver.verdict.certainty import doubt
from nalm.solver.verdict.refine import USUAL, rational, refine, tidy, usual_together, with_exact_constants
from nalm.solver.verdict.structure import structured


def judge(problem: Problem, formula: Formula, shape: str) -> Verdict:
    """The verdict on one formula; its real constants are refined and made exact where the data determine that.

    Where data are blurred, a whole number that was proposed is no more certain than a fitted one: all are freed first.
    """
    if problem.blur and _affordable(problem, formula):
        formula = with_real_coefficients(formula)
    if not real_constants(formula):
        lawful = problem.balances(formula) and _exact(problem, formula)
        return _claimed(problem, formula, shape) if lawful else unclaimed(problem, formula, shape)
    refined, spread = refine(problem, formula, rounds=1)
    error = problem.backward_error(refined)
    if error > SETTINGS.hopeless * problem.limit * SETTINGS.rounding / problem.rounding:
        return Verdict(_measured(problem, refined, shape, spread, error), Status.NONE)
    refined, spread = refine(problem, refined, rounds=2)
    if not _typical_error(problem, refined) <= SETTINGS.beyond_repair * problem.limit:
        return unclaimed(problem, refined, shape, spread)
    together = usual_together(problem, refined) if problem.noisy else None
    for exact in chain([together] if together else [], with_exact_constants(refined, spread, bool(problem.blur))):
        if not real_constants(exact) and _as_good(problem, exact, refined) and _exact(problem, exact):
            claim = _claimed(problem, exact, shape)
            break
        again, spread_again = refine(problem, exact)
        if real_constants(again) and _acceptable(problem, again, spread_again):
            claim = _claimed(problem, tidy(problem, again, spread_again), shape, spread_again)
            break
    else:
        return unclaimed(problem, refined, shape, spread)
    # Numbers that turn out to be pure ones carry no unit: then the formula is no law, however well it fits.
    return claim if problem.balances(claim.candidate.formula) else unclaimed(problem, refined, shape, spread)


def _typical_error(problem: Problem, formula: Formula) -> float:
    """Root mean square of the errors: the least that numbers of this formula can leave, once they have been refined."""
    return float(np.sqrt(np.mean(problem.errors(formula) ** 2)))


def _affordable(problem: Problem, formula: Formula) -> bool:
    """Are there enough rows to free every coefficient?"""
    return SETTINGS.rows_per_term * (size(formula) + 1) <= problem.rows


def _as_good(problem: Problem, exact: Formula, free: Formula) -> bool:
    """Do the exact numbers explain blurred data as well as the free ones, but for chance?"""
    if not problem.noisy:
        return True
    squares, fewest = (float(np.sum(problem.errors(formula) ** 2)) for formula in (exact, free))
    freed = len(real_constants(free))
    return squares - fewest <= float(stats.chi2.isf(SETTINGS.neighbour_level, freed)) * max(
        fewest / problem.rows, 1e-30
    )


def unclaimed(problem: Problem, formula: Formula, shape: str, spread: Array | None = None) -> Verdict:
    """A formula of which nothing is said."""
    return Verdict(_measured(problem, formula, shape, spread), Status.NONE)


def constant_target(problem: Problem) -> list[Verdict]:
    """A target that never changes is a number, whatever the inputs; without inputs any other target has its mean."""
    first = float(problem.y[0])
    if np.ptp(problem.y) > 0:
        return [] if problem.columns else [judge(problem, Constant(float(np.mean(problem.y))), "constant")]
    exact = rational(first, 0.0) if first else Fraction(0)
    if exact is not None and float(exact) == first:
        return [Verdict(Candidate(Constant(exact), "constant", 0.0, 0.0), Status.EXACT)]
    return [Verdict(Candidate(Constant(first), "constant", 0.0, 0.0, (Fitted(first, 0.0),)), Status.REAL)]


def _exact(problem: Problem, formula: Formula) -> bool:
    """Does a formula without fitted numbers hold, with errors that look random?"""
    return problem.holds(formula) and not structured(problem, formula, _level(problem))


def _acceptable(problem: Problem, formula: Formula, spread: Array) -> bool:
    """May a formula with real constants be claimed? Free constants on a narrow range fit anything smooth.

    So they must be few, well determined, and leave errors that look like rounding, not like an approximation.
    """
    values = np.abs(real_constants(formula))
    if len(values) > SETTINGS.most_constants or not problem.holds(formula):
        return False
    determined = SETTINGS.least_determined_under_noise if problem.blur else SETTINGS.least_determined
    if np.any(spread > determined * values):
        return False
    if not problem.noisy and problem.backward_error(formula) > SETTINGS.single_roundings:
        return False
    return not structured(problem, formula, _level(problem))


def _level(problem: Problem) -> float:
    return SETTINGS.structure_level_under_noise if problem.noisy else SETTINGS.structure_level


def _claimed(problem: Problem, formula: Formula, shape: str, spread: Array | None = None) -> Verdict:
    """The claim that a formula which holds allows: exact or real, or only ambiguous if the data leave a doubt."""
    candidate = _measured(problem, formula, shape, spread)
    doubts = doubt(problem, formula)
    if not doubts and problem.noisy and any(map(nearly_usual, candidate.constants)):
        doubts = "a fitted number is close to 1, 2 or 1/2 without being it: a small term may be missing"
    if doubts:
        return Verdict(candidate, Status.AMBIGUOUS, (doubts,))
    return Verdict(candidate, Status.REAL if candidate.constants else Status.EXACT)


def nearly_usual(constant: Fitted) -> bool:
    """Is a number so close to 1, 2 or 1/2 that it is hardly by chance, and yet it is not it?

    Under noise, a law without its smallest term has such a number.

    >>> nearly_usual(Fitted(0.999, 0.0002)), nearly_usual(Fitted(0.999, 0.001)), nearly_usual(Fitted(0.9, 0.0002))
    (True, False, False)
    """
    size = abs(constant.value)
    away = min(abs(size - float(usual)) / float(usual) for usual in USUAL)
    return SETTINGS.number_reach * constant.deviation < away * size and away < SETTINGS.usual_chance


def _measured(
    problem: Problem, formula: Formula, shape: str, spread: Array | None, backward_error: float | None = None
) -> Candidate:
    numbers = () if spread is None else zip(real_constants(formula), map(float, spread), strict=True)
    constants = tuple(Fitted(value, deviation) for value, deviation in numbers)
    error = problem.backward_error(formula) if backward_error is None else backward_error
    return Candidate(formula, shape, error, problem.relative_rms(formula), constants)
