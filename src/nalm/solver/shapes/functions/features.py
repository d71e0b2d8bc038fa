"""Functions of small trees, `sin(a - b)`, `exp(-a / b)`: hundreds of them, which other shapes use like inputs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, permutations
from itertools import product as every

import numpy as np

from nalm.solver.data.problem import once_for_table
from nalm.solver.formula.algebra import ONE, Applied, Formula, Input, product, total
from nalm.solver.formula.calculus import Array, Indices, evaluate
from nalm.solver.formula.functions import Function
from nalm.solver.settings import SETTINGS

HALF, TWO = Fraction(1, 2), Fraction(2)


INSIDE = (Function.SIN, Function.COS, Function.EXP, Function.LOG, Function.TANH, Function.TAN, Function.ATAN)


def features(columns: Indices, chosen: Sequence[Function]) -> tuple[Formula, ...]:
    """The chosen functions of small trees over some columns; rarer functions of the columns only."""
    return _features(tuple(int(i) for i in columns), tuple(chosen))


@lru_cache(maxsize=8)  # several shapes ask for the same, and writing the formulas down takes longer than their values
def _features(columns: tuple[int, ...], chosen: tuple[Function, ...]) -> tuple[Formula, ...]:
    arguments = list(_arguments(list(columns)))
    return tuple(
        Applied(function, argument)
        for function in chosen
        for argument in arguments
        if function in INSIDE or isinstance(argument, Input)
    )


def _arguments(columns: list[int]) -> Iterator[Formula]:
    """Small trees as they stand in functions: inputs, twice and half of them, squares, and two or three joined."""
    single: list[Formula] = [Input(i) for i in columns]
    yield from single
    yield from (total([(factor, x)]) for x in single for factor in (HALF, TWO, Fraction(-1)))
    yield from (product([(x, power)]) for x in single for power in (2, 3, HALF, -1))
    yield from (total([(Fraction(-1), product([(x, 2)]))]) for x in single)
    yield from (total([(Fraction(1), x), (Fraction(1), product([(x, 2)]))]) for x in single)
    yield from (total([(Fraction(1), product([(x, power)])), (Fraction(1), ONE)]) for x in single for power in (1, 2))
    for a, b in combinations(single, 2):
        pair = (
            total([(Fraction(1), a), (Fraction(-1), b)]),
            total([(Fraction(1), a), (Fraction(1), b)]),
            product([(a, 1), (b, 1)]),
        )
        yield from pair
        yield from (total([(HALF, tree)]) for tree in pair)
        yield total([(Fraction(-1), product([(a, 1), (b, 1)]))])
    for a, b in permutations(single, 2):
        yield product([(a, 1), (b, -1)])
        yield total([(Fraction(-1), product([(a, 1), (b, -1)]))])
    for c, (a, b) in every(single, combinations(single, 2)):
        if c not in (a, b):
            yield total([(HALF, product([(total([(Fraction(1), a), (Fraction(-1), b)]), 1), (c, 1)]))])


@once_for_table(most=2)  # several shapes ask for the same, with noise and without
def finite_features(X: Array, columns: tuple[int, ...], chosen: tuple[Function, ...]) -> list[Formula]:
    """The features that have a value at every row of a table, each function once."""
    return finite(X, _features(columns, chosen))


def finite(X: Array, listed: Iterable[Formula], most: int | None = None) -> list[Formula]:
    """Features with a value at every row and more than one value; of those equal up to their sign, the first."""
    kept: dict[tuple[float, ...], Formula] = {}
    for feature in listed:
        if len(kept) == most:
            break
        values = evaluate(feature, X)
        if np.isfinite(values).all() and np.ptp(values) > 0:
            few = values[: SETTINGS.probes] * (-1 if values[0] < 0 else 1)
            kept.setdefault(tuple(float(f"{v:.9g}") for v in few), feature)
    return list(kept.values())
