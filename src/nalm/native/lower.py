"""The traced graph, interpreted node by node with one rule per operation; see `lowering` for what the values are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch.fx import Node

from nalm.native.affine import Entry, Matrix
from nalm.native.errors import Unsupported
from nalm.native.lowering import Lowered, Lowering, boxed
from nalm.native.rules import RULES
from nalm.native.trace import Trace
from nalm.native.values import Graph, Value, Varies

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Inputs:
    """Where the step's inputs come from: shapes by name, draws with a sample axis or without."""

    state: dict[str, Shape]
    consts: dict[str, Shape]
    draws: dict[str, Shape]
    clock: tuple[str, ...]
    seed_consts: frozenset[str]


@dataclass(frozen=True)
class Program:
    """What is to be computed: new state by flat address, and metrics."""

    graph: Graph
    stores: list[tuple[Value, Value]]  # (state leaf, its new value)
    metrics: list[Value]
    features: int  # length of the long feature axis, 1 if there is none
    samples: int
    matrices: frozenset[int]  # draws of features x samples, which are kept less a half


def lower(trace: Trace, inputs: Inputs, samples: int, features: int | None) -> Program:
    """Interprets the trace.

    Args:
        features: the size that counts as the long feature axis; None unrolls every feature.

    Raises:
        Unsupported: names the operation that has no rule, or the hazard.
    """
    lowering = Lowering(samples, features)
    leaves = iter(_leaves(lowering, inputs))
    known: dict[Node, Any] = {}
    for node in trace.module.graph.nodes:
        if node.op == "placeholder":
            known[node] = next(leaves)
        elif node.op == "get_attr":
            known[node] = lowering.constant(getattr(trace.module, node.target))
        elif node.op == "call_function":
            known[node] = _call(lowering, node, known)
    outputs = next(n for n in trace.module.graph.nodes if n.op == "output").args[0]
    results = [known[node].array for node in outputs]
    old = dict(zip(inputs.state, _leaves(lowering, inputs), strict=False))
    stores: list[tuple[Value, Value]] = []
    for name, new in zip(trace.state, results, strict=False):
        broadcast = np.broadcast_to(new, old[name].array.shape)
        stores += [
            (leaf, lowering.plain(name, v)) for leaf, v in zip(old[name].array.flat, broadcast.flat, strict=True)
        ]
    metrics = [lowering.plain("a metric", array[()]) for array in results[len(trace.state) :]]
    stores = [(leaf, value) for leaf, value in stores if leaf is not value]
    matrices = frozenset(i for i, shape in enumerate(inputs.draws.values()) if {samples, features} <= {*shape})
    return Program(lowering.graph, stores, metrics, features or 1, samples, matrices)


def _call(lowering: Lowering, node: Node, known: dict[Node, Any]) -> Any:
    name = str(node.target)
    if getattr(node.target, "__name__", "") == "getitem":
        return known[node.args[0]][node.args[1]]  # type: ignore[index]
    base = name.rsplit(".", 1)[0]
    rule = RULES.get(base)
    if rule is None and base.endswith("_") and base[:-1] in RULES:
        rule = _in_place(RULES[base[:-1]])
    if rule is None:
        raise Unsupported(name, "has no native rule")
    meta = node.meta["val"]
    for tensor in meta if isinstance(meta, (list, tuple)) else [meta]:
        if tensor.dtype not in (torch.float32, torch.bool, torch.int64):
            raise Unsupported(name, f"computes in {tensor.dtype}; native steps are float32")
    lowering.shape = [tuple(m.shape) for m in meta] if isinstance(meta, (list, tuple)) else tuple(meta.shape)
    args = torch.fx.node.map_arg(node.args, lambda n: known[n])
    kwargs = torch.fx.node.map_arg(node.kwargs, lambda n: known[n])
    try:
        return rule(lowering, *args, **kwargs)
    except Unsupported as error:
        raise error if "aten." in error.op else Unsupported(name, f"({error.op}) {error.why}") from error


def _in_place(rule: Callable[..., Lowered]) -> Callable[..., Lowered]:
    """An operation that overwrites its first argument; every view of it sees the change."""

    def overwrite(lowering: Lowering, target: Lowered, *args: Any, **kwargs: Any) -> Lowered:
        result = rule(lowering, target, *args, **kwargs)
        if not np.shares_memory(result.array, target.array):  # unless it is a view, such as squeeze_
            target.array[...] = result.array
            return target
        return result

    return overwrite


def _leaves(lowering: Lowering, inputs: Inputs) -> list[Lowered]:
    """The inputs of the step, in the order of the trace."""
    leaves: list[Lowered] = []
    offset = 0
    for name, shape in inputs.state.items():
        leaves.append(_lanes(lowering, "state", name, shape, Varies.RUN | Varies.STEP, offset))
        offset += int(np.prod(shape))
    offset = 0
    for name, shape in inputs.consts.items():
        varies = Varies.NOWHERE if name in inputs.seed_consts else Varies.RUN
        leaves.append(_lanes(lowering, "const", name, shape, varies, offset))
        offset += int(np.prod(shape))
    for index, (name, shape) in enumerate(inputs.draws.items()):
        leaves.append(_draw(lowering, index, name, shape))
    for index, _ in enumerate(inputs.clock):
        leaves.append(Lowered(boxed(lowering.graph.make("clock", data=index, varies=Varies.STEP)), ()))
    return leaves


def _lanes(
    lowering: Lowering, op: str, name: str, shape: Shape, varies: Varies, offset: int = 0, draw: tuple[int, ...] = ()
) -> Lowered:
    """A tensor without samples: entry i of run r lies at number `offset + i` of lane r."""
    if lowering.samples in shape:
        hint = f"has an axis of {lowering.samples}, the number of samples: the two cannot be told apart"
        raise Unsupported(f"{op} '{name}'", hint)
    if sum(size == lowering.features for size in shape) > 1:
        raise Unsupported(f"{op} '{name}'", f"of shape {shape} has two long axes")

    def entry(base: int, stride: int) -> Entry:
        axis = Varies.FEATURE if stride else Varies.NOWHERE
        return lowering.graph.make(op, data=(*draw, offset + base, stride), varies=varies | axis)

    return _entries(lowering, shape, entry)


def _draw(lowering: Lowering, draw: int, name: str, shape: Shape) -> Lowered:
    """Uniforms: rows of samples, a matrix of features x samples, or one number per run and entry."""
    if lowering.samples not in shape:
        return _lanes(lowering, "draw", name, shape, Varies.STEP, draw=(draw,))
    if shape.index(lowering.samples) != len(shape) - 1:
        why = f"of shape {shape} must have the samples as its last axis and no other axis of {lowering.samples}"
        raise Unsupported(f"draw '{name}'", why)

    def entry(base: int, stride: int) -> Entry:
        if stride:
            return lowering.arithmetic.matrix(Matrix(draw, base, stride))
        return lowering.graph.make("row", data=(draw, base), varies=Varies.STEP | Varies.SAMPLE)

    return _entries(lowering, shape, entry)


def _entries(lowering: Lowering, shape: Shape, entry: Callable[[int, int], Entry]) -> Lowered:
    """What `entry` makes of each place: its number, and from one feature to the next the stride, 0 without features."""
    strides = [int(np.prod(shape[d + 1 :])) for d in range(len(shape))]
    stride = sum(s for s, size in zip(strides, shape, strict=True) if size == lowering.features)
    array = np.empty(lowering.short(shape), dtype=object)
    for index in np.ndindex(array.shape):
        array[index] = entry(sum(i * s for i, s in zip(index, strides, strict=True)), stride)
    return Lowered(array, shape)
