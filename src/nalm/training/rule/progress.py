"""Whether a loss still falls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

from nalm.training.rule.state import State

RECENT = 20  # batches, as many as the running mean of the loss's logarithm rests on
SMOOTH = 1 - 1 / RECENT  # of that mean
FALLS = 0.2  # a smaller decrease of it is none: two deviations of that mean, if batches differ by a factor of two


def mean_log(losses: Sequence[Tensor]) -> Tensor:
    """Of those that are finite, in each run `(*runs,)`."""
    logs = torch.stack([*losses]).double().clamp(min=1e-300).log()
    finite = logs.isfinite()
    return logs.nan_to_num_(0.0, 0.0).sum(0) / finite.sum(0).clamp(min=1)


@dataclass
class ProgressState(State):
    """Of each run `(*runs,)`.

    Attributes:
        level: running mean of the loss's logarithm.
        best: the lowest level that counted as progress; infinite at the beginning.
        idle: steps since then.
    """

    level: Tensor
    best: Tensor
    idle: Tensor

    @classmethod
    def of(cls, like: Tensor) -> Self:
        """At the beginning."""
        zeros = torch.zeros_like(like, dtype=torch.float64)
        return cls(zeros, torch.full_like(zeros, torch.inf), zeros.to(torch.int64))

    def learn(self, losses: Sequence[Tensor], ok: Tensor, steps: int = 1) -> None:
        """What has been lost lately.

        Args:
            losses: of the last steps, the present one last.
            ok: runs `(*runs,)` that may learn from it.
            steps: since the last time.
        """
        new = losses[-steps:]
        now, stays = mean_log(new), SMOOTH ** len(new)
        level = torch.where(self.best.isinf(), now, stays * self.level + (1 - stays) * now)
        fell = level < self.best - FALLS
        self.keep(
            ok, level=level, best=torch.where(fell, level, self.best), idle=torch.where(fell, 0, self.idle + steps)
        )

    def restart(self, which: Tensor) -> None:
        """Forget, in some runs."""
        self.keep(which, best=torch.full_like(self.best, torch.inf), idle=torch.zeros_like(self.idle))


@dataclass
class TrialState(State):
    """Whether the loss falls while a unit is on its way to a grid point, of each run `(*runs,)`.

    Attributes:
        best: the lowest mean of its logarithm in so many batches as are `RECENT`, since the unit set out.
        above: by how much that of the latest ones is higher than the lowest before; below zero if the loss falls.
        at_rest: whether the loss had not fallen for long when the unit set out, so that it need not fall on the way.
    """

    best: Tensor
    above: Tensor
    at_rest: Tensor

    @classmethod
    def of(cls, like: Tensor) -> Self:
        """At the beginning."""
        none = torch.full_like(like, torch.inf, dtype=torch.float64)
        return cls(none, -none, torch.zeros_like(like, dtype=torch.bool))

    def begin(self, which: Tensor, losses: Sequence[Tensor], at_rest: Tensor) -> None:
        """Some runs set out."""
        self.keep(which, best=mean_log(losses), above=torch.full_like(self.above, -torch.inf), at_rest=at_rest)

    def learn(self, losses: Sequence[Tensor]) -> None:
        """Of the last steps."""
        now = mean_log(losses)
        self.above = now - self.best
        self.best = torch.minimum(self.best, now)
