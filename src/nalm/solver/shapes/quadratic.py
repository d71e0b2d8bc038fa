"""A root of a quadratic equation, `A(x) + B(x) y + C(x) y**2 = 0`, found as a null vector: no root is ever guessed.

What binds tightly, the distance to a moving point and the crossing of a line and a circle are such roots.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations_with_replacement

import numpy as np

from nalm.solver.data.problem import Problem
from nalm.solver.formula.algebra import HALF, ONE, Formula, Input, Number, WeightedSum, monomial, product, total
from nalm.solver.formula.calculus import Array, Indices, evaluate
from nalm.solver.settings import SETTINGS
from nalm.solver.shapes.null_vector import in_ratios, null_vector
from nalm.solver.shapes.shape import Groups


def root_of_quadratic(problem: Problem, columns: Indices) -> Groups:
    """Formulas `(-B ± sqrt(B**2 - 4 A C)) / (2 C)` with sums of inputs B and C, and a quadratic A in the inputs."""
    yield _roots(problem, [int(i) for i in columns])


def _roots(problem: Problem, columns: list[int]) -> Iterator[Formula]:
    while columns and problem.rows < SETTINGS.rows_per_coefficient * len(_terms(columns)[0]):
        columns = columns[:-1]
    height = float(np.max(np.abs(problem.y)))
    if not columns or not height > 0:
        return
    terms, powers = _terms(columns)
    values = np.stack([evaluate(term, problem.X) for term in terms], axis=1)
    table = values * (problem.y[:, None] / height) ** powers  # (rows, terms)
    if not np.isfinite(table).all() or not _has_one_null_vector(problem, table):
        return
    kept = _that_matter(table)
    numbers = in_ratios(null_vector(table[:, kept]) / height ** powers[kept])
    if not numbers or 2 not in powers[kept]:
        return
    weighted = [(number, terms[int(k)]) for number, k in zip(numbers, kept, strict=True)]
    A, B, C = (total(pair for pair, p in zip(weighted, powers[kept], strict=True) if p == power) for power in range(3))
    yield from _root(problem, A, B, C)


def _terms(columns: list[int]) -> tuple[list[Formula], Array]:
    """What A, B and C may hold, one after another, and which power of y each term stands beside."""
    line: list[Formula] = [ONE, *(Input(i) for i in columns)]
    squares = [monomial((i, 1), (j, 1)) for i, j in combinations_with_replacement(columns, 2)]
    powers = np.repeat([0.0, 1.0, 2.0], [len(line) + len(squares), len(line), len(line)])
    return [*line, *squares, *line, *line], powers


def _that_matter(table: Array) -> Indices:
    """The columns with a share in the null vector; without the others they are known better, so it is asked twice."""
    kept = np.arange(table.shape[1])
    for _ in range(2):
        null = null_vector(table[:, kept])
        if not len(null):
            return kept[:0]
        share = np.abs(null) * np.max(np.abs(table[:, kept]), axis=0)
        kept = kept[share > SETTINGS.negligible_weight * np.max(share)]
    return kept


def _has_one_null_vector(problem: Problem, table: Array) -> bool:
    """Is one combination of the columns nothing, and no second one?"""
    length = np.max(np.abs(table), axis=0)
    sizes = np.linalg.svd(np.linalg.qr(table / np.where(length > 0, length, 1.0), mode="r"), compute_uv=False)
    return bool(sizes[-1] <= problem.reach(SETTINGS.sums_close) * sizes[-2])


def _root(problem: Problem, A: Formula, B: Formula, C: Formula) -> Iterator[Formula]:
    """The root that the target is, of the two: `(-B/2 ± sqrt((B/2)**2 - A C)) / C` where B/2 is whole, which is
    shorter, and else `(-B ± sqrt(B**2 - 4 A C)) / (2 C)`."""
    half = total([(HALF, B)])
    is_whole = all(isinstance(n, Fraction) and n.denominator == 1 for n in _coefficients(half))
    squared, front = (half, Fraction(1)) if is_whole else (B, HALF)  # of the root
    inner = total([(Fraction(1), product([(squared, 2)])), (-1 / front**2, product([(A, 1), (C, 1)]))])
    roots = []
    for sign in (1, -1):
        above = total([(Fraction(-1), half), (sign * front, product([(inner, HALF)]))])
        root = product([(above, 1), (C, -1)])
        error = float(np.max(np.abs(evaluate(root, problem.X) - problem.y)))
        if np.isfinite(error):
            roots.append((error, root))
    if roots:
        yield min(roots, key=lambda pair: pair[0])[1]


def _coefficients(formula: Formula) -> list[Number]:
    return [number for number, _ in formula.terms] if isinstance(formula, WeightedSum) else [Fraction(1)]
