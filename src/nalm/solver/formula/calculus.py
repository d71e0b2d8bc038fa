"""Values of formulas at the rows of a table, and their derivatives by the inputs and by every number in them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from nalm.solver.formula.algebra import (
    Applied,
    Constant,
    Formula,
    Input,
    PowerProduct,
    WeightedSum,
    with_real_coefficients,
)
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
    """Values `(n,)` and derivatives by the inputs `(n, d)` and by the `real_constants` `(n, k)`; nobody writes to them.

    The last ones are kept, as the same is asked of a formula several times in a row: how to refine it, how far off it
    is, whether that is noise.
    """
    global _last
    last = _last
    if last is None or last[0] is not formula or last[1] is not X:
        _last = last = formula, X, _gradients(formula, X)
    return last[2]


_last: tuple[Formula, Array, tuple[Array, Array, Array]] | None = None  # a formula, a table, and what they gave


def _gradients(formula: Formula, X: Array) -> tuple[Array, Array, Array]:
    by_input = np.zeros_like(X)
    by_constant: list[Array] = []
    with np.errstate(all="ignore"):
        value = _valued(formula, X)
        _backward(value, np.ones(len(X)), by_input, by_constant)
    stacked = np.stack(by_constant, axis=1) if by_constant else np.zeros((len(X), 0))
    return value.at, by_input, stacked


@dataclass(frozen=True, eq=False, slots=True)
class _Valued:
    """A formula with its value `(n,)` and those of its parts, so that none is computed twice."""

    formula: Formula
    at: Array
    parts: list[_Valued]
    powers: list[Array]


def _valued(formula: Formula, X: Array) -> _Valued:
    parts: list[_Valued] = []
    powers: list[Array] = []
    match formula:
        case WeightedSum(terms):
            parts = [_valued(term, X) for _, term in terms]
            at = np.zeros(len(X))
            for (coefficient, _), part in zip(terms, parts, strict=True):
                at = at + float(coefficient) * part.at
        case PowerProduct(factors):
            parts = [_valued(factor, X) for factor, _ in factors]
            powers = [_raised(part.at, exponent) for part, (_, exponent) in zip(parts, factors, strict=True)]
            at = np.ones(len(X))
            for power in powers:
                at = at * power
        case Applied(function, argument):
            parts = [_valued(argument, X)]
            at = value_of(function, parts[0].at)
        case _:
            at = _value(formula, X)
    return _Valued(formula, at, parts, powers)


def _backward(valued: _Valued, adjoint: Array, by_input: Array, by_constant: list[Array]) -> None:
    match valued.formula:
        case Input(index):
            by_input[:, index] += adjoint
        case Constant(value):
            if isinstance(value, float):
                by_constant.append(adjoint)
        case WeightedSum(terms):
            for (coefficient, _), part in zip(terms, valued.parts, strict=True):
                if isinstance(coefficient, float):
                    by_constant.append(adjoint * part.at)
                _backward(part, adjoint * float(coefficient), by_input, by_constant)
        case PowerProduct(factors):
            for k, ((_, exponent), part) in enumerate(zip(factors, valued.parts, strict=True)):
                others = adjoint
                for j, power in enumerate(valued.powers):
                    others = others * power if j != k else others
                slope = float(exponent) * _raised(part.at, exponent - 1) if exponent != 1 else 1.0
                _backward(part, others * slope, by_input, by_constant)
        case Applied(function, _):
            (part,) = valued.parts
            _backward(part, adjoint * slope_of(function, part.at), by_input, by_constant)


def freedoms(formula: Formula, X: Array) -> tuple[Array, Array]:
    """Values `(n,)` and derivatives `(n, k)` by every number a formula holds, as if each were free.

    The numbers are a factor in front of the whole and of each function's argument, the coefficients of each sum
    relative to its first term, and all exponents.
    """
    with np.errstate(all="ignore"):
        value, columns = _moves(formula, X, raised=False)
    return value, np.stack([value, *columns], axis=1)


@dataclass(frozen=True, eq=False)
class ExponentMove:
    """An exponent, what moving it does to the value `(n,)`, and whether it stands in one product of inputs only."""

    exponent: Fraction
    move: Array
    plain: bool


def exponent_moves(formula: Formula, X: Array) -> list[ExponentMove]:
    """The exponents of a formula's products and what moving each of them does to its value.

    An input that is not raised to a power has the exponent 1, unless it is one of several terms of a sum: there a line
    is the simplest thing that can be said.
    """
    with np.errstate(all="ignore"):
        return list(_exponent_moves(formula, X, np.ones(len(X)), outermost=True))


def coefficient_moves(formula: Formula, X: Array) -> Array:
    """What moving each coefficient does to the value `(n, k)`: those of the outermost sum, and inside products those of
    every sum relative to its first term."""
    with np.errstate(all="ignore"):
        return gradients(with_real_coefficients(formula), X)[2]


def _exponent_moves(formula: Formula, X: Array, adjoint: Array, outermost: bool) -> Iterator[ExponentMove]:
    match formula:
        case Input(index) if outermost:
            yield ExponentMove(Fraction(1), adjoint * _times_log(X[:, index], X[:, index]), plain=True)
        case WeightedSum(terms):
            single = outermost and len(terms) == 1
            for coefficient, term in terms:
                yield from _exponent_moves(term, X, adjoint * float(coefficient), single)
        case PowerProduct(factors):
            value = _value(formula, X)
            plain = outermost and all(isinstance(factor, Input) for factor, _ in factors)
            for factor, exponent in factors:
                base = _value(factor, X)
                yield ExponentMove(exponent, adjoint * _times_log(value, base), plain)
                yield from _exponent_moves(factor, X, adjoint * value * (float(exponent) / base), outermost=False)
        case Applied(function, argument):
            yield from _exponent_moves(argument, X, adjoint * slope_of(function, _value(argument, X)), outermost=False)
        case _:
            return


@dataclass(frozen=True, eq=False)
class ArgumentBend:
    """The argument u of a function `(n,)`, and what bending it to u + e u² and to u + e u³ does to the value."""

    argument: Array
    by_square: Array
    by_cube: Array


def argument_bends(formula: Formula, X: Array) -> list[ArgumentBend]:
    """One for each function: a function that is nearly another one is that other one of a bent argument."""
    with np.errstate(all="ignore"):
        return list(_argument_bends(formula, X, np.ones(len(X))))


def _argument_bends(formula: Formula, X: Array, adjoint: Array) -> Iterator[ArgumentBend]:
    match formula:
        case WeightedSum(terms):
            for coefficient, term in terms:
                yield from _argument_bends(term, X, adjoint * float(coefficient))
        case PowerProduct(factors):
            value = _value(formula, X)
            for factor, exponent in factors:
                yield from _argument_bends(factor, X, adjoint * value * (float(exponent) / _value(factor, X)))
        case Applied(function, argument):
            at = _value(argument, X)
            slope = adjoint * slope_of(function, at)
            yield ArgumentBend(at, slope * at**2, slope * at**3)
            yield from _argument_bends(argument, X, slope)
        case _:
            return


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
