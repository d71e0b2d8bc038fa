"""One way through the gates of a stack: each gate lets one of its two sides through, in all its outputs."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Self

import torch
from torch import Tensor, nn

from nalm.core.containers import StaticMixture
from nalm.core.unit import Unit
from nalm.core.weight import write_weight
from nalm.training.rule.ruled import Ruled, covered
from nalm.training.rule.watch import Watched

MOST_GATES = 4  # of one stack: sixteen ways, each of which is searched for hundreds of steps


@dataclass(frozen=True)
class Side:
    """A gate, and which of its two units it lets through."""

    gate: StaticMixture
    first: bool

    @property
    def taken(self) -> Unit:
        """The unit it lets through."""
        return self.gate.first if self.first else self.gate.second

    @property
    def left_out(self) -> Unit:
        """The other one."""
        return self.gate.second if self.first else self.gate.first

    def write(self, runs: Tensor) -> None:
        """Put the gate there, in some runs `(*runs,)`."""
        value = torch.full_like(self.gate.g, float(self.first))
        write_weight(self.gate, self.gate.weights["g"], value, runs.unsqueeze(-1))


@dataclass(frozen=True)
class Route:
    """One side of each gate; without gates it is the whole stack.

    Attributes:
        sides: of all gates.
        units: those on the way.
        left_out: those on the sides that are not taken.
    """

    sides: Sequence[Side]
    units: Sequence[Ruled]
    left_out: Sequence[Ruled]

    @classmethod
    def of(cls, sides: Sequence[Side], units: Sequence[Ruled]) -> Self:
        """The route that takes these sides among these units."""
        closed = {id(module) for side in sides for module in side.left_out.modules()}
        out = [one for one in units if id(one.unit) in closed]
        return cls(sides, [one for one in units if one not in out], out)

    def stand_ins(self) -> list[Watched]:
        """For the gates: each computes what the side computes that it lets through."""
        return [Watched(side.gate, partial(_compute, side.taken)) for side in self.sides]

    def write(self, runs: Tensor) -> None:
        """Store the gates, in some runs `(*runs,)`.

        Units that are left out become constants: zero times an infinite output would be NaN.
        """
        for side in self.sides:
            side.write(runs)
        for one in self.left_out:
            numbers = one.nearest(torch.zeros_like(one.read()))
            one.write(numbers, runs.unsqueeze(-1).expand(numbers.shape[:-1]))


def _compute(unit: Unit, x: Tensor) -> Tensor:
    return unit.compute(x)  # looked up at the call: while units are watched it is not that of the class


def routes(gates: Sequence[StaticMixture], units: Sequence[Ruled]) -> list[Route]:
    """All ways through some gates; a gate inside a side that is left out may stand anywhere, so it is not tried twice.

    >>> import nalm
    >>> from nalm.training.rule.ruled import ruled
    >>> model = nalm.Chain(nalm.Gated(nalm.NAU(3, 2), nalm.NMU(3, 2)), nalm.Gated(nalm.NAU(2, 1), nalm.NRU(2, 1)))
    >>> for route in routes([layer for layer in model.layers], list(ruled(model))):
    ...     print(*(type(one.unit).__name__ for one in route.units))
    NAU NAU
    NAU NRU
    NMU NAU
    NMU NRU
    """
    found: dict[tuple[int, ...], Route] = {}
    for choice in product((True, False), repeat=len(gates)):
        route = Route.of([Side(gate, first) for gate, first in zip(gates, choice, strict=True)], units)
        found.setdefault(tuple(id(one.unit) for one in route.units), route)
    return list(found.values())


def gates(model: nn.Module) -> Iterator[StaticMixture]:
    """The gates of a model that a stack can have: all units inside are the rule's."""
    for module in model.modules():
        if isinstance(module, StaticMixture):
            inside = [m for m in (*module.first.modules(), *module.second.modules()) if _has_weights(m)]
            if all(covered(m) or isinstance(m, StaticMixture) for m in inside):
                yield module


def _has_weights(module: nn.Module) -> bool:
    return next(module.parameters(recurse=False), None) is not None


def searchable(gate: StaticMixture, units: Collection[Unit]) -> bool:
    """Whether a gate may be set: neither it nor any unit inside is frozen.

    Args:
        units: those that the rule may change.
    """
    inside = [m for m in (*gate.first.modules(), *gate.second.modules()) if isinstance(m, Unit) and covered(m)]
    return all(p.requires_grad for p in gate.parameters(recurse=False)) and all(m in units for m in inside)
