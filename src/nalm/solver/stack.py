"""A found formula as a real stack of published units with grid weights, to be put into a network.

Sums become NAU layers, products NMU layers (NRU where something divides). A weight of 2 or an exponent of 3 is that
many copies of a wire; the number 1 is a product of nothing.
"""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from typing import TYPE_CHECKING

from nalm.solver.algebra.formula import ONE, Constant, Formula, Input, Product, Sum

if TYPE_CHECKING:
    from nalm.core.unit import Unit

MOST_COPIES = 24
Wire = Formula
Row = dict[int, int]


class NoStackError(Exception):
    """No stack of published units with grid weights computes the formula; the message says why."""


def stack_of(formula: Formula, columns: int) -> tuple[Unit | None, str]:
    """A unit or `Chain` that computes the formula from `columns` inputs, or None and the reason.

    >>> stack_of(Product(((Input(0), Fraction(1)), (Input(2), Fraction(-1)))), 3)[0]
    NRU(3, 1)
    """
    from nalm.core.containers import Chain

    try:
        layers = _layers(_whole(formula), columns)
    except NoStackError as error:
        return None, f"no stack of grid weights computes this: {error}"
    units = [_unit(rows, kind, width) for kind, rows, width in layers]
    return (units[0] if len(units) == 1 else Chain(*units)), ""


def _whole(formula: Formula) -> Formula:
    """The same formula with whole coefficients and exponents only; fractions become quotients of whole numbers."""
    match formula:
        case Input():
            return formula
        case Constant(value):
            return ONE if value == 1 else _scaled_sum([(_fraction(value), ONE)])
        case Sum(terms):
            return _scaled_sum([(_fraction(c), _whole(t)) for c, t in terms])
        case Product(factors):
            if any(e.denominator != 1 for _, e in factors):
                raise NoStackError("it takes a root, and exponents on the grid are whole")
            return Product(tuple((_whole(f), e) for f, e in factors))


def _fraction(value: Fraction | float) -> Fraction:
    if isinstance(value, float):
        raise NoStackError(f"its coefficient {value:g} is a real number")
    return value


def _scaled_sum(terms: list[tuple[Fraction, Formula]]) -> Formula:
    scale = math.lcm(*(c.denominator for c, _ in terms))
    whole = Sum(tuple((c * scale, t) for c, t in terms))
    if max([scale, *(int(abs(c * scale)) for c, _ in terms)]) > MOST_COPIES:
        raise NoStackError("its coefficients are too large to be copies of a wire")
    if scale == 1:
        return whole
    return Product(((whole, Fraction(1)), (Sum(((Fraction(scale), ONE),)), Fraction(-1))))


def _height(wire: Wire) -> int:
    match wire:
        case Input():
            return 0
        case Constant():
            return 1
        case Sum(terms):
            return 1 + max(_height(term) for _, term in terms)
        case Product(factors):
            return 1 + max(_height(factor) for factor, _ in factors)


def _layers(root: Formula, columns: int) -> list[tuple[str, list[Row], int]]:
    """Layers from the inputs up: kind, one row of {wire: weight} for each output, number of input wires."""
    wires: list[Wire] = [root]
    layers: list[tuple[str, list[Row], int]] = []
    while not (layers and all(isinstance(w, Input) for w in wires) and len(set(wires)) == len(wires)):
        tallest = max(wires, key=_height)
        kind = "product" if isinstance(tallest, Product | Constant) else "sum"
        parts = [_parts(wire, kind) for wire in wires]
        needed = Counter[Wire]()
        for part in parts:
            needed |= Counter({wire: abs(weight) for wire, weight in part})
        if kind == "sum" and all(isinstance(w, Input) for w in wires):
            needed = Counter(set(wires))  # copies of inputs, and the inputs themselves need no copies
        below = list(needed.elements())
        layers.insert(0, (kind, [_row(part, below) for part in parts], len(below)))
        wires = below or [Input(0)]
    kind, rows, _ = layers[0]
    onto = [w.index for w in wires if isinstance(w, Input)]
    layers[0] = (kind, [{onto[i]: weight for i, weight in row.items()} for row in rows], columns)
    return layers


def _parts(wire: Wire, kind: str) -> list[tuple[Wire, int]]:
    """What a wire is made of in a layer of this kind; a wire of the other kind passes through."""
    match wire, kind:
        case Sum(terms), "sum":
            return [(term, int(coefficient)) for coefficient, term in terms]
        case Product(factors), "product":
            return [(factor, int(exponent)) for factor, exponent in factors]
        case Constant(), "product":
            return []
        case _:
            return [(wire, 1)]


def _row(parts: list[tuple[Wire, int]], below: list[Wire]) -> Row:
    row: Row = {}
    for wire, weight in parts:
        places = [i for i, other in enumerate(below) if other == wire][: abs(weight)]
        row |= dict.fromkeys(places, 1 if weight > 0 else -1)
    return row


def _unit(rows: list[Row], kind: str, width: int) -> Unit:
    import torch

    from nalm.units.division import NRU
    from nalm.units.nau import NAU, NMU

    divides = any(weight < 0 for row in rows for weight in row.values())
    unit = (NAU if kind == "sum" else NRU if divides else NMU)(width, len(rows))
    with torch.no_grad():
        (weights,) = unit.weights["W"].raw(unit)
        weights.zero_()
        for out, row in enumerate(rows):
            for place, weight in row.items():
                weights[out, place] = weight
    return unit.eval()
