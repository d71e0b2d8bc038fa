"""What the rule does with each row of a unit between learned layers: hold it, move it a little, or leave it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

from nalm.training.rule.ruled import Ruled
from nalm.training.rule.settings import Settings
from nalm.training.rule.state import State


@dataclass
class RowsState(State):
    """What the rule does with each row `(*runs, out)`.

    Attributes:
        held: the numbers of rows that are the rule's `(*runs, out, in)`.
        owned: rows that are the rule's.
        arrived: those of them that are on the grid.
        goal: where the others of them are moved to, a little in each step `(*runs, out, in)`...
        gliding: ... because it is a grid point; otherwise these are the free numbers.
        share: of a step to the free numbers that is best for all rows together `(*runs,)`.
        streak: how many looks in a row doubted their grid point.
        asked: how many looks in a row spoke for a grid point, of rows that are not there.
        mirrored: how many looks in a row its reciprocal explained more.
        refused: a grid point that made the loss worse `(*runs, out, in)`; at first none, which is NaN.
        before: level of the loss before a grid point was approached `(*runs,)`.
        unexplained: share of the implied target's variance that what the row holds leaves.
        sums: averages behind the correlations of each candidate, over the batches of the present look.
        line: running averages behind the gain and bias of a linear layer directly above.
    """

    held: Tensor
    owned: Tensor
    arrived: Tensor
    goal: Tensor
    gliding: Tensor
    share: Tensor
    streak: Tensor
    asked: Tensor
    mirrored: Tensor
    refused: Tensor
    before: Tensor
    unexplained: Tensor
    sums: Tensor | None = None
    line: Tensor | None = None

    @classmethod
    def of(cls, ruled: Ruled) -> Self:
        """At the beginning."""
        held = ruled.read()
        rows = torch.zeros_like(held[..., 0], dtype=torch.bool)
        before = torch.zeros_like(held[..., 0, 0])
        nothing = torch.full_like(held, torch.nan)
        none = rows.to(torch.int64)
        whole, unexplained = torch.ones_like(before), torch.ones_like(held[..., 0])
        return cls(held, rows, rows, held, rows, whole, none, none, none, nothing, before, unexplained)

    def has_refused(self, goal: Tensor) -> Tensor:
        """Rows `(*runs, out)` for which this grid point has made the loss worse before."""
        return (self.refused == goal).all(-1)

    def towards(self, settings: Settings) -> Tensor:
        """A step to the free numbers that the neighbours can follow."""
        step = settings.slow * (self.goal - self.held)
        most = settings.follow
        return step * (most / step.abs().amax(-1, keepdim=True).clamp(min=most))

    def move(self, ok: Tensor, pace: float, most: float, box: tuple[float, float], settings: Settings) -> None:
        """One step of all rows on their way: to the grid, or towards the free numbers, and not along the scale, which
        neighbours can absorb.

        Args:
            ok: runs `(*runs,)` that may move.
            pace: of the neighbours, at most 1.
            most: largest change of a number on its way to the grid at pace 1, in units of the grid.
            box: between which ends the unit can hold its numbers.
            settings: how far it is to the free numbers at pace 1.
        """
        moving = self.owned & ~self.arrived & ok.unsqueeze(-1)
        if not bool(moving.any()):
            return
        step = (self.goal - self.held).clamp(-pace * most, pace * most)
        following = moving & ~self.gliding
        if bool(following.any()):
            size = self.held.abs().amax(-1, keepdim=True).clamp(min=1e-3)
            rescaled = self.held * (size.pow(-settings.rescale) - 1)
            follow = pace * (self.share[..., None, None] * self.towards(settings) + rescaled)
            step = torch.where(following.unsqueeze(-1), follow, step)
        self.keep(moving, held=(self.held + step).clamp(*box))
        there = moving & self.gliding & (self.held == self.goal).all(-1)
        if bool(there.any()):
            self.keep(there, held=self.goal, arrived=there, gliding=~there)
