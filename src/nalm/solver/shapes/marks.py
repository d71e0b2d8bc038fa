"""Rules of marks: a whole number that a few columns of 0, 1 and -1 decide, as a truth table does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import chain, combinations

import numpy as np

from nalm.solver.data.digits import marks, whole
from nalm.solver.data.problem import Problem
from nalm.solver.formula.algebra import Formula, monomial, total
from nalm.solver.formula.calculus import Array, Indices
from nalm.solver.settings import SETTINGS
from nalm.solver.shapes.shape import Groups


def rule_of_marks(problem: Problem, columns: Indices) -> Groups:
    """Formulas with one coefficient for each product of the columns that decide the target, as few as do."""
    marked = [int(i) for i in columns if marks(problem.X[:, i])][: SETTINGS.marked_columns]
    if not whole(problem.y):
        return
    for count in range(1, min(len(marked), SETTINGS.marks_in_rule) + 1):
        rules = list(_rules(problem, marked, count))
        if rules:
            yield iter(rules)
            return


def _rules(problem: Problem, marked: Sequence[int], count: int) -> Iterator[Formula]:
    for chosen in combinations(marked, count):
        values = problem.X[:, chosen]
        target = _truth_table(values, problem.y)
        if target is not None:
            yield _polynomial(chosen, np.stack([values.min(axis=0), values.max(axis=0)]), target)


def _truth_table(values: Array, y: Array) -> Array | None:
    """The target for each combination of marks `(2 ** k,)`; None if one is missing or has two targets.

    The first column counts most: rows of 0 and 1 stand in the order of binary numbers.
    """
    high = values == values.max(axis=0)
    combination = high @ (2 ** np.arange(values.shape[1])[::-1])
    least, most = np.full(2 ** values.shape[1], np.inf), np.full(2 ** values.shape[1], -np.inf)
    np.minimum.at(least, combination, y)
    np.maximum.at(most, combination, y)
    return least if np.array_equal(least, most) else None


def _polynomial(columns: Sequence[int], levels: Array, target: Array) -> Formula:
    """The sum of products of these columns that takes the target's values; `levels` are low and high of each `(2, k)`.

    >>> from nalm.solver.formula.notation import show
    >>> show(_polynomial([0, 1], np.array([[0.0, 0.0], [1.0, 1.0]]), np.array([0.0, 1.0, 1.0, 0.0])))
    '-2*x0*x1 + x0 + x1'
    """
    size = len(columns)
    rows = np.array(np.meshgrid(*levels.T, indexing="ij")).reshape(size, -1).T
    subsets = list(chain.from_iterable(combinations(range(size), k) for k in range(size + 1)))
    products = np.stack([np.prod(rows[:, subset], axis=1) for subset in subsets], axis=1)
    coefficients = np.linalg.solve(products, target)
    terms = (monomial(*((columns[i], 1) for i in subset)) for subset in subsets)
    # Coefficients of marks are whole numbers, or with -1 among them fractions of 2 ** k.
    exact = (Fraction(round(float(c) * 2**size), 2**size) for c in coefficients)
    return total([(c, term) for c, term in zip(exact, terms, strict=True) if c])
