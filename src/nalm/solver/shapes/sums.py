"""S and S^p: the target, or its power, as a weighted sum of inputs or of one power of the inputs."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from nalm.solver.data.problem import Problem
from nalm.solver.formula.algebra import ONE, Formula, Input, monomial
from nalm.solver.formula.calculus import Array
from nalm.solver.settings import SETTINGS
from nalm.solver.shapes.combine import combinations, grid_sum
from nalm.solver.shapes.linear import snap, sparse_weights
from nalm.solver.shapes.power import IDENTITY, usable_powers
from nalm.solver.shapes.shape import Groups

POWERS = (Fraction(1), Fraction(-1), Fraction(2), Fraction(-2), Fraction(3), Fraction(1, 2), Fraction(-1, 2))


def sum_of_inputs(problem: Problem) -> Groups:
    """Formulas `sum(w_i * x_i)`, then with a constant; with fewer rows than columns, sparse ones."""
    yield _sums(problem)


def _sums(problem: Problem) -> Iterator[Formula]:
    features: list[Formula] = [Input(i) for i in range(problem.columns)]
    weights = IDENTITY.weights(problem.y)
    if problem.rows < problem.columns + 2:
        yield from sparse_sums(problem.X, problem.y, features, problem.seed)
        return
    plain = np.ones(problem.rows)
    yield from combinations(features, problem.X, problem.y, plain, problem.blur)
    with_constant = np.column_stack([problem.X, np.ones(problem.rows)])
    if problem.rows >= problem.columns + 3:
        yield from combinations([*features, ONE], with_constant, problem.y, weights, problem.blur)


def sparse_sums(values: Array, target: Array, features: list[Formula], seed: int) -> Iterator[Formula]:
    """Whole-number sums from fewer rows than features: guess the support, then fit on it."""
    scale = np.max(np.abs(values)) or 1.0
    for guess in sparse_weights(values / scale, target / scale, seed):
        if np.all(np.abs(guess - np.round(guess)) < SETTINGS.guessed_whole) and np.any(np.round(guess)):
            yield grid_sum(features, np.round(guess))
        support = np.flatnonzero(np.abs(guess) > SETTINGS.guessed_whole * np.max(np.abs(guess)))
        if 0 < len(support) <= len(target) - 2:
            weights = np.zeros(len(features))
            weights[support] = snap(values[:, support], target)
            if np.all(np.isfinite(weights)):
                yield grid_sum(features, weights)


def sum_of_powers(problem: Problem) -> Groups:
    """Formulas `T(y) = sum(w_i * x_i ** p) (+ constant)`: lenses, resistors, norms, any subset of the inputs."""
    if problem.rows < problem.columns + 3:
        return
    ways = list(usable_powers(problem))
    for power in POWERS:
        with np.errstate(all="ignore"):
            values = np.power(problem.X, float(power))
        if not np.isfinite(values).all():
            continue
        features = [*(monomial((i, power)) for i in range(problem.columns)), ONE]
        table = np.column_stack([values, np.ones(len(values))])
        targets = np.stack([target_power.target(problem.y) for target_power in ways], axis=1)
        explained = _mostly_explained(table, targets, problem.reach(SETTINGS.powers_close))
        for target_power, target, near in zip(ways, targets.T, explained, strict=True):
            if (target_power.power == 1 and power == 1) or not near:
                continue  # the first is the plain sum
            weights = target_power.weights(problem.y)
            yield (
                target_power.formula(formula, problem)
                for width in (problem.columns, problem.columns + 1)
                for formula in combinations(features[:width], table[:, :width], target, weights, problem.blur)
            )


def _mostly_explained(table: Array, targets: Array, close: float) -> NDArray[np.bool_]:
    """One projection decides which targets `(n, targets)` are worth the time of a full fit."""
    heights = np.max(np.abs(targets), axis=0)
    shown = targets / np.where(heights > 0, heights, 1.0)
    columns = table.shape[1]
    triangle = np.asarray(np.linalg.qr(np.column_stack([table / np.max(np.abs(table), axis=0), shown]), mode="r"))
    left = np.linalg.norm(triangle[columns:, columns:], axis=0)
    return np.asarray(left <= close * np.linalg.norm(shown - shown.mean(axis=0), axis=0))
