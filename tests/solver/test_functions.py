"""Elementary functions and polynomials: found where they are, refused where they are not, switched off on demand."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from scipy import special

from nalm.solver import Status, solve
from nalm.solver.formula.algebra import Applied, Formula, Input, WeightedSum, functions, product, real_constants, size
from nalm.solver.formula.calculus import evaluate, freedoms, gradients
from nalm.solver.formula.functions import DEFINITIONS, Function, inverse_of, named

Truth = Callable[..., np.ndarray]
CASES: dict[str, tuple[int, tuple[float, float], Truth]] = {
    "product with a sine": (3, (1, 5), lambda a, b, c: a * b * np.sin(c)),
    "Gauss": (2, (1, 3), lambda s, t: np.exp(-((t / s) ** 2) / 2) / (np.sqrt(2 * np.pi) * s)),
    "Boltzmann": (3, (1, 3), lambda n, e, t: n * np.exp(-e / t)),
    "Planck": (3, (1, 3), lambda a, b, t: a / (np.exp(b / t) - 1)),
    "law of cosines": (3, (1, 3), lambda a, b, c: np.sqrt(a**2 + b**2 - 2 * a * b * np.cos(c))),
    "interference": (3, (1, 5), lambda a, b, d: a + b + 2 * np.sqrt(a * b) * np.cos(d)),
    "refraction": (2, (0.2, 0.9), lambda n, t: np.arcsin(n * np.sin(t))),
    "sum with a logarithm": (2, (1, 5), lambda a, b: np.log(a) + b**2),
    "wave": (2, (-3, 3), lambda a, b: 2.5 * np.sin(3.1 * a + 0.4) + b),
    "decay": (1, (0, 4), lambda t: 1.7 + 4.2 * np.exp(-0.9 * t)),
    "Nguyen-3": (1, (-1, 1), lambda x: x**5 + x**4 + x**3 + x**2 + x),
    "R1": (1, (-1, 1), lambda x: (x + 1) ** 3 / (x**2 - x + 1)),
}


def table(
    columns: int, between: tuple[float, float], truth: Truth, seed: int, rows: int = 256
) -> tuple[np.ndarray, np.ndarray]:
    X = np.random.default_rng(seed).uniform(*between, (rows, columns))
    return X, truth(*X.T)


@pytest.mark.parametrize("name", CASES)
def test_laws_with_functions_are_found(name: str) -> None:
    columns, between, truth = CASES[name]
    solution = solve(*table(columns, between, truth, seed=0))
    assert solution.status in (Status.EXACT, Status.REAL)
    X, y = table(columns, (between[0], 1.2 * between[1]) if name != "refraction" else between, truth, seed=1)
    np.testing.assert_allclose(solution.expression.numpy()(X).ravel(), y, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "truth",
    [
        lambda x: special.j0(x),
        lambda x: np.sin(x) / (1 + np.sqrt(x)),
    ],
    ids=["Bessel", "sine over root"],
)
def test_functions_that_are_no_elementary_formula_of_these_shapes_are_not_claimed(truth: Truth) -> None:
    X, y = table(1, (1, 4), truth, seed=2, rows=80)
    solution = solve(X, y)
    if solution.status in (Status.EXACT, Status.REAL):  # only what is the same function may be claimed
        far = np.linspace(0.5, 8, 50)[:, None]
        np.testing.assert_allclose(solution.expression.numpy()(far).ravel(), truth(far[:, 0]), rtol=1e-4)


def test_arithmetic_alone_holds_no_function() -> None:
    X, y = table(2, (1, 5), lambda a, b: a * np.sin(b), seed=3)
    assert solve(X, y, functions=()).status in (Status.NONE, Status.APPROXIMATION)
    assert solve(X, y, functions=["sin"]).status is Status.EXACT


def test_unknown_functions_are_named() -> None:
    with pytest.raises(ValueError, match="sine"):
        named(["sine"])
    with pytest.raises(ValueError, match="list of"):
        named("sin")


@pytest.mark.parametrize("function", Function)
def test_slopes_and_inverses_agree_with_the_function(function: Function) -> None:
    x = np.linspace(0.1, 0.8, 7)
    rule, step = DEFINITIONS[function], 1e-6
    slope = (rule.value(x + step) - rule.value(x - step)) / (2 * step)
    np.testing.assert_allclose(rule.slope(x), slope, rtol=1e-6)
    back = inverse_of(function, rule.value(x))
    if rule.inverse is not None:
        np.testing.assert_allclose(back, x, rtol=1e-12)


def test_derivatives_of_a_formula_with_a_function() -> None:
    wave = Applied(Function.SIN, WeightedSum(((2.5, Input(0)),)))
    formula: Formula = WeightedSum(((3.0, product([(wave, Fraction(1)), (Input(1), Fraction(2))])),))
    X = np.random.default_rng(0).uniform(1, 2, (5, 2))
    value, by_input, by_constant = gradients(formula, X)
    a, b = X.T
    np.testing.assert_allclose(value, 3 * np.sin(2.5 * a) * b**2)
    np.testing.assert_allclose(by_input, np.stack([7.5 * np.cos(2.5 * a) * b**2, 6 * np.sin(2.5 * a) * b], 1))
    np.testing.assert_allclose(by_constant, np.stack([np.sin(2.5 * a) * b**2, 3 * a * np.cos(2.5 * a) * b**2], 1))
    np.testing.assert_allclose(freedoms(formula, X)[0], value)
    assert (real_constants(formula), functions(formula), size(formula)) == ([3.0, 2.5], 1, 6)
    np.testing.assert_allclose(evaluate(formula, X), value)


CURVES: dict[str, tuple[int, tuple[float, float], Truth]] = {
    "damped wave": (1, (0, 10), lambda t: 2.5 * np.exp(-0.3 * t) * np.sin(2.1 * t + 0.4)),
    "power times a wave": (1, (1, 9), lambda t: t**-1.3 * np.cos(4.1 * t)),
    "two decays": (1, (0, 10), lambda t: 3 * np.exp(-0.3 * t) + 2.2 * np.exp(-1.7 * t)),
    "two powers": (1, (1, 9), lambda t: 3 * t**1.7 - 2.2 * t**0.3 + 1),
    "two waves": (1, (0, 10), lambda t: 2 * np.sin(1.3 * t) + 0.7 * np.sin(4.1 * t + 0.5)),
    "peak": (1, (0, 10), lambda t: 1 + 3 * np.exp(-((t - 4.2) ** 2) / 3.38)),
    "step": (1, (0, 10), lambda t: 1 + 5 / (1 + np.exp(-1.2 * (t - 5)))),
    "step of both signs": (1, (0, 10), lambda t: 2 * np.tanh(0.8 * (t - 4))),
    "wave times a wave": (2, (-3, 3), lambda a, b: 2 * np.sin(1.5 * a + 0.3) * np.cos(0.7 * b)),
    "travelling wave": (2, (-3, 3), lambda x, t: 1.4 * np.sin(1.5 * x - 2.2 * t)),
    "wave that decays elsewhere": (2, (-3, 3), lambda t, x: np.exp(-0.7 * t) * np.sin(1.9 * x) + 0.3 * x),
    "packet": (2, (-3, 3), lambda x, t: np.exp(-(x**2) / 2) * np.cos(3.1 * t)),
    "wave over its argument": (1, (-5, 5), lambda x: np.sin(2.7 * x) / x),
    "Gompertz": (1, (0, 10), lambda t: 5 * np.exp(-3 * np.exp(-0.6 * t))),
    "Weibull": (1, (0.1, 10), lambda t: 4 * np.exp(-((t / 3) ** 1.6))),
    "Hill": (1, (0.1, 10), lambda c: 4 * c**2.7 / (2.2**2.7 + c**2.7)),
    "power and offset": (1, (0.1, 10), lambda x: 2 + 3 * x**1.7),
    "shifted power": (1, (1, 9), lambda x: 3 - 2.5 * (x + 2.3) ** -1.7),
    "logarithm of a growth": (1, (-5, 5), lambda x: np.log(2 + np.exp(1.3 * x))),
    "root of a decay": (1, (0, 5), lambda t: np.sqrt(2 + 3 * np.exp(-1.3 * t))),
    "chirp": (1, (0, 6), lambda t: np.sin(0.7 * t**2 + 0.3)),
    "wave of a product": (3, (1, 5), lambda a, f, t: a * np.sin(1.7 * f * t + 0.3)),
    "damped wave with an amplitude": (2, (1, 9), lambda a, t: a * np.exp(-0.21 * t) * np.cos(2.4 * t)),
    "travelling wave with an amplitude": (3, (1, 6), lambda a, x, t: a * np.cos(1.3 * x - 2.4 * t + 0.6)),
    "standing wave with an amplitude": (3, (1, 6), lambda a, x, t: a * np.sin(1.3 * x) * np.cos(2.4 * t)),
    "Morse": (2, (0.5, 4), lambda d, r: d * (1 - np.exp(-1.3 * (r - 1.1))) ** 2),
    "wave with its own frequency and phase": (4, (1, 5), lambda v, w, t, p: v * np.sin(w * t + p)),
    "wave with all its numbers": (5, (1, 5), lambda a, k, x, w, t: a * np.sin(k * x - w * t)),
    "wave of a quotient beside a line": (3, (1, 5), lambda a, f, t: a - 2 * np.cos(5.3 * f / t)),
    "growth of a product, both signs": (3, (-2, 2), lambda a, f, t: 1.3 * a * np.exp(0.37 * f * t) + t),
    "cosine of a product, both signs": (3, (-2, 2), lambda a, b, c: a**2 * np.cos(0.83 * b * c)),
    "diffusion": (
        4,
        (1, 3),
        lambda n, x, d, t: n * np.exp(-(x**2) / (4 * d * t)) / np.sqrt(4 * np.pi * d * t),
    ),
    "current of a diode": (1, (-0.5, 0.75), lambda v: 2.3e-12 * (np.exp(v / 0.0257) - 1)),
    "growth by 24 decades and a constant": (1, (-50, 50), lambda x: 2.138 * (1 - np.exp(-0.5472 * x))),
    "sinh by 9 decades": (1, (0, 30), lambda x: 0.3 * np.sinh(0.81 * x)),
}


@pytest.mark.parametrize("name", CURVES)
def test_curves_with_unknown_numbers_inside_are_found_in_exact_data(name: str) -> None:
    columns, between, truth = CURVES[name]
    solution = solve(*table(columns, between, truth, seed=3, rows=150))
    assert solution.status in (Status.EXACT, Status.REAL)
    X, y = table(columns, (between[0], 1.2 * between[1]), truth, seed=4)
    np.testing.assert_allclose(solution.expression.numpy()(X).ravel(), y, rtol=1e-6, atol=1e-7 * min(1, np.std(y)))


@pytest.mark.parametrize("name", ["damped wave", "two decays", "peak", "travelling wave", "Weibull", "Hill"])
def test_curves_are_told_under_noise_and_not_overclaimed(name: str) -> None:
    columns, between, truth = CURVES[name]
    X, clean = table(columns, between, truth, seed=5, rows=200)
    y = clean + 0.01 * np.std(clean) * np.random.default_rng(6).normal(size=len(clean))
    solution = solve(X, y)
    assert solution.status in (Status.AMBIGUOUS, Status.REAL, Status.EXACT)
    wide, truth_there = table(columns, (between[0], 1.3 * between[1]), truth, seed=7)
    error = solution.expression.numpy()(wide).ravel() - truth_there
    assert np.sqrt(np.mean(error**2)) < 0.03 * np.std(truth_there)


def test_curves_keep_to_the_functions_that_are_allowed() -> None:
    columns, between, truth = CURVES["damped wave"]
    solution = solve(*table(columns, between, truth, seed=3, rows=150), functions=["exp"])
    assert "sin" not in str(solution.expression)
    assert solution.status not in (Status.EXACT, Status.REAL)
    X, y = table(1, (1, 9), lambda x: np.sin(7.3 * np.log(x)), seed=3, rows=150)
    assert solve(X, y).status in (Status.EXACT, Status.REAL)
    without = solve(X, y, functions=["exp", "sin", "cos"])
    assert "log" not in str(without.expression)
    assert without.status not in (Status.EXACT, Status.REAL)


def test_only_inputs_of_both_signs_stand_as_their_size() -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.uniform(-2, 2, 100), rng.uniform(1, 2, 100)])
    solution = solve(X, np.abs(X[:, 0]) * X[:, 1])
    assert str(solution.expression) == "x1*Abs(x0)"
    assert solution.predict([[-3.0, -1.0]]) == pytest.approx(-3.0)


@pytest.mark.parametrize(
    ("target", "written"),
    [
        (lambda a, b: np.maximum(a, b), "a/2 + b/2 + Abs(a - b)/2"),
        (lambda a, b: 1 + 2 * np.minimum(a, b), "a + b - Abs(a - b) + 1"),
    ],
)
def test_the_larger_and_the_smaller_of_two_are_found(target: Truth, written: str) -> None:
    X = np.random.default_rng(0).uniform(1, 3, (60, 2))
    solution = solve(X, target(X[:, 0], X[:, 1]), names=["a", "b"])
    assert solution.status is Status.EXACT
    assert str(solution.expression) == written
