"""Rewriting while the graph is built: what makes loops over samples short.

Each rule is an identity of real numbers that moves work out of a loop: from samples to runs, from runs to their seed.
"""

from __future__ import annotations

import math

from nalm.native.angle import LIMIT
from nalm.native.bounds import bounds
from nalm.native.values import LONG, Graph, Value, Varies, is_number, number, split

SUMS = ("sum_samples", "sum_features")
_TRANSCENDENTAL = {"exp", "log", "sin", "cos", "tanh", "sigmoid", "log1p", "expm1", "erf", "sqrt"}
_SMALLEST_NORMAL = 2.0**-126


class Algebra(Graph):
    """A graph that rewrites sums, products and functions as they are made."""

    def add(self, a: Value, b: Value) -> Value:
        """a + b, with a zero dropped and a negated term subtracted."""
        if is_number(a, 0.0):
            return b
        if is_number(b, 0.0):
            return a
        for left, right in ((a, b), (b, a)):
            if right.op == "mul" and is_number(right.args[0], -1.0):
                return self.sub(left, right.args[1])
        rewritten = self._merged(a, b, 1) or self._shared_sum(a, b) or self._gathered(a, b) or self._gathered(b, a)
        return rewritten or self.apply("add", a, b)

    def sub(self, a: Value, b: Value) -> Value:
        """a - b."""
        if is_number(b, 0.0):
            return a
        if is_number(a, 0.0):
            return self.neg(b)
        parts = None if b.axes else _offset(a)
        if parts is not None:
            return self.add(self.sub(parts[0], b), parts[1])
        return self._merged(a, b, -1) or self.apply("sub", a, b)

    def neg(self, a: Value) -> Value:
        """-a, kept as a product so that the sign floats out of sums like any other factor."""
        return self.mul(self.constant(-1.0), a)

    def mul(self, a: Value, b: Value) -> Value:
        """a b, with every factor that does not vary along a long axis moved to the front.

        So `sum(c * v)` over the samples becomes `c * sum(v)`, and the loop loses a multiplication.
        """
        if a.op == "constant" and b.op == "constant":
            return self.apply("mul", a, b)
        if is_number(a, 1.0):
            return b
        if is_number(b, 1.0):
            return a
        shared = self._shared_product(a, b) or self._shared_product(b, a)
        if shared is not None:
            return shared
        (front_a, back_a), (front_b, back_b) = split(a), split(b)
        front = self._product(front_a, front_b)
        back = self._product(back_a, back_b)
        if front is None or back is None or is_number(front, 1.0):
            kept = front if back is None else back
            assert kept is not None
            return kept
        return self.make("mul", (front, back))

    def _product(self, a: Value | None, b: Value | None) -> Value | None:
        """Of two fronts or two backs; a constant comes first."""
        if a is None or b is None:
            return b if a is None else a
        if a.op == "constant" and b.op == "constant":
            return self.apply("mul", a, b)
        if is_number(a, 1.0) or is_number(b, 1.0):
            return b if is_number(a, 1.0) else a
        swap = b.op == "constant" or (a.op != "constant" and b.uid < a.uid)
        return self.make("mul", (b, a) if swap else (a, b))

    def div(self, a: Value, b: Value) -> Value:
        """a / b; dividing by a power of two is exactly a product."""
        if b.op == "constant":
            divisor = float(number(b))
            if 2.0**-125 < abs(divisor) < 2.0**125 and abs(math.frexp(divisor)[0]) == 0.5:
                return self.mul(self.constant(1.0 / divisor), a)
        front, back = split(a)
        if b.axes and front is not None and back is not None:
            return self.mul(front, self.apply("div", back, b))
        return self.apply("div", a, b)

    def select(self, condition: Value, a: Value, b: Value) -> Value:
        """a where the condition holds, else b."""
        if a is b:
            return a
        if condition.op == "constant":
            return a if condition.data else b
        return self.apply("select", condition, a, b)

    def function(self, op: str, a: Value) -> Value:
        """An elementary function. Of a choice between two numbers of the run, it is a choice between two results."""
        front, back = split(a)
        if op in _TRANSCENDENTAL and back is not None and back.op == "select":
            condition, *arms = back.args
            if not any(arm.axes for arm in arms):
                results = [self.function(op, arm if front is None else self.mul(front, arm)) for arm in arms]
                return self.select(condition, *results)
        if op in ("sin", "cos") and max(map(abs, bounds(a))) > LIMIT:
            a = self.apply("wrap", a)
        if op == "log" and bounds(a)[0] >= _SMALLEST_NORMAL:
            op = "log_normal"
        return self.apply(op, a)

    def _gathered(self, a: Value, b: Value) -> Value | None:
        """(p + v) + b = (p + b) + v for numbers p and b of the run."""
        parts = None if b.axes else _offset(a)
        return None if parts is None else self.add(self.add(parts[0], b), parts[1])

    def _merged(self, a: Value, b: Value, sign: int) -> Value | None:
        """Two sums over the same axis with the same factor become one, with one accumulator."""
        if a.op in ("add", "sub") and not a.axes:
            # (y + a) + b = y + (a + b), wherever in a longer sum the partner of b may be.
            y, last = a.args
            flip = 1 if a.op == "add" else -1
            inner = self._merged(last, b, sign * flip)
            if inner is not None:
                return self.add(y, inner) if flip > 0 else self.sub(y, inner)
            inner = self._merged(y, b, sign)
            if inner is not None:
                return self.add(inner, last) if flip > 0 else self.sub(inner, last)
        (factor_a, sum_a), (factor_b, sum_b) = _scaled_sum(a), _scaled_sum(b)
        if sum_a is None or sum_b is None or sum_a.op != sum_b.op or sum_a.level != sum_b.level:
            return None
        if factor_a is not factor_b:
            if not _opposite(factor_a, factor_b):
                return None
            sign = -sign
        signs = (*sum_a.data, *(sign * s for s in sum_b.data))
        axis = Varies.SAMPLE if sum_a.op == "sum_samples" else Varies.FEATURE
        result = self.reduce(sum_a.op, (*sum_a.args, *sum_b.args), axis, signs)
        return result if factor_a is None else self.mul(factor_a, result)

    # What only the seed decides is computed once per seed, so it is kept apart from what a run adds to it:
    # p + q r with numbers p and q of the run and a row r of the seed.

    def _shared_product(self, a: Value, b: Value) -> Value | None:
        """a (p + q r) = a p + q (a r) for a number `a` that only the seed decides."""
        parts = None if a.op == "constant" or a.axes or a.varies & Varies.RUN else shared_parts(b)
        if parts is None:
            return None
        p, q, r = parts
        return self.apply("add", self.mul(a, p), self.make("mul", (q, self.mul(a, r))))

    def _shared_sum(self, a: Value, b: Value) -> Value | None:
        """(p + q r) + (s + q t) = (p + s) + q (r + t)."""
        first, second = shared_parts(a), shared_parts(b)
        if first is None or second is None or first[1] is not second[1]:
            return None
        row = self.make("mul", (first[1], self.add(first[2], second[2])))
        return self.apply("add", self.add(first[0], second[0]), row)


def _offset(value: Value) -> tuple[Value, Value] | None:
    """A value along a long axis as p + v, with a number p of the run."""
    if value.op == "add" and value.axes:
        for p, v in (value.args, value.args[::-1]):
            if not p.axes:
                return p, v
    return None


def _scaled_sum(value: Value) -> tuple[Value | None, Value | None]:
    if value.op in SUMS:
        return None, value
    if value.op == "mul":
        for factor, other in (value.args, value.args[::-1]):
            if other.op in SUMS and factor.op not in SUMS:
                return factor, other
    return None, None


def _opposite(a: Value | None, b: Value | None) -> bool:
    """Whether two factors differ in their sign only."""
    (first, rest), (second, other) = _coefficient(a), _coefficient(b)
    return rest is other and first == -second


def _coefficient(factor: Value | None) -> tuple[float, Value | None]:
    if factor is None:
        return 1.0, None
    if factor.op == "constant":
        return float(number(factor)), None
    if factor.op == "mul" and factor.args[0].op == "constant":
        return float(number(factor.args[0])), factor.args[1]
    return 1.0, factor


def shared_parts(value: Value) -> tuple[Value, Value, Value] | None:
    """A value as p + q r, with p and q of the run and r of the seed."""
    if value.op != "add" or not value.varies & Varies.RUN or value.axes != Varies.SAMPLE:
        return None
    for p, product in (value.args, value.args[::-1]):
        if not p.axes and product.op == "mul":
            q, r = product.args
            if not q.axes and q.varies & Varies.RUN and r.varies & LONG and not r.varies & Varies.RUN:
                return p, q, r
    return None
