"""A line and a few terms more: functions of small trees, alone, times powers of inputs, and times each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations as pairs_of
from itertools import combinations_with_replacement
from itertools import product as every

import numpy as np

from nalm.solver.data.problem import Problem
from nalm.solver.formula.algebra import ONE, Applied, Formula, Input, product, total
from nalm.solver.formula.calculus import Array, Indices, evaluate
from nalm.solver.formula.functions import Function
from nalm.solver.settings import SETTINGS
from nalm.solver.shapes.beside import supports
from nalm.solver.shapes.combine import combinations
from nalm.solver.shapes.functions.features import features, finite
from nalm.solver.shapes.shape import Groups

MULTIPLIED = (Function.SIN, Function.COS, Function.EXP, Function.LOG, Function.TANH)
"""Functions that stand beside each other in products."""


def sum_with_functions(problem: Problem, columns: Indices, chosen: Sequence[Function]) -> Groups:
    """Formulas `sum(w_i * x_i) + c + a * t + b * u + ...` with up to four terms that hold functions or powers.

    For few inputs also beside a cubic in each, which would use up all four.
    """
    every_input = range(problem.columns)
    line: list[Formula] = [*(Input(i) for i in every_input), ONE]
    if problem.rows < len(line) + SETTINGS.spare_rows:
        return
    most = SETTINGS.blurred_function_terms if problem.noisy else SETTINGS.function_terms
    some = problem.of_rows(slice(0, SETTINGS.telling_rows))
    terms = finite(some.X, _terms(problem, [int(i) for i in columns], chosen), most)
    values = _table(terms, some)
    yield _sums(problem, some, terms, values, line)
    cubic = [product([(Input(i), e)]) for i, e in every(every_input, (2, 3))]
    if problem.columns <= SETTINGS.cubic_columns and problem.rows >= len(cubic) + len(line) + SETTINGS.spare_rows:
        yield _sums(problem, some, terms, values, [*cubic, *line])


def _sums(
    problem: Problem, some: Problem, terms: list[Formula], values: Array, base: list[Formula]
) -> Iterator[Formula]:
    """Sums of the base and of few of the terms, which have `values` at some of the rows."""
    beside = _table(base, some)
    rounded = SETTINGS.rounded * float(np.sqrt(np.mean(problem.y**2)))
    close = problem.reach(SETTINGS.close)
    for support in supports(beside, values, some.y, SETTINGS.functions_in_sum, close, rounded, SETTINGS.function_sums):
        summed = [*(terms[int(k)] for k in support), *base]
        table = _table(summed, problem)
        yield from combinations(summed, table, problem.y, np.ones(problem.rows), problem.blur)


def _table(terms: Sequence[Formula], problem: Problem) -> Array:
    return np.stack([evaluate(term, problem.X) for term in terms], axis=1)


def _terms(problem: Problem, columns: list[int], chosen: Sequence[Function]) -> Iterator[Formula]:
    """The likeliest first: powers, functions, products of two functions, functions times powers."""
    plain = list(features(np.array(columns), chosen))
    of_powers = [
        Applied(f, product([(Input(i), e)])) for f, i, e in every(MULTIPLIED, columns, (1, 2, 3)) if f in chosen
    ]
    yield from _powers(columns)
    yield from plain
    for (f, g), (a, b) in every(combinations_with_replacement(of_powers, 2), ((1, 1), (2, 1), (1, 2))):
        yield product([(f, a), (g, b)])
    yield from (
        product([(f, 1), (Input(i), e)])
        for f, i, e in every(of_powers if len(columns) > 2 else plain, columns, (1, -1, 2, 3))
        if e > 0 or np.all(problem.X[:, i])
    )


def _powers(columns: list[int]) -> Iterator[Formula]:
    """Powers of one input, products of two, and powers that saturate: x ** 4 / (1 + x ** 4) and its likes."""
    yield from (product([(Input(i), e)]) for i, e in every(columns, (2, 3, 4, 5, -1, -2)))
    yield from (product([(Input(i), 1), (Input(j), 1)]) for i, j in pairs_of(columns, 2))
    for i, e in every(columns, (1, 2, 4)):
        yield product([(total([(Fraction(1), ONE), (Fraction(1), product([(Input(i), e)]))]), -1)])
