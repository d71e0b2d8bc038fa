"""Where each unit of a model sits, and the mode in which the rule treats it there."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from torch import Tensor, nn

from nalm.core.containers import StaticMixture
from nalm.training.rule.at_output import AtOutput
from nalm.training.rule.between import Between
from nalm.training.rule.gated import GatedStack
from nalm.training.rule.graph import GainAndBias, Place, Position, places
from nalm.training.rule.mode import Mode
from nalm.training.rule.route import MOST_GATES, routes, searchable
from nalm.training.rule.ruled import Ruled
from nalm.training.rule.settings import Settings
from nalm.training.rule.stack import Stack
from nalm.training.rule.watch import Watched

WHY_LEFT = f"only up to {MOST_GATES} gates, among units alone, are searched"


class Placing:
    """The places of units, and their modes.

    Attributes:
        places: of the units on which the output depends.
        used: the units that were in use when this was asked; others may be used later.
        modes: a stack as a whole, other units one by one.
    """

    def __init__(
        self,
        places: Mapping[Ruled, Place],
        used: Collection[Ruled],
        gates: Sequence[StaticMixture],
        settings: Settings,
    ) -> None:
        self.places, self.used = places, used
        self.modes: list[Mode] = []
        for one, place in places.items():
            if place.position is Position.OUTPUT:
                self.modes.append(AtOutput(one, settings))
            elif place.position is Position.BETWEEN:
                self.modes.append(Between(one, place, settings))
        stacked = [one for one, place in places.items() if place.position is Position.STACK]
        if stacked:
            ways = routes(gates, stacked)
            self.modes.append(GatedStack(stacked, ways, settings) if gates else Stack(ways[0], settings))

    def misses(self, units: Sequence[Ruled], watched: Sequence[Watched]) -> bool:
        """Whether a pass uses units that were not in use before."""
        return any(w.uses and one not in self.used for one, w in zip(units, watched, strict=True))

    def saved(self, model: nn.Module) -> dict[str, Any]:
        """Places and what the modes remember; parameters by their names in the model."""
        names = {id(p): name for name, p in model.named_parameters()}
        saved = {one.name: _place_saved(place, names) for one, place in self.places.items()}
        return {
            "places": saved,
            "used": [one.name for one in self.used],
            "modes": [mode.saved() for mode in self.modes],
        }


def placed(
    units: Sequence[Ruled],
    gates: Sequence[StaticMixture],
    watched: Sequence[Watched],
    output: Tensor,
    model: nn.Module,
    settings: Settings,
) -> Placing:
    """Ask the graph of one pass where each unit sits; say which gates are not searched.

    Args:
        units: that are trained.
        gates: of the model.
        watched: the units in this pass.
        output: of the network.
        model: for the names of gates.
        settings: of the rule.
    """
    candidates = _candidates(gates, units)
    found = _places(units, candidates, watched, output)
    kept = _gates_of_stacks(candidates, found)
    if len(kept) < len(candidates):  # then the others are neighbours of their units
        found = _places(units, kept, watched, output)
        names = {module: name or "the model" for name, module in model.named_modules()}
        what = ", ".join(names[gate] for gate in candidates if gate not in kept)
        warnings.warn(f"Left to the base optimiser, as {WHY_LEFT}: the gate of {what}.", stacklevel=5)
    used = [one for one, w in zip(units, watched, strict=True) if w.uses]
    return Placing(found, used, kept, settings)


def loaded(
    saved: Mapping[str, Any],
    units: Sequence[Ruled],
    gates: Sequence[StaticMixture],
    model: nn.Module,
    settings: Settings,
) -> Placing:
    """What `Placing.saved` gave, for the same model."""
    by_name = {one.name: one for one in units}
    found = {by_name[name]: _place_loaded(place, model) for name, place in saved["places"].items()}
    used = [by_name[name] for name in saved["used"]]
    placing = Placing(found, used, _gates_of_stacks(_candidates(gates, units), found), settings)
    for mode, state in zip(placing.modes, saved["modes"], strict=True):
        mode.load(state)
    return placing


def _candidates(gates: Sequence[StaticMixture], units: Sequence[Ruled]) -> list[StaticMixture]:
    trained = {one.unit for one in units}
    return [gate for gate in gates if searchable(gate, trained)]


def _places(
    units: Sequence[Ruled], gates: Sequence[StaticMixture], watched: Sequence[Watched], output: Tensor
) -> dict[Ruled, Place]:
    """The places of all units on which the output depends, if some gates are the rule's."""
    owners = [*(one.unit for one in units), *gates]
    mine = {p for owner in owners for p in owner.parameters(recurse=False)}
    found = zip(units, places(watched, output, mine), strict=True)
    return {one: place for one, place in found if place is not None}


def _gates_of_stacks(candidates: Sequence[StaticMixture], places: Mapping[Ruled, Place]) -> list[StaticMixture]:
    """Those of some gates around which there are only units of the rule; none if there are too many to try."""
    stacked = {one.unit for one, place in places.items() if place.position is Position.STACK}
    kept = [gate for gate in candidates if searchable(gate, stacked)]
    return kept if len(kept) <= MOST_GATES else []


def _place_saved(place: Place, names: Mapping[int, str]) -> dict[str, Any]:
    line = None if place.line is None else [names.get(id(p)) for p in place.line]
    return {
        "position": place.position.name,
        "below": place.learned_below,
        "above": place.learned_above,
        "mixed": place.mixed,
        "straight": place.straight,
        "line": line,
    }


def _place_loaded(saved: Mapping[str, Any], model: nn.Module) -> Place:
    line = saved["line"]
    if line is not None:
        line = None if None in line else GainAndBias(*(model.get_parameter(name) for name in line))
    position, below, above = Position[saved["position"]], saved["below"], saved["above"]
    return Place(position, below, above, saved["mixed"], saved["straight"], line)
