"""Fitted numbers: refined, made exact or not at the bounds of chance, and what a claim with them takes."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

from nalm.solver.data.problem import Problem
from nalm.solver.formula.algebra import (
    ONE,
    Applied,
    Constant,
    Formula,
    Input,
    WeightedSum,
    product,
    real_constants,
    total,
)
from nalm.solver.formula.functions import Function
from nalm.solver.settings import SETTINGS
from nalm.solver.verdict import judge as judging
from nalm.solver.verdict.candidate import Fitted, Status
from nalm.solver.verdict.judge import (
    _acceptable,
    _affordable,
    _as_good,
    _claimed,
    _level,
    constant_target,
    judge,
    nearly_usual,
    unclaimed,
)
from nalm.solver.verdict.refine import (
    _nearest_usual,
    _shortest,
    _usual,
    _vouched,
    _with_shared_factor,
    rational,
    refine,
    tidy,
    usual_together,
    with_exact_constants,
)

X = np.random.default_rng(0).uniform(1, 2, (60, 2))
REACH = SETTINGS.number_reach


def weighted(*numbers: float) -> WeightedSum:
    return WeightedSum(tuple((number, Input(i)) for i, number in enumerate(numbers)))


# -- refine --------------------------------------------------------------------------------------------------------


def test_a_nonlinear_number_is_refined_by_gauss_newton_round_by_round() -> None:
    x = X[:, 0]
    problem = Problem(X, np.exp(1.3 * x))
    start = Applied(Function.EXP, WeightedSum(((1.25, Input(0)),)))
    by_hand, found = 1.25, []
    for _ in range(3):
        value = np.exp(by_hand * x)
        weight = 1 / (problem.rounding * (problem.y + by_hand * x * value))
        slope = x * value * weight
        by_hand += float(slope @ ((problem.y - value) * weight)) / float(slope @ slope)
        found.append(by_hand)
    for rounds in (1, 2, 3):
        assert real_constants(refine(problem, start, rounds)[0]) == pytest.approx([found[rounds - 1]], rel=1e-12)
    assert abs(found[2] - 1.3) < 1e-6


def test_rows_without_a_value_are_left_out_of_a_fit_that_has_enough_others() -> None:
    shifted = total([(Fraction(1), Input(0)), (Fraction(-1), ONE)])
    root = WeightedSum(((1.5, product([(shifted, Fraction(1, 2))])),))
    x = np.array([0.2, 0.5, 0.7, 2.0, 5.0])
    y = np.where(x > 1, 3 * np.sqrt(np.maximum(x - 1, 0)), 1.0)
    fitted, spread = refine(Problem(x[:, None], y), root)
    assert real_constants(fitted) == pytest.approx([3.0])
    assert np.isfinite(spread).all()
    x[3] = 0.9  # only one row is left: no number is known
    assert refine(Problem(x[:, None], y), root) == (root, pytest.approx([np.inf]))


def test_a_number_without_effect_stays_as_it_was() -> None:
    without = WeightedSum(((2.0, WeightedSum(((Fraction(0), Input(0)),))),))
    fitted, spread = refine(Problem(X, X[:, 0]), without)
    assert fitted == without
    assert np.isinf(spread).all()
    assert refine(Problem(X, X[:, 0]), Input(0))[1].shape == (0,)


# -- simple numbers ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("number", "size"), [(1.0, 1), (-2.0, 2), (0.5, Fraction(1, 2)), (-0.5, Fraction(1, 2))])
def test_a_usual_number_is_believed_within_reach_while_that_is_no_chance(number: float, size: Fraction) -> None:
    most = 0.02 * float(size) / REACH  # the deviation whose reach is the chance
    exact = Fraction(number)
    assert _usual(number, 0.99 * most, 0.02) == exact
    assert _usual(number, 1.01 * most, 0.02) is None
    deviation = 1e-3
    assert _usual(number + 0.99 * REACH * deviation, deviation, 0.02) == exact
    assert _usual(number - 1.01 * REACH * deviation, deviation, 0.02) is None
    assert _usual(3.0, 1e-3, 0.02) is None


def test_the_nearest_usual_number_is_nearest_by_ratio() -> None:
    assert [_nearest_usual(v) for v in (0.1, 0.65, 0.7, 1.3, 1.34, 40.0)] == [HALF, HALF, 1, 1, 2, 2]
    assert _nearest_usual(-1.9) == -2


HALF = Fraction(1, 2)


def test_two_usual_numbers_vouch_for_each_other_and_one_does_not() -> None:
    between = (SETTINGS.usual_chance + SETTINGS.usual_together) / 2 / REACH  # too blunt for one alone
    third = Fraction(1, 3)
    assert _vouched([1.0, 2.0, 0.3333], np.full(3, between), [None, None, third]) == [1, 2, third]
    assert _vouched([1.0, 2.4, 0.3333], np.full(3, between), [None, None, third]) == [None, None, third]


@pytest.mark.parametrize("blurred", [False, True])
def test_a_fraction_is_believed_while_fractions_as_fine_lie_much_further_apart(blurred: bool) -> None:
    reach = REACH if blurred else SETTINGS.fraction_reach
    chance = SETTINGS.number_chance if blurred else SETTINGS.fraction_chance
    for q in (3, 7, SETTINGS.largest_denominator):
        value, most = 5 / q, chance / (reach * q**2)
        assert rational(value, 0.99 * most, blurred) == Fraction(5, q)
        assert rational(value, 1.01 * most, blurred) is None
    deviation = 1e-7
    assert rational(4 + 0.99 * reach * deviation, deviation, blurred) == 4
    assert rational(4 - 1.01 * reach * deviation, deviation, blurred) is None
    assert rational(1 / 3 + 0.5e-12 / 3, 0.0, blurred) == Fraction(1, 3)  # the rounding of arithmetic itself
    assert rational(1 / 3 + 2e-12 / 3, 0.0, blurred) is None
    assert rational(1e-14, 1e-13, blurred) is None  # nothing is no fraction
    assert rational(float("inf"), 0.1, blurred) is None
    assert rational(1e28, 0.0, blurred) is None  # no digit behind the point is known
    assert rational(5 / (SETTINGS.largest_denominator + 1), 0.0, blurred) is None


def test_constants_are_made_exact_all_at_once_and_in_blurred_data_all_but_one() -> None:
    formula, spread = weighted(1.0 + 1e-9, 3.0 - 1e-9), np.full(2, 1e-7)
    both = total([(Fraction(1), Input(0)), (Fraction(3), Input(1))])
    found = list(with_exact_constants(formula, spread))
    assert found[0] == both
    assert found[-1] == formula
    assert len(found) == 3  # in between, one real factor times 1 : 3
    blurred = list(with_exact_constants(formula, spread, blurred=True))
    assert blurred[:3] == [both, total([(1.0 + 1e-9, Input(0)), (Fraction(3), Input(1))]), blurred[2]]
    assert real_constants(blurred[2]) == [3.0 - 1e-9]
    assert list(with_exact_constants(weighted(1.2345), np.array([1e-9]))) == [weighted(1.2345)]
    alone = list(with_exact_constants(weighted(1.0, 1.2345), np.full(2, 1e-9)))
    assert alone == [total([(Fraction(1), Input(0)), (1.2345, Input(1))]), weighted(1.0, 1.2345)]


def test_a_factor_is_shared_where_all_ratios_are_simple_within_both_deviations() -> None:
    first, second = 1.2345, 2 * 1.2345
    deviation = 1e-5
    most = (2 * deviation + deviation) / first  # of the ratio: the first's share of it, and the second's own
    shared = WeightedSum(((first, total([(Fraction(1), Input(0)), (Fraction(2), Input(1))])),))
    for factor, expected in ((0.99, True), (1.01, False)):
        moved = second + factor * SETTINGS.fraction_reach * most * first
        found = _with_shared_factor(weighted(first, moved), {first: deviation, moved: deviation}, False)
        assert (found == shared) == expected
    spread = {first: 1e-9, second: 1e-9}
    inside: list[Formula] = [
        product([(weighted(first, second), -1)]),
        Applied(Function.SIN, weighted(first, second)),
        WeightedSum(((Fraction(1), Input(0)), (Fraction(2), Applied(Function.SIN, weighted(first, second))))),
    ]
    for formula in inside:
        assert real_constants(_with_shared_factor(formula, spread, False)) == [first]
    mixed = WeightedSum(((Fraction(1), Input(0)), (second, Input(1))))
    assert _with_shared_factor(mixed, spread, False) == mixed
    assert _with_shared_factor(weighted(first), spread, False) == weighted(first)


# -- together ------------------------------------------------------------------------------------------------------


def trading(noise: float, second: float = 1.0) -> tuple[Problem, WeightedSum]:
    """Two numbers that are known well together and badly one by one: columns that are nearly the same."""
    columns = np.column_stack([X[:, 0], X[:, 0] + 0.02 * (X[:, 1] - 1.5)])
    return Problem(columns, columns[:, 0] + second * columns[:, 1], additive=noise), weighted(1.02, 0.98)


def test_usual_numbers_are_believed_together_while_the_volume_they_may_lie_in_is_small() -> None:
    problem, formula = trading(1.0)
    design = problem.X * [1.02, 0.98]
    volume = np.sqrt(np.linalg.det(design.T @ design))
    misfit = problem.y - design.sum(axis=1)
    away = np.array([1 / 1.02 - 1, 1 / 0.98 - 1])
    moved = np.linalg.norm(design @ away)
    most = SETTINGS.usual_together / REACH * np.sqrt(volume)  # the noise at which the reach is as large as it may be
    for factor, believed in ((0.98, True), (1.02, False)):
        noise = factor * most / SETTINGS.least_misfit
        assert np.sqrt(np.sum((misfit / noise) ** 2) / 58) < SETTINGS.least_misfit
        assert moved / noise / SETTINGS.least_misfit < 3
        found = usual_together(trading(noise)[0], formula)
        assert (found == total([(Fraction(1), Input(0)), (Fraction(1), Input(1))])) == believed
        assert (found is None) == (not believed)


def test_numbers_that_the_data_contradict_are_not_made_usual_together() -> None:
    problem, _ = trading(1e-7)
    assert usual_together(problem, weighted(1.0, 1.0)) is not None
    assert usual_together(problem, weighted(1.5, 1.0)) is None  # one alone is not together
    off = problem.of_target(1.1 * problem.X[:, 0] + 1.07 * problem.X[:, 1])
    assert usual_together(off, weighted(1.1, 1.07)) is None
    third = np.column_stack([problem.X, X[:, 1] ** 2])
    wider = Problem(third, problem.y + 1.2 * third[:, 2], additive=1e-7)
    kept = usual_together(wider, weighted(1.0, 1.0, 1.2))  # the third is near 1, too, but the data say otherwise
    assert kept is not None
    assert real_constants(kept) == [1.2]
    far = Problem(third, problem.y + 5 * third[:, 2], additive=1e-7)
    free = usual_together(far, weighted(1.0, 1.0, 5.0))
    assert free is not None
    assert real_constants(free) == [5.0]


# -- few digits ----------------------------------------------------------------------------------------------------


def test_a_number_is_tidied_as_far_as_the_formula_still_holds() -> None:
    problem = Problem(X, 9.81 * X[:, 0], additive=0.03)
    assert real_constants(tidy(problem, weighted(9.8103), np.array([0.002]))) == [9.81]
    assert real_constants(tidy(problem, weighted(9.8103), np.array([0.9]))) == [9.8]  # 10 is near, and does not hold
    sharp = Problem(X, 9.81234567 * X[:, 0])
    assert real_constants(tidy(sharp, weighted(9.81234567), np.array([0.2]))) == [9.81234567]
    assert _shortest(123456.0, 500.0) == 123000.0


# -- claims --------------------------------------------------------------------------------------------------------


def test_every_coefficient_is_freed_where_rows_allow_it() -> None:
    three = 3 * SETTINGS.rows_per_term  # of the two inputs and one more
    product_of_two = product([(Input(0), 1), (Input(1), 1)])
    assert _affordable(Problem(X[:three], X[:three, 0]), product_of_two)
    assert not _affordable(Problem(X[: three - 1], X[: three - 1, 0]), product_of_two)


def test_exact_numbers_are_as_good_as_free_ones_within_chance() -> None:
    sign = np.where(np.arange(60) % 2, 1.0, -1.0)
    sign = sign - X[:, 0] * (sign @ X[:, 0]) / (X[:, 0] @ X[:, 0])  # which no multiple of the input explains
    problem = Problem(X, X[:, 0] + 0.01 * sign, additive=0.01)
    fewest = np.sum(problem.errors(weighted(1.0)) ** 2)
    gain = stats.chi2.isf(SETTINGS.neighbour_level, 1) * fewest / 60
    length = np.sqrt(np.sum((X[:, 0] / problem.tolerance(np.ones((60, 2)) * [1.0, 0.0])) ** 2))
    for factor, good in ((0.98, True), (1.02, False)):
        moved = total([(Fraction(1 + factor * float(np.sqrt(gain)) / float(length)), Input(0))])
        assert _as_good(problem, moved, weighted(1.0)) == good
    assert _as_good(Problem(X, X[:, 0]), Input(1), weighted(1.0))  # without noise another test decides


def test_a_target_that_never_changes_is_a_number() -> None:
    def of(value: float) -> Any:
        (verdict,) = constant_target(Problem(X, np.full(60, value)))
        return verdict

    assert (of(0.75).candidate.formula, of(0.75).status) == (Constant(Fraction(3, 4)), Status.EXACT)
    assert (of(0.0).candidate.formula, of(0.0).status) == (Constant(Fraction(0)), Status.EXACT)
    assert (of(0.7501234).candidate.constants, of(0.7501234).status) == ((Fitted(0.7501234, 0.0),), Status.REAL)
    nearly = 1 / 3 + 1e-15  # is no third in float64, though it is within rounding of one
    assert of(nearly).status is Status.REAL
    assert constant_target(Problem(X, X[:, 0])) == []
    (mean,) = constant_target(Problem(X[:, :0], X[:, 0]))
    assert mean.status is Status.NONE
    shares = 1 / X[:, 0] ** 2  # rounding is a share of each target
    assert real_constants(mean.candidate.formula) == pytest.approx([np.average(X[:, 0], weights=shares)], rel=0.01)


def test_numbers_close_to_a_usual_one_and_not_it_are_known() -> None:
    most = SETTINGS.usual_chance
    for usual in (1.0, 2.0, 0.5, -2.0):
        assert nearly_usual(Fitted(usual * (1 + 0.9 * most), 1e-6))
        assert nearly_usual(Fitted(usual * (1 - 0.9 * most), 1e-6))
        assert not nearly_usual(Fitted(usual * (1 + 1.1 * most), 1e-6))
        off = 0.5 * most
        value = usual * (1 + off)
        assert nearly_usual(Fitted(value, 0.99 * off * abs(value) / REACH))
        assert not nearly_usual(Fitted(value, 1.01 * off * abs(value) / REACH))
    assert not nearly_usual(Fitted(1.0, 0.0))


@pytest.mark.parametrize(
    ("noise", "error", "spread", "structured", "accepted"),
    [
        (0.0, 1.1, 1e-6, False, True),
        (0.0, 1.3, 1e-6, False, False),  # more than single roundings
        (0.0, 1.1, 0.99 * SETTINGS.least_determined, False, True),
        (0.0, 1.1, 1.01 * SETTINGS.least_determined, False, False),
        (0.0, 1.1, 1e-6, True, False),
        (0.1, 1.3, 1e-6, False, True),
        (0.1, 1.3, 0.99 * SETTINGS.least_determined_under_noise, False, True),
        (0.1, 1.3, 1.01 * SETTINGS.least_determined_under_noise, False, False),
        (0.1, 7.0, 1e-6, False, False),  # does not hold
    ],
)
def test_fitted_numbers_may_be_claimed_if_they_are_few_determined_and_leave_noise(
    monkeypatch: pytest.MonkeyPatch, noise: float, error: float, spread: float, structured: bool, accepted: bool
) -> None:
    levels = []
    monkeypatch.setattr(judging, "structured", lambda _, __, level: levels.append(level) or structured)
    problem = Problem(X, np.ones(60), noise=noise)
    y = 1 + np.where(np.arange(60) == 0, error, 0.0) * (problem.rounding + noise)
    formula = Constant(1.0)
    problem = Problem(X, 1 / y, noise=noise)  # errors count in shares of the target
    assert _acceptable(problem, formula, np.array([spread])) == accepted
    assert levels in ([], [SETTINGS.structure_level_under_noise if noise else SETTINGS.structure_level])
    assert _level(problem) == (SETTINGS.structure_level_under_noise if noise else SETTINGS.structure_level)


def test_more_numbers_than_a_claim_may_hold_are_not_claimed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judging, "structured", lambda *_: False)
    for count in (SETTINGS.most_constants, SETTINGS.most_constants + 1):
        formula = WeightedSum(tuple((1.0, product([(Input(0), k)])) for k in range(1, count + 1)))
        problem = Problem(X, sum(X[:, 0] ** k for k in range(1, count + 1)))
        assert _acceptable(problem, formula, np.zeros(count)) == (count == SETTINGS.most_constants)


def test_a_claim_is_exact_real_or_ambiguous(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judging, "doubt", lambda *_: "")
    exact, noisy = Problem(X, X[:, 0]), Problem(X, X[:, 0], noise=0.01)
    assert _claimed(exact, Input(0), "s").status is Status.EXACT
    near = np.array([1e-6])
    assert _claimed(exact, weighted(1.001), "s", near).status is Status.REAL
    assert _claimed(noisy, weighted(1.1), "s", near).status is Status.REAL
    assert "a small term may be missing" in _claimed(noisy, weighted(1.001), "s", near).reasons[0]
    monkeypatch.setattr(judging, "doubt", lambda *_: "why")
    assert (_claimed(noisy, weighted(1.001), "s", near).reasons) == ("why",)
    said = unclaimed(exact, weighted(1.1), "s", near)
    assert (said.status, said.candidate.constants) == (Status.NONE, (Fitted(1.1, 1e-6),))
    assert said.candidate.relative_error == pytest.approx(0.1)


def test_a_formula_that_is_hopeless_after_one_step_is_refined_no_more() -> None:
    """A number is found in one step where it is linear; what is then far off is not asked again."""
    rounds: list[int] = []
    problem = Problem(X, X[:, 0] + X[:, 1] ** 2)
    kept = judging.refine
    try:
        judging.refine = lambda p, f, rounds=3, _seen=rounds: _seen.append(rounds) or kept(p, f, rounds)  # type: ignore[assignment]
        verdict = judge(problem, weighted(1.0), "by hand")
    finally:
        judging.refine = kept
    assert rounds == [1]
    assert verdict.status is Status.NONE
    assert verdict.candidate.backward_error == pytest.approx(problem.backward_error(verdict.candidate.formula))
    assert len(verdict.candidate.constants) == 1
