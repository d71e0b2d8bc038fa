"""S.P: the target, or its power, as a sparse sum of monomials."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import chain, combinations, islice
from itertools import product as every

import numpy as np

from nalm.solver.data.problem import Problem
from nalm.solver.formula.algebra import ONE, Formula, monomial
from nalm.solver.formula.calculus import Array, Indices, evaluate
from nalm.solver.settings import SETTINGS
from nalm.solver.shapes.beam import sparse_sums
from nalm.solver.shapes.power import usable_powers
from nalm.solver.shapes.shape import Groups

SINGLES = tuple(Fraction(e) for e in ("-2", "-1", "1", "2", "3", "-1/2", "1/2"))
PAIRS = (-2, -1, 1, 2)
TRIPLES = (-1, 1)


def sum_of_products(problem: Problem, columns: Indices, terms: int = 4, width: int = 100) -> Groups:
    """Formulas that sum up to `terms` monomials of up to three inputs each."""
    monomials = dictionary(tuple(sorted(int(i) for i in columns)))
    values = monomials.values(problem.X)
    for target_power in usable_powers(problem):
        yield from sparse_sums(
            problem,
            monomials.formulas,
            values,
            target_power,
            terms if target_power.power == 1 else min(terms, 3),
            width,
        )


@dataclass(frozen=True, eq=False)
class Monomials:
    """Products of up to three powers of inputs.

    Attributes:
        powers: the powers that occur, and 1 as the last.
        chosen: which of them each monomial is the product of, `(m, 3)`.
    """

    formulas: tuple[Formula, ...]
    powers: tuple[Formula, ...]
    chosen: Indices

    def values(self, X: Array) -> Array:
        """The monomials at all rows, `(n, m)`; each power is computed once."""
        powers = np.stack([evaluate(power, X) for power in self.powers])
        with np.errstate(all="ignore"):
            first, second, third = self.chosen.T
            return np.asarray((powers[first] * powers[second] * powers[third]).T)


@lru_cache(maxsize=16)  # one problem is seen through dozens of functions, each time with as many columns
def dictionary(columns: tuple[int, ...]) -> Monomials:
    """The monomials: 1, powers of one input, products of two with exponents to ±2, products of three with ±1."""
    listed = list(islice(_factors(columns), SETTINGS.most_features))
    numbers = {power: k for k, power in enumerate(dict.fromkeys(chain.from_iterable(listed)))}
    powers = [monomial(power) for power in numbers]
    chosen = [[*(numbers[power] for power in factors), *[len(powers)] * (3 - len(factors))] for factors in listed]
    return Monomials(tuple(monomial(*factors) for factors in listed), (*powers, ONE), np.array(chosen))


def _factors(columns: tuple[int, ...]) -> Iterator[list[tuple[int, Fraction | int]]]:
    yield []
    for i, exponent in every(columns, SINGLES):
        yield [(i, exponent)]
    for (i, j), a, b in every(combinations(columns, 2), PAIRS, PAIRS):
        yield [(i, a), (j, b)]
    if len(columns) <= SETTINGS.triple_columns:
        for chosen, exponents in every(combinations(columns, 3), every(TRIPLES, repeat=3)):
            yield list(zip(chosen, exponents, strict=True))
