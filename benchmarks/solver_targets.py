"""Targets that have no arithmetic law, or hide one under noise: whatever is claimed about them must be right."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import special

Array = NDArray[np.float64]
Truth = Callable[[Array], Array] | None
"""The law that may be claimed; None if every claim is wrong."""

RANGES = ((1.0, 2.0), (1.1, 1.2), (-2.0, 2.0), (0.1, 0.2), (10.0, 11.0), (1.0, 1.05))


def network(rng: np.random.Generator, X: Array) -> tuple[Array, Truth]:
    hidden = np.tanh(X @ rng.normal(size=(X.shape[1], 8)) + rng.normal(size=8))
    return hidden @ rng.normal(size=8), None


def waves(rng: np.random.Generator, X: Array) -> tuple[Array, Truth]:
    direction, phase = rng.normal(size=X.shape[1]), rng.normal()

    def truth(Z: Array) -> Array:
        return np.asarray(np.sin(Z @ direction + phase) + 1.5)

    return truth(X), truth


def irrational_powers(rng: np.random.Generator, X: Array) -> tuple[Array, Truth]:
    exponents: Array = rng.uniform(0.3, 2.7, size=(X.shape[1],))
    exponents = np.where(np.abs(exponents * 12 % 1 - 0.5) < 0.49, exponents, exponents + 0.01)

    def truth(Z: Array) -> Array:
        return np.asarray(np.prod(np.abs(Z) ** exponents, axis=1))

    return truth(X), truth


FUNCTIONS = (
    np.exp,
    np.sin,
    np.cos,
    np.tanh,
    np.cosh,
    np.arctan,
    np.arcsinh,
    special.erf,
    special.j0,
    special.expit,
    lambda t: np.log1p(np.abs(t)),
    lambda t: special.gamma(np.abs(t) + 0.5),
    lambda t: np.exp(-t * t),
    lambda t: 1 / np.cosh(t),
    lambda t: (1 + t * t) ** 0.3,
    lambda t: np.abs(t) ** 1.1,
)


def named(rng: np.random.Generator, X: Array) -> tuple[Array, Truth]:
    """A function of mathematics of one or two inputs: on a narrow range its first Taylor terms are all that shows."""
    function, inside, outside = FUNCTIONS[rng.integers(len(FUNCTIONS))], rng.integers(5), rng.integers(5)

    def truth(Z: Array) -> Array:
        a, b = Z[:, 0], Z[:, 1]
        value = function((a, a - b, a * b, a / b, a + b)[inside])
        return (value, value * b, value / b, value + b, 1 + value)[outside]

    return truth(X), truth


def rational(rng: np.random.Generator, X: Array) -> tuple[Array, Truth]:
    """More real constants than a claim may hold."""
    c, chosen = rng.uniform(0.3, 3, 6), rng.integers(3)

    def truth(Z: Array) -> Array:
        a, b = Z[:, 0], Z[:, 1]
        shapes = (
            (c[0] + c[1] * a + c[2] * a**2) / (1 + c[3] * a + c[4] * a**2),
            c[0] * a + c[1] * b + c[2] * a * b + c[3] + c[4] * a**2,
            c[0] / (np.abs(a) + c[1]) + c[2] / (np.abs(b) + c[3]),
        )
        return np.asarray(shapes[chosen])

    return truth(X), truth


LAWS: tuple[Callable[[Array], Array], ...] = (
    lambda X: X[:, 0] * X[:, 1],
    lambda X: X[:, 0] + X[:, 1],
    lambda X: X[:, 0] / X[:, 1],
    lambda X: X[:, 0] * X[:, 1] + X[:, -1],
    lambda X: X[:, 0] ** 2 / 2 + X[:, 1],
    lambda X: X[:, 0] * X[:, 1] / X[:, -1] ** 2,
)


def noisy(rng: np.random.Generator, X: Array) -> tuple[Array, Truth]:
    """A law under noise of every kind: relative, additive, heavy-tailed, in a few rows, or a wave."""
    law, level = LAWS[rng.integers(len(LAWS))], 10.0 ** rng.uniform(-7, -1.3)
    y, rows = law(X), len(X)
    errors = (
        y * rng.normal(size=rows),
        np.std(y) * rng.normal(size=rows),
        y * rng.standard_t(2, rows),
        y * (rng.random(rows) < 0.05),
        y * np.sin(5 * X[:, 0]),
    )
    return y + level * errors[rng.integers(5)], law


def few_values(rng: np.random.Generator, X: Array) -> tuple[Array, Truth]:
    """A function of an input that takes two values only: any line fits it. The inputs are changed in place."""
    X[:, 0] = np.where(X[:, 0] > np.median(X[:, 0]), 1.2, 1.1)
    return FUNCTIONS[rng.integers(len(FUNCTIONS))](0.7 * X[:, 0]) + 1, None


def nothing(rng: np.random.Generator, X: Array) -> tuple[Array, Truth]:
    """Numbers that have nothing to do with the inputs."""
    rows = len(X)
    kinds = (rng.normal(size=rows), np.exp(rng.normal(size=rows)), rng.integers(0, 10, rows).astype(float))
    return kinds[rng.integers(3)], None


KINDS = (network, waves, irrational_powers, named, rational, noisy, few_values, nothing)


def right(predict: Callable[[Array], Array], truth: Truth, X: Array, noise: float) -> bool:
    """Is a claimed formula the law, beyond the data too? A fitted coefficient may carry the noise.

    Terms of a function that float32 cannot show, such as the fourth power in cosh(0.02), cannot be asked for.
    """
    if truth is None:
        return False
    far = X * np.random.default_rng(5).uniform(0.5, 3, X.shape)
    with np.errstate(all="ignore"):
        gap = np.where(predict(far) == truth(far), 0, np.abs(predict(far) / truth(far) - 1))
    return bool(np.median(gap) < max(1e-4, noise))
