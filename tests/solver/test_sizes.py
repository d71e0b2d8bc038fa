"""Laws in units of all sizes: metres for atoms and for stars, and numbers that are no fractions however large."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from nalm.solver import Status, solve
from nalm.solver.formula.algebra import Input, inputs, real_constants
from nalm.solver.shapes.combine import combinations
from nalm.solver.shapes.null_vector import in_ratios, null_vector

Truth = Callable[..., np.ndarray]
LIGHT, BOLTZMANN, GAS = 299792458.0, 1.380649e-23, 8.314462
LAWS: dict[str, tuple[list[tuple[float, float]], Truth]] = {
    "Planck": ([(1e-7, 1e-5), (1e3, 8e3)], lambda s, T: 3.741771e-16 / s**5 / np.expm1(0.01438777 / (s * T))),
    "Maxwell": ([(50, 1500), (250, 600)], lambda v, T: v**2 / T**1.5 * np.exp(-1.684e-3 * v**2 / T)),
    "Bose": ([(1e-21, 2e-20), (300, 3000)], lambda E, T: 1 / np.expm1(E / (BOLTZMANN * T))),
    "Fermi": ([(7.5e-19, 8.5e-19), (300, 3000)], lambda E, T: 1 / (np.exp((E - 8e-19) / (BOLTZMANN * T)) + 1)),
    "diode": ([(0.01, 0.8), (270, 370)], lambda V, T: 1e-9 * np.expm1(V / (8.617e-5 * T))),
    "charging": (
        [(1, 12), (1e-3, 1e-1), (1e3, 1e5), (1e-7, 1e-6)],
        lambda V, t, R, C: V * (1 - np.exp(-t / (R * C))),
    ),
    "energy": ([(1e-22, 1e-21), (9e-31, 2e-30)], lambda p, m: np.sqrt((p * LIGHT) ** 2 + (m * LIGHT**2) ** 2)),
    "velocities": ([(1e7, 2.9e8), (1e7, 2.9e8)], lambda u, v: (u + v) / (1 + u * v / LIGHT**2)),
    "Arrhenius": ([(2e4, 1e5), (250, 500)], lambda E, T: 1e13 * np.exp(-E / (GAS * T))),
}


@pytest.mark.parametrize("name", LAWS)
def test_a_law_in_units_of_any_size_is_found(name: str) -> None:
    ranges, truth = LAWS[name]
    X = np.random.default_rng(3).uniform(*np.transpose(ranges), (200, len(ranges)))
    solution = solve(X, truth(*X.T))
    assert solution.status in (Status.EXACT, Status.REAL)
    Z = np.random.default_rng(4).uniform(*np.transpose(ranges), (200, len(ranges)))
    y = truth(*Z.T)
    np.testing.assert_allclose(solution.expression.numpy()(Z).ravel(), y, rtol=1e-6, atol=1e-9 * float(np.std(y)))


def test_huge_numbers_are_no_fractions() -> None:
    """The square of the speed of light is a whole number to any computer: it was claimed as an exact one."""
    ranges, truth = LAWS["velocities"]
    X = np.random.default_rng(3).uniform(*np.transpose(ranges), (200, 2))
    solution = solve(X, truth(*X.T))
    assert solution.status is Status.REAL
    assert len(real_constants(solution.chosen.formula)) == 1


def test_a_null_vector_is_read_in_the_simplest_ratios() -> None:
    X = np.random.default_rng(0).uniform(1, 2, (30, 2))
    columns = np.column_stack([X, 0.75 * X[:, 0] - 1.5 * X[:, 1]])
    ratios = in_ratios(null_vector(columns))
    assert {float(ratio) for ratio in ratios} in ({1.0, -2.0, -4 / 3}, {-0.5, 1.0, 2 / 3}, {-0.75, 1.5, 1.0})
    assert not any(isinstance(ratio, float) for ratio in ratios)
    assert [type(ratio) for ratio in in_ratios(np.array([1.0, 5463.17, np.pi]))].count(float) == 2
    assert in_ratios(np.array([1.0, np.pi, np.e, np.sqrt(2), np.sqrt(3)])) == []
    assert in_ratios(np.array([1e-200, 1e200])) == [Fraction(0), 1]  # the other ratio is no number


ROOTS: dict[str, tuple[int, tuple[float, float], Truth, str | None]] = {
    "quadratic formula": (3, (1, 2), lambda a, b, c: (-4 * b + np.sqrt(16 * b**2 - 4 * a * c)) / (2 * a), None),
    "tight binding": (2, (0.1, 5), lambda e, i: (e + i + 0.37 - np.sqrt((e + i + 0.37) ** 2 - 4 * e * i)) / 2, None),
    "time of a fall": (2, (1, 10), lambda v, h: (v + np.sqrt(v**2 + 2 * 9.81 * h)) / 9.81, None),
    "a distance and more": (
        3,
        (-3, 3),
        lambda a, b, c: a + np.sqrt(b**2 + c**2),
        "x0 + sqrt(x1**2 + x2**2)",
    ),
    "the lower root": (2, (1, 3), lambda a, b: a - np.sqrt(a + b**2), "x0 - sqrt(x0 + x1**2)"),
    "Heron": (
        3,
        (3, 5),
        lambda a, b, c: np.sqrt((a + b + c) * (b + c - a) * (a + c - b) * (a + b - c)) / 4,
        None,
    ),
    "logistic": (3, (-2, 2), lambda a, b, c: 1 / (1 + np.exp(-0.3 - 1.2 * a + 0.7 * b - 0.4 * c)), None),
    "Hill of any order": (2, (0.5, 3), lambda x, n: x**n / (1 + x**n), "1/(1 + x0**(-x1))"),
    "cooling": (3, (1, 4), lambda a, b, t: a + (b - a) * np.exp(-0.83 * t), "x0 - x0*exp(-0.83*x2) + x1*exp(-0.83*x2)"),
    "a real power in two terms": (3, (1, 5), lambda a, b, c: 3 * a + b * c**0.37 - a * c**0.37, None),
    "interest": (3, (1, 10), lambda p, r, t: p * (1 + r / 100) ** t, "x0*(0.01*x1 + 1)**x2"),
}


@pytest.mark.parametrize("name", ROOTS)
def test_roots_of_equations_and_shares_are_found(name: str) -> None:
    columns, between, truth, written = ROOTS[name]
    X = np.random.default_rng(5).uniform(*between, (200, columns))
    solution = solve(X, truth(*X.T))
    assert solution.status in (Status.EXACT, Status.REAL)
    Z = np.random.default_rng(6).uniform(*between, (200, columns))
    np.testing.assert_allclose(solution.expression.numpy()(Z).ravel(), truth(*Z.T), rtol=1e-6, atol=1e-9)
    if written is not None:
        assert str(solution.expression) == written


def test_a_root_with_a_small_term_more_is_not_claimed_without_it() -> None:
    e, i = X = np.random.default_rng(7).uniform(0.1, 5, (2, 200))
    binding = (e + i + 0.37 - np.sqrt((e + i + 0.37) ** 2 - 4 * e * i)) / 2
    solution = solve(X.T, binding + 1e-5 * np.arctan(e * i))
    assert solution.status not in (Status.EXACT, Status.REAL)


def test_weights_whose_ratio_is_no_number_are_no_crash() -> None:
    """Sizes of 1e-300 and 1e150 beside each other: their ratio overflows (a law in SI units with noise)."""
    rng = np.random.default_rng(8)
    values = np.column_stack([1e-300 * rng.uniform(1, 2, 50), 1e150 * rng.uniform(1, 2, 50)])
    target = 1e150 * (1e150 * values[:, 0]) + 0.5 * values[:, 1] / 1e150
    proposed = list(combinations([Input(0), Input(1)], values, target, np.ones(50)))
    assert all(inputs(formula) <= {0, 1} for formula in proposed)
    assert proposed
