"""What is computed once, or left early, gives the answer that doing all of it would give."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from nalm.solver import Status, solve
from nalm.solver.data.problem import checked, spread
from nalm.solver.formula.algebra import ONE, Formula, Input, WeightedSum, total
from nalm.solver.formula.calculus import evaluate, gradients
from nalm.solver.formula.functions import Function
from nalm.solver.settings import SETTINGS
from nalm.solver.shapes.approximation import approximations, fitted_sum, rounded
from nalm.solver.shapes.beam import Beam
from nalm.solver.shapes.catalogue import _around, _inside
from nalm.solver.shapes.functions.features import distinct, finite_features
from nalm.solver.shapes.functions.sum import _terms
from nalm.solver.shapes.linear import gram_inverse, least_squares
from nalm.solver.shapes.monomials import dictionary
from nalm.solver.shapes.screen import _correlated, _regressed
from nalm.solver.shapes.shape import Effort, Scope
from nalm.solver.shapes.trees.forest import Forest
from nalm.solver.shapes.trees.peel import Peels
from nalm.solver.shapes.trees.split import splits
from nalm.solver.verdict.noise import Pool


def test_a_table_that_is_written_to_between_two_calls_is_another_table():
    rng = np.random.default_rng(0)
    X = rng.uniform(1, 2, (80, 2))
    noise = 1 + 1e-3 * rng.normal(size=80)
    assert str(solve(X, X[:, 0] * X[:, 1] * noise).expression) == "x0*x1"
    X[:] = rng.uniform(1, 2, X.shape)
    assert str(solve(X, X[:, 0] / X[:, 1] * noise).expression) == "x0/x1"


def test_monomials_are_the_products_of_their_powers():
    X = np.random.default_rng(0).uniform(-3, 3, (20, 4))
    monomials = dictionary((0, 1, 3))
    expected = np.stack([evaluate(formula, X) for formula in monomials.formulas], axis=1)
    np.testing.assert_array_equal(monomials.values(X), expected)
    assert len(set(monomials.formulas)) == len(monomials.formulas) == 1 + 3 * 7 + 3 * 16 + 8


def test_what_all_columns_leave_is_the_least_that_some_of_them_leave():
    rng = np.random.default_rng(0)
    A, b = rng.normal(size=(40, 12)), rng.normal(size=40)
    A, b = A / np.linalg.norm(A, axis=0), b / np.linalg.norm(b)
    beam = Beam(A, b)
    left = b - A @ np.linalg.lstsq(A, b, rcond=None)[0]
    assert beam.least_error() == pytest.approx(np.linalg.norm(left))
    assert beam.least_error() <= min(np.min(beam.lengthened(size, 50)[1]) for size in (1, 2, 3))
    assert Beam(A[:12], b[:12]).least_error() == 0.0


def test_each_pair_of_few_columns_is_there_once():
    rng = np.random.default_rng(1)
    A, b = rng.normal(size=(50, 7)), rng.normal(size=50)
    pairs = Beam(A / np.linalg.norm(A, axis=0), b / np.linalg.norm(b)).lengthened(2, 50)[0]
    assert {tuple(sorted(pair)) for pair in pairs} == set(combinations(range(7), 2))
    assert len(pairs) == 21


def test_the_best_pairs_are_those_of_all_pairs():
    rng = np.random.default_rng(1)
    A, b = rng.normal(size=(50, 30)), rng.normal(size=50)
    A, b = A / np.linalg.norm(A, axis=0), b / np.linalg.norm(b)
    errors = {
        (i, j): float(np.linalg.norm(b - A[:, [i, j]] @ np.linalg.lstsq(A[:, [i, j]], b, rcond=None)[0]))
        for i in range(30)
        for j in range(i + 1, 30)
    }
    found = Beam(A, b).lengthened(2, 10)[0]
    assert [tuple(pair) for pair in found.tolist()] == sorted(errors, key=lambda pair: errors[pair])[:10]


def test_a_shape_is_asked_once_under_noise():
    rng = np.random.default_rng(0)
    X = rng.uniform(1, 2, (100, 1))
    asked: list[str] = []

    def propose() -> list[Formula]:
        asked.append("sum")
        return [WeightedSum(((2.98, Input(0)),))]

    pool = Pool(checked(X, 3 * X[:, 0] + 0.01 * rng.normal(size=100)))
    first = pool.of("sum", propose)
    assert first == pool.of("sum", propose)
    assert asked == ["sum"]
    assert first[0].noise.additive == pytest.approx(0.01, rel=0.3)  # the factor has been refined


def test_a_smooth_function_that_is_no_law_is_refused_without_noise():
    x = np.random.default_rng(0).uniform(-1, 1, (120, 1))
    assert solve(x, np.tanh(3 * x[:, 0] + 0.3) + 0.4 * np.tanh(x[:, 0] - 0.8), effort="quick").status not in (
        Status.EXACT,
        Status.REAL,
    )


def test_gradients_are_computed_anew_for_another_formula_and_another_table():
    X = np.random.default_rng(0).uniform(1, 2, (5, 2))
    formula = WeightedSum(((2.0, Input(0)),))
    assert gradients(formula, X) is gradients(formula, X)
    np.testing.assert_array_equal(gradients(Input(1), X)[0], X[:, 1])
    np.testing.assert_array_equal(gradients(formula, X + 1)[0], 2 * (X[:, 0] + 1))


def test_of_equal_columns_the_first_is_kept_whatever_its_sign():
    x = np.linspace(1, 2, 15)
    with np.errstate(all="ignore"):
        values = np.stack([x, -x, x * (1 + 1e-14), x**2, np.ones(15), np.log(x - 1), x * (1 + 1e-6)], axis=1)
    assert distinct(values).tolist() == [0, 3, 6]


def test_features_and_terms_have_the_values_of_their_formulas():
    X = np.random.default_rng(0).uniform(0.1, 2, (20, 2))
    features = finite_features(X, (0, 1), tuple(Function))
    expected = np.stack([evaluate(formula, X) for formula in features.formulas], axis=1)
    np.testing.assert_array_equal(features.values, expected)
    terms, values = _terms((0, 1), (0, 1), tuple(Function)).finite(X, 700)
    assert values.shape == (20, 700)
    expected = np.stack([evaluate(terms.formula(k), X) for k in range(700)], axis=1)
    np.testing.assert_allclose(values, expected, rtol=1e-12)


def test_splits_of_many_targets_at_once_are_those_of_each():
    X = np.random.default_rng(0).uniform(1, 2, (12, 3))
    y = 3.7 * (X[:, 0] * X[:, 1] + X[:, 2]) / X[:, 0]
    forest = Forest(X, np.arange(3))
    forest.grow()
    peels = Peels(y, 0.0, forest)
    peels.grow()
    found = [formula for group in splits(forest, peels, 5, 100_000) for formula in group]
    assert found
    assert all(np.allclose(evaluate(formula, X), y, rtol=1e-6) for formula in found)


def test_rounding_numbers_one_after_another_takes_one_basis():
    rng = np.random.default_rng(0)
    problem = checked(X := rng.uniform(1, 2, (60, 3)), X @ [1.0, 2.0, -3.0] + 0.1 * rng.normal(size=60))
    *_, line = approximations(problem)
    design, left, numbers = np.column_stack([X, np.ones(60)]), problem.y.copy(), []
    noise = np.linalg.norm(left - design @ least_squares(design, left)) / np.sqrt(56)
    for k in range(4):
        free, variance = least_squares(design[:, k:], left)[0], gram_inverse(design[:, k:])[0]
        numbers.append(rounded(float(free), noise * float(np.sqrt(variance))))
        left = left - design[:, k] * numbers[-1]
    assert line == total(zip(numbers, [Input(0), Input(1), Input(2), ONE], strict=True))


def test_a_column_that_is_a_sum_of_others_takes_no_weight_of_its_own():
    X = np.random.default_rng(0).uniform(1, 2, (40, 2))
    problem = checked(np.column_stack([X, X.sum(axis=1)]), X[:, 0] - X[:, 1])
    line = fitted_sum(problem, [Input(0), Input(1), Input(2)], np.ones(40))
    np.testing.assert_allclose(evaluate(line, problem.X), problem.y, atol=1e-9)


def test_many_columns_are_regressed_as_few_are():
    rng = np.random.default_rng(0)
    A, b = rng.normal(size=(300, SETTINGS.many_columns + 5)), rng.normal(size=300)
    np.testing.assert_allclose(least_squares(A, b), np.linalg.lstsq(A, b, rcond=None)[0], rtol=1e-9)
    np.testing.assert_allclose(gram_inverse(A), np.diag(np.linalg.inv(A.T @ A)), rtol=1e-9)
    A[:, 3] = A[:, 4]  # not determined: the shortest solution
    np.testing.assert_allclose(least_squares(A, b), np.linalg.lstsq(A, b, rcond=1e-13)[0], rtol=1e-6, atol=1e-9)


def test_correlations_rank_the_columns_that_a_regression_ranks_first():
    rng = np.random.default_rng(0)
    z = rng.normal(size=(400, 6))
    t = z[:, 4] * z[:, 1] + 2 * z[:, 3]
    for strength in (_regressed, _correlated):
        assert set(np.argsort(-strength(z, t - t.mean()))[:3].tolist()) == {1, 3, 4}


def test_rows_are_drawn_once_and_in_order():
    some = spread(1000, 50, 0)
    assert len(some) == 50
    assert np.all(np.diff(some) > 0)
    np.testing.assert_array_equal(some, spread(1000, 50, 0))
    np.testing.assert_array_equal(spread(20, 50, 0), np.arange(20))


def test_few_rows_are_not_searched_through_functions():
    X = np.random.default_rng(0).uniform(1, 2, (SETTINGS.spare_rows + 1, 2))
    scope = Scope(checked(X, np.exp(X[:, 0])), Effort())
    assert not list(_around(scope))
    assert not list(_inside(scope))
