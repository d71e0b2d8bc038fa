"""What candidates for a unit's numbers explain of its implied target, whatever gain and bias follow: correlations."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor

from nalm.core.weight import nearest


def aim(numbers: Tensor, grid: tuple[float, ...]) -> Tensor:
    """The grid point in the direction of each row: layers around it may have given it another scale.

    >>> aim(torch.tensor([[0.21, -0.2, 0.02]]), (-1, 0, 1)).tolist()
    [[1.0, -1.0, 0.0]]
    """
    largest = max(abs(g) for g in grid)
    scale = numbers.abs().amax(-1, keepdim=True).clamp(min=1e-12)
    return nearest(numbers * largest / scale, grid)


def undropped(goal: Tensor, numbers: Tensor, grid: tuple[float, ...], least: float = 0.0) -> Tensor:
    """The grid point beside a goal in which no input is dropped but those whose numbers are zero, or too small.

    Args:
        goal: a grid point `(..., in)`.
        numbers: whose signs decide, of the same shape.
        grid: the values of a number on the grid.
        least: size, as a share of the largest number of its row, below which a number has no sign to go by.

    >>> goal, numbers = torch.tensor([[1.0, 0.0, 0.0]]), torch.tensor([[0.8, -0.2, 0.0]])
    >>> undropped(goal, numbers, (-1, 0, 1)).tolist(), undropped(goal, numbers, (-1, 0, 1), least=0.3).tolist()
    ([[1.0, -1.0, 0.0]], [[1.0, 0.0, 0.0]])
    """
    smallest, size = min(abs(g) for g in grid if g), numbers.abs()
    kept = (goal == 0) & (size >= least * size.amax(-1, keepdim=True))
    return torch.where(kept, nearest(smallest * numbers.sign(), grid), goal)


class Shares(NamedTuple):
    """What candidates leave of the implied target, over its variance.

    Each `(*runs, out)`: what the unit holds, the free numbers (which have not seen the batch), the grid point, and the
    one beside it that drops no input.
    """

    held: Tensor
    free: Tensor
    goal: Tensor
    full: Tensor

    @property
    def least(self) -> Tensor:
        """What the best of them leaves."""
        return torch.stack(self).amin(0)

    def given_up(self, left: Tensor) -> Tensor:
        """The share of what the best of them explains that is lost with a candidate that leaves so much."""
        least = self.least
        return (left - least) / (1 - least).clamp(min=1e-12)


def moments(target: Tensor, values: Tensor, weight: Tensor) -> Tensor:
    """First and second moments of a target `(*runs, out, samples)` and of candidates for it, `(..., 5)`."""
    a, b = target.expand_as(values), values
    if not math.isfinite(target.sum().item() + values.sum().item()):  # as they are nearly always
        usable = a.isfinite() & b.isfinite()
        weight, a, b = (torch.where(usable, v, 0.0) for v in (weight.expand_as(values), a, b))
    return (weight.unsqueeze(-2) * torch.stack([a, b, a * a, b * b, a * b], -2)).sum(-1)


def covariance(mean: Tensor) -> Tensor:
    """Of a target and candidates for it, from their moments."""
    ma, mb, _, _, ab = mean.unbind(-1)
    return ab - ma * mb


def unexplained(mean: Tensor) -> Tensor:
    """The share of the target's variance that no gain and bias explain by a candidate, from their moments."""
    ma, mb, aa, bb, _ = mean.unbind(-1)
    variances = (aa - ma * ma) * (bb - mb * mb)
    left = 1 - covariance(mean).square() / variances.clamp(min=1e-300)
    return torch.where(variances > 0, left.clamp(0.0, 1.0), 1.0)


def error(mean: Tensor) -> Tensor:
    """The mean squared error of a candidate over the target's variance, from their moments."""
    ma, _, aa, bb, ab = mean.unbind(-1)
    return (aa - 2 * ab + bb) / (aa - ma * ma).clamp(min=1e-300)
