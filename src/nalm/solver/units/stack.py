"""A found formula as a real stack of published units with grid weights, to be put into a network.

Sums become NAU layers, products NMU layers (NRU where something divides). A weight of 2 or an exponent of 3 is that
many copies of a wire; the number 1 is a product of nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from nalm.solver.formula.algebra import ONE, Applied, Constant, Formula, Input, PowerProduct, WeightedSum
from nalm.solver.settings import SETTINGS
from nalm.solver.units.wiring import Kind, Places, parts, placed, wires_below
from nalm.solver.verdict.candidate import Status, Verdict

if TYPE_CHECKING:
    from nalm.core.unit import Unit


class NoStackError(Exception):
    """No stack of published units with grid weights computes the formula; the message says why."""


def stack_of(verdict: Verdict, columns: int) -> tuple[Unit | None, list[str]]:
    """A unit or `Chain` that computes a formula that was found, or None and the reason."""
    if verdict.status in (Status.NONE, Status.APPROXIMATION):
        return None, []
    try:
        return stack(verdict.candidate.formula, columns), []
    except NoStackError as error:
        return None, [f"no stack of grid weights computes this: {error}"]


def stack(formula: Formula, columns: int) -> Unit:
    """A unit or `Chain` that computes the formula from `columns` inputs.

    >>> stack(PowerProduct(((Input(0), Fraction(1)), (Input(2), Fraction(-1)))), 3)
    NRU(3, 1)
    """
    layers = _layers(_whole(formula), columns)
    from nalm.core.containers import Chain  # takes seconds to load, for nothing where there is no stack

    units = [_unit(layer) for layer in layers]
    return units[0] if len(units) == 1 else Chain(*units)


def _whole(formula: Formula) -> Formula:
    """The same formula with whole coefficients and exponents only; fractions become quotients of whole numbers."""
    match formula:
        case Input():
            return formula
        case Constant(value):
            return ONE if value == 1 else _scaled_sum([(_fraction(value), ONE)])
        case WeightedSum(terms):
            return _scaled_sum([(_fraction(c), _whole(t)) for c, t in terms])
        case PowerProduct(factors):
            if any(e.denominator != 1 for _, e in factors):
                raise NoStackError("it takes a root, and exponents on the grid are whole")
            return PowerProduct(tuple((_whole(f), e) for f, e in factors))
        case Applied(function, _):
            raise NoStackError(f"it takes {function.value}, which no arithmetic unit computes")


def _fraction(value: Fraction | float) -> Fraction:
    if isinstance(value, float):
        raise NoStackError(f"its coefficient {value:g} is a real number")
    return value


def _scaled_sum(terms: list[tuple[Fraction, Formula]]) -> Formula:
    scale = math.lcm(*(c.denominator for c, _ in terms))
    whole = WeightedSum(tuple((c * scale, t) for c, t in terms))
    if max([scale, *(int(abs(c * scale)) for c, _ in terms)]) > SETTINGS.most_copies:
        raise NoStackError("its coefficients are too large to be copies of a wire")
    if scale == 1:
        return whole
    return PowerProduct(((whole, Fraction(1)), (WeightedSum(((Fraction(scale), ONE),)), Fraction(-1))))


def _height(wire: Formula) -> int:
    match wire:
        case Input():
            return 0
        case Constant():
            return 1
        case WeightedSum(terms):
            return 1 + max(_height(term) for _, term in terms)
        case PowerProduct(factors):
            return 1 + max(_height(factor) for factor, _ in factors)
        case Applied(_, argument):
            return 1 + _height(argument)


@dataclass(frozen=True)
class _Layer:
    """One layer to be made: what it does, the weights of each output, and how many wires come in."""

    kind: Kind
    outputs: list[Places]
    width: int


def _layers(root: Formula, columns: int) -> list[_Layer]:
    """Layers from the inputs up."""
    wires: list[Formula] = [root]
    layers: list[_Layer] = []
    while not (layers and all(isinstance(w, Input) for w in wires) and len(set(wires)) == len(wires)):
        kind = Kind.PRODUCT if isinstance(max(wires, key=_height), PowerProduct | Constant) else Kind.SUM
        outputs = [parts(wire, kind) or [] for wire in wires]
        # A sum layer above the inputs copies them; the inputs themselves come once.
        copies_inputs = kind is Kind.SUM and all(isinstance(w, Input) for w in wires)
        below = list(dict.fromkeys(wires)) if copies_inputs else wires_below(outputs)
        layers.insert(0, _Layer(kind, [placed(output, below) or {} for output in outputs], len(below)))
        wires = below or [Input(0)]
    onto = [w.index for w in wires if isinstance(w, Input)]
    first = layers[0]
    outputs_of_first = [{onto[i]: weight for i, weight in places.items()} for places in first.outputs]
    return [_Layer(first.kind, outputs_of_first, columns), *layers[1:]]


def _unit(layer: _Layer) -> Unit:
    import torch

    from nalm.units.division import NRU
    from nalm.units.nau import NAU, NMU

    divides = any(weight < 0 for places in layer.outputs for weight in places.values())
    unit = (NAU if layer.kind is Kind.SUM else NRU if divides else NMU)(layer.width, len(layer.outputs))
    with torch.no_grad():
        (weights,) = unit.weights["W"].raw(unit)
        weights.zero_()
        for out, places in enumerate(layer.outputs):
            for place, weight in places.items():
                weights[out, place] = weight
    return unit.eval()
