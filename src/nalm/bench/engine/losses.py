"""Losses per run: mean over samples, never over runs. Tensors are `(*runs, out, samples)`, results `(*runs,)`."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

EPSILON = torch.finfo(torch.float32).eps


def mse(y: Tensor, t: Tensor) -> Tensor:
    """Mean squared error."""
    return (y - t).square().mean((-2, -1))


def pcc(y: Tensor, t: Tensor) -> Tensor:
    """One minus Pearson's correlation over the samples, averaged over outputs."""

    def standard(v: Tensor) -> Tensor:
        v = v - v.mean(-1, keepdim=True)
        return v / (v.square().mean(-1, keepdim=True).clamp(min=EPSILON).sqrt() + EPSILON)

    return 1 - (standard(y) * standard(t)).mean((-2, -1))


def mape(y: Tensor, t: Tensor) -> Tensor:
    """Mean absolute relative error, as a fraction."""
    return ((t - y) / t).abs().mean((-2, -1))


def huber(y: Tensor, t: Tensor) -> Tensor:
    """Smooth L1: half the square of differences below 1, the difference less a half above."""
    size = (y - t).abs()
    return torch.where(size < 1, 0.5 * size.square(), size - 0.5).mean((-2, -1))


LOSSES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {"mse": mse, "pcc": pcc, "mape": mape, "huber": huber}
