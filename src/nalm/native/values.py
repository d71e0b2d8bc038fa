"""Scalars of the traced step as a hash-consed graph.

A tensor of the step becomes a numpy array of `Value`s in which every long axis has size one: the value *varies along*
that axis instead. Two equal expressions are one object, so common subexpressions, and with them the repeated forward
pass that autograd leaves behind, cost nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntFlag
from typing import Any, Literal

import numpy as np

from nalm.native.errors import Unsupported

Kind = Literal["float", "bool"]
VALUE_LIMIT = 60_000


class Varies(IntFlag):
    """Along which of the loops a value changes."""

    NOWHERE = 0
    SAMPLE = 1
    FEATURE = 2
    STEP = 4
    RUN = 8  # between the runs of one seed


LONG = Varies.SAMPLE | Varies.FEATURE


class Value:
    """One scalar (per run, sample, feature and step): an operation on other values, or a leaf."""

    __slots__ = ("args", "data", "kind", "level", "op", "uid", "varies")

    def __init__(self, uid: int, op: str, args: tuple[Value, ...], data: Any, kind: Kind, varies: Varies, level: int):
        self.uid = uid
        self.op = op
        self.args = args
        self.data = data  # what an operation needs besides values: a constant, a leaf's address
        self.kind = kind
        self.varies = varies
        self.level = level  # how many reductions over a long axis lie between the inputs and this value

    def __repr__(self) -> str:
        inner = ", ".join([f"%{a.uid}" for a in self.args] + ([] if self.data is None else [repr(self.data)]))
        return f"%{self.uid} = {self.op}({inner})"

    @property
    def axes(self) -> Varies:
        """The long axes the value varies along."""
        return self.varies & LONG


COMPARISONS = {"lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal, "eq": np.equal}
LOGIC = {"and": np.logical_and, "or": np.logical_or, "xor": np.not_equal}
_BOOLEAN = {*COMPARISONS, *LOGIC, "ne", "not"}
_FOLDS: dict[str, Any] = {
    **COMPARISONS,
    **LOGIC,
    "ne": np.not_equal,
    "not": np.logical_not,
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "sqrt": np.sqrt,
    "abs": np.abs,
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "round": np.rint,
    "select": np.where,
    "min": np.minimum,
    "max": np.maximum,
    "float": np.float32,
}
_COMMUTES = {"add", "eq", "ne", *LOGIC}


class Graph:
    """Builds values: folds constants, simplifies what is exact, and returns an existing value where there is one."""

    def __init__(self) -> None:
        self.values: list[Value] = []
        self._known: dict[Any, Value] = {}

    def make(
        self,
        op: str,
        args: tuple[Value, ...] = (),
        data: Any = None,
        kind: Kind = "float",
        varies: Varies | None = None,
    ) -> Value:
        """The value of an operation, without simplification. `varies` is the union over the arguments unless given."""
        if op in _COMMUTES and args[0].uid > args[1].uid:
            args = args[::-1]
        key = (op, tuple(a.uid for a in args), data, kind)  # without the kind, the constants 0.0 and False are one
        found = self._known.get(key)
        if found is None:
            if len(self.values) >= VALUE_LIMIT:
                raise Unsupported("the step", f"unrolls to more than {VALUE_LIMIT} values: too much code")
            if varies is None:
                varies = Varies.NOWHERE
                for a in args:
                    varies |= a.varies
            if varies & LONG == LONG:
                raise Unsupported(op, "acts on a value with two long axes (features x samples) that is not affine")
            level = max((a.level for a in args), default=0)
            found = Value(len(self.values), op, args, data, kind, varies, level)
            self._known[key] = found
            self.values.append(found)
        return found

    def constant(self, number: float | bool) -> Value:
        """A number known now. Floats are rounded to float32 once, here."""
        if isinstance(number, (bool, np.bool_)):
            return self.make("constant", data=bool(number), kind="bool")
        with np.errstate(over="ignore"):
            bits = np.float32(number).view(np.uint32)
        return self.make("constant", data=int(bits))

    def apply(self, op: str, *args: Value) -> Value:
        """An elementwise operation, folded if its arguments are constants."""
        fold = _FOLDS.get(op)
        if fold is not None and all(a.op == "constant" for a in args):
            with np.errstate(all="ignore"):
                return self.constant(fold(*(number(a) for a in args)))
        return self.make(op, args, kind=_kind(op, args))

    def reduce(self, op: str, args: tuple[Value, ...], axis: Varies, data: Any = None) -> Value:
        """A sum along a long axis: one level above what it sums."""
        varies = Varies.NOWHERE
        for a in args:
            varies |= a.varies
        value = self.make(op, args, data, varies=varies & ~axis)
        value.level = max(a.level for a in args) + 1
        return value


def number(value: Value) -> Any:
    """The number of a constant, as float32 or bool."""
    return bool(value.data) if value.kind == "bool" else np.uint32(value.data).view(np.float32)


def is_number(value: Value, wanted: float) -> bool:
    """Whether the value is the constant `wanted`."""
    return value.op == "constant" and value.kind == "float" and bool(number(value) == wanted)


def reachable(roots: Iterable[Value]) -> list[Value]:
    """Everything the roots need, arguments first."""
    seen: dict[int, Value] = {}
    stack = list(roots)
    while stack:
        value = stack.pop()
        if value.uid not in seen:
            seen[value.uid] = value
            stack.extend(value.args)
    return [seen[uid] for uid in sorted(seen)]


def _kind(op: str, args: tuple[Value, ...]) -> Kind:
    if op == "select":
        return args[1].kind
    return "bool" if op in _BOOLEAN else "float"


def split(value: Value) -> tuple[Value | None, Value | None]:
    """A value as (the factor without long axes, the factor with them)."""
    if not value.axes:
        return value, None
    if value.op == "mul" and not value.args[0].axes:
        return value.args[0], value.args[1]
    return None, value
