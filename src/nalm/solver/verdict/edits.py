"""Formulas one small change away: the rivals that noise could hide."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from nalm.solver.formula.algebra import ONE, Applied, Formula, Input, PowerProduct, WeightedSum, inputs, product, total


def edits(formula: Formula, columns: int) -> Iterator[Formula]:
    """A coefficient or exponent changed by a step, an input swapped, an input multiplied in, divided out or added."""
    yield from _inside(formula, columns)
    for i in range(columns):
        for exponent in (1, -1):
            yield product([(formula, 1), (Input(i), exponent)])
            yield total([(Fraction(1), formula), (Fraction(exponent), Input(i))])
    for sign in (1, -1):
        yield total([(Fraction(1), formula), (Fraction(sign), ONE)])


def _inside(formula: Formula, columns: int) -> Iterator[Formula]:
    match formula:
        case Input(index):
            yield from (Input(i) for i in range(columns) if i != index)
        case WeightedSum(terms):
            for k, (coefficient, term) in enumerate(terms):
                if isinstance(coefficient, Fraction):
                    for step in (1, -1):
                        changed = coefficient + Fraction(step, coefficient.denominator)
                        yield total([*terms[:k], (changed, term), *terms[k + 1 :]])
                for inner in _inside(term, columns):
                    yield total([*terms[:k], (coefficient, inner), *terms[k + 1 :]])
            if len(terms) > 1:
                for i in sorted(set(range(columns)) - inputs(formula)):
                    yield from (total([*terms, (Fraction(sign), Input(i))]) for sign in (1, -1))
        case PowerProduct(factors):
            for k, (factor, exponent) in enumerate(factors):
                for step in (1, -1):
                    changed = exponent + Fraction(step, exponent.denominator)
                    yield product([*factors[:k], (factor, changed), *factors[k + 1 :]])
                for inner in _inside(factor, columns):
                    yield product([*factors[:k], (inner, exponent), *factors[k + 1 :]])
        case Applied(function, argument):
            yield from (Applied(function, inner) for inner in _inside(argument, columns))
