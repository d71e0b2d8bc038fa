"""From a formula to layers: what each layer adds up or multiplies, one layer at a time, from the output down.

A *wire* carries a formula from one layer to the next. A weight of 2 or an exponent of 3 is that many copies of a wire,
unless the layer's grid holds the number itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from enum import Enum
from typing import TypeAlias

from nalm.solver.formula.algebra import Constant, Formula, PowerProduct, WeightedSum

Part: TypeAlias = tuple[Formula, int]
"""A wire and its whole weight (in a sum) or exponent (in a product)."""

Places: TypeAlias = dict[int, int]
"""The weights of one output that are not 0, by input wire."""


class Kind(Enum):
    """What a layer does with its inputs."""

    SUM = "sum"
    PRODUCT = "product"


def parts(wire: Formula, kind: Kind) -> list[Part] | None:
    """What a wire is made of in a layer of this kind; a wire of the other kind passes through.

    The number 1 is a product of nothing. None if it takes a number that is not whole.
    """
    match wire, kind:
        case WeightedSum(terms), Kind.SUM:
            whole = [(t, int(c)) for c, t in terms if not isinstance(c, float) and c.denominator == 1]
            return whole if len(whole) == len(terms) else None
        case PowerProduct(factors), Kind.PRODUCT:
            return [(f, int(e)) for f, e in factors] if all(e.denominator == 1 for _, e in factors) else None
        case Constant(value), Kind.PRODUCT if value == 1:
            return []
        case _:
            return [(wire, 1)]


def wires_below(outputs: Sequence[Sequence[Part]]) -> list[Formula]:
    """The wires that a layer needs from the one below, each as often as some output needs copies of it."""
    needed = Counter[Formula]()
    for output in outputs:
        needed |= Counter({wire: abs(weight) for wire, weight in output})
    return list(needed.elements())


def placed(
    output: Sequence[Part], below: Sequence[Formula | None], grid: Sequence[float] = (-1, 0, 1)
) -> Places | None:
    """Where the weights of one output go among the wires below; None if there are too few wires or grid values."""
    places: Places = {}
    for wire, weight in output:
        copies = 1 if weight in grid else abs(weight)
        step = weight if weight in grid else (1 if weight > 0 else -1)
        found = [i for i, other in enumerate(below) if other == wire][:copies]
        if len(found) < copies or step not in grid:
            return None
        places |= dict.fromkeys(found, step)
    return places
