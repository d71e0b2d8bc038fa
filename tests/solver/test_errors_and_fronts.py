"""Whether errors are noise, how large it is, and the front of approximations: each statistic computed another way."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from nalm.solver.data.problem import Problem
from nalm.solver.data.rows import gathered
from nalm.solver.formula.algebra import (
    ONE,
    Constant,
    Formula,
    Input,
    PowerProduct,
    WeightedSum,
    product,
    real_constants,
    total,
)
from nalm.solver.settings import SETTINGS
from nalm.solver.verdict import everywhere as over_all
from nalm.solver.verdict import front as fronts
from nalm.solver.verdict import learning, noise, structure
from nalm.solver.verdict.candidate import Candidate, Finding, Fitted, Status, Verdict
from nalm.solver.verdict.choice import best_of, refusal
from nalm.solver.verdict.everywhere import contradictions, everywhere
from nalm.solver.verdict.front import FrontEntry, _deviations, _in_sample, _knee, _shortened, _tried, _undominated
from nalm.solver.verdict.learning import Regression, _regression, levels_off
from nalm.solver.verdict.noise import Noise, _Explanation, _explanations, _has_rival, loosened, noise_of, under_noise
from nalm.solver.verdict.print import _rivals, _spare_digits, as_printed, in_print
from nalm.solver.verdict.structure import (
    _close_pairs,
    _explained,
    _follow,
    _foretold,
    _nearest_pairs,
    _neighbours_foretell,
    _predictable,
    _waves_along,
    _waves_explain,
    cubic,
    structured,
    white,
)

RNG = np.random.default_rng(0)
X = RNG.uniform(1, 2, (80, 2))
NOISE = RNG.normal(size=80)


def real(coefficient: float, formula: Formula) -> Formula:
    return WeightedSum(((coefficient, formula),))


# -- errors that follow the inputs ---------------------------------------------------------------------------------


def test_the_f_test_is_that_of_a_regression() -> None:
    basis = np.linalg.qr(RNG.normal(size=(20, 3)))[0]
    errors = RNG.normal(size=20) + basis[:, 0]
    left = np.linalg.lstsq(basis, errors, rcond=None)[1][0]
    ratio = ((np.sum(errors**2) - left) / 3) / (left / 17)
    assert _explained(basis, errors) == pytest.approx(1 - stats.f.cdf(ratio, 3, 17))
    assert _explained(basis[:, :1], basis[:, 0]) == 1.0  # a constant says nothing
    assert _explained(basis[:6], errors[:6]) == 1.0  # three rows more than terms are too few
    assert _explained(basis[:7], 5 * errors[:7]) < 1.0
    assert _explained(basis, basis[:, 0]) < 1e-100


def test_a_cubic_has_all_terms_to_the_third_degree_in_what_is_read_and_squares_of_the_others() -> None:
    table = np.column_stack([RNG.normal(size=(90, 4)), np.ones(90)])
    terms = cubic(table, [1, 2])
    z = (table - table.mean(axis=0)) / np.where(table.std(axis=0) > 0, table.std(axis=0), 1)
    z[:, 4] = 0
    a, b, c, d, e = (z[:, k] for k in (1, 2, 0, 3, 4))
    wanted = [np.ones(90), a, b, a * a, a * b, b * b, a**3, a * a * b, a * b * b, b**3]  # of those read
    wanted += [c, d, e, c * c, d * d, e * e]
    wanted += [a * c, b * c, a * d, b * d, c * d, a * e, b * e, c * e, d * e]
    np.testing.assert_allclose(terms, np.stack(wanted, axis=1), atol=1e-9)
    np.testing.assert_allclose(cubic(table[:12], [1, 2]), cubic(table[:12], [1, 2])[:, :4])
    assert cubic(table[:2], [1]).shape == (2, 1)
    assert cubic(table, [4])[:, :1].tolist() == [[1.0]] * 90  # a column that never changes has no powers
    assert cubic(table, [4]).shape[1] == 1 + 4 + 4 + 6


@pytest.mark.parametrize("width", [1.0, 0.3])
def test_left_out_predictions_are_those_of_a_kernel_regression_on_the_other_rows(width: float) -> None:
    some, errors = X[:25], NOISE[:25, None] + X[:25, :1]
    z = (some - some.mean(axis=0)) / some.std(axis=0)
    kernel = np.exp(-np.sum((z[:, None] - z) ** 2, axis=2) / (4 * 2 * width**2))
    centred = errors[:, 0] - errors.mean()
    foretold = np.zeros(25)
    for row in range(25):
        rest = np.arange(25) != row
        ridge = kernel[np.ix_(rest, rest)] + SETTINGS.kernel_ridge * np.eye(24)
        foretold[row] = kernel[row, rest] @ np.linalg.solve(ridge, centred[rest])
    agreement = foretold @ centred / np.linalg.norm(foretold) / np.linalg.norm(centred)
    assert _foretold(some, errors, width)[0] == pytest.approx(math.sqrt(25) * agreement, rel=1e-9)


def test_what_is_foretold_must_be_so_in_every_block_of_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[float, int]] = []

    def foretold(table: np.ndarray, _: np.ndarray, width: float, start: int = 0) -> np.ndarray:
        asked.append((width, start))
        denies = start == 512 and len(table) == 2048
        return np.array([0.0, 4.5 if width == 0.5 and not denies else 0.0])

    monkeypatch.setattr(structure, "_foretold", foretold)
    assert _predictable(np.ones((1535, 1)), np.ones((1535, 2)), 4.0, (1.0, 0.5))
    assert asked == [(1.0, 0), (0.5, 0), (0.5, 512)]  # only whole blocks
    assert not _predictable(np.ones((1535, 1)), np.ones((1535, 2)), 4.5, (0.5,))
    asked.clear()
    assert _predictable(np.ones((4000, 1)), np.ones((4000, 2)), 4.0, (0.5,))
    assert [start for _, start in asked] == [0, 512, 1024, 1536]  # four blocks are enough
    assert not _predictable(np.ones((2048, 1)), np.ones((2048, 2)), 4.0, (0.5,))  # the second denies it
    asked.clear()
    assert _predictable(np.ones((10, 1)), np.ones((10, 2)), 4.0, (0.5,))
    assert asked == [(0.5, 0)]


def test_close_rows_are_the_next_along_every_coordinate_in_value_and_in_the_table() -> None:
    table = np.array([[3.0, 0.0], [1.0, 1.0], [2.0, 2.0], [5.0, 3.0], [4.0, 7.0]])
    pairs = list(_close_pairs(Problem(table, table[:, 0]), Input(0)))
    along = {0: [1, 2, 0, 4, 3], 1: [0, 1, 2, 3, 4]}
    orders = [along[0], along[1], along[0], along[1]]  # by inputs, by the formula's value, as they came
    for k, order in enumerate(orders):
        for s, reach in enumerate(SETTINGS.neighbour_steps):
            wanted = {(order[p], order[p + step]) for step in range(1, min(reach, 4) + 1) for p in range(5 - step)}
            one, other = pairs[len(SETTINGS.neighbour_steps) * k + s]
            assert set(zip(one.tolist(), other.tolist(), strict=True)) == wanted
    nearest = pairs[len(SETTINGS.neighbour_steps) * 4 :]
    assert len(nearest) == 2  # in all coordinates; of one input alone that is the order along it
    assert {(0, 2), (1, 2)} <= set(zip(*(side.tolist() for side in nearest[0]), strict=True))


def test_nearest_rows_are_paired_once() -> None:
    table = np.array([[0.0, 0.0], [0.1, 0.1], [5.0, 5.0], [5.2, 5.2], [9.0, 9.0], [9.3, 9.3]])
    (one, other), (some, others) = _nearest_pairs(table, (0, 1))
    assert list(zip(one.tolist(), other.tolist(), strict=True)) == [(0, 1), (2, 3), (4, 5)]
    assert len(some) == len(set(zip(some.tolist(), others.tolist(), strict=True)))
    assert all(i < j for i, j in zip(some.tolist(), others.tolist(), strict=True))
    assert (0, 5) not in set(zip(some.tolist(), others.tolist(), strict=True))  # the fifth nearest of six
    assert len(some) == 14
    tiny = table[:2]
    assert [len(pairs[0]) for pairs in _nearest_pairs(tiny, (0, 1))] == [1, 1]


def test_neighbours_foretell_at_a_chance_shared_by_all_ways_to_be_close(monkeypatch: pytest.MonkeyPatch) -> None:
    errors = np.array([1.0, 2.0, 4.0, 3.0, 5.0, 7.0, 6.0, 8.0])
    scores = stats.norm.ppf((stats.rankdata(errors) - 0.5) / 8)
    scores = scores / scores.std()
    one, other = np.arange(4), np.arange(4, 8)
    surprise = abs(np.sum(scores[one] * scores[other])) / 2
    problem = Problem(np.ones((8, 1)), np.ones(8), additive=1.0)
    few = (one[:3], other[:3])  # fewer than four pairs do not count
    monkeypatch.setattr(structure, "_close_pairs", lambda *_: [(one, other), (other, one), few])
    for factor, foretold in ((1.01, True), (0.99, False)):
        level = stats.norm.sf(surprise / factor) * 4
        monkeypatch.setattr(structure, "SETTINGS", replace(SETTINGS, neighbour_level=float(level)))
        assert _neighbours_foretell(problem, Input(0), errors) == foretold
        assert _neighbours_foretell(problem, Input(0), np.exp(errors)) == foretold  # ranks decide
    monkeypatch.setattr(structure, "_close_pairs", lambda *_: [few])
    assert not _neighbours_foretell(problem, Input(0), errors)
    monkeypatch.setattr(structure, "_close_pairs", lambda *_: [(one, other)])
    assert not _neighbours_foretell(problem, Input(0), np.ones(8))


def test_waves_along_a_column_are_a_radian_apart_up_to_a_half_wave_for_two_rows() -> None:
    x = np.linspace(2, 4, 20)
    sine, cosine = _waves_along(x[:, None], 0)
    assert sine.shape == (20, 31)  # below pi * 20 / 2
    np.testing.assert_allclose(sine[:, 2], np.sin(1.5 * x) - np.mean(np.sin(1.5 * x)))
    np.testing.assert_allclose(cosine[:, 0], np.cos(0.5 * x) - np.mean(np.cos(0.5 * x)))
    assert _waves_along(np.ones((20, 1)), 0)[0].shape == (20, 1)
    many = np.random.default_rng(0).random((600, 1))
    assert _waves_along(many, 0)[0].shape == (SETTINGS.kernel_rows, SETTINGS.wave_scales - 1)


def test_a_wave_explains_errors_by_the_f_test_of_the_best_of_all_waves(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.sort(np.random.default_rng(3).random(40))
    table = np.column_stack([x, np.ones(40)])
    errors = np.random.default_rng(4).normal(size=40) + 0.8 * np.sin(30 * x)
    centred = errors - errors.mean()
    chances, count = [], 1
    for column, waves in ((0, 62), (1, 1)):
        reach = float(np.ptp(table[:, column])) or 1.0
        for k in range(1, waves + 1):
            angle = k * table[:, column] / reach
            both = np.column_stack([np.sin(angle), np.cos(angle)])
            both = both - both.mean(axis=0)
            left = centred - both @ np.linalg.lstsq(both, centred, rcond=None)[0]
            ratio = (np.sum(centred**2) - np.sum(left**2)) / 2 / (np.sum(left**2) / 37)
            chances.append(float(stats.f.sf(ratio, 2, 37)))
        count += waves
    problem = Problem(table, errors, additive=1.0)
    for factor, explained in ((1.02, True), (0.98, False)):
        level = factor * min(chances) * count
        monkeypatch.setattr(structure, "SETTINGS", replace(SETTINGS, neighbour_level=level))
        assert _waves_explain(problem, errors) == explained
    monkeypatch.setattr(structure, "SETTINGS", replace(SETTINGS, neighbour_level=1e6))
    fewest = SETTINGS.wave_points
    assert _waves_explain(problem.of_rows(slice(0, fewest)), errors[:fewest])
    assert not _waves_explain(problem.of_rows(slice(0, fewest - 1)), errors[: fewest - 1])


def test_errors_without_value_follow_and_those_of_arithmetic_do_not() -> None:
    line = np.linspace(1, 2, 40)[:, None]
    log = product([(total([(Fraction(1), Input(0)), (Fraction(-1), ONE)]), -1)])
    assert _follow(Problem(line, line[:, 0]), log, 1e-5)  # has a pole at the first row
    tiny = Problem(line, line[:, 0] * (1 + 1e-15 * line[:, 0]))
    assert not _follow(tiny, Input(0), 1e-5)
    small = Problem(line, line[:, 0] * (1 + 1e-12 * line[:, 0]))
    assert _follow(small, Input(0), 1e-5)
    assert structured(small, Input(0))


def test_a_missing_factor_that_changes_sign_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Errors of a value of both signs are asked as they are, and times its sign."""
    asked: list[np.ndarray] = []
    monkeypatch.setattr(structure, "_explained", lambda _, errors: asked.append(errors) or 1.0)
    monkeypatch.setattr(structure, "_predictable", lambda *_: False)
    around = np.linspace(-1, 1.1, 30)[:, None]
    problem = Problem(around, around[:, 0] + 1e-4)
    assert not _follow(problem, Input(0), 1e-5)
    np.testing.assert_allclose(asked[1], asked[0] * np.sign(around[:, 0]))


def test_formulas_with_and_without_fitted_numbers_are_asked_at_their_own_strength(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[tuple[float, tuple[float, ...]]] = []
    monkeypatch.setattr(structure, "_predictable", lambda _, __, strength, widths: asked.append((strength, widths)))
    monkeypatch.setattr(structure, "_explained", lambda *_: 1.0)
    monkeypatch.setattr(structure, "_neighbours_foretell", lambda *_: False)
    y = X[:, 0] + 1e-3 * NOISE
    _follow(Problem(X, y), Input(0), 1e-5)
    _follow(Problem(X, y, additive=1e-3), real(1.0, Input(0)), 1e-5)
    assert asked == [
        (SETTINGS.predictable_without_fits, (1.0,)),
        (SETTINGS.predictable, SETTINGS.kernel_widths),
    ]


def test_a_target_of_pure_noise_passes_for_it_on_enough_rows() -> None:
    table = np.random.default_rng(2).uniform(-1, 1, (400, 2))
    pure = np.random.default_rng(3).normal(size=400)
    assert white(Problem(table, pure))
    assert not white(Problem(table[:59], pure[:59]))
    assert not white(Problem(table, pure + table[:, 0]))
    assert not white(Problem(table, table[:, 0] * table[:, 1]))  # its mean is nothing everywhere, its size is not
    wide = np.random.default_rng(4).uniform(-1, 1, (300, 13))  # 105 terms of a parabola take 315 rows
    assert not white(Problem(wide, pure[:300]))


# -- learning ------------------------------------------------------------------------------------------------------


def test_errors_at_rows_left_out_are_those_of_the_best_kernel_regression() -> None:
    table, y = X[:20], np.sin(3 * X[:20, 0]) + 0.1 * NOISE[:20]
    z, t = ((v - v.mean(axis=0)) / v.std(axis=0) for v in (table, y))
    best = None
    for width in SETTINGS.regression_widths:
        kernel = np.exp(-np.sum((z[:, None] - z) ** 2, axis=2) / (2 * 2 * width**2))
        for ridge in SETTINGS.regression_ridges[4:]:  # finer ones are beyond a direct computation
            errors = np.zeros(20)
            for row in range(20):
                rest = np.arange(20) != row
                weights = np.linalg.solve(kernel[np.ix_(rest, rest)] + ridge * np.eye(19), t[rest])
                errors[row] = t[row] - kernel[row, rest] @ weights
            if best is None or np.median(np.abs(errors)) < np.median(np.abs(best)):
                best = errors
    assert best is not None
    found = _regression(Problem(table, y), range(2), np.arange(20))
    np.testing.assert_allclose(found.errors, best, rtol=1e-6)
    assert found.columns == (0, 1)


def test_learning_levels_off_where_half_of_the_rows_do_nearly_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    halves: list[int] = []
    errors = {"whole": 0.1, "half": 0.12}

    def of_rows(_: Problem, columns: tuple[int, ...], rows: np.ndarray) -> Regression:
        halves.append(len(rows))
        left = np.array([9.0, -errors["half"], 0.0])
        return Regression(columns, left, left)

    def of_all(_: Problem) -> Regression:
        left = np.array([0.0, errors["whole"], -8.0])
        return Regression((0,), left, left)

    monkeypatch.setattr(learning, "regression", of_all)
    monkeypatch.setattr(learning, "_regression", of_rows)
    enough = Problem(X[:60], X[:60, 0])
    assert levels_off(enough)
    assert halves == [30]
    assert not levels_off(Problem(X[:59], X[:59, 0]))
    errors["half"] = SETTINGS.levelled * 0.1
    assert not levels_off(enough)
    errors.update(whole=SETTINGS.foretold, half=0.1)
    assert not levels_off(enough)
    errors.update(whole=SETTINGS.negligible_noise, half=0.0)
    assert not levels_off(enough)


# -- the size of the noise -----------------------------------------------------------------------------------------


def test_noise_of_each_kind_is_a_root_mean_square_with_the_freedom_that_numbers_leave() -> None:
    y = np.array([1.0, 2.0, 4.0, 8.0, 16.0])
    table = y[:, None]
    errors = np.array([0.1, -0.1, 0.1, 0.1, -0.1])
    found = noise_of(Problem(table, y + errors), real(1.0, Input(0)))
    assert found is not None
    assert (found.additive, found.relative) == (pytest.approx(0.1 * math.sqrt(5 / 4)), 0.0)
    found = noise_of(Problem(table, y * (1 + errors)), Input(0))
    assert found is not None
    shares = errors / (1 + errors)  # of the targets, not of the values
    assert (found.additive, found.relative) == (0.0, pytest.approx(math.sqrt(np.mean(shares**2))))
    with_zero = noise_of(Problem(table - 1, y - 1 + 1e-3 * errors * y), Input(0))  # shares of nothing are none
    assert with_zero is not None
    assert with_zero.relative == 0
    assert str(Noise(relative=0.0123)) == "1.2e-02 of its size"
    assert str(Noise(additive=0.0123)) == "0.012, the same for all rows"
    surprise = Noise(relative=0.1, additive=0.5).surprise(Problem(table, y))
    assert surprise == pytest.approx(2 * np.sum(np.log(0.5 + 0.1 * y)))
    assert Noise().surprise(Problem(table, y)) == pytest.approx(2 * 5 * math.log(SETTINGS.least_noise * 16))


def test_a_description_costs_its_errors_its_symbols_and_its_numbers() -> None:
    problem = Problem(X, X[:, 0])
    noise_only = _Explanation(Input(0), "s", Noise(additive=0.1)).cost(problem)
    symbol = math.log2(4) + SETTINGS.joining_bits
    assert noise_only == pytest.approx(2 * 80 * math.log(0.1) + 2 * math.log(2) * (symbol + 1))
    fitted = _Explanation(real(1.3, Input(0)), "s", Noise(additive=0.1)).cost(problem)
    assert fitted == pytest.approx(noise_only + 2 * math.log(2) * symbol + math.log(80))


def test_the_largest_likely_noise_is_what_a_cubic_or_a_regression_leaves() -> None:
    y = X[:, 0] ** 3 + 0.05 * NOISE  # on fewer rows than a regression is asked for: the cubic decides
    some = Problem(X[:55], y[:55])
    basis = np.linalg.qr(cubic(X[:55], range(2)))[0]
    centred = y[:55] - y[:55].mean()
    left = np.linalg.norm(centred - basis @ (basis.T @ centred)) / np.linalg.norm(centred)
    share = SETTINGS.cubic_excess * left * math.sqrt(55 / 45)
    assert share < SETTINGS.largest_share
    assert loosened(some).additive == pytest.approx(share * np.std(y[:55]))
    assert loosened(some).noise == 0
    few = Problem(X[:7], y[:7])  # two terms of a cubic, three times as many rows
    assert loosened(few).additive <= SETTINGS.largest_share * np.std(y[:7]) * (1 + 1e-12)
    wave = Problem(X[:55], np.sin(60 * X[:55, 0]))
    assert loosened(wave).additive == pytest.approx(SETTINGS.largest_share * np.std(wave.y))
    turning = Problem(X, np.sin(8 * X[:, 0]))  # which a cubic leaves, and a regression learns where it has the rows
    assert loosened(turning).additive < 0.5 * SETTINGS.largest_share * np.std(turning.y)
    fewer = Problem(X[: SETTINGS.fewest_to_level - 1], turning.y[: SETTINGS.fewest_to_level - 1])
    assert loosened(fewer).additive == pytest.approx(SETTINGS.largest_share * np.std(fewer.y))
    many = Problem(X, y)  # a smooth regression knows better than the cubic here, or not: the smaller counts
    by_regression = SETTINGS.cubic_excess * math.sqrt(np.mean(learning.regression(many).errors ** 2))
    assert loosened(many).additive <= by_regression * np.std(y) * (1 + 1e-9)


def test_what_is_far_from_the_likely_noise_is_not_refined() -> None:
    problem = Problem(X, X[:, 0] + 0.01 * np.where(np.arange(80) % 2, 1, -1))
    free = real(1.0, Input(0))
    likely = float(np.median(np.abs(X[:, 0] - problem.y)))  # 0.01
    for factor, kinds in ((1.05, 2), (0.95, 1)):  # one for each kind of noise, or too far off for the second
        found = list(_explanations(problem, free, "s", factor * likely / SETTINGS.off))
        assert len(found) == kinds
    assert [len(list(_explanations(problem, Input(0), "s", likely)))] == [1]  # nothing to refine twice
    assert not list(_explanations(problem, free, "s", 0.99 * likely / SETTINGS.far_off))
    assert len(list(_explanations(problem, free, "s", 1.01 * likely / SETTINGS.far_off))) == 1  # too far off by then
    with_zero = problem.of_target(np.where(np.arange(80) == 3, 0.0, problem.y))
    assert len(list(_explanations(with_zero, free, "s", likely))) <= 1
    broken = product([(total([(Fraction(1), Input(0)), (Fraction(-5), ONE)]), Fraction(1, 2))])
    assert not list(_explanations(problem, broken, "s", likely))
    loud = problem.of_target(problem.y + 0.3 * NOISE)
    assert not list(_explanations(loud, free, "s", 1.0))


def test_a_rival_is_within_the_clear_margin_and_another_function(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(noise, "edits", lambda *_: [])
    sign = np.where(np.arange(80) % 2, 1.0, -1.0)
    problem = Problem(X, X[:, 0] + 0.01 * sign, additive=0.01)
    squares = float(np.sum(problem.errors(Input(0)) ** 2))
    margin = SETTINGS.clear_margin / 80 * squares
    assert not _has_rival(problem, Input(0), [_Explanation(Input(0), "s", Noise())])
    against, errors = X[:, 1] / 0.01, problem.errors(Input(0))
    slope, square = float(against @ errors), float(against @ against)
    size = (math.sqrt(slope**2 + square * margin) - slope) / square  # so much of the other input is just bearable
    for factor, rival in ((0.99, True), (1.01, False)):
        other = total([(Fraction(1), Input(0)), (factor * size, Input(1))])
        near = float(np.sum(problem.errors(other) ** 2)) < squares + margin
        assert near == rival
        monkeypatch.setattr(noise, "agrees_elsewhere", lambda *_, **__: False)
        assert _has_rival(problem, Input(0), [_Explanation(other, "s", Noise())]) == rival
        monkeypatch.setattr(noise, "agrees_elsewhere", lambda *_, **__: True)
        assert not _has_rival(problem, Input(0), [_Explanation(other, "s", Noise())])
        monkeypatch.setattr(noise, "edits", lambda *_, other=other: [other])
        assert not _has_rival(problem, Input(0), [])  # a change that is seen nowhere, as one that a fit undoes
        monkeypatch.setattr(noise, "agrees_elsewhere", lambda *_, **__: False)
        assert _has_rival(problem, Input(0), []) == rival
        monkeypatch.setattr(noise, "edits", lambda *_: [])


def test_under_noise_the_shortest_description_is_judged_and_its_noise_named() -> None:
    y = 3 * X[:, 0] * X[:, 1] + 0.01 * np.random.default_rng(8).normal(size=80)
    problem = Problem(X, y)
    law = real(3.0, product([(Input(0), 1), (Input(1), 1)]))
    exact = Finding(problem, (), Verdict(Candidate(Input(0), "s", 9.0, 9.0), Status.NONE))
    assert under_noise(problem, [], exact) is exact
    worse = real(4.5, Input(0))
    pool = [_Explanation(f, "s", noise_of(problem, f) or Noise()) for f in (worse, law)]
    found = under_noise(problem, pool, exact)
    assert found.verdict.found
    assert found.verdict.reasons[-1].startswith("the noise of y was estimated as 0.0")
    assert found.problem.additive == pytest.approx(0.01, rel=0.2)
    assert found.tried[0].candidate.formula == found.verdict.candidate.formula  # least noise first
    refused = under_noise(problem, pool[:1], exact)
    assert refused.verdict.status is Status.NONE
    assert refused.verdict.candidate.relative_error < 9.0


# -- printed digits ------------------------------------------------------------------------------------------------


def test_few_digits_are_fewer_than_those_of_float32() -> None:
    full = np.sqrt(np.arange(2.0, 7.0))
    seven = np.array([3.456712, 4.567123, 5.671234, 6.712345, 7.123456])
    assert as_printed(Problem(full[:, None], seven)) is None  # half a unit is less than four roundings
    assert as_printed(Problem(full[:, None], seven - 1.4)) is not None
    table = np.arange(5.0)[:, None] + 0.5
    assert as_printed(Problem(table, seven)) is not None
    assert as_printed(Problem(table, full)) is None  # inputs of few digits were set


def test_several_numbers_in_print_must_be_round() -> None:
    assert _spare_digits(Fitted(-1.8, 0.001)) == pytest.approx(math.log10(1800) - 2)
    assert _spare_digits(Fitted(2.0, 0.0)) == pytest.approx(math.log10(2e16) - 1)
    short = X.round(2)
    printed = as_printed(Problem(short, (2.5 * short[:, 0] + 1.25).round(2)))
    assert printed is not None
    formula = WeightedSum(((2.5, Input(0)), (1.25, ONE)))

    def verdict(first: float, second: float) -> Verdict:
        numbers = (Fitted(2.5, first), Fitted(1.25, second))
        return Verdict(Candidate(formula, "s", 0.5, 0.0, numbers), Status.REAL)

    digits = [math.log10(2.5 / 1e-3) - 2, math.log10(1.25 / 1e-3) - 3]
    spare = 10 ** ((sum(digits) - SETTINGS.spare_digits) / 2)  # deviations that leave just so many digits
    assert "several fitted numbers" not in str(in_print(printed, verdict(0.99e-3 * spare, 0.99e-3 * spare)).reasons)
    assert "several fitted numbers" in str(in_print(printed, verdict(1.01e-3 * spare, 1.01e-3 * spare)).reasons)
    one = Verdict(Candidate(real(2.5, Input(0)), "s", 0.5, 0.0, (Fitted(2.5, 9.0),)), Status.REAL)
    assert "several" not in str(in_print(printed, one).reasons)
    none = Verdict(Candidate(Input(0), "s", 0.5, 0.0), Status.NONE)
    assert in_print(printed, none) is none


def test_a_neighbour_within_the_printed_digits_is_a_rival() -> None:
    near = 1 + (X - 1) / 10
    coarse = Problem(near, near[:, 0], printed=np.full((80, 3), 0.05))
    other = product([(Input(0), Fraction(3, 2))])
    assert _rivals(coarse, Input(0), other)
    assert _rivals(coarse, Input(0), real(7.0, other))  # its number is refined
    assert not _rivals(coarse, Input(0), real(1.0, Input(0)))  # the same for all that such data tell
    fine = Problem(near, near[:, 0], printed=np.full((80, 3), 0.0005))
    assert not _rivals(fine, Input(0), other)
    assert "another formula" in in_print(coarse, judged(Input(0), Status.EXACT)).reasons[0]


# -- all rows ------------------------------------------------------------------------------------------------------


def found_in(problem: Problem, formula: Formula, status: Status = Status.EXACT) -> Finding:
    return Finding(problem, (), Verdict(Candidate(formula, "s", 0.5, 0.0), status))


def test_a_claim_is_taken_back_by_rows_that_the_search_did_not_see(monkeypatch: pytest.MonkeyPatch) -> None:
    y = X[:, 0].copy()
    y[[70, 75]] = 5.0
    whole = gathered(Problem(X, y))
    seen = Problem(X[:40], X[:40, 0])
    doubted = everywhere(found_in(seen, Input(0)), whole, [0, 1]).verdict
    assert (doubted.status, doubted.reasons[0]) == (
        Status.AMBIGUOUS,
        "2 of 80 rows contradict the formula: 70, 75",
    )
    for start in (0, 20):  # rows are looked at some at a time
        monkeypatch.setattr(
            over_all,
            "chunks",
            lambda table, at=start: [table.of_rows(slice(0, at)), table.of_rows(slice(at, 80))][not at :],
        )
        assert contradictions(seen, Input(0), whole, [0, 1]).positions == (70, 75)
    none = found_in(seen, Input(0), Status.NONE)
    assert everywhere(none, whole, [0, 1]) is none
    all_seen = found_in(whole.problem, Input(0))
    assert everywhere(all_seen, whole, [0, 1]) is all_seen
    wrong = everywhere(found_in(seen, Input(1)), whole, [0, 1]).verdict
    assert wrong.status is Status.NONE
    assert wrong.reasons[0].startswith("80 of 80 rows contradict the formula: 0, 1, 2, 3, 4, 5, 6, 7 ...")
    right = found_in(seen, Input(0))
    assert everywhere(right, gathered(Problem(X, X[:, 0])), [0, 1]) is right
    swapped = gathered(Problem(X[:, ::-1], X[:, 0]))
    assert everywhere(right, swapped, [1, 0]) is right


def test_noise_that_copied_rows_deny_is_no_explanation() -> None:
    rows = np.concatenate([np.arange(80), np.arange(3)])
    y = X[:, 0] + 0.01 * NOISE
    copied = gathered(Problem(X[rows], y[rows]))
    assert copied.repeats_agree
    assert not gathered(Problem(X[rows[:-1]], y[rows[:-1]])).repeats_agree  # two may be a slip
    differ = y[rows].copy()
    differ[-1] += 0.01
    assert not gathered(Problem(X[rows], differ)).repeats_agree
    noisy = found_in(Problem(X, y, additive=0.01), Input(0))
    assert "were copied" in everywhere(noisy, copied, [0, 1]).verdict.reasons[0]
    exact = found_in(Problem(X, X[:, 0]), Input(0))
    agreed = gathered(Problem(X[rows], X[rows, 0]))
    assert everywhere(exact, agreed, [0, 1]).verdict.status is Status.EXACT
    given = replace(copied, problem=replace(copied.problem, noise=0.1))
    assert "were copied" not in str(everywhere(noisy, given, [0, 1]).verdict.reasons)  # noise that was given is there


# -- the best of all -----------------------------------------------------------------------------------------------


def judged(formula: Formula, status: Status, error: float = 0.0, constants: int = 0) -> Verdict:
    return Verdict(Candidate(formula, "s", 0.5, error, (Fitted(1.0, 0.1),) * constants), status)


def test_the_simplest_claim_is_chosen_unless_one_as_simple_differs_elsewhere() -> None:
    problem = Problem(X, X[:, 0])
    square, same = product([(Input(0), 2)]), product([(Input(0), 1), (Input(0), 1)])
    short, long = judged(square, Status.EXACT), judged(total([(Fraction(3), square), (Fraction(1), ONE)]), Status.EXACT)
    assert best_of(problem, [long, short]) is short
    fitted = judged(real(1.0, Input(0)), Status.REAL, constants=1)
    assert best_of(problem, [fitted, long]) is long  # fewer fitted numbers before fewer symbols
    assert best_of(problem, [short, judged(same, Status.AMBIGUOUS)]) is short
    rival = judged(product([(Input(1), 2)]), Status.AMBIGUOUS)
    assert best_of(problem, [short, rival]).status is Status.AMBIGUOUS
    one_more = judged(total([(Fraction(3), Input(1)), (Fraction(1), ONE)]), Status.AMBIGUOUS)  # 3 instead of 2 to read
    assert best_of(problem, [short, one_more]).status is Status.AMBIGUOUS
    two_more = judged(total([(Fraction(3), Input(1)), (Fraction(2), ONE)]), Status.AMBIGUOUS)
    assert best_of(problem, [short, two_more]) is short
    freer = judged(real(1.5, Input(1)), Status.AMBIGUOUS, constants=1)
    assert best_of(problem, [short, freer]) is short
    assert best_of(problem, [judged(square, Status.AMBIGUOUS), long.doubted("?")]).candidate.formula == square


def test_a_refusal_shows_the_smallest_error_of_formulas_with_few_numbers() -> None:
    problem = Problem(X[:4], X[:4, 0])
    none = judged(Input(0), Status.NONE, error=0.5)
    two = judged(WeightedSum(((1.0, Input(0)), (1.0, ONE))), Status.NONE, error=0.1)
    three = judged(WeightedSum(((1.0, Input(0)), (1.0, ONE), (1.0, Input(1)))), Status.NONE, error=0.01)
    assert refusal(problem, [none, two, three]).candidate is two.candidate  # two rows for each number
    assert refusal(problem, [three]).candidate is three.candidate
    assert best_of(problem, [none], [two]).candidate is two.candidate
    assert refusal(problem, [judged(Input(0), Status.EXACT)]).status is Status.NONE


# -- the front -----------------------------------------------------------------------------------------------------


def entry(formula: Formula, *squares: float) -> FrontEntry:
    return FrontEntry(formula, "s", np.array(squares))


SIZES = [Input(0), product([(Input(0), 2)]), total([(Fraction(1), Input(0)), (Fraction(2), ONE)])]


def test_the_front_holds_what_no_shorter_formula_beats() -> None:
    a, b, c = entry(SIZES[0], 4.0, 4.0), entry(SIZES[1], 1.0, 5.0), entry(SIZES[2], 0.0, 6.0)
    plain = np.ones(2)
    assert _undominated([c, b, a], plain) == [a, b]  # the third is only as good as the second
    assert _undominated([c, b, a], np.array([3.0, 1.0])) == [a, b, c]
    twin = entry(Input(1), 3.0, 3.0)
    assert _undominated([a, twin], plain) == [twin]


def test_the_knee_is_the_shortest_that_held_out_rows_cannot_tell_from_the_best() -> None:
    rows, y = 16, np.arange(16.0)
    plain = np.ones(rows)
    best = entry(SIZES[2], *np.full(rows, 10.0))
    sign = np.where(np.arange(rows) % 2, 1.0, -1.0)

    def chosen(worse: np.ndarray, weights: np.ndarray = plain, target: np.ndarray = y) -> bool:
        short = entry(SIZES[0], *(10.0 + worse))
        return _knee([short, best], weights, target) is short

    share = SETTINGS.knee_share * 10
    assert chosen(np.full(rows, 0.99 * share))
    assert not chosen(np.full(rows, 1.01 * share))
    error = 4.0 / math.sqrt(rows)  # of the mean of differences that spread by 4
    assert chosen(4 * sign + 0.99 * SETTINGS.knee * error)
    assert not chosen(4 * sign + 1.01 * SETTINGS.knee * error)
    double = np.where(np.arange(rows) < 8, 3.0, 1.0)
    effective = np.sum(double) ** 2 / np.sum(double**2)
    uneven = 4 * sign
    assert chosen(uneven + 0.99 * SETTINGS.knee * 4 / math.sqrt(effective), double)
    assert not chosen(uneven + 1.01 * SETTINGS.knee * 4 / math.sqrt(effective), double)
    far = 1e3 * y
    unseen = SETTINGS.knee_accuracy**2 * np.var(far)
    assert chosen(np.full(rows, 0.99 * unseen), target=far)
    assert not chosen(np.full(rows, 1.01 * unseen), target=far)


def test_deviations_on_the_front_are_those_of_least_squares() -> None:
    formula = WeightedSum(((2.0, Input(0)), (3.0, ONE)))
    problem = Problem(X, 2 * X[:, 0] + 3 + 0.1 * NOISE)
    sample = _in_sample(problem, formula, "s")
    np.testing.assert_allclose(sample.squares, (82 / 78) * (0.1 * NOISE) ** 2, rtol=1e-9)
    design = np.column_stack([X[:, 0], np.ones(80)])
    expected = np.sqrt(np.mean(sample.squares) * np.diag(np.linalg.inv(design.T @ design)))
    np.testing.assert_allclose(_deviations(problem, sample), expected, rtol=1e-9)
    assert _deviations(problem, _in_sample(problem, Input(0), "s")) == []
    nothing = PowerProduct(((WeightedSum(((Fraction(0), Input(0)),)), Fraction(-1)),))
    assert _deviations(problem, entry(real(2.0, nothing), 1.0)) == [math.inf]
    zero = real(2.0, WeightedSum(((Fraction(0), Input(0)),)))
    assert _deviations(problem, entry(zero, 1.0)) == [0.0]


def test_numbers_on_the_front_are_shortened_while_nobody_would_notice() -> None:
    problem = Problem(X, 2.123456 * X[:, 0] + 0.1 * NOISE)
    formula = real(2.123456, Input(0))
    short = _shortened(problem, _in_sample(problem, formula, "s"))
    assert real_constants(short.formula) == [2.1235]  # known to 0.007, and one digit more
    assert np.mean(short.squares) <= 1.01 * np.mean((82 / 78) * (0.1 * NOISE) ** 2)
    louder = Problem(X, 2.123456 * X[:, 0] + 0.16 * NOISE)
    again = _in_sample(louder, formula, "s")
    assert 0.01 < _deviations(louder, again)[0] < 0.015
    assert real_constants(_shortened(louder, again).formula) == [2.123]
    sharp = Problem(X, 2.123456 * X[:, 0])
    kept = _in_sample(sharp, formula, "s")
    assert _shortened(sharp, kept).formula == formula
    exact = _in_sample(sharp, Input(0), "s")
    assert _shortened(sharp, exact) is exact


def test_what_was_tried_is_on_the_front_if_it_reads_something_and_has_few_numbers_and_no_pole() -> None:
    few = X[:20]
    problem = Problem(few, few[:, 0])
    pole = product([(total([(Fraction(1), Input(0)), (Fraction(-3, 2), ONE)]), -1)])
    many = WeightedSum(((1.0, Input(0)), (1.0, Input(1))))
    tried = [judged(f, Status.NONE) for f in (Input(1), real(2.5, Input(0)), Constant(2.0), pole, many)]
    found = _tried(Finding(problem, tuple(tried), tried[0]))
    assert [e.formula for e in found] == [Input(1), real(2.5, Input(0))]  # one number for twenty rows
    fewer = Problem(few[:19], few[:19, 0])
    assert [e.formula for e in _tried(Finding(fewer, tuple(tried), tried[0]))] == [Input(1)]
    best = [judged(product([(Input(0), k)]), Status.NONE, error=float(k)) for k in range(1, 70)]
    assert len(_tried(Finding(problem, tuple(best[::-1]), best[0]))) == SETTINGS.tried_on_front


def test_an_approximation_is_offered_if_it_explains_enough() -> None:
    y = X[:, 0]
    problem = Problem(X, y)
    nothing = found_in(problem, Constant(float(np.mean(y))), Status.NONE)
    spread = float(np.var(y)) * 81 / 79
    mean = entry(Constant(1.5), *np.full(80, spread * 2))  # folds make the mean look worse than it is
    for factor, offered in ((0.99, True), (1.01, False)):
        line = entry(SIZES[1], *np.full(80, spread * (1 - SETTINGS.least_explained / factor)))
        found = fronts._on_front(nothing, [mean, line], np.ones(80))
        assert (found.verdict.status is Status.APPROXIMATION) == offered
    assert len(found.tried) == 0
    line = entry(SIZES[1], *np.full(80, spread / 4))
    offered_one = fronts._on_front(nothing, [mean, line], np.ones(80))
    assert "explains 0.75 of the variance" in offered_one.verdict.reasons[-1]
    assert len(offered_one.tried) == 2
    assert offered_one.verdict.candidate.relative_error == pytest.approx(math.sqrt(spread / 4 / np.mean(y**2)))
    assert fronts._on_front(nothing, [line], np.ones(80)) is nothing  # nothing shorter to compare it with


def test_held_out_errors_are_those_of_sums_fitted_to_other_rows() -> None:
    y = 2 * X[:, 0] + 0.1 * NOISE
    problem = Problem(X, y, seed=5)
    found = fronts._held_out(problem, np.ones(80), fronts.linear_terms(problem, [0]), [])
    assert len(found) == 2
    fold_of = np.random.default_rng(5).permutation(80) % SETTINGS.folds
    mean, line = np.zeros(80), np.zeros(80)
    for fold in range(SETTINGS.folds):
        out = fold_of == fold
        mean[out] = np.mean(y[~out])
        design = np.column_stack([X[:, 0], np.ones(80)])
        line[out] = design[out] @ np.linalg.lstsq(design[~out], y[~out], rcond=None)[0]
    np.testing.assert_allclose(found[0].squares, (mean - y) ** 2)
    np.testing.assert_allclose(found[1].squares, (line - y) ** 2, rtol=1e-6)
