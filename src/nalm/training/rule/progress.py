"""Whether a loss still falls."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

from nalm.training.rule.state import State

SMOOTH = 0.95  # of the running mean of the loss's logarithm: twenty batches
FALLS = 0.2  # a smaller decrease of it is none: two deviations of that mean, if batches differ by a factor of two


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

    def learn(self, loss: Tensor, ok: Tensor, steps: int = 1) -> None:
        """One more batch, so many steps after the last one that was looked at."""
        now = loss.double().clamp(min=1e-300).log()
        level = torch.where(self.best.isinf(), now, SMOOTH * self.level + (1 - SMOOTH) * now)
        fell = level < self.best - FALLS
        self.keep(
            ok, level=level, best=torch.where(fell, level, self.best), idle=torch.where(fell, 0, self.idle + steps)
        )

    def restart(self, which: Tensor) -> None:
        """Forget, in some runs."""
        self.keep(which, best=torch.full_like(self.best, torch.inf), idle=torch.zeros_like(self.idle))
