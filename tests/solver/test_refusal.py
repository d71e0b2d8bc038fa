"""Never a wrong "exact"."""

import numpy as np
import pytest

from nalm.solver import Status, solve
from nalm.solver.problem import checked
from nalm.solver.verdict.judge import rational

from .data import float32

RANGES = ((1.0, 2.0), (1.1, 1.2), (-2.0, 2.0))


def network(rng, X):
    hidden = np.tanh(X @ rng.normal(size=(X.shape[1], 8)) + rng.normal(size=8))
    return hidden @ rng.normal(size=8)


def waves(rng, X):
    return np.sin(X @ rng.normal(size=X.shape[1]) + rng.normal()) + 1.5


def irrational_powers(rng, X):
    exponents = rng.uniform(0.3, 2.7, X.shape[1])
    return np.prod(np.abs(X) ** np.where(np.abs(exponents * 12 % 1 - 0.5) < 0.49, exponents, exponents + 0.01), axis=1)


def named(rng, X):
    a, b = X[:, 0], X[:, 1]
    functions = (
        np.exp(a),
        np.log(np.abs(a) + 1) / b,
        np.abs(a) ** b,
        np.maximum(a, b),
        np.arctan(a * b),
        np.cosh(a - b),
    )
    return functions[rng.integers(len(functions))]


def noisy_product(rng, X):
    return X[:, 0] * X[:, 1] * (1 + 10.0 ** rng.uniform(-6, -2) * rng.normal(size=len(X)))


@pytest.mark.slow
@pytest.mark.parametrize("target", [network, waves, irrational_powers, named, noisy_product])
def test_no_false_exact_in_five_hundred_targets(target):
    for seed in range(102):
        rng = np.random.default_rng([seed, len(target.__name__)])
        X = float32(rng.uniform(*RANGES[seed % 3], (96, 2 + seed % 2)))
        solution = solve(X, float32(target(rng, X)), effort="quick")
        if target is noisy_product and solution.status is Status.EXACT:
            assert str(solution.expression) == "x0*x1"
        else:
            assert solution.status in (Status.NONE, Status.AMBIGUOUS), (seed, str(solution))


def test_refusal_says_what_it_is_and_still_predicts():
    X = np.random.default_rng(0).uniform(1, 2, (100, 2))
    y = np.sin(X[:, 0]) + X[:, 1]
    solution = solve(X, y, effort="quick")
    assert solution.status is Status.NONE
    assert solution.unit is None
    assert np.corrcoef(solution.predict(X), y)[0, 1] > 0.9


def test_too_few_rows_for_a_long_formula_are_called_ambiguous():
    X = float32(np.random.default_rng(0).uniform(1, 2, (5, 40)))
    solution = solve(X, float32(X[:, :20].sum(1)), effort="quick")
    assert solution.status is not Status.EXACT


@pytest.mark.parametrize("noise", [1e-4, 1e-2])
@pytest.mark.parametrize("given", [True, False])
def test_noise_known_or_not_still_gives_the_law(noise, given):
    rng = np.random.default_rng(0)
    X = float32(rng.uniform(1, 2, (400, 6)))
    for formula, text in ((X[:, 0] * X[:, 1] / X[:, 3], "x0*x1/x3"), (X[:, 0] + X[:, 2] - X[:, 5], "x0 + x2 - x5")):
        y = formula * (1 + noise * rng.normal(size=400))
        solution = solve(X, y, noise=noise if given else None)
        assert str(solution.expression) == text
        assert solution.status is Status.EXACT
        assert solution.evidence.noise == pytest.approx(noise, rel=0.2)


def test_noise_on_a_narrow_range_is_called_ambiguous():
    rng = np.random.default_rng(0)
    X = float32(rng.uniform(1.1, 1.2, (128, 2)))
    y = (X[:, 0] + X[:, 1]) / 2 * (1 + 1e-2 * rng.normal(size=128))
    assert solve(X, y).status in (Status.AMBIGUOUS, Status.NONE)


def test_backward_error_allows_cancellation_but_not_a_wrong_term():
    rng = np.random.default_rng(0)
    X = rng.uniform(1.1, 1.2, (64, 2))
    problem = checked(float32(X), float32(X[:, 0] - X[:, 1]))
    from fractions import Fraction

    from nalm.solver.algebra.formula import Input, total

    right = total([(Fraction(1), Input(0)), (Fraction(-1), Input(1))])
    assert problem.backward_error(right) < 1
    assert not problem.holds(total([(Fraction(1), Input(0)), (-1.00001, Input(1))]))


def test_a_fraction_is_believed_only_where_fractions_are_sparse():
    assert rational(1 / 3 + 1e-9, 1e-8) is not None
    assert rational(1 / 3 + 1e-9, 1e-3) is None
