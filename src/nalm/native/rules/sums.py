"""Reductions: short axes unroll in a fixed order, long axes become accumulators of the next level."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np

from nalm.native.affine import Entry
from nalm.native.errors import Unsupported
from nalm.native.lowering import Lowered, Lowering, boxed
from nalm.native.rules.pointwise import extreme
from nalm.native.values import Value

Rule = Callable[..., Any]
_RUN = 16  # terms added one after the other before a partial sum is put away


def _dims(a: Lowered, dims: Any) -> list[int]:
    if dims is None or (not isinstance(dims, int) and len(dims) == 0):
        return list(range(len(a.shape)))
    return sorted(d % len(a.shape) for d in ([dims] if isinstance(dims, int) else dims)) if a.shape else []


def _along(array: Any, dim: int, function: Callable[[list[Entry]], Entry]) -> Any:
    """Reduces an axis to size one with a function of its entries."""
    moved = np.moveaxis(array, dim, -1)
    result = np.empty(moved.shape[:-1], dtype=object)
    for index in np.ndindex(result.shape):
        result[index] = function(list(moved[index]))
    return np.expand_dims(result, dim)


def _sum(low: Lowering, a: Lowered, dims: Any = None, keepdim: bool = False, **_: Any) -> Lowered:
    return _finish(low, _summed(low, a, _dims(a, dims)), _dims(a, dims), keepdim)


def _summed(low: Lowering, a: Lowered, dims: list[int]) -> Any:
    array = low.map(low.real, a).array
    for dim in dims:
        axis = low.axis(a.shape[dim])
        if axis:
            size = a.shape[dim]
            array = boxed(np.frompyfunc(lambda x, axis=axis, n=size: low.arithmetic.total(x, axis, n), 1, 1)(array))
        else:
            array = _along(array, dim, lambda entries: total(low, entries))
    return array


def total(low: Lowering, entries: Sequence[Entry]) -> Entry:
    """A sum over a short axis: runs of terms, then the runs."""
    if not entries:
        return low.graph.constant(0.0)
    partial = [reduce(low.arithmetic.add, entries[i : i + _RUN]) for i in range(0, len(entries), _RUN)]
    return partial[0] if len(partial) == 1 else total(low, partial)


def _finish(low: Lowering, array: Any, dims: list[int], keepdim: bool) -> Lowered:
    return Lowered(array if keepdim else boxed(array.squeeze(tuple(dims))), low.shape)


def _mean(low: Lowering, a: Lowered, dims: Any = None, keepdim: bool = False, **_: Any) -> Lowered:
    reduced = _dims(a, dims)
    count = low.graph.constant(float(np.prod([a.shape[d] for d in reduced])))
    array = boxed(np.frompyfunc(lambda x: low.arithmetic.div(x, count), 1, 1)(_summed(low, a, reduced)))
    return _finish(low, array, reduced, keepdim)


def _var(
    low: Lowering, a: Lowered, dims: Any = None, *, correction: float | None = None, keepdim: bool = False
) -> Lowered:
    reduced = _dims(a, dims)
    x = low.arithmetic
    count = int(np.prod([a.shape[d] for d in reduced]))
    size = low.graph.constant(float(count))
    mean = boxed(np.frompyfunc(lambda e: x.div(e, size), 1, 1)(_summed(low, a, reduced)))
    low_shape, low.shape = low.shape, a.shape
    centred = low.map(lambda e, m: x.mul(x.sub(e, m), x.sub(e, m)), a, Lowered(mean, ()))
    squares = _summed(low, centred, reduced)
    low.shape = low_shape
    divisor = low.graph.constant(float(count - (1 if correction is None else correction)))
    return _finish(low, boxed(np.frompyfunc(lambda e: x.div(e, divisor), 1, 1)(squares)), reduced, keepdim)


def _short(low: Lowering, a: Lowered, dims: list[int], op: str) -> None:
    for dim in dims:
        if low.axis(a.shape[dim]):
            raise Unsupported(op, f"over a long axis of {a.shape[dim]} has no native rule")


def _folding(op: str, combine: Callable[[Lowering, Entry, Entry], Entry]) -> Rule:
    """A reduction over short axes only."""

    def rule(low: Lowering, a: Lowered, dims: Any = None, keepdim: bool = False, **_: Any) -> Lowered:
        reduced = _dims(a, dims)
        _short(low, a, reduced, op)
        array = a.array
        for dim in reduced:
            array = _along(array, dim, lambda entries: reduce(lambda x, y: combine(low, x, y), entries))
        return _finish(low, array, reduced, keepdim)

    return rule


def _product(low: Lowering, x: Entry, y: Entry) -> Entry:
    return low.arithmetic.mul(low.real(x), low.real(y))


def _all(low: Lowering, x: Entry, y: Entry) -> Value:
    return low.graph.apply("and", low.truth(x), low.truth(y))


def _any(low: Lowering, x: Entry, y: Entry) -> Value:
    return low.graph.apply("or", low.truth(x), low.truth(y))


def _scan(op: str, combine: Callable[[Lowering, Entry, Entry], Entry]) -> Rule:
    def rule(low: Lowering, a: Lowered, dim: int, **_: Any) -> Lowered:
        dim = dim % len(a.shape)
        _short(low, a, [dim], op)
        moved = np.moveaxis(a.array.copy(), dim, 0)
        for i in range(1, moved.shape[0]):
            moved[i] = np.frompyfunc(lambda x, y: combine(low, x, y), 2, 1)(moved[i - 1], moved[i])
        return Lowered(np.moveaxis(moved, 0, dim), low.shape)

    return rule


def _matmul(low: Lowering, a: Lowered, b: Lowered) -> Lowered:
    """mm, bmm, mv and dot: broadcast, multiply, sum the shared axis."""
    if len(b.shape) == 1:
        b = Lowered(b.array[:, None], (*b.shape, 1))
    rows = a if len(a.shape) > 1 else Lowered(a.array[None], (1, *a.shape))
    product = np.frompyfunc(low.arithmetic.mul, 2, 1)(rows.array[..., :, :, None], b.array[..., None, :, :])
    shape = (*b.shape[:-2], rows.shape[-2], rows.shape[-1], b.shape[-1])
    summed = _summed_raw(low, Lowered(product, shape), len(shape) - 2)
    return Lowered(summed.squeeze(len(shape) - 2).reshape(low.short(low.shape)), low.shape)


def _summed_raw(low: Lowering, a: Lowered, dim: int) -> Any:
    shape, low.shape = low.shape, a.shape
    array = _summed(low, a, [dim])
    low.shape = shape
    return array


def _addmm(low: Lowering, bias: Lowered, a: Lowered, b: Lowered, beta: float = 1, alpha: float = 1) -> Lowered:
    x = low.arithmetic
    first, second = low.graph.constant(beta), low.graph.constant(alpha)
    return low.map(lambda c, p: x.add(x.mul(first, c), x.mul(second, p)), bias, _matmul(low, a, b))


def _softmax(low: Lowering, a: Lowered, dim: int, half_to_float: bool) -> Lowered:  # noqa: ARG001
    dim = dim % len(a.shape)
    _short(low, a, [dim], "softmax")
    largest = _along(a.array, dim, lambda entries: reduce(lambda x, y: extreme(low, "max", x, y), entries))
    g = low.graph
    powers = np.frompyfunc(lambda x, m: g.function("exp", g.sub(x, m)), 2, 1)(a.array, largest)
    sums = _along(powers, dim, lambda entries: total(low, entries))
    return Lowered(np.frompyfunc(g.div, 2, 1)(powers, sums), low.shape)


def _softmax_backward(low: Lowering, grad: Lowered, output: Lowered, dim: int, _: Any) -> Lowered:
    x = low.arithmetic
    weighted = np.frompyfunc(x.mul, 2, 1)(grad.array, output.array)
    sums = _along(weighted, dim % len(grad.shape), lambda entries: total(low, entries))
    return low.map(lambda w, y, s: x.sub(w, x.mul(y, s)), Lowered(weighted, low.shape), output, Lowered(sums, ()))


def _outermost(op: str) -> Rule:
    return _folding(op, lambda low, x, y: extreme(low, op, x, y))


SUMS: dict[str, Rule] = {
    "aten.sum": _sum,
    "aten.mean": _mean,
    "aten.var": _var,
    "aten.prod": _folding("prod", _product),
    "aten.amax": _outermost("max"),
    "aten.amin": _outermost("min"),
    "aten.all": _folding("all", _all),
    "aten.any": _folding("any", _any),
    "aten.cumprod": _scan("cumprod", _product),
    "aten.cumsum": _scan("cumsum", lambda low, x, y: low.arithmetic.add(low.real(x), low.real(y))),
    "aten._softmax": _softmax,
    "aten._softmax_backward_data": _softmax_backward,
    "aten.mm": _matmul,
    "aten.bmm": _matmul,
    "aten.mv": _matmul,
    "aten.dot": _matmul,
    "aten.addmm": _addmm,
}
