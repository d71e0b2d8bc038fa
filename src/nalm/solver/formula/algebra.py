"""Formulas as the solver builds them: sums with coefficients, products with exponents and functions, over inputs.

Sums and products are enough for everything a stack of arithmetic units can compute. A coefficient is a
`Fraction` when it is known exactly and a `float` when it is a real number that was fitted; that one distinction decides
between the verdicts "exact" and "real coefficient".
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TypeAlias

import numpy as np

from nalm.solver.formula.functions import Function

Number: TypeAlias = Fraction | float


@dataclass(frozen=True, slots=True)
class Input:
    """Column `index` of the table."""

    index: int


@dataclass(frozen=True, slots=True)
class Constant:
    """A number that stands alone, such as the 1 in `1 + x0`."""

    value: Number


@dataclass(frozen=True, slots=True)
class WeightedSum:
    """`sum(coefficient * term)`."""

    terms: tuple[tuple[Number, Formula], ...]


@dataclass(frozen=True, slots=True)
class PowerProduct:
    """`prod(factor ** exponent)`."""

    factors: tuple[tuple[Formula, Fraction], ...]


@dataclass(frozen=True, slots=True)
class Applied:
    """An elementary function of a formula, `sin(x0)`."""

    function: Function
    argument: Formula


Formula: TypeAlias = Input | Constant | WeightedSum | PowerProduct | Applied
ONE = Constant(Fraction(1))
HALF = Fraction(1, 2)


def total(terms: Iterable[tuple[Number, Formula]]) -> Formula:
    """The sum of `coefficient * term`, with nested sums opened and equal terms collected.

    >>> total([(Fraction(3), ONE), (Fraction(-2), ONE)])
    Constant(value=Fraction(1, 1))
    """
    collected: dict[Formula, Number] = {}
    for coefficient, term in _opened_terms(terms):
        present = collected.get(term)
        collected[term] = coefficient if present is None else present + coefficient
    kept = tuple((c, t) for t, c in collected.items() if c != 0)
    if not kept:
        return Constant(Fraction(0))
    if len(kept) == 1 and (kept[0][0] == 1 or kept[0][1] == ONE):
        return kept[0][1] if kept[0][0] == 1 else Constant(kept[0][0])
    return WeightedSum(kept)


def _opened_terms(terms: Iterable[tuple[Number, Formula]]) -> Iterator[tuple[Number, Formula]]:
    for coefficient, term in terms:
        if isinstance(term, WeightedSum) and (isinstance(coefficient, Fraction) or len(term.terms) == 1):
            # A real factor in front of a sum stays in front: one fitted constant, not one for each term.
            yield from ((coefficient * inner, t) for inner, t in term.terms)
        elif isinstance(term, Constant):
            yield coefficient * term.value, ONE
        else:
            yield coefficient, term


def product(factors: Iterable[tuple[Formula, Fraction | int]]) -> Formula:
    """The product of `factor ** exponent`, with nested products opened and coefficients moved to the front.

    >>> product([(product([(Input(0), 2)]), 3)])
    PowerProduct(factors=((Input(index=0), Fraction(6, 1)),))
    """
    collected: dict[Formula, Fraction] = {}
    coefficient: Number = Fraction(1)
    for factor, exponent in factors:
        scale, parts = _opened_factor(factor, Fraction(exponent))
        coefficient = coefficient * scale
        for inner, power in parts:
            present = collected.get(inner)
            collected[inner] = power if present is None else present + power
    kept = tuple((f, e) for f, e in collected.items() if e != 0)
    if not kept:
        return Constant(coefficient)
    body: Formula = kept[0][0] if len(kept) == 1 and kept[0][1] == 1 else PowerProduct(kept)
    return total([(coefficient, body)])


@lru_cache(maxsize=2**16)  # a few megabytes: the dictionaries of all shapes over a dozen columns
def monomial(*powers: tuple[int, Fraction | int]) -> Formula:
    """The product of columns, each with its exponent; made once, as many shapes ask for the same ones.

    >>> monomial((0, 1), (2, -1)) == product([(Input(0), 1), (Input(2), -1)])
    True
    """
    return product((Input(int(i)), exponent) for i, exponent in powers)


def _opened_factor(factor: Formula, exponent: Fraction) -> tuple[Number, list[tuple[Formula, Fraction]]]:
    if isinstance(factor, WeightedSum) and len(factor.terms) == 1:
        scale, inner = factor.terms[0]
        if exponent.denominator == 1 or scale > 0:
            outer, parts = _opened_factor(inner, exponent)
            return outer * _power(scale, exponent), parts
    if isinstance(factor, WeightedSum) and exponent.denominator == 1 and all(c < 0 for c, _ in factor.terms):
        flipped = WeightedSum(tuple((-c, t) for c, t in factor.terms))
        return Fraction((-1) ** int(abs(exponent))), [(flipped, exponent)]
    if isinstance(factor, Constant) and factor.value != 0 and (exponent.denominator == 1 or factor.value > 0):
        return _power(factor.value, exponent), []
    if isinstance(factor, PowerProduct) and exponent.denominator == 1:
        return Fraction(1), [(inner, power * exponent) for inner, power in factor.factors]
    return Fraction(1), [(factor, exponent)]


def _power(value: Number, exponent: Fraction) -> Number:
    if isinstance(value, Fraction) and exponent.denominator == 1:
        return value ** int(exponent)
    with np.errstate(all="ignore"):  # beyond all numbers it is infinite, and no error
        return value if value == 1 else float(np.float64(value) ** float(exponent))


def exponential(argument: Formula) -> Formula:
    """exp(c + u) as a number times exp(u): in front, a number that is round shows, and there is one way to write it.

    >>> exponential(WeightedSum(((0.0, ONE), (2.0, Input(0)))))
    Applied(function=<Function.EXP: 'exp'>, argument=WeightedSum(terms=((2.0, Input(index=0)),)))
    """
    terms = argument.terms if isinstance(argument, WeightedSum) else ()
    constant = sum(float(c) for c, term in terms if term == ONE)
    if len(terms) < 2 or not abs(constant) < 700 or all(term != ONE for _, term in terms):  # e**710 is no float64
        return Applied(Function.EXP, argument)
    rest = total((c, term) for c, term in terms if term != ONE)
    return total([(math.exp(constant) if constant else Fraction(1), Applied(Function.EXP, rest))])


def real_constants(formula: Formula) -> list[float]:
    """The fitted real numbers of a formula, in the order a left-to-right walk meets them."""
    match formula:
        case Input():
            return []
        case Constant(value):
            return [value] if isinstance(value, float) else []
        case WeightedSum(terms):
            found: list[float] = []
            for coefficient, term in terms:
                found += ([coefficient] if isinstance(coefficient, float) else []) + real_constants(term)
            return found
        case PowerProduct(factors):
            return [c for factor, _ in factors for c in real_constants(factor)]
        case Applied(_, argument):
            return real_constants(argument)


def with_constants(formula: Formula, values: Sequence[Number]) -> Formula:
    """The same formula with its real constants replaced, in `real_constants` order."""
    return _replaced(formula, iter(values))


def _replaced(formula: Formula, values: Iterator[Number]) -> Formula:
    match formula:
        case Input():
            return formula
        case Constant(value):
            return Constant(next(values)) if isinstance(value, float) else formula
        case WeightedSum(terms):
            return WeightedSum(
                tuple((next(values) if isinstance(c, float) else c, _replaced(t, values)) for c, t in terms)
            )
        case PowerProduct(factors):
            return PowerProduct(tuple((_replaced(f, values), e) for f, e in factors))
        case Applied(function, argument):
            return Applied(function, _replaced(argument, values))


def with_real_coefficients(formula: Formula) -> Formula:
    """The same formula with its coefficients as real numbers, so that they can be fitted.

    Inside a product only the ratios of coefficients matter, so there one exact coefficient of each sum stays as it is;
    likewise one in front of an exponential that has a constant in its argument, as `exp(c + u)` is `exp(c) * exp(u)`.

    >>> with_real_coefficients(WeightedSum(((Fraction(2), Input(0)),)))
    WeightedSum(terms=((2.0, Input(index=0)),))
    """
    match formula:
        case Constant(value):
            return Constant(float(value))
        case WeightedSum(terms):
            return WeightedSum(tuple((_freed(c, t), _with_real_ratios(t)) for c, t in terms))
        case PowerProduct(factors) if any(_all_real(factor) for factor, _ in factors):
            return _with_real_ratios(formula)
        case _:
            return WeightedSum(((_freed(Fraction(1), formula), _with_real_ratios(formula)),))


def _freed(coefficient: Number, term: Formula) -> Number:
    """A coefficient that may be fitted: real, unless the term holds a number that does the same."""
    match term:
        case Applied(Function.EXP, WeightedSum(terms)) if any(inner == ONE for _, inner in terms):
            return coefficient
        case _:
            return float(coefficient)


def _all_real(formula: Formula) -> bool:
    """Is it a sum of fitted coefficients, whose size is one of the numbers that are fitted?"""
    return isinstance(formula, WeightedSum) and all(isinstance(c, float) for c, _ in formula.terms)


def _with_real_ratios(formula: Formula) -> Formula:
    match formula:
        case WeightedSum(terms):
            fixed = next((k for k, (c, _) in enumerate(terms) if isinstance(c, Fraction)), None)
            freed = ((c if k == fixed else _freed(c, t), _with_real_ratios(t)) for k, (c, t) in enumerate(terms))
            return WeightedSum(tuple(freed))
        case PowerProduct(factors):
            return PowerProduct(tuple((_with_real_ratios(f), e) for f, e in factors))
        case Applied(Function.EXP, WeightedSum(terms)):  # exp(k log(c u)) is a factor times exp(k log(u))
            return Applied(Function.EXP, WeightedSum(tuple((float(c), _with_real_power(t)) for c, t in terms)))
        case Applied(function, argument):  # no factor in front can take up one inside a function
            return Applied(function, with_real_coefficients(argument))
        case _:
            return formula


def _with_real_power(term: Formula) -> Formula:
    match term:
        case Applied(Function.LOG, base):
            return Applied(Function.LOG, _with_real_ratios(base))
        case _:
            return _with_real_ratios(term)


def simplified(formula: Formula) -> Formula:
    """The same formula with coefficients of 1 dropped and nested sums and products opened."""
    match formula:
        case WeightedSum(terms):
            return total((c, simplified(t)) for c, t in terms)
        case PowerProduct(factors):
            return product((simplified(f), e) for f, e in factors)
        case Applied(function, argument):
            return Applied(function, simplified(argument))
        case _:
            return formula


def size(formula: Formula) -> int:
    """How much there is to read: one for each input, function, number other than ±1 and exponent other than ±1."""
    match formula:
        case Input() | Constant():
            return 1
        case WeightedSum(terms):
            return sum(size(term) + (abs(coefficient) != 1) for coefficient, term in terms)
        case PowerProduct(factors):
            return sum(size(factor) + (abs(exponent) != 1) for factor, exponent in factors)
        case Applied(_, argument):
            return 1 + size(argument)


def inputs(formula: Formula) -> frozenset[int]:
    """The columns a formula reads."""
    match formula:
        case Input(index):
            return frozenset({index})
        case Constant():
            return frozenset()
        case WeightedSum(terms):
            return frozenset().union(*(inputs(term) for _, term in terms))
        case PowerProduct(factors):
            return frozenset().union(*(inputs(factor) for factor, _ in factors))
        case Applied(_, argument):
            return inputs(argument)


def renumbered(formula: Formula, columns: Sequence[int]) -> Formula:
    """A formula over some columns as one over the whole table."""
    match formula:
        case Input(index):
            return Input(columns[index])
        case Constant():
            return formula
        case WeightedSum(terms):
            return WeightedSum(tuple((c, renumbered(t, columns)) for c, t in terms))
        case PowerProduct(factors):
            return PowerProduct(tuple((renumbered(f, columns), e) for f, e in factors))
        case Applied(function, argument):
            return Applied(function, renumbered(argument, columns))


def substituted(formula: Formula, columns: Sequence[Formula]) -> Formula:
    """The formula with a formula in the place of every input: `columns[i]` for input i."""
    match formula:
        case Input(index):
            return columns[index]
        case Constant():
            return formula
        case WeightedSum(terms):
            return total((c, substituted(t, columns)) for c, t in terms)
        case PowerProduct(factors):
            return product((substituted(f, columns), e) for f, e in factors)
        case Applied(function, argument):
            return Applied(function, substituted(argument, columns))


def functions(formula: Formula) -> int:
    """How many functions it applies."""
    match formula:
        case Input() | Constant():
            return 0
        case WeightedSum(terms):
            return sum(functions(term) for _, term in terms)
        case PowerProduct(factors):
            return sum(functions(factor) for factor, _ in factors)
        case Applied(_, argument):
            return 1 + functions(argument)
