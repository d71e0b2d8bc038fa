"""One vocabulary for a number and a symbol, so that a unit's `formula` is at once its documentation, its test oracle
(floats in) and its exact reading (SymPy symbols in).

SymPy is imported only when a symbol comes in. Where a unit guards a logarithm or a division with a small epsilon, the
number carries the guard and the symbol does not: the reading is the arithmetic that is meant.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any

Scalar = Any
"""An int, a Fraction, a float or a SymPy expression."""


def symbolic(x: Scalar) -> bool:
    """True for anything that is not a plain number."""
    return not isinstance(x, (int, float, Fraction))


def whole(w: Scalar) -> bool:
    """True for numbers without a fractional part."""
    return isinstance(w, int) or (isinstance(w, float) and w.is_integer())


def _function(name: str, number: Callable[[float], float]) -> Callable[[Scalar], Scalar]:
    def apply(x: Scalar) -> Scalar:
        if not symbolic(x):
            return number(x)
        import sympy

        return getattr(sympy, name)(x)

    apply.__doc__ = f"{name} of a number or symbol."
    return apply


def _sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))


exp = _function("exp", math.exp)
log = _function("log", math.log)
cos = _function("cos", math.cos)
sin = _function("sin", math.sin)
tanh = _function("tanh", math.tanh)
sign = _function("sign", lambda x: float((x > 0) - (x < 0)))


def sigmoid(x: Scalar) -> Scalar:
    """1 / (1 + exp(-x))."""
    return 1 / (1 + exp(-x)) if symbolic(x) else _sigmoid(x)


def relu(x: Scalar, top: float = math.inf) -> Scalar:
    """max(x, 0), cut at `top`."""
    if not symbolic(x):
        return min(max(x, 0.0), top)
    import sympy

    positive = sympy.Max(x, 0)
    return positive if top == math.inf else sympy.Min(positive, top)


def negative(x: Scalar) -> Scalar:
    """1 where x < 0, else 0."""
    if not symbolic(x):
        return 1.0 if x < 0 else 0.0
    import sympy

    return sympy.Piecewise((1, x < 0), (0, True))


def guarded(x: Scalar, epsilon: float) -> Scalar:
    """|x| + epsilon for a number, |x| for a symbol."""
    return abs(x) if symbolic(x) else abs(x) + epsilon


def power(size: Scalar, w: Scalar) -> Scalar:
    """size^w for a size of at least 0; zero to a negative power is infinite, as in torch."""
    return math.inf if not symbolic(size) and size == 0 and w < 0 else size**w


def pi(like: Scalar) -> Scalar:
    """pi, exact beside a symbol."""
    if not symbolic(like):
        return math.pi
    import sympy

    return sympy.pi


def product(factors: Iterable[Scalar]) -> Scalar:
    """The product, 1 if there is nothing to multiply."""
    result: Scalar = 1
    for factor in factors:
        result = result * factor
    return result


def dot(row: Iterable[Scalar], x: Iterable[Scalar]) -> Scalar:
    """The sum of products of two equally long lists."""
    return sum((w * a for w, a in zip(row, x, strict=True)), 0)
