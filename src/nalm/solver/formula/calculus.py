"""Values of formulas at the rows of a table, and their derivatives by the inputs and by every number in them."""

from __future__ import annotations

from fractions import Fraction
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from nalm.solver.formula.algebra import Applied, Constant, Formula, Input, PowerProduct, WeightedSum
from nalm.solver.formula.functions import slope_of, value_of

Array: TypeAlias = NDArray[np.float64]
Indices: TypeAlias = NDArray[np.int64]


def evaluate(formula: Formula, X: Array) -> Array:
    """Values at the rows of `X` (shape `(n, d)`); non-finite where the formula has no value."""
    with np.errstate(all="ignore"):
        return _value(formula, X)


def _value(formula: Formula, X: Array) -> Array:
    match formula:
        case Input(index):
            return X[:, index]
        case Constant(value):
            return np.full(len(X), float(value))
        case WeightedSum(terms):
            out = np.zeros(len(X))
            for coefficient, term in terms:
                out = out + float(coefficient) * _value(term, X)
            return out
        case PowerProduct(factors):
            out = np.ones(len(X))
            for factor, exponent in factors:
                out = out * _raised(_value(factor, X), exponent)
            return out
        case Applied(function, argument):
            return value_of(function, _value(argument, X))


def _raised(base: Array, exponent: Fraction) -> Array:
    if exponent == 1:
        return base
    return np.asarray(1.0 / base if exponent == -1 else np.power(base, float(exponent)))


def gradients(formula: Formula, X: Array) -> tuple[Array, Array, Array]:
    """Values `(n,)` and derivatives by the inputs `(n, d)` and by the `real_constants` `(n, k)`."""
    by_input = np.zeros_like(X)
    by_constant: list[Array] = []
    with np.errstate(all="ignore"):
        value = _value(formula, X)
        _backward(formula, X, np.ones(len(X)), by_input, by_constant)
    stacked = np.stack(by_constant, axis=1) if by_constant else np.zeros((len(X), 0))
    return value, by_input, stacked


def _backward(formula: Formula, X: Array, adjoint: Array, by_input: Array, by_constant: list[Array]) -> None:
    match formula:
        case Input(index):
            by_input[:, index] += adjoint
        case Constant(value):
            if isinstance(value, float):
                by_constant.append(adjoint)
        case WeightedSum(terms):
            for coefficient, term in terms:
                if isinstance(coefficient, float):
                    by_constant.append(adjoint * _value(term, X))
                _backward(term, X, adjoint * float(coefficient), by_input, by_constant)
        case PowerProduct(factors):
            bases = [_value(factor, X) for factor, _ in factors]
            powers = [_raised(base, exponent) for base, (_, exponent) in zip(bases, factors, strict=True)]
            for k, (factor, exponent) in enumerate(factors):
                others = adjoint
                for j, power in enumerate(powers):
                    others = others * power if j != k else others
                slope = float(exponent) * _raised(bases[k], exponent - 1) if exponent != 1 else 1.0
                _backward(factor, X, others * slope, by_input, by_constant)
        case Applied(function, argument):
            _backward(argument, X, adjoint * slope_of(function, _value(argument, X)), by_input, by_constant)


def freedoms(formula: Formula, X: Array) -> tuple[Array, Array]:
    """Values `(n,)` and derivatives `(n, k)` by every number a formula holds, as if each were free.

    The numbers are a factor in front of the whole and of each function's argument, the coefficients of each sum
    relative to its first term, and all exponents.
    """
    with np.errstate(all="ignore"):
        value, columns = _moves(formula, X, raised=False)
    return value, np.stack([value, *columns], axis=1)


def _moves(formula: Formula, X: Array, raised: bool) -> tuple[Array, list[Array]]:
    match formula:
        case Input(index):
            x = X[:, index]
            return x, [] if raised else [_times_log(x, x)]
        case Constant(value):
            return np.full(len(X), float(value)), []
        case WeightedSum(terms):
            parts = [_moves(term, X, raised=False) for _, term in terms]
            weights = [float(coefficient) for coefficient, _ in terms]
            inner = [w * column for w, (_, columns) in zip(weights, parts, strict=True) for column in columns]
            scaled = [w * value for w, (value, _) in zip(weights, parts, strict=True)]
            return np.sum(scaled, axis=0), [*inner, *scaled[1:]]
        case PowerProduct(factors):
            parts = [_moves(factor, X, raised=True) for factor, _ in factors]
            value = np.prod([_raised(b, e) for (b, _), (_, e) in zip(parts, factors, strict=True)], axis=0)
            moves: list[Array] = []
            for (base, columns), (factor, exponent) in zip(parts, factors, strict=True):
                moves += [value * (float(exponent) / base) * column for column in columns]
                if not isinstance(factor, PowerProduct):  # the exponents inside stand for the one outside
                    moves.append(_times_log(value, base))
            return value, moves
        case Applied(function, argument):
            at, columns = _moves(argument, X, raised=False)
            slope = slope_of(function, at)
            return value_of(function, at), [slope * at, *(slope * column for column in columns)]


def _times_log(value: Array, base: Array) -> Array:
    """`value * log|base|`, what an exponent moves; nothing where the base is 0."""
    return np.where(base == 0, 0.0, value * np.log(np.abs(base)))
