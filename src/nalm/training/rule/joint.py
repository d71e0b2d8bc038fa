"""Units that share an output: their steps are proposed together, scaled together and snapped together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from nalm.core.form import Sum
from nalm.training.rule.evidence import Evidence
from nalm.training.rule.regression import solve
from nalm.training.rule.track import Track

OUTPUT_DAMPING = 1e-7  # of the curvature between outputs: on narrow ranges rows differ by little, but they do
CAUTION = 0.1  # damping of the features' moments while nothing is explained yet
BLOCK_DAMPING = 1e-3  # of the exponents' joint curvature, which changes with every step


@dataclass(frozen=True)
class Proposal:
    """A step of one unit, and what it would do.

    Attributes:
        change: of the numbers `(*runs, out, in)`.
        slope: the decrease of the loss it promises `(*runs,)`.
        effect: on the network's output, times the square root of the loss's curvature `(probes, *runs, samples)`.
    """

    change: Tensor
    slope: Tensor
    effect: Tensor


def propose(track: Track, evidence: Evidence, ok: Tensor, samples: int, unexplained: Tensor) -> Proposal:
    """A Gauss-Newton step of a unit in the coordinate of its output.

    Args:
        samples: of the network, to add up the effects of several uses.
        unexplained: share of the output that is still wrong `(*runs,)`; directions in which inputs hardly vary wait
            until it is small (Levenberg's and Marquardt's damping).
    """
    f = track.form.features(evidence.x)
    memory = track.older(f.shape[-1], f.shape[-2], ok)
    if isinstance(track.form, Sum):
        change = _factored(track, evidence, f, memory, ok, unexplained)
        moved = change @ f
    else:
        slopes = track.form.slopes(track.numbers, evidence.x)
        change = _block(track, evidence, slopes, memory, ok)
        moved = (change.unsqueeze(-1) * slopes).sum(-2)
    effect = (evidence.probe * moved).sum(-2)
    if effect.shape[-1] == samples * evidence.uses:  # what the uses of one unit do to a sample adds up
        effect = effect.reshape(*effect.shape[:-1], evidence.uses, samples).sum(-2)
    return Proposal(change, -(evidence.delta * moved).sum((-2, -1)), effect)


def _factored(track: Track, evidence: Evidence, f: Tensor, memory: float, ok: Tensor, unexplained: Tensor) -> Tensor:
    """Curvature as a product of what the outputs and what the inputs know: (E v v')^-1 gradient (E f f')^-1."""
    moment = track.running("features", f @ f.mT / f.shape[-1], memory, ok)
    between = torch.einsum("p...on,p...qn->...oq", evidence.probe, evidence.probe)
    between = track.running("outputs", between, memory, ok)
    gradient = -evidence.delta @ f.mT  # (*runs, out, in)
    left = solve(between, gradient, OUTPUT_DAMPING)
    return solve(moment, left.mT, track.settings.damping + CAUTION * unexplained).mT


def _block(track: Track, evidence: Evidence, slopes: Tensor, memory: float, ok: Tensor) -> Tensor:
    """The whole curvature of all exponents of a unit together."""
    reach = evidence.probe.unsqueeze(-2) * slopes  # (probes, *runs, out, in, samples)
    flat = reach.flatten(-3, -2)
    moment = track.running("exponents", torch.einsum("p...in,p...jn->...ij", flat, flat), memory, ok)
    gradient = -(evidence.delta.unsqueeze(-2) * slopes).sum(-1)
    # each exponent in its own scale: the terms of a sum may differ in size by orders of magnitude
    size = moment.diagonal(dim1=-2, dim2=-1).clamp(min=1e-300).rsqrt()
    scaled = size.unsqueeze(-1) * moment * size.unsqueeze(-2)
    step = size * solve(scaled, (size * gradient.flatten(-2)).unsqueeze(-1), BLOCK_DAMPING).squeeze(-1)
    return step.reshape(gradient.shape)


def joint_share(proposals: Sequence[Proposal], size: Tensor, pace: float, trust: float) -> Tensor:
    """The share of all steps together that is taken, of shape `runs`.

    Twice the share that is best for the batch would leave its loss as it is: that is the upper limit, beside `pace` and
    a change of the output by `trust` of its `size`.
    """
    slope = torch.stack([p.slope for p in proposals]).sum(0)
    if len({p.effect.shape for p in proposals}) == 1:
        effects = [torch.stack([p.effect for p in proposals]).sum(0)]
    else:  # samples cannot be matched: assume that all effects add up
        effects = [len(proposals) ** 0.5 * p.effect for p in proposals]
    bend = torch.stack([e.square().sum(-1).sum(0) for e in effects]).sum(0)
    change = torch.stack([e.square().sum(0).mean(-1) for e in effects]).sum(0).sqrt()
    best = torch.where(bend > 0, slope / bend, 0.0).clamp(min=0.0)
    near = torch.where(change > 0, trust * size / change, 1.0).clamp(max=1.0)
    return (2 * best).clamp(max=pace) * near
