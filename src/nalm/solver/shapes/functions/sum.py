"""A line and a few terms more: functions of small trees, alone, times powers of inputs, and times each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import combinations as pairs_of
from itertools import combinations_with_replacement
from itertools import product as every

import numpy as np

from nalm.solver.data.problem import Problem
from nalm.solver.formula.algebra import ONE, Applied, Formula, Input, monomial, product, total
from nalm.solver.formula.calculus import Array, Indices, evaluate
from nalm.solver.formula.functions import Function
from nalm.solver.settings import SETTINGS
from nalm.solver.shapes.beside import supports
from nalm.solver.shapes.combine import combinations
from nalm.solver.shapes.functions.features import distinct, features
from nalm.solver.shapes.shape import Groups

MULTIPLIED = (Function.SIN, Function.COS, Function.EXP, Function.LOG, Function.TANH)
"""Functions that stand beside each other in products."""


def sum_with_functions(problem: Problem, columns: Indices, chosen: Sequence[Function]) -> Groups:
    """Formulas `sum(w_i * x_i) + c + a * t + b * u + ...` with up to four terms that hold functions or powers.

    For few inputs also beside a cubic in each, which would use up all four.
    """
    few = SETTINGS.scanned_per_column * (problem.columns + 1) <= SETTINGS.telling_rows
    every_input = range(problem.columns) if few else [int(i) for i in columns]
    line: list[Formula] = [*(Input(i) for i in every_input), ONE]
    if problem.rows < len(line) + SETTINGS.spare_rows:
        return
    most = SETTINGS.blurred_function_terms if problem.noisy else SETTINGS.function_terms
    some = problem.of_rows(problem.spread_rows(SETTINGS.telling_rows))
    apart = tuple(int(i) for i in columns if np.all(problem.X[:, i]))
    terms, values = _terms(tuple(int(i) for i in columns), apart, tuple(chosen)).finite(some.X, most)
    yield _sums(problem, some, terms, values, line)
    cubic = [monomial((i, e)) for i, e in every(every_input, (2, 3))]
    if problem.columns <= SETTINGS.cubic_columns and problem.rows >= len(cubic) + len(line) + SETTINGS.spare_rows:
        yield _sums(problem, some, terms, values, [*cubic, *line])


def _sums(problem: Problem, some: Problem, terms: _Terms, values: Array, base: list[Formula]) -> Iterator[Formula]:
    """Sums of the base and of few of the terms, which have `values` at some of the rows."""
    beside = _table(base, some)
    rounded = SETTINGS.rounded * float(np.sqrt(np.mean(problem.y**2)))
    close = problem.reach(SETTINGS.close)
    for support in supports(beside, values, some.y, SETTINGS.functions_in_sum, close, rounded, SETTINGS.function_sums):
        summed = [*(terms.formula(int(k)) for k in support), *base]
        table = _table(summed, problem)
        yield from combinations(summed, table, problem.y, np.ones(problem.rows), problem.blur)


def _table(terms: Sequence[Formula], problem: Problem) -> Array:
    return np.stack([evaluate(term, problem.X) for term in terms], axis=1)


@dataclass(frozen=True, eq=False)
class _Terms:
    """Products of two parts each, which are powers and functions; the last part is 1.

    `chosen` `(terms, 2)` are the parts of each term. Each part has its values computed once, and a formula is written
    down only when it is asked for.
    """

    parts: tuple[Formula, ...]
    chosen: Indices

    def finite(self, X: Array, most: int) -> tuple[_Terms, Array]:
        """The first terms that have a value at every row, each function once, and their values `(rows, terms)`."""
        values = np.stack([evaluate(part, X) for part in self.parts], axis=1)
        with np.errstate(all="ignore"):
            first, second = self.chosen[: SETTINGS.terms_listed * most].T
            values = values[:, first] * values[:, second]
        kept = distinct(values)[:most]
        return _Terms(self.parts, self.chosen[kept]), values[:, kept]

    def formula(self, number: int) -> Formula:
        """The formula of a term."""
        return product((self.parts[int(part)], 1) for part in self.chosen[number])


@lru_cache(maxsize=4)  # the same without noise and with it
def _terms(columns: tuple[int, ...], apart: tuple[int, ...], chosen: tuple[Function, ...]) -> _Terms:
    """The likeliest first: powers, functions, products of two functions, functions times powers.

    Args:
        apart: columns without zeros.
    """
    plain = list(features(np.array(columns), chosen))
    of_powers = [Applied(f, monomial((i, e))) for f, i, e in every(MULTIPLIED, columns, (1, 2, 3)) if f in chosen]
    singles: list[Formula] = [*_powers(columns), *plain]
    times = [monomial((i, e)) for i, e in every(columns, (1, -1, 2, 3)) if e > 0 or i in apart]
    squares = [product([(f, 2)]) for f in of_powers]
    parts = [*singles, *of_powers, *squares, *times, ONE]
    once, twice = len(singles), len(singles) + len(of_powers)
    pairs = [
        pair
        for a, b in combinations_with_replacement(range(len(of_powers)), 2)
        for pair in ((once + a, once + b), (twice + a, once + b), (once + a, twice + b))
    ]
    multiplied = range(once, twice) if len(columns) > 2 else range(len(singles) - len(plain), once)
    beside = range(twice + len(squares), len(parts) - 1)
    listed = [*((k, len(parts) - 1) for k in range(once)), *pairs, *every(multiplied, beside)]
    return _Terms(tuple(parts), np.array(listed, dtype=np.int64).reshape(-1, 2))


def _powers(columns: Sequence[int]) -> Iterator[Formula]:
    """Powers of one input, products of two, and powers that saturate: x ** 4 / (1 + x ** 4) and its likes."""
    yield from (monomial((i, e)) for i, e in every(columns, (2, 3, 4, 5, -1, -2)))
    yield from (monomial((i, 1), (j, 1)) for i, j in pairs_of(columns, 2))
    for i, e in every(columns, (1, 2, 4)):
        yield product([(total([(Fraction(1), ONE), (Fraction(1), monomial((i, e)))]), -1)])
