"""Functions of small trees, `sin(a - b)`, `exp(-a / b)`: hundreds of them, which other shapes use like inputs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, groupby, permutations
from itertools import product as every

import numpy as np

from nalm.solver.data.problem import once_for_table
from nalm.solver.formula.algebra import HALF, ONE, Applied, Formula, Input, product, total
from nalm.solver.formula.calculus import Array, Indices, evaluate
from nalm.solver.formula.functions import Function, value_of
from nalm.solver.settings import SETTINGS

TWO = Fraction(2)


INSIDE = (Function.SIN, Function.COS, Function.EXP, Function.LOG, Function.TANH, Function.TAN, Function.ATAN)


def features(columns: Indices, chosen: Sequence[Function]) -> tuple[Applied, ...]:
    """The chosen functions of small trees over some columns; rarer functions of the columns only."""
    return _features(tuple(int(i) for i in columns), tuple(chosen))


@lru_cache(maxsize=8)  # several shapes ask for the same, and writing the formulas down takes longer than their values
def _features(columns: tuple[int, ...], chosen: tuple[Function, ...]) -> tuple[Applied, ...]:
    arguments = list(_arguments(list(columns)))
    listed = [
        Applied(function, argument)
        for function in chosen
        for argument in arguments
        if function in INSIDE or isinstance(argument, Input)
    ]
    if Function.ABS in chosen:  # with these the larger and the smaller of two inputs are sums
        pairs = combinations(columns, 2)
        listed += [Applied(Function.ABS, total([(Fraction(1), Input(i)), (Fraction(-1), Input(j))])) for i, j in pairs]
    return tuple(listed)


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


@dataclass(frozen=True, eq=False)
class Features:
    """Formulas and their values, `(rows, features)`."""

    formulas: tuple[Formula, ...]
    values: Array


@once_for_table(most=2)  # several shapes ask for the same, with noise and without
def finite_features(X: Array, columns: tuple[int, ...], chosen: tuple[Function, ...]) -> Features:
    """The features that have a value at every row of a table, each function once."""
    listed = _features(columns, chosen)
    arguments = dict.fromkeys(feature.argument for feature in listed)
    place = {argument: k for k, argument in enumerate(arguments)}
    inner = np.stack([evaluate(argument, X) for argument in arguments], axis=1) if listed else np.zeros((len(X), 0))
    values = [
        value_of(function, inner[:, [place[feature.argument] for feature in group]])
        for function, group in groupby(listed, key=lambda feature: feature.function)
    ]
    table = np.hstack(values) if values else inner
    kept = distinct(table)
    return Features(tuple(listed[int(k)] for k in kept), table[:, kept])


def distinct(values: Array) -> Indices:
    """Columns with a value at every row and more than one value; of those equal up to their sign, the first."""
    with np.errstate(all="ignore"):
        usable = np.flatnonzero(np.isfinite(values).all(axis=0) & (np.ptp(values, axis=0) > 0))
    few = values[: SETTINGS.probes, usable]
    few = np.where(few[0] < 0, -few, few) + 0.0  # + 0.0: there is a negative zero
    bits = np.ascontiguousarray(few).view(np.uint64)
    # Nine digits, 31 of 52 bits: computing in another order moves the last ones.
    rounded = (bits + np.uint64(2**20)) >> np.uint64(21)
    mixed = np.sum(rounded * np.random.default_rng(0).integers(2**63, size=(len(few), 1), dtype=np.uint64), axis=0)
    return usable[np.sort(np.unique(mixed, return_index=True)[1])]
