"""What is computed once, or left early, gives the answer that doing all of it would give."""

from __future__ import annotations

import numpy as np
import pytest

from nalm.solver import Status, solve
from nalm.solver.data.problem import checked
from nalm.solver.formula.algebra import Formula, Input, WeightedSum
from nalm.solver.formula.calculus import evaluate
from nalm.solver.shapes.beam import Beam
from nalm.solver.shapes.monomials import dictionary
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
