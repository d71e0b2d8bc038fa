"""Elementwise operations. Each follows torch on ties, infinities, NaN and the sign of zero's derivative."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from nalm.native.affine import Entry
from nalm.native.errors import Unsupported
from nalm.native.lowering import Lowered, Lowering
from nalm.native.values import COMPARISONS, Value, number

Rule = Callable[..., Lowered]


def _arithmetic(name: str) -> Rule:
    def rule(low: Lowering, a: Any, b: Any, alpha: float = 1, rounding_mode: str | None = None) -> Lowered:
        if rounding_mode is not None:
            raise Unsupported("aten.div", f"with rounding_mode={rounding_mode!r} has no native rule")
        operate = getattr(low.arithmetic, name)
        times = low.graph.constant(alpha)
        return low.map(lambda x, y: operate(low.real(x), low.arithmetic.mul(times, low.real(y))), a, b)

    return rule


def _unary(op: str) -> Rule:
    return lambda low, a: low.map(lambda x: low.graph.function(op, low.plain(op, low.real(x))), a)


def _compare(op: str) -> Rule:
    def rule(low: Lowering, a: Any, b: Any) -> Lowered:
        return low.map(lambda x, y: low.graph.apply(op, low.plain(op, low.real(x)), low.plain(op, low.real(y))), a, b)

    return rule


def _logic(op: str) -> Rule:
    return lambda low, a, b: low.map(lambda x, y: low.graph.apply(op, low.truth(x), low.truth(y)), a, b)


def _not(low: Lowering, a: Lowered) -> Lowered:
    return low.map(lambda x: low.graph.apply("not", low.truth(x)), a)


def _extreme(op: str) -> Rule:
    """minimum or maximum; NaN in either argument wins, as in torch."""

    def rule(low: Lowering, a: Any, b: Any) -> Lowered:
        return low.map(lambda x, y: extreme(low, op, x, y), a, b)

    return rule


def extreme(low: Lowering, op: str, x: Entry, y: Entry) -> Value:
    """The smaller or larger of two entries."""
    a, b = low.plain(op, low.real(x)), low.plain(op, low.real(y))
    if b.op == "constant":
        a, b = b, a  # the printer spends no NaN test on a constant first argument
    return a if a is b else low.graph.apply(op, a, b)


def _clamp(low: Lowering, a: Lowered, low_bound: Any = None, high_bound: Any = None) -> Lowered:
    result = a
    if low_bound is not None:
        result = low.map(lambda x, y: extreme(low, "max", x, y), result, low_bound)
    if high_bound is not None:
        result = low.map(lambda x, y: extreme(low, "min", x, y), result, high_bound)
    return result


def _clamp_min(low: Lowering, a: Lowered, bound: Any) -> Lowered:
    return _clamp(low, a, bound)


def _clamp_max(low: Lowering, a: Lowered, bound: Any) -> Lowered:
    return _clamp(low, a, None, bound)


def _where(low: Lowering, condition: Lowered, a: Any, b: Any) -> Lowered:
    def choose(c: Entry, x: Entry, y: Entry) -> Value:
        xs, ys = low.plain("where", low.real(x)), low.plain("where", low.real(y))
        return low.graph.select(low.truth(c), xs, ys)

    return low.map(choose, condition, a, b)


def _sign(low: Lowering, a: Lowered) -> Lowered:
    g = low.graph
    zero, one, minus = g.constant(0.0), g.constant(1.0), g.constant(-1.0)

    def sign(x: Entry) -> Value:
        v = low.plain("sign", x)
        return g.select(g.apply("gt", v, zero), one, g.select(g.apply("lt", v, zero), minus, zero))

    return low.map(sign, a)


def _pow(low: Lowering, a: Any, b: Any) -> Lowered:
    def power(x: Entry, y: Entry) -> Entry:
        exponent = low.plain("pow", low.real(y))
        if exponent.op == "constant":
            return _power_of_number(low, x, float(number(exponent)))
        return low.graph.apply("pow", low.plain("pow", low.real(x)), exponent)

    return low.map(power, a, b)


def _power_of_number(low: Lowering, base: Entry, exponent: float) -> Entry:
    """Small whole and half powers are products and roots, as in torch's own kernel."""
    a = low.arithmetic
    if exponent == 0:
        return low.graph.constant(1.0)
    if exponent in (1.0, 2.0, 3.0):
        squared = base if exponent == 1 else a.mul(base, base)
        return a.mul(squared, base) if exponent == 3 else squared
    value = low.plain("pow", base)
    if abs(exponent) == 0.5:
        root = low.graph.function("sqrt", value)
        return root if exponent > 0 else low.graph.div(low.graph.constant(1.0), root)
    if exponent in (-1.0, -2.0):
        return a.div(low.graph.constant(1.0), value if exponent == -1 else a.mul(value, value))
    return low.graph.apply("pow", value, low.graph.constant(exponent))


def _neg(low: Lowering, a: Lowered) -> Lowered:
    return low.map(lambda x: low.arithmetic.mul(low.graph.constant(-1.0), x), a)


def _reciprocal(low: Lowering, a: Lowered) -> Lowered:
    return low.map(lambda x: low.arithmetic.div(low.graph.constant(1.0), x), a)


def _rsqrt(low: Lowering, a: Lowered) -> Lowered:
    return low.map(lambda x: _power_of_number(low, x, -0.5), a)


def _square(low: Lowering, a: Lowered) -> Lowered:
    return low.map(lambda x: low.arithmetic.mul(x, x), a)


def _rsub(low: Lowering, a: Lowered, b: Any, alpha: float = 1) -> Lowered:
    return _arithmetic("sub")(low, b, a, alpha)


def _relu(low: Lowering, a: Lowered) -> Lowered:
    return _clamp(low, a, 0.0)


def _isnan(low: Lowering, a: Lowered) -> Lowered:
    return low.map(lambda x: low.graph.apply("ne", low.plain("isnan", x), low.plain("isnan", x)), a)


def _isinf(low: Lowering, a: Lowered) -> Lowered:
    infinity = low.graph.constant(math.inf)
    return low.map(lambda x: low.graph.apply("eq", low.graph.apply("abs", low.plain("isinf", x)), infinity), a)


def _addcmul(low: Lowering, a: Any, b: Any, c: Any, value: float = 1) -> Lowered:
    x = low.arithmetic
    scale = low.graph.constant(value)
    return low.map(lambda p, q, r: x.add(p, x.mul(scale, x.mul(q, r))), a, b, c)


def _addcdiv(low: Lowering, a: Any, b: Any, c: Any, value: float = 1) -> Lowered:
    x = low.arithmetic
    scale = low.graph.constant(value)
    return low.map(lambda p, q, r: x.add(p, x.mul(scale, x.div(q, r))), a, b, c)


def _lerp(low: Lowering, a: Any, b: Any, weight: Any) -> Lowered:
    x = low.arithmetic
    return low.map(lambda p, q, w: x.add(p, x.mul(w, x.sub(q, p))), a, b, weight)


_UNARY = (
    "exp",
    "log",
    "sin",
    "cos",
    "tanh",
    "sigmoid",
    "sqrt",
    "abs",
    "floor",
    "ceil",
    "trunc",
    "round",
    "log1p",
    "expm1",
    "erf",
)

POINTWISE: dict[str, Rule] = {
    **{f"aten.{name}": _arithmetic(name) for name in ("add", "sub", "mul", "div")},
    **{f"aten.{name}": _unary(name) for name in _UNARY},
    **{f"aten.{name}": _compare(name) for name in (*COMPARISONS, "ne")},
    **{f"aten.{kind}_{op}": _logic(op) for op in ("and", "or", "xor") for kind in ("logical", "bitwise")},
    "aten.logical_not": _not,
    "aten.bitwise_not": _not,
    "aten.minimum": _extreme("min"),
    "aten.maximum": _extreme("max"),
    "aten.clamp": _clamp,
    "aten.clamp_min": _clamp_min,
    "aten.clamp_max": _clamp_max,
    "aten.where": _where,
    "aten.sign": _sign,
    "aten.sgn": _sign,
    "aten.pow": _pow,
    "aten.neg": _neg,
    "aten.reciprocal": _reciprocal,
    "aten.rsqrt": _rsqrt,
    "aten.square": _square,
    "aten.rsub": _rsub,
    "aten.relu": _relu,
    "aten.isnan": _isnan,
    "aten.isinf": _isinf,
    "aten.addcmul": _addcmul,
    "aten.addcdiv": _addcdiv,
    "aten.lerp": _lerp,
}
