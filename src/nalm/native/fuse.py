"""Products that only feed one sum become fused multiply-adds, chosen here and never by the code generator.

The choice looks at the graph alone, so every target machine performs the same roundings.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from .algebra import SUMS
from .lower import Program
from .values import Graph, Value, reachable


def fuse(program: Program) -> Program:
    """The same program with `fma(a, b, c) = a b + c`, `fms = a b - c`, `fnma = c - a b` and sums of products.

    Afterwards the data of a sum over a long axis says, term by term, its sign and how many of the arguments it
    multiplies.
    """
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
    op, data, args = value.op, value.data, [new[a.uid] for a in value.args]
    lone = [a.op == "mul" and uses[a.uid] == 1 for a in value.args]
    if op in SUMS:
        terms = [[new[f.uid] for f in a.args] if fused else [new[a.uid]] for a, fused in zip(value.args, lone, strict=True)]
        args = [factor for term in terms for factor in term]
        data = tuple((sign, len(term)) for sign, term in zip(value.data, terms, strict=True))
    elif op in ("add", "sub") and any(lone):
        product = lone.index(True)
        args = [*(new[f.uid] for f in value.args[product].args), args[1 - product]]
        op = "fma" if op == "add" else ("fms", "fnma")[product]
    elif args == list(value.args):
        return value
    made = graph.make(op, tuple(args), data, value.kind, value.varies)
    made.level = value.level
    return made
