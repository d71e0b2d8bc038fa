"""A monomial times a form: `y ** p = prod(x_s ** e_s) * sum(w_i * x_i ** q)`, and the same with a quadratic form.

Distances, kinetic energies, potentials between two radii: a few inputs multiply, all the others add up. Which inputs
multiply is tried; the rest is one projection.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations as subsets
from itertools import product as every

import numpy as np

from .calculus import Array
from .combine import combinations
from .forest import Indices
from .formula import ONE, Formula, Input, product
from .link import usable_links
from .problem import Problem

MOST_PEELED = 3
PEELS = (-1, 1)
CLOSE = 1e-4


def monomial_times_form(problem: Problem, columns: Indices, peeled: int = MOST_PEELED) -> Iterator[Formula | None]:
    """Formulas with up to `peeled` inputs in front of a form over the other columns."""
    for count in range(peeled + 1):
        for chosen in subsets([int(i) for i in columns], count):
            if np.any(problem.X[:, list(chosen)] == 0):
                continue
            rest = [int(i) for i in columns if int(i) not in chosen]
            for features, values in _forms(problem, rest, plain=count > 0):
                yield from _fronts(problem, chosen, features, values)
            yield None


def _fronts(problem: Problem, chosen: tuple[int, ...], features: list[Formula], values: Array) -> Iterator[Formula]:
    """Every way the chosen inputs may stand in front, tested against one basis."""
    scale = np.max(np.abs(values), axis=0)
    some = slice(0, 2 * values.shape[1] + 20)  # enough rows to say no
    basis = np.linalg.qr(values[some] / np.where(scale > 0, scale, 1))[0]
    for link in usable_links(problem):
        for exponents in every(PEELS, repeat=len(chosen)):
            front = np.prod([problem.X[:, i] ** float(e) for i, e in zip(chosen, exponents, strict=True)], axis=0)
            target = link.target(problem.y) * front
            rows = link.weights(problem.y) / np.abs(front)
            if not np.isfinite(target).all() or not _explained(basis, target[some], max(CLOSE, 3 * problem.noise)):
                continue
            for form in combinations(features, values, target, rows / np.max(rows)):
                whole = product([(form, 1), *((Input(i), -e) for i, e in zip(chosen, exponents, strict=True))])
                yield link.formula(whole, problem.y)


def _explained(basis: Array, target: Array, close: float) -> bool:
    left = np.linalg.norm(target - basis @ (basis.T @ target))
    return bool(left <= close * np.linalg.norm(target - target.mean()) + 1e-300)


def _forms(problem: Problem, rest: list[int], plain: bool) -> Iterator[tuple[list[Formula], Array]]:
    """The families of features: one power of every input (and 1), and all products of two inputs."""
    if not rest:
        return
    X = problem.X[:, rest]
    for power in (Fraction(1), Fraction(-1), Fraction(2), Fraction(-2)) if plain else ():
        with np.errstate(all="ignore"):
            values = np.column_stack([np.power(X, float(power)), np.ones(problem.rows)])
        if np.isfinite(values).all() and len(values) >= values.shape[1] + 4:
            yield [*(product([(Input(i), power)]) for i in rest), ONE], values
    i, j = np.triu_indices(len(rest))
    if problem.rows >= len(i) + 8:
        pairs = [product([(Input(rest[a]), 1), (Input(rest[b]), 1)]) for a, b in zip(i, j, strict=True)]
        yield pairs, X[:, i] * X[:, j]
