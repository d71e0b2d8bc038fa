"""Products that only feed one sum become fused multiply-adds, chosen here and never by the code generator.

The choice looks at the graph alone, so every target machine performs the same roundings.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from .lower import Program
from .values import Graph, Value, reachable

_SUMS = ("sum_samples", "sum_features")


def fuse(program: Program) -> Program:
    """The same program with `fma(a, b, c) = a b + c`, `fms = a b - c`, `fnma = c - a b` and sums of products."""
    roots = [*(value for _, value in program.stores), *program.metrics]
    values = reachable(roots)
    uses = Counter(a.uid for v in values for a in v.args) + Counter(root.uid for root in roots)
    new: dict[int, Value] = {}
    for value in values:
        new[value.uid] = _rebuilt(program.graph, value, uses, new)
    return replace(
        program,
        stores=[(leaf, new[value.uid]) for leaf, value in program.stores],
        metrics=[new[value.uid] for value in program.metrics],
    )


def _rebuilt(graph: Graph, value: Value, uses: Counter[int], new: dict[int, Value]) -> Value:
    op, args = value.op, [new[a.uid] for a in value.args]
    product = next((i for i, a in enumerate(value.args) if a.op == "mul" and uses[a.uid] == 1), None)
    if product is not None and op in ("add", "sub", *_SUMS):
        factors = [new[a.uid] for a in value.args[product].args]
        if op in _SUMS:
            args = factors
        else:
            args = [*factors, args[1 - product]]
            op = "fma" if op == "add" else ("fms", "fnma")[product]
    elif args == list(value.args):
        return value
    made = graph.make(op, tuple(args), value.data, value.kind, value.varies)
    made.level = value.level
    return made
