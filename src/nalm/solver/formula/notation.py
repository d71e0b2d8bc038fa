"""Formulas in SymPy and as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from nalm.solver.formula.algebra import Applied, Constant, Formula, Input, Number, PowerProduct, WeightedSum, inputs

if TYPE_CHECKING:
    import sympy


def to_sympy(
    formula: Formula, symbols: Sequence[sympy.Symbol], recognised: Mapping[float, str] = MappingProxyType({})
) -> sympy.Expr:
    """The formula over SymPy symbols; fractions stay exact, fitted constants become what they were recognised as, or
    floats."""
    import sympy

    def number(value: Number) -> Any:
        if isinstance(value, Fraction):
            return sympy.Rational(value.numerator, value.denominator)
        return sympy.sympify(recognised[value]) if value in recognised else sympy.Float(value)

    match formula:
        case Input(index):
            return symbols[index]
        case Constant(value):
            return number(value)
        case WeightedSum(terms):
            return sympy.Add(*(number(c) * to_sympy(t, symbols, recognised) for c, t in terms))
        case PowerProduct(factors):
            return sympy.Mul(*(to_sympy(f, symbols, recognised) ** number(e) for f, e in factors))
        case Applied(function, argument):
            return getattr(sympy, function.value)(to_sympy(argument, symbols, recognised))


def neat(expression: Any) -> Any:
    """The shorter of an exact rational expression and its factored form; roots of squares become sizes, and
    exponentials of logarithms powers."""
    import sympy

    expression = expression.replace(sympy.exp, _power)
    expression = expression.replace(lambda part: part.is_Pow and part.exp == sympy.Rational(1, 2), _root)
    rational = expression.is_rational_function() and not expression.has(sympy.Float)
    if not rational or expression.count_ops() > 40:
        return expression
    return min(expression, sympy.factor(sympy.together(expression)), key=sympy.count_ops)


def _power(argument: Any) -> Any:
    """The exponential of a sum, each logarithm in it times something as a power: `(1 + r)**t`."""
    import sympy

    left, powers = [], []
    for term in sympy.Add.make_args(argument):
        logarithms = [factor for factor in sympy.Mul.make_args(term) if isinstance(factor, sympy.log)]
        if len(logarithms) == 1:
            powers.append(logarithms[0].args[0] ** (term / logarithms[0]))
        else:
            left.append(term)
    return sympy.Mul(sympy.exp(sympy.Add(*left)), *powers)


def _root(root: Any) -> Any:
    """A square root; that of a square is a size, as inputs are real numbers: `sqrt(a**2 - 2*a*b + b**2)`."""
    import sympy

    factored = root.base
    if factored.is_polynomial() and not factored.has(sympy.Float):
        factored = sympy.factor(factored)
    number, square = factored.as_coeff_Mul()
    if square.is_Pow and square.exp.is_even and number > 0:
        half = square.exp / 2
        return sympy.sqrt(number) * (square.base if half.is_even else sympy.Abs(square.base)) ** half
    return root


def show(formula: Formula, names: Sequence[str] | None = None) -> str:
    """The formula as text, with inputs `x0, x1, ...` unless names are given.

    >>> show(PowerProduct(((Input(0), Fraction(1)), (Input(1), Fraction(-2)))))
    'x0/x1**2'
    """
    import sympy

    width = max(inputs(formula), default=-1) + 1
    labels = [f"x{i}" for i in range(width)] if names is None else names
    return str(to_sympy(formula, [sympy.Symbol(label) for label in labels]))
