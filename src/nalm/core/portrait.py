"""A unit as a notebook shows it: what it computes, and where each weight stands."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from torch import Tensor

from nalm.core.expression import ON_GRID, Expression
from nalm.core.notebook import mathml, paragraph, table
from nalm.core.weight import Weight
from nalm.core.weighted import Weighted

MOST_INPUTS = 12  # a formula of more variables is not read at a glance, and SymPy needs a noticeable time for it
MOST_VALUES = 16  # elements of a weight that are listed; of more, the shape is told
HEAD = ("weight", "value", "grid", "largest distance", "on the grid")


def portrait(unit: Weighted, title: str, expression: Callable[[], Expression]) -> str:
    """The HTML of a unit; `expression` reads it, and may refuse."""
    return paragraph(title) + _formula(unit, expression) + table(HEAD, _lines(unit))


def _formula(unit: Weighted, expression: Callable[[], Expression]) -> str:
    if unit.in_features > MOST_INPUTS:
        return paragraph(f"The formula has {unit.in_features} inputs: nalm.read gives it.")
    try:
        return "".join(mathml(output) for output in expression().shortened().outputs)
    except (TypeError, ValueError) as reason:  # no formula, a cohort of runs, a training that diverged
        return paragraph(str(reason))


def _lines(unit: Weighted) -> Iterator[tuple[str, ...]]:
    for path, weight, value in unit.named_weights():
        yield path, _numbers(value), *_standing(weight, value)


def _standing(weight: Weight, value: Tensor) -> tuple[str, str, str]:
    if weight.grid is None:
        return "any value", "-", "-"
    distance = weight.distance(value)
    grid = ", ".join(f"{g:g}" for g in weight.grid)
    reached = int((distance <= ON_GRID).sum())
    return grid, f"{float(distance.max()):.1e}", f"{reached} of {distance.numel()}"


def _numbers(value: Tensor) -> str:
    if value.numel() > MOST_VALUES:
        return " x ".join(map(str, value.shape))
    rows = value.reshape(-1, value.shape[-1]).tolist()
    return "; ".join(" ".join(f"{number:.4g}" for number in row) for row in rows)
