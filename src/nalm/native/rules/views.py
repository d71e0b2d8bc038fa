"""Views, copies and constants: numpy does the work; long axes must stay whole."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from nalm.native.errors import Unsupported
from nalm.native.lowering import Lowered, Lowering, boxed

Rule = Callable[..., Any]


def _whole(low: Lowering, a: Lowered, dim: int, op: str) -> int:
    """The dimension, counted from the front; refuses a long one."""
    if low.axis(a.shape[dim]):
        raise Unsupported(op, f"cuts a long axis of {a.shape[dim]}")
    return dim % len(a.shape)


def _view(low: Lowering, a: Lowered, _: Any) -> Lowered:
    if _places(low, a.shape) != _places(low, low.shape):
        raise Unsupported("view", f"from {a.shape} to {low.shape} moves or breaks a long axis")
    return Lowered(a.array.reshape(low.short(low.shape)), low.shape)


def _places(low: Lowering, shape: Sequence[int]) -> list[tuple[int, int]]:
    """Where the long axes lie: (number of entries before, size)."""
    return [(math.prod(shape[:d]), size) for d, size in enumerate(shape) if low.axis(size)]


def _permute(low: Lowering, a: Lowered, dims: Sequence[int]) -> Lowered:
    return Lowered(a.array.transpose(dims), low.shape)


def _transpose(low: Lowering, a: Lowered, first: int, second: int) -> Lowered:
    return Lowered(a.array.swapaxes(first, second), low.shape)


def _t(low: Lowering, a: Lowered) -> Lowered:
    return Lowered(a.array.T, low.shape)


def _expand(low: Lowering, a: Lowered, _: Any, implicit: bool = False) -> Lowered:  # noqa: ARG001
    return Lowered(np.broadcast_to(a.array, low.short(low.shape)), low.shape)


def _unsqueeze(low: Lowering, a: Lowered, dim: int) -> Lowered:
    return Lowered(np.expand_dims(a.array, dim), low.shape)


def _squeeze(low: Lowering, a: Lowered, dims: Any = None) -> Lowered:
    wanted = range(len(a.shape)) if dims is None else [dims] if isinstance(dims, int) else dims
    gone = tuple(d % len(a.shape) for d in wanted if a.shape[d] == 1)
    return Lowered(boxed(a.array.squeeze(gone)), low.shape)


def _select(low: Lowering, a: Lowered, dim: int, index: int) -> Lowered:
    dim = _whole(low, a, dim, "select")
    # A slice first: indexing with a number alone would copy a one-dimensional array's entry and lose the aliasing.
    at = index % a.shape[dim]
    view = a.array[(slice(None),) * dim + (slice(at, at + 1),)]
    return Lowered(view.reshape(low.short(low.shape)), low.shape)


def _slice(low: Lowering, a: Lowered, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1):  # type: ignore[no-untyped-def]
    size = a.shape[dim]
    picked = slice(start, end, step)
    if low.axis(size) and picked.indices(size) == (0, size, 1):
        return Lowered(a.array, low.shape)
    dim = _whole(low, a, dim, "slice")
    return Lowered(a.array[(slice(None),) * dim + (picked,)], low.shape)


def _cat(low: Lowering, parts: Sequence[Lowered], dim: int = 0) -> Lowered:
    dim = dim % len(low.shape)
    parts = [p for p in parts if p.shape != (0,)]
    for part in parts:
        _whole(low, part, dim, "cat")
    if low.axis(low.shape[dim]):
        raise Unsupported("cat", f"builds an axis of {low.shape[dim]}, which counts as a long axis")
    return Lowered(np.concatenate([p.array for p in parts], axis=dim), low.shape)


def _stack(low: Lowering, parts: Sequence[Lowered], dim: int = 0) -> Lowered:
    return Lowered(np.stack([p.array for p in parts], axis=dim), low.shape)


def _unbind(low: Lowering, a: Lowered, dim: int = 0) -> list[Lowered]:
    dim = _whole(low, a, dim, "unbind")
    moved = np.moveaxis(a.array, dim, 0)
    return [Lowered(boxed(moved[i]), low.shape[i]) for i in range(a.shape[dim])]


def _split(low: Lowering, a: Lowered, _: Any, dim: int = 0) -> list[Lowered]:
    dim = _whole(low, a, dim, "split")
    parts, start = [], 0
    for shape in low.shape:
        parts.append(Lowered(a.array[(slice(None),) * dim + (slice(start, start + shape[dim]),)], shape))
        start += shape[dim]
    return parts


def _flip(low: Lowering, a: Lowered, dims: Sequence[int]) -> Lowered:
    return Lowered(np.flip(a.array, tuple(_whole(low, a, d, "flip") for d in dims)), low.shape)


def _clone(low: Lowering, a: Lowered, **_: Any) -> Lowered:
    return Lowered(a.array.copy(), low.shape)


def _alias(low: Lowering, a: Lowered, **_: Any) -> Lowered:
    return Lowered(a.array, low.shape)


def _to_copy(low: Lowering, a: Lowered, dtype: torch.dtype | None = None, **_: Any) -> Lowered:
    if dtype == torch.bool:
        return low.map(low.truth, a)
    if dtype == torch.int64:
        raise Unsupported("_to_copy", "to int64 has no native rule")
    return low.map(low.real, a)


def _copy_(low: Lowering, a: Lowered, b: Lowered, non_blocking: bool = False) -> Lowered:  # noqa: ARG001
    a.array[...] = np.broadcast_to(b.array, a.array.shape)
    return Lowered(a.array, low.shape)


def _copy(low: Lowering, a: Lowered, b: Lowered, non_blocking: bool = False) -> Lowered:  # noqa: ARG001
    return Lowered(np.broadcast_to(b.array, a.array.shape).copy(), low.shape)


def _filled(low: Lowering, value: Any) -> Lowered:
    array = np.empty(low.short(low.shape), dtype=object)
    array[...] = low.tensor(value).array
    return Lowered(array, low.shape)


def _filling(value: float) -> Rule:
    return lambda low, *_, **__: _filled(low, value)


def _arange(low: Lowering, *args: Any, **_: Any) -> Lowered:
    return low.constant(torch.arange(*args))


def _scatter_slice(low: Lowering, a: Lowered, b: Lowered, dim: int = 0, *where: Any, **named: Any) -> Lowered:
    copy = Lowered(a.array.copy(), a.shape)
    shape, low.shape = low.shape, b.shape
    _slice(low, copy, dim, *where, **named).array[...] = b.array
    low.shape = shape
    return copy


def _scatter_select(low: Lowering, a: Lowered, b: Lowered, dim: int, index: int) -> Lowered:
    at = dim % len(a.shape)
    entry = Lowered(np.expand_dims(b.array, at), (*b.shape[:at], 1, *b.shape[at:]))
    return _scatter_slice(low, a, entry, dim, index, index % a.shape[dim] + 1)


VIEWS: dict[str, Rule] = {
    "aten.view": _view,
    "aten._unsafe_view": _view,
    "aten.reshape": _view,
    "aten.permute": _permute,
    "aten.transpose": _transpose,
    "aten.t": _t,
    "aten.expand": _expand,
    "aten.unsqueeze": _unsqueeze,
    "aten.squeeze": _squeeze,
    "aten.select": _select,
    "aten.slice": _slice,
    "aten.cat": _cat,
    "aten.stack": _stack,
    "aten.unbind": _unbind,
    "aten.split": _split,
    "aten.split_with_sizes": _split,
    "aten.flip": _flip,
    "aten.clone": _clone,
    "aten.alias": _alias,
    "aten.detach": _alias,
    "aten.lift_fresh_copy": _alias,
    "aten._to_copy": _to_copy,
    "aten.copy_": _copy_,
    "aten.copy": _copy,
    "aten.full": lambda low, _, value, **__: _filled(low, value),
    "aten.full_like": lambda low, _, value, **__: _filled(low, value),
    "aten.new_full": lambda low, _, __, value, **___: _filled(low, value),
    **{f"aten.{name}{like}": _filling(0.0) for name in ("zeros", "new_zeros") for like in ("", "_like")},
    **{f"aten.{name}{like}": _filling(1.0) for name in ("ones", "new_ones") for like in ("", "_like")},
    "aten.scalar_tensor": lambda low, value, **_: _filled(low, value),
    "aten.arange": _arange,
    "aten.slice_scatter": _scatter_slice,
    "aten.select_scatter": _scatter_select,
}
