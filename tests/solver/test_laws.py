"""Compositions, laws, coefficients, and random trees."""

import numpy as np
import pytest

from benchmarks.solver_data import COMPOSITIONS, NINE_RANGES, float32, random_tree
from nalm.solver import Status, alone, solve


def solved(formula, X, **options):
    y = float32(formula(*X.T))
    solution = solve(float32(X), y, **options)
    return solution, solution.predict(1.7 * X), formula(*(1.7 * X).T)


@pytest.mark.parametrize(("bounds", "redundant"), list(zip(NINE_RANGES, [1, 5] * 5, strict=False)))
def test_sixteen_compositions(bounds, redundant):
    X = np.random.default_rng(redundant).uniform(*bounds, (128, 3 + redundant))
    for name, formula in COMPOSITIONS.items():
        solution, beyond, truth = solved(lambda a, b, c, *_, f=formula: f(a, b, c), X)
        assert solution.status is Status.EXACT, name
        np.testing.assert_allclose(beyond, truth, rtol=1e-9)


@pytest.mark.parametrize(
    ("formula", "text"),
    [
        (lambda m, v: m * v**2 / 2, "x0*x1**2/2"),
        (lambda f, g: 1 / (1 / f + 1 / g), "x0*x1/(x0 + x1)"),
        (lambda a, b: np.sqrt(a**2 + b**2), "sqrt(x0**2 + x1**2)"),
        (lambda a, b: (a + 1) * (b + 2), "(x0 + 1)*(x1 + 2)"),
        (lambda a, b, c, d, e: a / (b + c / (d + e)), "x0/(x1 + x2/(x3 + x4))"),
    ],
)
def test_laws_read_as_they_are_written(formula, text):
    X = np.random.default_rng(0).uniform(1, 2, (200, formula.__code__.co_argcount))
    solution, _, _ = solved(formula, X)
    assert str(solution.expression) == text
    assert solution.exact


@pytest.mark.parametrize(
    ("formula", "constants"),
    [
        (lambda m, n, r: 6.674e-11 * m * n / r**2, [6.674e-11]),
        (lambda p, r, v, h: p + r * v**2 / 2 + 9.81 * r * h, [9.81]),
        (lambda a, b, c, d: 2.37 * (a + b) / (c - d), [2.37]),
        (lambda a, b, c, d: 2.37 * a * b / c + 0.913 / d, [0.913, 2.37]),
        (lambda a, b, c: a / (b + 0.713) + c, [0.713]),
    ],
)
def test_real_constants_are_found_and_never_called_exact(formula, constants):
    X = np.random.default_rng(0).uniform(1.1, 1.2, (256, formula.__code__.co_argcount))
    solution, _, _ = solved(formula, X)
    assert solution.status is Status.REAL
    assert sorted(abs(constant.value) for constant in solution.evidence.constants) == pytest.approx(constants, rel=1e-5)
    assert solution.unit is None


@pytest.mark.parametrize("leaves", [4, 5, 6])
def test_random_trees_are_recovered(leaves):
    for seed in range(9):
        rng = np.random.default_rng([seed, leaves])
        X = rng.uniform(*NINE_RANGES[seed], (256, 5))
        formula = random_tree(rng, leaves, 5)
        with np.errstate(all="ignore"):
            y, truth = formula(X), formula(1.7 * X)
        if not np.isfinite(y).all() or np.ptp(y) < 1e-6 * np.max(np.abs(y)):
            continue
        solution = solve(float32(X), float32(y))
        assert solution.status is Status.EXACT, seed
        assert np.median(np.abs(solution.predict(1.7 * X) / truth - 1)) < 1e-9


@pytest.mark.parametrize(
    ("shape", "formula", "columns"),
    [
        ("sum of products", lambda a, b, c, d: a * b + c / d - b * d**2, 4),
        ("monomial times a form", lambda m, a, b, c: m * (a**2 + b**2 - 2 * a * b + c**2), 4),
        ("product with factors", lambda x, u, c, t: (x - u * t) / np.sqrt(1 - u**2 / (3 * c) ** 2) * c, 4),
        ("tree to 6 leaves", lambda a, b, c: a / (b + c) - b, 3),
    ],
)
def test_each_shape_can_be_used_alone(shape, formula, columns):
    X = np.random.default_rng(0).uniform(1, 2, (200, columns))
    found = alone(shape, float32(X), float32(formula(*X.T)))
    if shape == "product with factors":  # 9 c^2 - u^2 is no small tree, so this one must be refused
        assert not found or not found.found
    else:
        assert found.status is Status.EXACT
