"""The linear algebra behind the shapes, on numbers one can check by hand."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from nalm.solver.data.problem import Problem
from nalm.solver.formula.algebra import ONE, Input, WeightedSum, inputs, product, total
from nalm.solver.formula.calculus import evaluate
from nalm.solver.formula.functions import Function
from nalm.solver.settings import SETTINGS
from nalm.solver.shapes.beam import Beam
from nalm.solver.shapes.beside import powers, supports
from nalm.solver.shapes.catalogue import SHAPES
from nalm.solver.shapes.combine import combinations, grid_sum
from nalm.solver.shapes.factored import _with_fractions
from nalm.solver.shapes.flexible import linear_terms, paired_terms, sparse_sums
from nalm.solver.shapes.functions.curves import curves
from nalm.solver.shapes.functions.line import Line, fitted_beside, lines_of
from nalm.solver.shapes.functions.profile import PROFILES, _Near, _refined_scale, _with_profile
from nalm.solver.shapes.functions.wave import _Scan
from nalm.solver.shapes.linear import least_squares, snap, sparse_weights
from nalm.solver.shapes.marquardt import balanced, minimise
from nalm.solver.shapes.screen import by_importance
from nalm.solver.shapes.sums import sparse_sums as sums_from_few_rows
from nalm.solver.shapes.trees.search import _meetings


def table(rows: int, columns: int, seed: int = 0, low: float = 1.0, high: float = 2.0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(low, high, (rows, columns))


# -- what a fit may leave ------------------------------------------------------------------------------------------


def test_a_fit_may_leave_what_is_close_or_three_deviations_of_the_noise() -> None:
    X = table(20, 2)
    plain = Problem(X, X[:, 0])
    assert plain.reach(1e-4) == 1e-4
    assert replace(plain, noise=0.01).reach(1e-4) == pytest.approx(0.03)
    assert replace(plain, noise=0.01).reach(0.05) == 0.05


# -- least squares -------------------------------------------------------------------------------------------------


def test_least_squares_does_not_mind_the_size_of_columns() -> None:
    A = table(10, 3) * np.array([1e-200, 1.0, 1e200])
    weights = np.array([2e200, 3.0, -4e-200])
    np.testing.assert_allclose(least_squares(A, A @ weights), weights, rtol=1e-9)
    assert np.isnan(least_squares(A, np.full(10, np.inf))).all()


def test_snap_rounds_the_best_determined_first_and_refits_the_others() -> None:
    """Rounded all at once, the two columns that nearly cancel would be wrong."""
    A = table(40, 3)
    A[:, 1] = A[:, 0] + 0.01 * A[:, 1]
    noise = 0.02 * np.random.default_rng(1).normal(size=40)
    target = A @ np.array([3.0, -2.0, 1.0]) + noise
    assert np.any(np.round(least_squares(A, target)) != [3, -2, 1])
    assert snap(A, target)[2] == 1
    np.testing.assert_array_equal(snap(A, A @ np.array([3.0, -2.0, 1.0])), [3, -2, 1])
    np.testing.assert_array_equal(snap(A[:, 1:], A[:, 1:] @ np.array([1.5, -0.5]), step=0.5), [1.5, -0.5])
    assert np.isnan(snap(A, np.full(40, np.nan))).all()


@pytest.mark.parametrize("seed", range(3))
def test_few_weights_are_found_from_fewer_rows_than_columns(seed: int) -> None:
    rng = np.random.default_rng(seed)
    A, weights = rng.normal(size=(14, 30)), np.zeros(30)
    weights[rng.choice(30, 4, replace=False)] = rng.choice([-2.0, -1.0, 1.0, 3.0], 4)
    guesses = sparse_weights(A, A @ weights, seed)
    assert len(guesses) >= 4
    assert any(np.allclose(guess, weights, atol=0.02) for guess in guesses)
    assert np.allclose(A @ guesses[0], A @ weights, atol=1e-3)
    formulas = list(sums_from_few_rows(A, A @ weights, [Input(i) for i in range(30)], seed))
    assert grid_sum([Input(i) for i in range(30)], weights) in formulas


def test_a_dense_subset_is_found_by_a_box() -> None:
    """Half of the weights are 1, which no search for few weights finds; between 0 and 1 they are the only solution."""
    rng = np.random.default_rng(3)
    A, weights = rng.normal(size=(24, 30)), (rng.random(30) < 0.5).astype(float)
    found = sparse_weights(A, A @ weights)
    assert any(np.allclose(guess, weights, atol=1e-2) for guess in found)


# -- products of sums ----------------------------------------------------------------------------------------------


def test_factors_of_a_product_of_two_sums_are_found() -> None:
    X = np.random.default_rng(2).normal(size=(60, 3))
    truth = np.array([[1.0, 2.0, 0.0], [0.0, 1.0, -1.0]])
    target = np.prod(X @ truth.T, axis=1)
    start = truth + 0.3 * np.random.default_rng(5).normal(size=truth.shape)
    factors, left = minimise(X, target, np.ones(60), start)
    assert left < 1e-8
    for found, wanted in zip(factors, truth, strict=True):
        np.testing.assert_allclose(found / found[1], wanted / wanted[1], atol=1e-6)
    assert minimise(X, target, np.ones(60), start, most=1)[1] > left


def test_balanced_factors_have_one_length_and_the_same_product() -> None:
    even = balanced(np.array([[3.0, 4.0], [0.0, 20.0]]))
    np.testing.assert_allclose(np.linalg.norm(even, axis=1), [10, 10])
    np.testing.assert_allclose(even, [[6.0, 8.0], [0.0, 10.0]])
    assert np.array_equal(balanced(np.zeros((2, 2))), np.zeros((2, 2)))


# -- combinations --------------------------------------------------------------------------------------------------


def test_combinations_are_whole_half_and_real_in_turn() -> None:
    X = table(30, 3)
    features = [Input(i) for i in range(3)]
    plain = np.ones(30)
    found = [next(combinations(features, X, X @ np.array(w), plain)) for w in ([2.0, 0.0, -1.0], [0.5, 1.5, 0.0])]
    assert found[0] == total([(Fraction(2), Input(0)), (Fraction(-1), Input(2))])
    assert found[1] == total([(Fraction(1, 2), Input(0)), (Fraction(3, 2), Input(1))])
    free = list(combinations(features, X, X @ np.array([0.37, 0.0, -1.21]), plain))
    last = free[-1]
    assert isinstance(last, WeightedSum)
    assert {term for _, term in last.terms} == {Input(0), Input(2)}
    assert list(combinations(features, X, np.random.default_rng(9).normal(size=30), plain)) == []


# -- supports ------------------------------------------------------------------------------------------------------


def test_supports_name_the_features_that_a_base_lacks() -> None:
    X = table(50, 2)
    base = np.column_stack([np.ones(50), X])
    features = np.column_stack([2 * X[:, 0], np.sin(3 * X[:, 0]), np.exp(X[:, 1]), X[:, 0] * X[:, 1]])
    target = 4 * X[:, 1] + np.sin(3 * X[:, 0]) - 2 * np.exp(X[:, 1])
    assert {tuple(sorted(s)) for s in supports(base, features, target, 2, 1e-6)} == {(1, 2)}
    assert not list(supports(base, features, target, 1, 1e-6))
    assert not list(supports(base, features[:, :1], target, 1, 0.5))  # a multiple of the base says nothing new


def test_powers_are_rounded_to_halves_and_a_root_of_both_signs_takes_the_size() -> None:
    X = table(20, 2, low=-2.0)
    y = 3 * X[:, 1] ** 2 * np.sqrt(np.abs(X[:, 0]))
    (found,) = powers(Problem(X, y), [], np.array([0.501, 1.999, 1.1]))
    np.testing.assert_allclose(found.terms[0][0], 3.0)  # type: ignore[union-attr]
    assert "ABS" in repr(found)
    assert not list(powers(Problem(X, y), [], np.array([0.7, 2.0, 1.1])))
    assert not list(powers(Problem(X, y), [], np.array([0.5, 14.0, 1.1])))


def test_a_beam_ranks_pairs_by_what_they_leave() -> None:
    A = np.random.default_rng(0).normal(size=(40, 12))
    A /= np.linalg.norm(A, axis=0)
    b = A[:, 3] - 0.5 * A[:, 7] + 0.25 * A[:, 10]
    b /= np.linalg.norm(b)
    beam = Beam(A, b)
    for size, wanted in ((1, (3,)), (2, (3, 7)), (3, (3, 7, 10))):
        chosen, errors = beam.lengthened(size, 20)
        assert tuple(sorted(chosen[0])) == wanted
        assert np.all(np.diff(errors) >= -1e-12)
    assert errors[0] < 1e-7


# -- scales --------------------------------------------------------------------------------------------------------


SIZES = np.geomspace(0.05, 30, 40)


@pytest.mark.parametrize(
    ("function", "grid", "truth", "scale"),
    [
        (Function.SIN, np.arange(0.5, 40, 0.5), lambda x: np.sin(7.23 * x + 0.4), 7.23),
        (Function.EXP, np.concatenate([-SIZES[::-1], SIZES]), lambda x: np.exp(-1.7 * x), -1.7),
        (Function.TANH, SIZES, lambda x: np.tanh(2.6 * x), 2.6),
    ],
)
def test_a_scan_finds_the_scale_of_a_wave_beside_a_line_and_behind_a_factor(function, grid, truth, scale) -> None:
    X = table(120, 2, low=-1.0, high=1.0)
    base, factor = np.column_stack([np.ones(120), X]), X[:, 1]
    line = Line(base, 3 - X[:, 0] + 2 * factor * truth(X[:, 0]), np.ones(120))
    scan = _Scan(line, X[:, 0], function, rows=96, seed=0)
    nowhere, place = scan.best(np.stack([np.zeros(120), factor]), scan.waves(grid))
    assert nowhere is None
    assert scan.refined(factor, grid, place) == pytest.approx(scale, rel=1e-5)
    nothing = Line(base, np.random.default_rng(4).normal(size=120), np.ones(120))
    noise = _Scan(nothing, X[:, 0], function, rows=96, seed=0)
    assert noise.best(factor[None], noise.waves(grid)) == [None]


def test_rows_count_alike_unless_targets_are_of_many_sizes() -> None:
    X = np.linspace(1, 2, 100)[:, None]
    (plain,) = lines_of(Problem(X, X[:, 0]))
    assert not plain.of_shares
    np.testing.assert_array_equal(plain.columns, np.column_stack([np.ones(100), X]))
    y = -np.geomspace(1e-6, 1.0, 100)
    alike, shares = lines_of(Problem(X, y))
    assert (alike.of_shares, shares.of_shares) == (False, True)
    small = np.quantile(-y, 0.1)
    np.testing.assert_allclose(shares.weights, np.minimum(small / -y, 1))  # 1 for the tenth with the smallest targets
    np.testing.assert_allclose(shares.y, np.maximum(y, -small))
    np.testing.assert_allclose(shares.columns[:, 1], X[:, 0] * shares.weights)
    assert len(lines_of(Problem(X, np.where(np.arange(100) < 20, 0.0, y)))) == 1  # a tenth is zero: no smallest size
    assert [line.columns.shape[1] for line in lines_of(Problem(X, y, additive=0.1))] == [1, 2]


def test_terms_beside_a_line_are_fitted_by_shares_of_the_target() -> None:
    x = np.linspace(0, 1, 200)
    truth = np.exp(30 * x) - 1
    line = Line(np.ones((200, 1)), truth + 1e-3 * truth * np.cos(50 * x), np.ones(200))
    weights = 1 / (truth + 1)
    by_shares = Line(line.columns * weights[:, None], line.y * weights, weights)
    plain, fitted = (fitted_beside(each, ONE, np.ones(200), [np.exp(30 * x)]) for each in (line, by_shares))
    assert plain is not None
    assert plain.line == ()  # beside 1e13 nothing is seen of the constant
    assert fitted is not None
    assert fitted.weights[0] == pytest.approx(1, abs=1e-3)
    assert fitted.line[0][0] == pytest.approx(-1, abs=1e-2)


def test_a_scale_is_refined_between_its_neighbours() -> None:
    x = np.linspace(0.5, 2, 40)
    base, target = np.ones((40, 1)), 3 * np.log(np.expm1(1.3 * x)) + 2
    found = _refined_scale(lambda k: np.log(np.expm1(k * x)), 1.2, base, target, None)
    assert found == pytest.approx(1.3, rel=1e-6)
    assert _refined_scale(lambda k: np.log(np.expm1(k * x)), 1.2, base, target, 3) == pytest.approx(1.3, rel=1e-6)
    assert _refined_scale(lambda _: np.full(40, np.nan), 1.2, base, target, None) == 1.2


# -- order and length ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [400, 60, 22])  # one regression; linear part first; correlations only
def test_columns_that_matter_come_first(rows: int) -> None:
    X = table(rows, 6, seed=rows, low=-1.0, high=1.0)
    y = 3 * X[:, 4] + X[:, 1] * X[:, 4] + 2 * X[:, 2]
    first = by_importance(Problem(X, y))
    assert set(first[:2]) == {2, 4}
    if rows == 400:
        assert set(first[:3]) == {1, 2, 4}
    assert sorted(first) == list(range(6))


def test_sparse_sums_of_each_length_take_the_terms_of_the_law_and_products_of_them() -> None:
    X = table(80, 3, low=-1.0, high=1.0)
    problem = Problem(X, 5 * X[:, 0] + 2 * X[:, 0] * X[:, 1] * X[:, 2])
    terms = linear_terms(problem, [0, 1, 2]) + paired_terms(problem, [0, 1, 2])
    sums = sparse_sums(problem, np.ones(80), terms, [0, 1, 2], 4)
    assert sums.terms[0] == ()
    assert sums.terms[1] == (Input(0),)
    assert any({2} <= inputs(term) and {1} <= inputs(term) for term in sums.terms[2])
    assert any(len(inputs(term)) == 3 for term in sums.terms[-1])
    errors = [float(np.std(values - problem.y)) for values in sums.values]
    assert np.all(np.diff(errors) < 1e-12)
    assert errors[3] < 1e-12


def test_of_two_equal_terms_the_shorter_is_taken() -> None:
    X = table(40, 1)
    problem = Problem(X, X[:, 0])
    pair = linear_terms(problem, [0])
    longer = replace(pair, formulas=(product([(Input(0), 2)]),))
    sums = sparse_sums(problem, np.ones(40), longer + pair, [], 1)
    assert sums.terms[1] == (Input(0),)
    assert SETTINGS.length_discount < 1
    assert ONE not in sums.terms[1]


def test_a_function_without_logarithm_at_a_row_beyond_the_scan_proposes_nothing() -> None:
    X = np.random.default_rng(0).uniform(1, 2, (120, 2))
    X[110, 0] = 1e-10  # 1 - cos of it is 0 to a computer, and a regression on its infinite logarithm never ends
    near = _Near(0.0, PROFILES[-1], 1.0, Input(0), None)
    with np.errstate(divide="ignore"):
        assert not np.isfinite(near.profile.log(X[:, 0])).all()
    assert list(_with_profile(Problem(X, X[:, 1]), near)) == []


def test_a_quotient_without_any_weight_proposes_nothing() -> None:
    """Columns from 1e-77 to 1e165 made every weight vanish in rounding: an adversary's table, and once a crash."""
    table, y = np.ones((8, 2)), np.arange(1.0, 9.0)
    assert not list(_with_fractions(table, [Input(0), ONE], y, y, [np.zeros(2), np.zeros(2)]))


# -- what is tried -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("place", range(len(PROFILES)))
def test_the_logarithm_of_a_profile_is_that_of_its_formula(place: int) -> None:
    profile, a = PROFILES[place], np.linspace(-3.05, 3.0, 22)
    with np.errstate(all="ignore"):
        by_formula = np.log(np.abs(evaluate(profile.formula(Input(0)), a[:, None])))
        logs = profile.log(a)
    both = np.isfinite(by_formula) & np.isfinite(logs)
    assert both.sum() > 10
    np.testing.assert_allclose(logs[both], by_formula[both], atol=1e-9)


def test_every_shape_has_a_name_of_its_own() -> None:
    names = [shape.name for shape in SHAPES]
    assert len(set(names)) == len(names)


def test_every_tree_is_cut_into_a_subtree_and_what_is_peeled_off_it() -> None:
    assert list(_meetings(7)) == [
        (2, 0),
        (2, 1),
        (3, 0),
        (2, 2),
        (3, 1),
        (4, 0),
        (3, 2),
        (4, 1),
        (3, 3),
        (4, 2),
        (4, 3),
    ]


def test_a_sum_of_many_inputs_does_not_hide_a_product_of_two() -> None:
    """Where there are rows for it, the linear part is taken out before pairs are asked."""
    columns, summed = 60, 8
    X = np.random.default_rng(3).normal(size=(columns + SETTINGS.ranking_rows + 100, columns))
    y = X[:, :summed].sum(axis=1) + 2 * X[:, 17] * X[:, 41]
    assert set(by_importance(Problem(X, y))[: summed + 2].tolist()) == {*range(summed), 17, 41}


@pytest.mark.parametrize("shift", [0.03, 0.3, 4.0])
def test_shifted_powers_are_found_with_their_pole_near_and_far(shift: float) -> None:
    x = table(200, 1)
    y = 0.4 + 1.7 * (x[:, 0] - 1 + shift) ** -1.4
    proposed = [f for group in curves(Problem(x, y), np.arange(1), (Function.EXP, Function.LOG)) for f in group]
    errors = [np.max(np.abs(evaluate(f, x) - y)) / np.ptp(y) for f in proposed]
    assert min(errors) < 1e-6
