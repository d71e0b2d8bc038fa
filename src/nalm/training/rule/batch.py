"""One batch as the modes see it: what the plain pass gave, and further passes on the same data."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

import torch
from torch import Tensor

from nalm.training.rule.curvature import LossCurvature, loss_curvature
from nalm.training.rule.watch import Watched


@lru_cache(maxsize=8)
def _all_of(runs: torch.Size, device: torch.device) -> Tensor:
    """Yes for each run; nobody changes it, so that it need not be made anew in every step."""
    return torch.ones(runs, dtype=torch.bool, device=device)


@dataclass(eq=False)
class Pass:
    """A forward pass.

    Attributes:
        output: of the network.
        loss: of shape `runs`.
        step: its number, which seeds the probes.
        learned_from: whether units learn from it, and not the base optimiser alone.
        total: loss of all runs.
        all_finite: whether all runs are worth learning from, as they nearly always are: a sum costs less than asking
            each. The base optimiser alone learns from any output whose loss is finite, so then the loss says enough.
    """

    output: Tensor
    loss: Tensor
    step: int
    learned_from: bool = True
    total: float = field(init=False)
    all_finite: bool = field(init=False)

    def __post_init__(self) -> None:
        self.total = (self.loss.detach().sum() if self.loss.dim() else self.loss).item()
        outputs = self.output.detach().sum().item() if self.learned_from else 0.0
        self.all_finite = math.isfinite(outputs + self.total)

    @cached_property
    def curvature(self) -> LossCurvature:
        """Of the loss at the output; its graph must still be there."""
        with torch.enable_grad():
            return loss_curvature(self.loss, self.output, self.loss.dim(), self.step)

    @property
    def probes(self) -> Sequence[Tensor]:
        """Vectors at the output whose squares are that curvature."""
        return self.curvature.probes

    @cached_property
    def size(self) -> Tensor:
        """Sum over the samples of curvature times squared output `(*runs,)`: twice the loss of an output of zero."""
        runs = self.loss.shape
        return torch.stack([(p * self.output).reshape(*runs, -1).double().square().sum(-1) for p in self.probes]).sum(0)

    @property
    def samples(self) -> int:
        """Of one run; the outputs of a sample are its last axis, if there is one."""
        outputs = self.output.shape[-1] if self.output.dim() > self.loss.dim() + 1 else 1
        return self.output[(0,) * self.loss.dim()].numel() // max(1, outputs)

    @property
    def some_exact(self) -> bool:
        """Whether any run has no loss at all: the root of a squared error has no slope there, but NaN."""
        return bool((self.loss.detach() == 0).any()) if self.loss.dim() else self.total == 0

    @cached_property
    def finite(self) -> Tensor:
        """Runs `(*runs,)` that are worth learning from."""
        loss, output = self.loss.detach(), self.output.detach()
        if self.all_finite:
            return _all_of(loss.shape, loss.device)
        return loss.isfinite() & output.reshape(*loss.shape, -1).isfinite().all(-1)

    @property
    def rounding(self) -> float:
        """Relative error of a number of the output."""
        return torch.finfo(self.output.dtype).eps


@dataclass(frozen=True)
class Batch:
    """What is known about a batch.

    Attributes:
        step: its number, from 1.
        travelled: how many steps at its full rate all those of the base optimiser amount to, this one included.
        plain: the pass of the model as it is.
        ok: which runs may learn from it.
        losses: of the last steps, this one's last, each of shape `runs`.
        pace: of what the base optimiser trains: its rate as a share of its largest.
        again: another pass with stand-ins for some units, and gradients.
        loss_with: the loss of another pass with stand-ins for some units, without gradients.
        loss_held: the loss of a plain pass, without gradients, of what the model holds at that moment.
    """

    step: int
    travelled: float
    plain: Pass
    ok: Tensor
    losses: Sequence[Tensor]
    pace: float
    again: Callable[[Sequence[Watched]], Pass]
    loss_with: Callable[[Sequence[Watched]], Tensor]
    loss_held: Callable[[], Tensor]
