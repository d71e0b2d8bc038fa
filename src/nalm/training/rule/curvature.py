"""The curvature of the loss at a network's output, and its factor sent down to the units: one probe per output."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import torch
from torch import Tensor

MOST_PROBES = 4  # up to this many outputs each gets its own probe and the curvature is exact, beyond they are mixed
MOST_DENSE = 32  # up to this many outputs their mutual curvature counts (cross-entropy), beyond each one's own
FLAT = 0.1  # a sample counts with at least this share of the mean curvature: far from a Huber loss' centre it has none
STREAMS = 8  # of random signs per step


def signs(step: int, probe: int, shape: Sequence[int], like: Tensor) -> Tensor:
    """Random signs that depend on the step and the probe only."""
    return _drawn(step, probe, tuple(shape[-2:]), like.dtype, like.device).expand(*shape)


@lru_cache(maxsize=STREAMS)  # all passes of a step ask for the same
def _drawn(step: int, probe: int, shape: tuple[int, ...], dtype: torch.dtype, device: torch.device) -> Tensor:
    generator = torch.Generator().manual_seed(STREAMS * step + probe)
    return torch.randint(0, 2, shape, generator=generator).mul_(2).sub_(1).to(device, dtype)


def loss_probes(loss: Tensor, output: Tensor, runs: int, step: int) -> list[Tensor]:
    """Vectors at the output whose squares, sent down and summed, are the Gauss-Newton curvature of every unit.

    Args:
        loss: of shape `runs`, a function of `output`.
        output: `(*runs, samples, outputs)`, or `(*runs, samples)`, or more sample axes.
        runs: how many leading axes are runs.
        step: seeds the random signs.
    """
    outputs = output.shape[-1] if output.dim() > runs + 1 else 1
    shape = (*output.shape[:runs], -1, outputs)
    slope = torch.autograd.grad(loss.sum(), output, create_graph=True, allow_unused=True)[0]
    if slope is None:
        raise ValueError(
            "The loss does not depend on the output that was returned; return the tensor it was made from."
        )
    hessian = _hessian(slope, output, shape, step)
    root = _root(_lifted(hessian, slope.detach().reshape(shape), output.detach().reshape(shape)))
    if outputs <= MOST_PROBES:
        # signs leave each sample's own curvature as it is, but without them a layer that subtracts the mean of a batch
        # (BatchNorm) would take away what all samples have in common
        by_sample = signs(step, MOST_PROBES + 1, (*root.shape[:-2], 1), output)
        directions = [by_sample * root[..., p] for p in range(outputs)]
    else:
        each = [signs(step, p, root.shape[:-1], output) / MOST_PROBES**0.5 for p in range(MOST_PROBES)]
        directions = [(root @ s.unsqueeze(-1)).squeeze(-1) for s in each]
    return [d.reshape(output.shape) for d in directions]


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
    columns = [times(s * torch.eye(outputs, dtype=s.dtype, device=s.device)[o]) * s for o in range(outputs)]
    hessian = torch.stack(columns, -1)
    return hessian if outputs == 1 else (hessian + hessian.mT) / 2


def _lifted(hessian: Tensor, slope: Tensor, output: Tensor) -> Tensor:
    """The Hessian with flat samples raised to a share of the mean; where all is flat, slope over size stands in."""
    outputs = hessian.shape[-1]
    trace = hessian.diagonal(dim1=-2, dim2=-1).sum(-1)  # (*runs, samples)
    mean = trace.clamp(min=0).mean(-1, keepdim=True)
    least = FLAT * mean
    if not bool((mean > 0).all()):
        size = output.square().mean((-2, -1)).sqrt() + torch.finfo(output.dtype).tiny
        stand_in = (slope.square().mean((-2, -1)).sqrt() / size).unsqueeze(-1) * outputs
        least = torch.where(mean > 0, least, stand_in)
    hessian.diagonal(dim1=-2, dim2=-1).add_(((least - trace) / outputs).clamp_(min=0).unsqueeze(-1))
    return hessian


def _root(hessian: Tensor) -> Tensor:
    """R with R R' = H, negative curvature counted as none."""
    if hessian.shape[-1] == 1:
        return hessian.clamp(min=0).sqrt()
    values, vectors = torch.linalg.eigh(hessian.nan_to_num())
    root: Tensor = vectors * values.clamp(min=0).sqrt().unsqueeze(-2)
    return root
