"""Products that only feed one sum become fused multiply-adds, chosen here and never by the code generator.

The choice looks at the graph alone, so every target machine performs the same roundings.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from nalm.native.algebra import SUMS, shared_parts
from nalm.native.lower import Program
from nalm.native.values import COMPARISONS, Graph, Value, reachable

_MAGNIFIERS = {"abs", "div", "log", "log_normal", "pow", "ne", *COMPARISONS}


def fuse(program: Program) -> Program:
    """The same program with `fma(a, b, c) = a b + c`, `fms = a b - c`, `fnma = c - a b` and sums of products.

    Afterwards the data of a sum over a long axis says, term by term, its sign and how many of the arguments it
    multiplies.
    """
    roots = [*(value for _, value in program.stores), *program.metrics]
    values = reachable(roots)
    uses = Counter(a.uid for v in values for a in v.args) + Counter(root.uid for root in roots)
    whole = _inputs_that_matter(values)
    new: dict[int, Value] = {}
    for value in values:
        new[value.uid] = _rebuilt(program.graph, value, uses, new, value.uid not in whole)
    return replace(
        program,
        stores=[(leaf, new[value.uid]) for leaf, value in program.stores],
        metrics=[new[value.uid] for value in program.metrics],
    )


def _inputs_that_matter(values: list[Value]) -> set[int]:
    """Inputs `low + width * u` whose size or sign is looked at: they round as in torch, a product and then a sum.

    A fused input differs in its last digit only, but next to zero that is all there is, and a quotient shows it.
    """
    looked_at = {a for v in values if v.op in _MAGNIFIERS for a in (v.args[1:] if v.op == "div" else v.args)}
    return {v.uid for v in looked_at if shared_parts(v) is not None}


def _rebuilt(graph: Graph, value: Value, uses: Counter[int], new: dict[int, Value], fusable: bool) -> Value:
    op, data, args = value.op, value.data, [new[a.uid] for a in value.args]
    lone = [a.op == "mul" and uses[a.uid] == 1 for a in value.args]
    if op in SUMS:
        terms = [
            [new[f.uid] for f in a.args] if fused else [new[a.uid]] for a, fused in zip(value.args, lone, strict=True)
        ]
        args = [factor for term in terms for factor in term]
        data = tuple((sign, len(term)) for sign, term in zip(value.data, terms, strict=True))
    elif op in ("add", "sub") and any(lone) and fusable:
        product = lone.index(True)
        args = [*(new[f.uid] for f in value.args[product].args), args[1 - product]]
        op = "fma" if op == "add" else ("fms", "fnma")[product]
    elif args == list(value.args):
        return value
    made = graph.make(op, tuple(args), data, value.kind, value.varies)
    made.level = value.level
    return made
