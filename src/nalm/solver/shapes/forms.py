"""A monomial times a form: `y ** p = prod(x_s ** e_s) * sum(w_i * x_i ** q)`, and the same with a quadratic form.

Distances, kinetic energies, potentials between two radii: a few inputs multiply, all the others add up. Which inputs
multiply is tried; the rest is one projection.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain
from itertools import combinations as subsets
from itertools import product as every

import numpy as np

from nalm.solver.data.problem import Problem
from nalm.solver.formula.algebra import ONE, Formula, Input, monomial, product
from nalm.solver.formula.calculus import Array, Indices
from nalm.solver.settings import SETTINGS
from nalm.solver.shapes.combine import combinations
from nalm.solver.shapes.power import TargetPower, usable_powers
from nalm.solver.shapes.shape import Groups

MOST_PEELED = 3
PEELS = (-1.0, 1.0)


def monomial_times_form(problem: Problem, columns: Indices, peeled: int = MOST_PEELED) -> Groups:
    """Formulas with up to `peeled` inputs in front of a form over the other columns."""
    powers = [(power, power.target(problem.y), power.weights(problem.y)) for power in usable_powers(problem)]
    for count in range(peeled + 1):
        for chosen in subsets([int(i) for i in columns], count):
            if np.any(problem.X[:, list(chosen)] == 0):
                continue
            fronts = [_Front.of(problem, chosen, *way) for way in every(powers, every(PEELS, repeat=count))]
            targets = np.stack([front.target for front in fronts], axis=1)
            rest = [int(i) for i in columns if int(i) not in chosen]
            yield chain.from_iterable(
                fronts[k].formulas(problem, features, values)
                for features, values in _forms(problem, rest, plain=count > 0)
                for k in _explained(values, targets, problem.reach(SETTINGS.close))
            )


@dataclass(frozen=True, eq=False)
class _Front:
    """One way the chosen inputs may stand in front: what is left of the target, `(n,)`, and the weights of its rows."""

    target_power: TargetPower
    inputs: tuple[tuple[Formula, int], ...]
    target: Array
    weights: Array

    @classmethod
    def of(
        cls,
        problem: Problem,
        chosen: tuple[int, ...],
        power: tuple[TargetPower, Array, Array],
        exponents: tuple[float, ...],
    ) -> _Front:
        """The chosen inputs with these exponents multiplied to a power of the target, which takes them from it."""
        target_power, target, weights = power
        front = np.prod([problem.X[:, i] ** e for i, e in zip(chosen, exponents, strict=True)], axis=0)
        inputs = tuple((Input(i), int(-e)) for i, e in zip(chosen, exponents, strict=True))
        return cls(target_power, inputs, target * front, weights / np.abs(front))

    def formulas(self, problem: Problem, features: list[Formula], values: Array) -> Iterator[Formula]:
        """Forms behind the front that are near the target."""
        weights = self.weights / np.max(self.weights)
        for form in combinations(features, values, self.target, weights, problem.blur):
            yield self.target_power.formula(product([(form, 1), *self.inputs]), problem)


def _explained(values: Array, targets: Array, close: float) -> list[int]:
    """Which targets (columns) the features nearly explain, by one projection on enough rows to say no."""
    some = slice(0, 2 * values.shape[1] + SETTINGS.ranking_rows)
    scale = np.max(np.abs(values), axis=0)
    basis = np.linalg.qr(values[some] / np.where(scale > 0, scale, 1))[0]
    shown = targets[some] / np.max(np.abs(targets[some]), axis=0)
    left = np.linalg.norm(shown - basis @ (basis.T @ shown), axis=0)
    near = left <= close * np.linalg.norm(shown - shown.mean(axis=0), axis=0) + 1e-300
    return [int(k) for k in np.flatnonzero(near & np.isfinite(targets).all(axis=0))]


def _forms(problem: Problem, rest: list[int], plain: bool) -> Iterator[tuple[list[Formula], Array]]:
    """The families of features: one power of every input (and 1), and all products of two inputs."""
    if not rest:
        return
    X = problem.X[:, rest]
    for power in (Fraction(1), Fraction(-1), Fraction(2), Fraction(-2)) if plain else ():
        with np.errstate(all="ignore"):
            values = np.column_stack([np.power(X, float(power)), np.ones(problem.rows)])
        if np.isfinite(values).all() and len(values) >= values.shape[1] + 4:
            yield [*(monomial((i, power)) for i in rest), ONE], values
    i, j = np.triu_indices(len(rest))
    if problem.rows >= len(i) + 8:
        pairs = [monomial((rest[a], 1), (rest[b], 1)) for a, b in zip(i, j, strict=True)]
        yield pairs, X[:, i] * X[:, j]
