"""S.P: the target, or its power, as a sparse sum of monomials."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations
from itertools import product as every

import numpy as np

from nalm.solver.data.problem import Problem
from nalm.solver.formula.algebra import ONE, Formula, Input, product
from nalm.solver.formula.calculus import Indices, evaluate
from nalm.solver.settings import SETTINGS
from nalm.solver.shapes.beam import sparse_sums
from nalm.solver.shapes.power import usable_powers
from nalm.solver.shapes.shape import Groups

SINGLES = tuple(Fraction(e) for e in ("-2", "-1", "1", "2", "3", "-1/2", "1/2"))
PAIRS = (-2, -1, 1, 2)
TRIPLES = (-1, 1)


def sum_of_products(problem: Problem, columns: Indices, terms: int = 4, width: int = 100) -> Groups:
    """Formulas that sum up to `terms` monomials of up to three inputs each."""
    features = list(dictionary([int(i) for i in columns]))[: SETTINGS.most_features]
    values = np.stack([evaluate(feature, problem.X) for feature in features], axis=1)
    for target_power in usable_powers(problem):
        yield from sparse_sums(
            problem, features, values, target_power, terms if target_power.power == 1 else min(terms, 3), width
        )


def dictionary(columns: list[int]) -> Iterator[Formula]:
    """The monomials: 1, powers of one input, products of two with exponents to ±2, products of three with ±1."""
    yield ONE
    for i, exponent in every(columns, SINGLES):
        yield product([(Input(i), exponent)])
    for (i, j), a, b in every(combinations(columns, 2), PAIRS, PAIRS):
        yield product([(Input(i), a), (Input(j), b)])
    if len(columns) <= SETTINGS.triple_columns:
        for chosen, exponents in every(combinations(columns, 3), every(TRIPLES, repeat=3)):
            yield product((Input(i), e) for i, e in zip(chosen, exponents, strict=True))
