"""Between which values a formula lies where its inputs lie between given ones: interval arithmetic."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from nalm.solver.formula.algebra import Applied, Constant, Formula, Input, PowerProduct, WeightedSum
from nalm.solver.formula.calculus import Array
from nalm.solver.formula.functions import Function, value_of


@dataclass(frozen=True)
class NumberRange:
    """All numbers from `low` to `high`."""

    low: float
    high: float

    def scaled(self, factor: float) -> NumberRange:
        """Every number of it times a factor."""
        ends = sorted((self.low * factor, self.high * factor))
        return NumberRange(ends[0], ends[1])

    def plus(self, other: NumberRange) -> NumberRange:
        """Where sums of two numbers lie, one from each."""
        return NumberRange(self.low + other.low, self.high + other.high)

    def times(self, other: NumberRange) -> NumberRange:
        """Where products of two numbers lie, one from each."""
        ends = [a * b for a in (self.low, self.high) for b in (other.low, other.high)]
        return NumberRange(min(ends), max(ends))

    def raised(self, exponent: Fraction) -> NumberRange | None:
        """None where some number of the interval has no such power: a pole, or a root of a negative number."""
        around_zero = self.low <= 0 <= self.high
        if (exponent < 0 and around_zero) or (exponent.denominator != 1 and self.low < 0):
            return None
        ends = [math.pow(end, float(exponent)) for end in (self.low, self.high)]
        least = 0.0 if around_zero and exponent.numerator % 2 == 0 else min(ends)
        return NumberRange(least, max(ends))

    def through(self, function: Function) -> NumberRange | None:
        """None where the function has no value, or a pole, somewhere in the interval."""
        if function in (Function.SIN, Function.COS):
            return NumberRange(-1.0, 1.0)
        if function is Function.TAN and not -math.pi / 2 < self.low <= self.high < math.pi / 2:
            return None
        ends = [float(end) for end in value_of(function, np.array([self.low, self.high]))]
        if not all(map(math.isfinite, ends)):
            return None
        least = 0.0 if function is Function.ABS and self.low <= 0 <= self.high else min(ends)
        return NumberRange(least, max(ends))


def defined_between(formula: Formula, low: Array, high: Array) -> bool:
    """Is the formula sure to have a finite value wherever each column lies between `low` and `high`, `(d,)` each?

    Intervals forget what two terms have in common, so a few formulas without a pole are doubted.

    >>> inverse = PowerProduct(((Input(0), Fraction(-1)),))
    >>> defined_between(inverse, np.array([1.0]), np.array([2.0])), defined_between(inverse, -np.ones(1), np.ones(1))
    (True, False)
    """
    try:
        bounds = _bounds(formula, low, high)
    except OverflowError:
        return False
    return bounds is not None and math.isfinite(bounds.low) and math.isfinite(bounds.high)


def _bounds(formula: Formula, low: Array, high: Array) -> NumberRange | None:
    match formula:
        case Input(index):
            return NumberRange(float(low[index]), float(high[index]))
        case Constant(value):
            return NumberRange(float(value), float(value))
        case WeightedSum(terms):
            whole = NumberRange(0.0, 0.0)
            for coefficient, term in terms:
                inner = _bounds(term, low, high)
                if inner is None:
                    return None
                whole = whole.plus(inner.scaled(float(coefficient)))
            return whole
        case PowerProduct(factors):
            whole = NumberRange(1.0, 1.0)
            for factor, exponent in factors:
                inner = _bounds(factor, low, high)
                power = None if inner is None else inner.raised(exponent)
                if power is None:
                    return None
                whole = whole.times(power)
            return whole
        case Applied(function, argument):
            inner = _bounds(argument, low, high)
            return None if inner is None else inner.through(function)
