"""What rules work on: tensors as numpy arrays of values.

Views, slices, `cat`, even in-place `copy_` are numpy's own. A long axis (the samples; the features of a wide layer) has
size one in these arrays; short axes are unrolled.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from nalm.native.affine import Arithmetic, Entry
from nalm.native.algebra import Algebra
from nalm.native.errors import Unsupported
from nalm.native.values import Value, Varies

Array = Any  # a numpy array of dtype object that holds entries


@dataclass(frozen=True)
class Lowered:
    """A tensor: its entries with long axes shrunk to one, and the shape torch sees."""

    array: Array
    shape: tuple[int, ...]


class Lowering:
    """Holds the long axes and builds entries; rules are functions of it."""

    def __init__(self, samples: int, features: int | None) -> None:
        self.samples = samples
        self.features = features
        self.graph = Algebra()
        self.arithmetic = Arithmetic(self.graph)
        self.shape: Any = ()  # of the operation being lowered

    def axis(self, size: int) -> Varies:
        """Which long axis a dimension of this size is, if any."""
        if size == self.samples:
            return Varies.SAMPLE
        return Varies.FEATURE if size == self.features else Varies.NOWHERE

    def short(self, shape: Sequence[int]) -> tuple[int, ...]:
        """A shape with its long axes shrunk to one."""
        return tuple(1 if self.axis(size) else size for size in shape)

    def map(self, function: Callable[..., Entry], *args: Any) -> Lowered:
        """Applies a function of entries elementwise, with broadcasting, to tensors and numbers."""
        arrays = [self.tensor(a).array for a in args]
        return Lowered(boxed(np.frompyfunc(function, len(arrays), 1)(*arrays)), self.shape)

    def apply(self, op: str, *args: Any) -> Lowered:
        """A primitive operation, elementwise."""
        return self.map(lambda *entries: self.graph.apply(op, *(self.plain(op, e) for e in entries)), *args)

    def plain(self, op: str, entry: Entry) -> Value:
        """The entry if it is an ordinary value."""
        if isinstance(entry, Value):
            return entry
        raise Unsupported(op, "acts on a value with two long axes (features x samples) that is not affine")

    def real(self, entry: Entry) -> Entry:
        """The entry as a float: arithmetic on booleans counts."""
        return self.graph.apply("float", entry) if isinstance(entry, Value) and entry.kind == "bool" else entry

    def truth(self, entry: Entry) -> Value:
        """The entry as a boolean."""
        value = self.plain("a logical operation", entry)
        return value if value.kind == "bool" else self.graph.apply("ne", value, self.graph.constant(0.0))

    def tensor(self, a: Any) -> Lowered:
        """A tensor as it is, a number as a constant tensor without axes."""
        return a if isinstance(a, Lowered) else Lowered(boxed(self.graph.constant(a)), ())

    def constant(self, tensor: torch.Tensor) -> Lowered:
        """A tensor the step brought along; it must not vary along a long axis."""
        if any(self.axis(size) for size in tensor.shape):
            raise Unsupported(
                "a constant tensor", f"of shape {tuple(tensor.shape)} has a long axis: pass it as a const"
            )
        kind = bool if tensor.dtype == torch.bool else float
        return Lowered(boxed(np.frompyfunc(lambda x: self.graph.constant(kind(x)), 1, 1)(tensor.numpy())), tensor.shape)


def boxed(x: Any) -> Array:
    """An object array, also of a single entry."""
    if isinstance(x, np.ndarray):
        return x
    array = np.empty((), dtype=object)
    array[()] = x
    return array
