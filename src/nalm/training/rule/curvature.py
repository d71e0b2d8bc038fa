"""The curvature of the loss at a network's output, and its factor sent down to the units: one probe per output."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import torch
from torch import Tensor

MOST_PROBES = 4  # up to this many outputs each gets its own probe and the curvature is exact, beyond they are mixed
MOST_DENSE = 32  # up to this many outputs their mutual curvature counts (cross-entropy), beyond each one's own
BENT = 0.01  # relative difference between a loss and its parabola from which on it is none
STREAMS = 8  # of random signs per step


def signs(step: int, probe: int, shape: Sequence[int], like: Tensor) -> Tensor:
    """Random signs that depend on the step and the probe only."""
    return _drawn(step, probe, tuple(shape[-2:]), like.dtype, like.device).expand(*shape)


@lru_cache(maxsize=STREAMS)  # all passes of a step ask for the same
def _drawn(step: int, probe: int, shape: tuple[int, ...], dtype: torch.dtype, device: torch.device) -> Tensor:
    generator = torch.Generator().manual_seed(STREAMS * step + probe)
    return torch.randint(0, 2, shape, generator=generator).mul_(2).sub_(1).to(device, dtype)


class LossCurvature(NamedTuple):
    """The curvature of a loss at the output.

    Attributes:
        probes: vectors at the output whose squares, sent down and summed, are the Gauss-Newton curvature of every unit.
        squared: runs `(*runs,)` in which the loss is a squared error, and so tells where its minimum is.
    """

    probes: list[Tensor]
    squared: Tensor


def loss_curvature(loss: Tensor, output: Tensor, runs: int, step: int) -> LossCurvature:
    """The curvature of a loss in a form that can be sent down to the units.

    Args:
        loss: of shape `runs`, a function of `output`.
        output: `(*runs, samples, outputs)`, or `(*runs, samples)`, or more sample axes.
        runs: how many leading axes are runs.
        step: seeds the random signs.
    """
    outputs = output.shape[-1] if output.dim() > runs + 1 else 1
    shape = (*output.shape[:runs], -1, outputs)
    total = loss.sum() if runs else loss
    slope = torch.autograd.grad(total, output, create_graph=True, allow_unused=True)[0]
    if slope is None:
        raise ValueError(
            "The loss does not depend on the output that was returned; return the tensor it was made from."
        )
    hessian, squared = _bounded(_hessian(slope, output, shape, step), loss.detach(), slope.detach(), output.detach())
    root = _root(hessian)
    if outputs <= MOST_PROBES:
        # signs leave each sample's own curvature as it is, but without them a layer that subtracts the mean of a batch
        # (BatchNorm) would take away what all samples have in common
        by_sample = signs(step, MOST_PROBES + 1, (*root.shape[:-2], 1), output)
        directions = [by_sample * root[..., p] for p in range(outputs)]
    else:
        each = [signs(step, p, root.shape[:-1], output) / MOST_PROBES**0.5 for p in range(MOST_PROBES)]
        directions = [(root @ s.unsqueeze(-1)).squeeze(-1) for s in each]
    return LossCurvature([d.reshape(output.shape) for d in directions], squared)


def _hessian(slope: Tensor, output: Tensor, shape: Sequence[int], step: int) -> Tensor:
    """Second derivatives of each sample's loss, `(*runs, samples, outputs, outputs)`."""
    flat = output.reshape(shape)
    outputs = flat.shape[-1]
    if not slope.requires_grad:
        return torch.zeros(*flat.shape, outputs, dtype=output.dtype, device=output.device)

    def times(direction: Tensor) -> Tensor:
        grad = torch.autograd.grad(slope, output, direction.reshape(output.shape), retain_graph=True, allow_unused=True)
        return torch.zeros_like(flat) if grad[0] is None else grad[0].reshape(flat.shape)

    if outputs > MOST_DENSE:
        s = signs(step, MOST_PROBES, flat.shape, output)
        return torch.diag_embed(times(s) * s)
    # random signs over the samples leave each sample's own curvature and cancel what couples it to others on average
    s = signs(step, MOST_PROBES, (*flat.shape[:-1], 1), output)
    each = [s] if outputs == 1 else [s * one for one in torch.eye(outputs, dtype=s.dtype, device=s.device)]
    hessian = torch.stack([times(direction) * s for direction in each], -1)
    return hessian if outputs == 1 else (hessian + hessian.mT) / 2


def _bounded(hessian: Tensor, loss: Tensor, slope: Tensor, output: Tensor) -> tuple[Tensor, Tensor]:
    """The Hessian raised so far that no sample is sent farther than all of them are wrong on average; and whether the
    loss is a squared error `(*runs,)`, which needs no such bound.

    Absolute errors, and a Huber loss far from its centre, say in which direction a sample is wrong and not how far; a
    Newton step would go anywhere. But the loss over the sum of the slopes is how far they are on average. It is at most
    the size of the output, as a loss may have terms that do not depend on the output.
    """
    outputs = hessian.shape[-1]
    trace = hessian.diagonal(dim1=-2, dim2=-1).sum(-1)  # (*runs, samples)
    least, most = trace.aminmax(dim=-1)
    alike = (least >= (1 - BENT) * most) & (least > 0)
    if bool(alike.all()):
        return hessian, alike
    slope, output = slope.reshape(hessian.shape[:-1]), output.reshape(hessian.shape[:-1])
    slopes = slope.square().sum(-1).sqrt()
    parabolas = torch.where(trace > 0, outputs * slopes.square() / (2 * trace), 0.0).sum(-1)
    squared = alike | ((loss - parabolas).abs() <= BENT * loss)
    if bool(squared.all()):
        return hessian, squared
    size = output.square().mean((-2, -1)).sqrt() + torch.finfo(output.dtype).tiny
    distance = torch.where(loss > 0, torch.minimum(loss / slopes.sum(-1), size), size)
    missing = (slopes / distance.unsqueeze(-1) - trace / outputs).clamp_(min=0)
    missing = torch.where(squared.unsqueeze(-1), 0.0, missing)
    hessian.diagonal(dim1=-2, dim2=-1).add_(missing.unsqueeze(-1))
    return hessian, squared


def _root(hessian: Tensor) -> Tensor:
    """R with R R' = H, negative curvature counted as none."""
    if hessian.shape[-1] == 1:
        return hessian.clamp(min=0).sqrt()
    values, vectors = torch.linalg.eigh(hessian.nan_to_num())
    root: Tensor = vectors * values.clamp(min=0).sqrt().unsqueeze(-2)
    return root
