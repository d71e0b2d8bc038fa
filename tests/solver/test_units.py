"""Single units on every distribution of the field, and the two-layer task, from one batch."""

import numpy as np
import pytest

from benchmarks.solver_data import DISTRIBUTIONS, NINE_RANGES, OPERATIONS, float32, two_layer
from nalm.solver import Status, alone, solve
from nalm.solver.shapes.linear import snap


@pytest.mark.parametrize("name", DISTRIBUTIONS)
@pytest.mark.parametrize("inputs", [2, 10, 100])
def test_single_units_are_exact_on_every_distribution(name, inputs):
    for operation, apply in OPERATIONS.items():
        rng = np.random.RandomState(inputs)
        offset = rng.randint(0, inputs - 1)
        X = float32(DISTRIBUTIONS[name](rng, (128 if inputs < 100 else 256, inputs)))
        solution = solve(X, float32(apply(X[:, offset], X[:, offset + 1])))
        assert solution.status is Status.EXACT, operation
        elsewhere = rng.uniform(1, 7, (50, inputs))
        expected = apply(elsewhere[:, offset], elsewhere[:, offset + 1])
        np.testing.assert_allclose(solution.predict(elsewhere), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("bounds", NINE_RANGES)
def test_two_layer_task_is_exact_on_nine_ranges(bounds):
    X, a, b = two_layer(*bounds, seed=0, rows=512)
    for target in (a * b, a / b) if bounds == (1.1, 1.2) else (a * b,) if bounds[0] > 0 else (a / b,):
        solution = solve(float32(X), float32(target))
        assert solution.status is Status.EXACT
        np.testing.assert_allclose(solution.predict(X), target, rtol=1e-10)


def test_three_sums_of_zero_mean_inputs_need_and_get_a_spectral_start():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (1024, 30))
    y = X[:, :8].sum(1) * X[:, 8:16].sum(1) * X[:, 12:22].sum(1)
    found = alone("product of 3 sums", float32(X), float32(y))
    assert found is not None
    assert found.status is Status.EXACT


@pytest.mark.parametrize(("rows", "selected"), [(20, 2), (50, 2), (60, 25)])
def test_sums_from_fewer_rows_than_columns(rows, selected):
    rng = np.random.default_rng(rows)
    X = float32(rng.uniform(1, 2, (rows, 100)))
    chosen = rng.choice(100, selected, replace=False)
    found = alone("sum", X, float32(X[:, chosen].sum(1)))
    assert found is not None
    assert found.status is Status.EXACT
    assert {i for _, term in found.candidate.formula.terms for i in [term.index]} == set(chosen)


def test_zeros_in_the_inputs_do_not_hide_a_product():
    rng = np.random.default_rng(0)
    X = float32(rng.uniform(-2, 2, (256, 10)) * (rng.random((256, 10)) > 0.1))
    assert str(solve(X, float32(X[:, 2] * X[:, 5] * X[:, 7])).expression) == "x2*x5*x7"


def test_signs_alone_decide_products_of_plus_and_minus_one():
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], (200, 40))
    chosen = [1, 7, 8, 20, 33]
    solution = solve(X, np.prod(X[:, chosen], axis=1))
    assert solution.status is Status.EXACT
    assert str(solution.expression).split("*") == sorted(f"x{i}" for i in chosen)


def test_snapping_refits_what_rounding_leaves():
    rng = np.random.default_rng(0)
    A = rng.uniform(1.1, 1.2, (60, 20))
    weights = rng.integers(-2, 3, 20).astype(float)
    np.testing.assert_array_equal(snap(A, A @ weights + 1e-7 * rng.normal(size=60)), weights)


def test_the_same_seed_gives_the_same_answer():
    X = float32(np.random.default_rng(3).uniform(1.1, 1.2, (128, 10)))
    y = float32(X[:, :4].sum(1) * X[:, 3:8].sum(1))
    first, second = (solve(X, y, seed=5) for _ in range(2))
    assert first.chosen.shape == "product of 2 sums"  # whose starts are drawn
    assert first.chosen == second.chosen
