"""Polynomials and quotients of polynomials in a few inputs, whatever their number of terms, by linear algebra."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import combinations_with_replacement

import numpy as np

from nalm.solver.data.problem import Problem
from nalm.solver.formula.algebra import Formula, monomial
from nalm.solver.formula.calculus import Array, Indices
from nalm.solver.settings import SETTINGS
from nalm.solver.shapes.derived import derived
from nalm.solver.shapes.factored import quotient_of_sums
from nalm.solver.shapes.linear import left_beside
from nalm.solver.shapes.power import usable_powers
from nalm.solver.shapes.shape import Groups
from nalm.solver.shapes.sums import sum_of_inputs

DEGREES = {1: 9, 2: 5, 3: 4, 4: 3}
"""Highest degree by number of inputs: at most 56 monomials, so that a few hundred rows determine them."""
RATIONAL_DEGREES = {1: 6, 2: 4, 3: 3}
"""Highest degree above and below: at most 40 unknown coefficients."""

SEPARATE_DEGREE = 4
"""The same without products of inputs: 50 unknown coefficients for six inputs."""


def polynomial(problem: Problem, columns: Indices) -> Groups:
    """Formulas `sum(c * monomial)` with all monomials up to a degree, of the target, its square or their inverses."""
    for chosen in _choices(columns, DEGREES):
        for degree in range(2, DEGREES[len(chosen)] + 1):
            monomials = list(_monomials(chosen, degree))
            if problem.rows < SETTINGS.rows_per_coefficient * (len(monomials) + 1):
                continue
            found = derived(problem, monomials)
            if found is not None:
                left_of = left_beside(_unit_columns(found.problem))
                for target_power in usable_powers(problem):
                    seen = replace(found.problem, y=target_power.target(problem.y))
                    if _explained(seen, left_of):
                        for group in sum_of_inputs(seen):
                            yield (target_power.formula(formula, problem) for formula in found.back(group))


def _unit_columns(problem: Problem) -> Array:
    """The columns, each of size one, and a constant."""
    table = np.column_stack([problem.X, np.ones(problem.rows)])
    return np.asarray(table / np.maximum(np.max(np.abs(table), axis=0), 1e-300))


def _explained(problem: Problem, left_of: Callable[[Array], Array]) -> bool:
    """Does a sum of the columns and a constant leave next to nothing?"""
    height = float(np.max(np.abs(problem.y))) or 1.0
    y = problem.y / height
    return bool(np.linalg.norm(left_of(y)) <= problem.reach(SETTINGS.close) * np.linalg.norm(y - y.mean()))


def rational(problem: Problem, columns: Indices) -> Groups:
    """Formulas `polynomial / polynomial`, from a null vector; for more inputs, of powers of one input each."""
    for chosen in _choices(columns, RATIONAL_DEGREES):
        for degree in range(2, RATIONAL_DEGREES[len(chosen)] + 1):
            yield from _quotients(problem, list(_monomials(chosen, degree)))
    for degree in range(2, SEPARATE_DEGREE + 1) if len(columns) > 1 else ():
        yield from _quotients(problem, [monomial((int(i), e)) for i in columns for e in range(1, degree + 1)])


def _quotients(problem: Problem, monomials: list[Formula]) -> Groups:
    if problem.rows >= SETTINGS.rows_per_coefficient * 2 * (len(monomials) + 1):
        found = derived(problem, monomials)
        if found is not None:
            for group in quotient_of_sums(found.problem, affine=True):
                yield found.back(group)


def _choices(columns: Indices, degrees: dict[int, int]) -> Iterator[list[int]]:
    """The most important inputs: one, then two, ... as many as a degree is given for."""
    for count in sorted(degrees):
        if count <= len(columns):
            yield sorted(int(i) for i in columns[:count])


def _monomials(columns: list[int], degree: int) -> Iterator[Formula]:
    for size in range(1, degree + 1):
        for chosen in combinations_with_replacement(columns, size):
            yield monomial(*((i, chosen.count(i)) for i in dict.fromkeys(chosen)))
