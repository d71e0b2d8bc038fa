"""Known units: fill the grid weights of a given unit or `Chain`, redundant hidden units left idle."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from nalm.solver.data.problem import Problem
from nalm.solver.formula.algebra import Formula, Input, PowerProduct, WeightedSum, total
from nalm.solver.search import climb, refused
from nalm.solver.settings import SETTINGS
from nalm.solver.shapes.catalogue import EFFORTS, SHAPES, shape_named
from nalm.solver.shapes.shape import Cost, Effort, Scope, Shape
from nalm.solver.units.wiring import Kind, Part, parts, placed, wires_below
from nalm.solver.verdict.candidate import Finding, Status, Verdict

if TYPE_CHECKING:
    from torch import nn

    from nalm.core.unit import Unit


def fill(like: nn.Module, problem: Problem) -> tuple[Finding, Any, list[str]]:
    """A copy of a unit or stack whose grid weights make it compute the target, if it can, and why not if it cannot."""
    layers = _layers(like)
    if layers[0].in_features != problem.columns or layers[-1].out_features != 1:
        sizes = f"{layers[0].in_features} inputs and {layers[-1].out_features} outputs"
        raise ValueError(f"like has {sizes}, but the data have {problem.columns} columns and one target")
    tried: list[Verdict] = []
    for scope, shape in _computable(problem, layers):
        tried += climb(scope, [shape])
        for verdict in (v for v in tried if v.status is Status.EXACT):
            filled = copy.deepcopy(like)
            if _written(verdict.candidate.formula, _layers(filled)):
                return Finding(problem, tuple(tried), verdict), filled, []
    return refused(problem, tried), None, ["no grid weights of this stack reproduce the data"]


def _layers(model: nn.Module) -> list[Unit]:
    from torch import nn

    from nalm.core.containers import Chain
    from nalm.core.unit import Unit

    if isinstance(model, Chain):
        return [unit for layer in model.layers for unit in _layers(layer)]
    if isinstance(model, nn.Sequential):
        return [unit for layer in model for unit in _layers(layer)]
    if isinstance(model, Unit) and model.form is not None and not model.runs:
        return [model]
    raise TypeError(
        f"like must be a single unit that sums or multiplies, or a Chain of them; got {type(model).__name__}"
    )


def _kind(unit: Unit) -> Kind:
    from nalm.core.form import Sum

    return Kind.SUM if isinstance(unit.form, Sum) else Kind.PRODUCT


def _computable(problem: Problem, layers: list[Unit]) -> Iterator[tuple[Scope, Shape]]:
    """Only the shapes that a stack of these kinds can compute."""
    kinds, hidden = [_kind(unit) for unit in layers], layers[0].out_features
    names = ["sum", "product"]
    if kinds[0] is Kind.SUM and Kind.PRODUCT in kinds:
        most = min(hidden, SETTINGS.most_factors)
        names += ["quotient of sums", *(f"product of {k} sums" for k in range(2, most + 1))]
    if kinds[0] is Kind.PRODUCT and Kind.SUM in kinds:
        names.append("sum of products")
    scope = Scope(problem, Effort(sum_terms=min(hidden, 6)))
    yield from ((scope, shape_named(name)) for name in names)
    if len(kinds) > 2:
        wider = Scope(problem, EFFORTS["normal"])
        yield from ((wider, shape) for shape in SHAPES if shape.cost >= Cost.SHALLOW)


def _written(formula: Formula, layers: list[Unit]) -> bool:
    """Writes the formula into the layers, last to first; False if it does not fit."""
    wanted: list[Formula | None] = [formula]
    for depth in range(len(layers) - 1, -1, -1):
        unit, first = layers[depth], depth == 0
        outputs = [[] if wire is None else _parts(wire, _kind(unit), first) for wire in wanted]
        whole = [output for output in outputs if output is not None]
        below: list[Formula | None] = [Input(i) for i in range(unit.in_features)] if first else [*wires_below(whole)]
        idle = unit.in_features - len(below)
        if len(whole) < len(outputs) or idle < 0 or not _write(unit, whole, below):
            return False
        wanted = below + [None] * idle
    return True


def _parts(wire: Formula, kind: Kind, first: bool) -> list[Part] | None:
    """What a wire is made of, in ways that suit weights of ±1: sums of inputs in slices, signs inside products."""
    match wire, kind:
        case WeightedSum(((sign, PowerProduct() as inner),)), Kind.PRODUCT if sign == -1:
            return _negated(parts(inner, kind))
        case WeightedSum(), Kind.SUM:
            whole = parts(wire, kind)
            return whole if first or whole is None else _slices(whole)
        case _:
            return parts(wire, kind)


def _slices(terms: list[Part]) -> list[Part]:
    """A sum of inputs with weights beyond 1, as a sum of hidden sums with weights within; other sums as they are."""
    if not all(isinstance(term, Input) for term, _ in terms):
        return terms
    depth = max(abs(weight) for _, weight in terms)
    signs = [(term, Fraction(1 if weight > 0 else -1), abs(weight)) for term, weight in terms]
    return [(total((sign, term) for term, sign, size in signs if size > level), 1) for level in range(depth)]


def _negated(factors: list[Part] | None) -> list[Part] | None:
    """A minus sign in front of a product moves into a factor with an odd exponent."""
    for k, (factor, exponent) in enumerate(factors or []):
        if exponent % 2:
            flipped = total([(Fraction(-1), factor)])
            return [*(factors or [])[:k], (flipped, exponent), *(factors or [])[k + 1 :]]
    return None


def _write(unit: Unit, outputs: list[list[Part]], below: list[Formula | None]) -> bool:
    import torch

    assert unit.form is not None
    numbers = torch.zeros(unit.out_features, unit.in_features)
    for out, output in enumerate(outputs):
        places = placed(output, below, unit.form.grid(unit))
        if places is None:
            return False
        for place, weight in places.items():
            numbers[out, place] = weight
    with torch.no_grad():
        unit.form.write(unit, numbers)
    return True
