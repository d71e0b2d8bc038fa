"""What the three ways in which the rule treats units have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor

from nalm.training.rule.batch import Batch
from nalm.training.rule.feedback import Feedback
from nalm.training.rule.graph import Position
from nalm.training.rule.ruled import Ruled
from nalm.training.rule.settings import Settings
from nalm.training.rule.watch import Watched


@dataclass(frozen=True)
class Seen:
    """A unit in the plain pass; a stack has passes of its own for its feedback."""

    ruled: Ruled
    watched: Watched
    feedback: Feedback | None


@dataclass(frozen=True)
class Standing:
    """How a unit stands, as shares of its rows (in all runs).

    Attributes:
        ruled: the unit.
        position: where it sits.
        on_grid: held on the grid by the rule.
        moved: moved by the rule, off the grid.
        unexplained: share of the implied target that what it holds leaves unexplained; None if unknown.
        attempts: how often its search began.
        why: it is left to the base optimiser for good; None if it is not.
    """

    ruled: Ruled
    position: Position
    on_grid: float
    moved: float
    unexplained: float | None
    attempts: int = 1
    why: str | None = None

    @property
    def left(self) -> float:
        """Left to the base optimiser."""
        return max(0.0, 1 - self.on_grid - self.moved)


class Mode(Protocol):
    """One or several units that are treated together."""

    position: Position
    units: Sequence[Ruled]

    @property
    def settled(self) -> bool:
        """Whether the units hold numbers that are to stay until it learns again: no optimiser need move them."""
        ...

    @property
    def stores(self) -> bool:
        """Whether it has anything to store after this step."""
        ...

    def due(self, step: int, travelled: float, in_company: bool = False) -> bool:
        """Whether it learns in this step.

        Args:
            step: its number.
            travelled: how many steps at its full rate all those of the base optimiser so far amount to.
            in_company: whether another mode learns in it anyway, so that it may do so earlier.
        """
        ...

    def learn(self, seen: Sequence[Seen], batch: Batch) -> None:
        """Learn from a batch: decide what the units shall hold after this step."""
        ...

    def write(self, ok: Tensor, pace: float, losses: Sequence[Tensor]) -> None:
        """Store in the units what was decided; called after each step of the base optimiser if there is anything.

        Args:
            ok: the runs `(*runs,)` whose batch was finite. A search may have learned from others, too.
            pace: of the neighbours, which have to follow: the base optimiser's rate as a share of its largest.
            losses: of the last steps, this one's last, each of shape `runs`.
        """
        ...

    def standings(self) -> list[Standing]:
        """How the units stand."""
        ...

    def saved(self) -> dict[str, Any]:
        """All it remembers: dictionaries, lists, numbers, strings and tensors."""
        ...

    def load(self, saved: Mapping[str, Any]) -> None:
        """Go on where it was saved."""
        ...


class Swayed(NamedTuple):
    """What one more batch says about a grid point that is believed, or not yet.

    Attributes:
        change: whether it ceases to be believed, or begins to be.
        streak: by how many batches more spoke for a change than against it.
        take: whether this batch alone is reason enough to believe it.
    """

    change: Tensor
    streak: Tensor
    take: Tensor


def swayed(believed: Tensor, streak: Tensor, grid: Tensor, free: Tensor, floor: Tensor, settings: Settings) -> Swayed:
    """Compare the error of a grid point with that of the free numbers; errors below the floor are rounding."""
    for_change = torch.where(believed, grid > free + floor, grid <= free)
    leave = grid > settings.decisive * free + floor
    take = (settings.decisive * grid < free) | (grid < floor)
    streak = (streak + torch.where(for_change, 1, -1)).clamp(min=0)
    change = torch.where(believed, leave, take) | (streak >= settings.patience)
    return Swayed(change, torch.where(change, 0, streak), take)


def share(rows: Tensor) -> float:
    """How many of them are true."""
    return float(rows.double().mean())
