"""A stack with gates between its units: each way through the gates is a stack of its own, and they take turns.

A gate that is half open mixes two formulas, of which neither learns what it should compute. So gates are not learned a
little at a time: they are open or shut, as the numbers of a grid are, and what a way through them can explain is found
by searching it. The units hold the best that was found on any way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, final

import torch
from torch import Tensor

from nalm.training.rule.batch import Batch
from nalm.training.rule.graph import Position
from nalm.training.rule.mode import Seen, Standing, share
from nalm.training.rule.route import Route
from nalm.training.rule.ruled import Ruled
from nalm.training.rule.settings import Settings
from nalm.training.rule.stack import Stack, is_rounding


@final
class GatedStack:
    """See the module."""

    position = Position.STACK
    settled = False  # the base optimiser goes on moving the gates, so they and the units are written in every step
    stores = True

    def __init__(self, units: Sequence[Ruled], routes: Sequence[Route], settings: Settings) -> None:
        self.units = units
        self.settings = settings
        self.stacks = [Stack(route, settings) for route in routes]
        self.turn = 0
        self.since = self.now.tries.attempt  # the attempts with which the turn began

    @property
    def now(self) -> Stack:
        """Whose turn it is."""
        return self.stacks[self.turn]

    @property
    def placed(self) -> Tensor:
        """The runs `(*runs,)` that hold a grid point of any route."""
        return torch.stack([stack.tries.placed for stack in self.stacks]).any(0)

    def due(self, step: int, travelled: float, in_company: bool = False) -> bool:
        """Every step, as a stack is."""
        return True

    def learn(self, seen: Sequence[Seen], batch: Batch) -> None:
        """A step of the route whose turn it is."""
        for stack in self.stacks:
            stack.rest()
        if bool((self.placed & is_rounding(batch.plain)).all()):
            return
        self.now.learn(seen, batch)
        for stack in self.stacks:
            if stack is not self.now:  # what one route stores is better than what another one holds
                stack.tries.keep(self.now.changes, placed=torch.zeros_like(self.placed))
        good = self.placed | (self.now.tries.unexplained < 2 * self.settings.enough)
        tried = self.now.tries.attempt > self.since
        if bool((good | tried).all()) and not bool(good.all()):
            self.turn = (self.turn + 1) % len(self.stacks)
            self.since = self.now.tries.attempt

    def write(self, ok: Tensor, pace: float, losses: Sequence[Tensor]) -> None:
        """What was decided in this step; a grid point that is held stays, on whatever route."""
        for stack in self.stacks:
            if stack.stores:
                stack.write(ok, pace, losses)

    def standings(self) -> list[Standing]:
        """How the units stand; the attempts are those of all routes."""
        placed, left = share(self.placed), float(self.now.tries.unexplained.clamp(max=1).mean())
        attempts = sum(int(stack.tries.attempt.max()) for stack in self.stacks) + 1
        return [Standing(one, self.position, placed, 0.0, left, attempts) for one in self.units]

    def saved(self) -> dict[str, Any]:
        """All it remembers."""
        return {"stacks": [stack.saved() for stack in self.stacks], "turn": self.turn, "since": self.since.clone()}

    def load(self, saved: Mapping[str, Any]) -> None:
        """Go on where it was saved."""
        for stack, state in zip(self.stacks, saved["stacks"], strict=True):
            stack.load(state)
        self.turn, self.since = int(saved["turn"]), saved["since"].to(self.since)
