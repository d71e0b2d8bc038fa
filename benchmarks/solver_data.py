"""Data streams of the published tasks, compositions and random formulas, for the solver's tests and benchmarks."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray
from scipy import stats

Array = NDArray[np.float64]
Binary = Callable[[Array, Array], Array]
Draw = Callable[[np.random.RandomState, tuple[int, int]], Array]

NINE_RANGES = (
    (-20.0, -10.0),
    (-2.0, -1.0),
    (-1.2, -1.1),
    (-0.2, -0.1),
    (-2.0, 2.0),
    (0.1, 0.2),
    (1.0, 2.0),
    (1.1, 1.2),
    (10.0, 20.0),
)
OPERATIONS: Mapping[str, Binary] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
}


def float32(values: Array) -> Array:
    """Values as a float32 file would hold them."""
    return values.astype(np.float32).astype(np.float64)


def uniform(low: float, high: float) -> Draw:
    """All columns from one range."""
    return lambda rng, shape: rng.uniform(low, high, shape)


def mixed(first: tuple[float, float], second: tuple[float, float]) -> Draw:
    """The first half of the columns from one range, the rest from another."""

    def draw(rng: np.random.RandomState, shape: tuple[int, int]) -> Array:
        half = shape[1] // 2
        return np.hstack([rng.uniform(*first, (shape[0], half)), rng.uniform(*second, (shape[0], shape[1] - half))])

    return draw


def benford(rng: np.random.RandomState, shape: tuple[int, int]) -> Array:
    """Two-digit numbers with Benford's first digit and a second digit from 1 to 9."""
    first = rng.choice(10, shape, p=[0, 0.301, 0.176, 0.125, 0.097, 0.079, 0.067, 0.058, 0.051, 0.046])
    return (10 * first + rng.randint(1, 10, shape)).astype(float)


def normal(mean: float, deviation: float, low: float, high: float) -> Draw:
    """Normal numbers between two bounds."""
    bounds = (low - mean) / deviation, (high - mean) / deviation
    return lambda rng, shape: stats.truncnorm.rvs(*bounds, mean, deviation, shape, random_state=rng)


DISTRIBUTIONS: Mapping[str, Draw] = {
    **{f"U[{low:g},{high:g})": uniform(low, high) for low, high in NINE_RANGES},
    "mixed 1": mixed((-2, -0.1), (0.1, 2)),
    "mixed 2": mixed((-2, -1), (1, 2)),
    "mixed 4": mixed((0.1, 2), (-2, -0.1)),
    "mixed 5": mixed((1, 2), (-2, -1)),
    "Benford": benford,
    "TN(-1,3)": normal(-1, 3, -5, 10),
    "TN(0,1)": normal(0, 1, -5, 5),
    "TN(1,3)": normal(1, 3, -10, 5),
    "U[-50,50)": uniform(-50, 50),
    "U[-100,100)": uniform(-100, 100),
    **{f"U[0,{c:g})": uniform(0, c) for c in (1e-4, 1e-3, 1e-2, 0.1, 1.0)},
}


def two_layer(low: float, high: float, seed: int, rows: int, inputs: int = 100) -> tuple[Array, Array, Array]:
    """Inputs and the two overlapping sums of the Arithmetic Dataset Task, from its published stream."""
    first = np.random.RandomState(seed)
    size, overlap = inputs // 4, inputs // 8
    start = first.randint(0, inputs - (2 * size - overlap) + 1)
    rng = np.random.RandomState(first.randint(0, 2**32 - 1))
    X = rng.uniform(low, high, (rows, inputs))
    second = start + size - overlap
    return X, X[:, start : start + size].sum(1), X[:, second : second + size].sum(1)


COMPOSITIONS: Mapping[str, Callable[[Array, Array, Array], Array]] = {
    "add-add": lambda a, b, c: a + b + c,
    "add-sub": lambda a, b, c: -a - b - c,
    "add-mul": lambda a, b, c: (a + b) * c,
    "add-div": lambda a, b, c: 1 / ((a + b) * c),
    "sub-add": lambda a, b, c: -a - b + c,
    "sub-sub": lambda a, b, c: a + b - c,
    "sub-mul": lambda a, b, c: (-a - b) * c,
    "sub-div": lambda a, b, c: 1 / ((-a - b) * c),
    "mul-add": lambda a, b, c: a * b + c,
    "mul-sub": lambda a, b, c: -a * b - c,
    "mul-mul": lambda a, b, c: a * b * c,
    "mul-div": lambda a, b, c: 1 / (a * b * c),
    "div-add": lambda a, b, c: 1 / (a * b) + c,
    "div-sub": lambda a, b, c: -1 / (a * b) - c,
    "div-mul": lambda a, b, c: c / (a * b),
    "div-div": lambda a, b, c: a * b / c,
}
"""The sixteen expressions of two steps of the thesis, chapter 7, with its signs."""


def random_tree(rng: np.random.Generator, leaves: int, columns: int) -> Callable[[Array], Array]:
    """A formula of so many leaves, each one of the columns, joined by sums, differences, products and quotients."""
    if leaves == 1:
        index = rng.integers(columns)
        return lambda X: np.asarray(X[:, index])
    left = int(rng.integers(1, leaves))
    a, b = random_tree(rng, left, columns), random_tree(rng, leaves - left, columns)
    operation: Binary = (np.add, np.subtract, np.multiply, np.divide)[rng.integers(4)]
    return lambda X: operation(a(X), b(X))
