"""Between which numbers a value lies, whatever the inputs (unless it is NaN)."""

from __future__ import annotations

import math

from nalm.native.values import Value, is_number, number

Interval = tuple[float, float]
_RANGES: dict[str, Interval] = {
    "abs": (0.0, math.inf),
    "exp": (0.0, math.inf),
    "sqrt": (0.0, math.inf),
    "sigmoid": (0.0, 1.0),
    "float": (0.0, 1.0),
    "row": (0.0, 1.0),
    "draw": (0.0, 1.0),
}


def bounds(value: Value) -> Interval:
    """The interval of a value; `(-inf, inf)` if nothing is known."""
    args = value.args
    if value.op == "constant" and value.kind == "float":
        return float(number(value)), float(number(value))
    if value.op in _RANGES:
        return _RANGES[value.op]
    if value.op in ("min", "max"):
        (low_a, high_a), (low_b, high_b) = bounds(args[0]), bounds(args[1])
        pick = min if value.op == "min" else max
        return pick(low_a, low_b), pick(high_a, high_b)
    if value.op == "add":
        (low_a, high_a), (low_b, high_b) = bounds(args[0]), bounds(args[1])
        return max(low_a + low_b, _mixture(*args), _mixture(*args[::-1])), high_a + high_b
    if value.op == "mul" and args[0] is args[1]:
        return 0.0, math.inf
    return -math.inf, math.inf


def _mixture(gated: Value, closed: Value) -> float:
    """The least value of the gate `g v + (1 - g)`, 0 <= g <= 1: between v and 1, less a rounding."""
    if gated.op == "mul" and closed.op == "sub" and is_number(closed.args[0], 1.0):
        gate = closed.args[1]
        for factor, other in (gated.args, gated.args[::-1]):
            if factor is gate and bounds(gate)[0] >= 0 and bounds(gate)[1] <= 1:
                return min(1.0, bounds(other)[0]) * 0.999
    return -math.inf
