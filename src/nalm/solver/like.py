"""Known units: fill the grid weights of a given unit or `Chain`, redundant hidden units left idle."""

from __future__ import annotations

import copy
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from nalm.solver.algebra.formula import Formula, Input, Product, Sum, total
from nalm.solver.ladder import EFFORTS, Rung, approximations, climb, searches
from nalm.solver.problem import Problem
from nalm.solver.shapes.factored import product_of_sums, quotient_of_sums
from nalm.solver.shapes.monomials import sum_of_products
from nalm.solver.shapes.products import product_of_powers
from nalm.solver.shapes.sums import sum_of_inputs
from nalm.solver.solution import Evidence, Solution
from nalm.solver.verdict.judge import Candidate, Status

if TYPE_CHECKING:
    from torch import nn

    from nalm.core.unit import Unit

MOST_FACTORS = 5


def fill(like: nn.Module, problem: Problem, names: tuple[str, ...], began: float) -> Solution:
    """A copy of a unit or stack whose grid weights make it compute the target, if it can."""
    layers = _layers(like)
    if layers[0].in_features != problem.columns or layers[-1].out_features != 1:
        sizes = f"{layers[0].in_features} inputs and {layers[-1].out_features} outputs"
        raise ValueError(f"like has {sizes}, but the data have {problem.columns} columns and one target")
    tried: list[Candidate] = []
    with np.errstate(all="ignore"):
        for rung in _rungs(problem, layers):
            tried += climb(problem, [rung])
            for candidate in (c for c in tried if c.status is Status.EXACT):
                filled = copy.deepcopy(like)
                if _placed(candidate.formula, _layers(filled)):
                    return _solution(candidate, Status.EXACT, problem, names, tried, filled, began)
    best = min([*tried, *approximations(problem)], key=lambda c: c.relative_error)
    best = replace(best, status=Status.NONE)
    return _solution(best, Status.NONE, problem, names, tried, None, began)


def _solution(
    chosen: Candidate,
    status: Status,
    problem: Problem,
    names: tuple[str, ...],
    tried: list[Candidate],
    unit: nn.Module | None,
    began: float,
) -> Solution:
    note = () if unit is not None else ("no grid weights of this stack reproduce the data",)
    evidence = Evidence(chosen.backward_error, problem.rows, problem.noise, chosen.constants, note)
    seconds = time.perf_counter() - began
    return Solution(chosen, status, evidence, names, tuple(tried), unit, seconds)  # type: ignore[arg-type]


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


def _sums(unit: Unit) -> bool:
    from nalm.core.form import Sum as SumForm

    return isinstance(unit.form, SumForm)


def _rungs(problem: Problem, layers: list[Unit]) -> Iterator[Rung]:
    """Only the shapes that a stack of these kinds can compute."""
    kinds = [_sums(unit) for unit in layers]
    yield Rung("sum", sum_of_inputs)
    yield Rung("product", product_of_powers)
    if len(kinds) == 1:
        return
    if kinds[0] and not all(kinds):
        yield Rung("quotient of sums", quotient_of_sums)
        for k in range(2, min(layers[0].out_features, MOST_FACTORS) + 1):
            yield Rung(f"product of {k} sums", partial(product_of_sums, k=k, starts=8))
    if not kinds[0] and any(kinds):
        columns = np.arange(problem.columns)
        yield Rung("sum of products", partial(sum_of_products, columns=columns, terms=min(layers[0].out_features, 6)))
    if len(kinds) > 2:
        yield from searches(problem, EFFORTS["normal"], deep=False)
        yield from searches(problem, EFFORTS["normal"], deep=True)


def _placed(formula: Formula, layers: list[Unit]) -> bool:
    """Writes the formula into the layers, last to first; False if it does not fit."""
    wanted: list[Formula | None] = [formula]
    for depth in range(len(layers) - 1, -1, -1):
        unit = layers[depth]
        parts = [_parts(wire, _sums(unit), depth == 0) for wire in wanted]
        if any(part is None for part in parts):
            return False
        rows = [part or [] for part in parts]
        below = _wires(rows, unit.in_features, first=depth == 0)
        if below is None or not _written(unit, rows, below):
            return False
        wanted = below
    return True


def _parts(wire: Formula | None, sums: bool, first: bool) -> list[tuple[Formula, int]] | None:
    """What a wire is made of in a layer that sums or multiplies; None if that takes a number off every grid."""
    match wire:
        case None:
            return []
        case Sum(terms) if sums:
            whole = [(t, int(c)) for c, t in terms if not isinstance(c, float) and c.denominator == 1]
            return None if len(whole) < len(terms) else whole if first else _slices(whole)
        case Sum(((sign, Product() as inner),)) if sign == -1:
            return _negated(_parts(inner, sums, first))
        case Product(factors) if not sums:
            return [(f, int(e)) for f, e in factors] if all(e.denominator == 1 for _, e in factors) else None
        case _:
            return [(wire, 1)]


def _slices(terms: list[tuple[Formula, int]]) -> list[tuple[Formula, int]]:
    """A sum of inputs with weights beyond 1, as a sum of hidden sums with weights within; other sums as they are."""
    if not all(isinstance(term, Input) for term, _ in terms):
        return terms
    depth = max(abs(weight) for _, weight in terms)
    signs = [(term, Fraction(1 if weight > 0 else -1), abs(weight)) for term, weight in terms]
    return [(total((sign, term) for term, sign, size in signs if size > level), 1) for level in range(depth)]


def _negated(parts: list[tuple[Formula, int]] | None) -> list[tuple[Formula, int]] | None:
    """A minus sign in front of a product moves into a factor with an odd exponent."""
    for k, (factor, exponent) in enumerate(parts or []):
        if exponent % 2:
            flipped = total([(Fraction(-1), factor)])
            return [*(parts or [])[:k], (flipped, exponent), *(parts or [])[k + 1 :]]
    return None


def _wires(rows: list[list[tuple[Formula, int]]], width: int, first: bool) -> list[Formula | None] | None:
    """What each input wire of a layer carries: the inputs themselves, or hidden formulas, copied as often as needed."""
    if first:
        return [Input(i) for i in range(width)]
    needed = Counter[Formula]()
    for row in rows:
        needed |= Counter({wire: abs(weight) for wire, weight in row})
    wires: list[Formula | None] = list(needed.elements())
    return wires + [None] * (width - len(wires)) if len(wires) <= width else None


def _written(unit: Unit, rows: list[list[tuple[Formula, int]]], below: list[Formula | None]) -> bool:
    import torch

    assert unit.form is not None
    grid = unit.form.grid(unit)
    numbers = torch.zeros(unit.out_features, unit.in_features)
    for out, row in enumerate(rows):
        for wire, weight in row:
            places = [i for i, other in enumerate(below) if other == wire]
            copies = 1 if weight in grid else abs(weight)
            step = weight if weight in grid else (1 if weight > 0 else -1)
            if len(places) < copies or step not in grid:
                return False
            for place in places[:copies]:
                numbers[out, place] = step
    with torch.no_grad():
        unit.form.write(unit, numbers)
    return True
