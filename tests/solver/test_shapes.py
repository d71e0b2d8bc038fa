"""Shapes by themselves: each finds its own formulas from a table, without help from the others."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from nalm.solver import Status, solve
from nalm.solver.alone import alone
from nalm.solver.formula.calculus import evaluate
from nalm.solver.shapes.trees.split import ProbeValues, factors_in_front

Truth = Callable[..., np.ndarray]
CASES: dict[str, list[tuple[tuple[float, float], int, Truth]]] = {
    "sum of power laws": [
        ((1, 3), 5, lambda m, e, u, k, r: np.sqrt(2 / m * (9 * e - u - k**2 / (2 * m * r**2)))),
        ((1, 5), 6, lambda m, w, p, y, x, a: (p**2 + m**2 * w**2 * x**2 * (1 + a * x / y)) / (2 * m)),
        ((1, 3), 7, lambda e, k, m, z, q, s, c: np.sqrt(1 + 2 * e**2 * c * k**2 / (m * (z * s * q**2) ** 2))),
    ],
    "power laws with a function": [
        ((1, 3), 4, lambda e, m, c, t: e / (1 + e / (m * c**2) * (1 - np.cos(t)))),
        ((1, 3), 6, lambda n, p, e, t, k, q: n * (1 + p * e * np.cos(t) / (k * q))),
    ],
    "sum with functions": [
        ((-1, 1), 1, lambda x: np.sin(x**2) * np.cos(x) - 1),
        ((-3, 3), 2, lambda x, y: 1.5 * np.exp(x) + 5 * np.cos(y)),
        ((-1, 1), 2, lambda x, y: x**3 + x**2 + x + np.sin(x) + np.sin(y**2)),
        ((-5, 5), 2, lambda x, y: 1 / (1 + x**-4) + 1 / (1 + y**-4)),
    ],
    "quotient of polynomials": [
        ((0.1, 5), 2, lambda x, y: 20 - x - x * y / (1 + x**2 / 2)),
        ((0.05, 6.05), 5, lambda *x: 10 / (5 + sum((a - 3) ** 2 for a in x))),
        ((-50, 50), 4, lambda a, b, c, d: 0.81 + 24.3 * (2 * a + 3 * b**2) / (4 * c**3 + 5 * d**4)),
    ],
}


@pytest.mark.parametrize(("shape", "case"), [(shape, k) for shape, cases in CASES.items() for k in range(len(cases))])
def test_a_shape_finds_its_laws(shape: str, case: int) -> None:
    (low, high), columns, truth = CASES[shape][case]
    X = np.random.default_rng(0).uniform(low, high, (300, columns))
    found = alone(shape, X, truth(*X.T))
    assert found is not None
    assert found.status in (Status.EXACT, Status.REAL)
    new = np.random.default_rng(1).uniform(low, 1.2 * high, (100, columns))
    with np.errstate(all="ignore"):
        expected, values = truth(*new.T), evaluate(found.candidate.formula, new)
    seen = np.isfinite(expected)
    np.testing.assert_allclose(values[seen], expected[seen], rtol=1e-6, atol=1e-6)


def test_without_functions_a_table_of_one_column_is_searched_by_arithmetic_alone() -> None:
    X = np.random.default_rng(0).uniform(1, 3, (60, 1))
    assert solve(X, np.sin(X[:, 0] ** 2) + X[:, 0], functions=()).status not in (Status.EXACT, Status.REAL)


def test_two_ways_to_write_one_tree_are_no_sum_behind_a_factor():
    rng = np.random.default_rng(0)
    u, v = rng.uniform(1, 2, (2, 12))
    exact = 2.0**-24
    again = u * (1 + exact * rng.uniform(-1, 1, 12))
    one, other = (ProbeValues(x, exact * np.abs(x)) for x in (np.stack([u, u, u]), np.stack([v, again, u + v])))
    target = ProbeValues(2.37 * (u - v), exact * np.abs(u - v))
    signs, factors = factors_in_front(one, other, target)
    assert signs.tolist() == [-1, 0, 0]
    assert factors[0] == pytest.approx(2.37)
    summed = ProbeValues(-0.61 * (u + v), exact * (u + v))
    assert factors_in_front(one, other, summed)[0].tolist() == [1, 0, 0]
    assert factors_in_front(one, other, summed)[1][0] == pytest.approx(-0.61)
    wobbling = ProbeValues(target.at * np.linspace(1, 1.02, 12), target.errors)
    assert not factors_in_front(one, other, wobbling)[0].any()


def test_the_factor_is_the_median_over_the_probes_that_are_sharp():
    ones = np.ones((1, 12))
    blunt = np.where(np.arange(12) < 3, 1.0, 1e-9)  # three probes say nothing, and say it wrongly
    target = ProbeValues(np.where(np.arange(12) < 3, 9.0, 4.0), blunt)
    signs, factors = factors_in_front(ProbeValues(ones, 1e-9 * ones), ProbeValues(ones, 1e-9 * ones), target)
    assert (signs.tolist(), factors.tolist()) == ([1], [2.0])
    few = ProbeValues(target.at, np.where(np.arange(12) < 8, 1.0, 1e-9))
    assert factors_in_front(ProbeValues(ones, 1e-9 * ones), ProbeValues(ones, 1e-9 * ones), few)[0].tolist() == [0]
