"""The data step: each output's numbers move towards the regression of its implied target on its features."""

from __future__ import annotations

import torch
from torch import Tensor

from nalm.core.form import Form, Sum
from nalm.training.rule.evidence import Evidence

CLIP = 20.0  # largest believed error of a logarithm


def solve(moment: Tensor, right: Tensor, damping: float | Tensor) -> Tensor:
    """(moment + damping) ^ -1 right, for symmetric moments; zero where there is nothing to divide by.

    `damping` is relative to the mean eigenvalue, one number or one per run.
    """
    size = moment.shape[-1]
    mean = moment.diagonal(dim1=-2, dim2=-1).mean(-1)[..., None, None]
    eye = torch.eye(size, dtype=moment.dtype, device=moment.device)
    ridge = torch.as_tensor(damping, dtype=moment.dtype, device=moment.device)[..., None, None] * eye
    scaled = torch.where(mean > 0, moment / mean, eye) + ridge
    solution, info = torch.linalg.solve_ex(scaled.nan_to_num(), (right / mean).nan_to_num())
    return torch.where((info == 0)[..., None, None] & solution.isfinite() & (mean > 0), solution, 0.0)


def safe_share(step: Tensor, slope: Tensor, batch: Tensor) -> Tensor:
    """The share of a step that is best for the batch itself, at most 1.

    Running moments may be far from those of the batch (small batches, drifting inputs). With the best share the
    distance to a solution all batches agree on never grows, whatever the moments are: steepest descent in their metric.
    """
    bend = (step * (batch @ step.unsqueeze(-1)).squeeze(-1)).sum(-1)
    return torch.where(bend > 0, (step * slope).sum(-1) / bend, 1.0).clamp(0.0, 1.0)


def information(form: Form, evidence: Evidence) -> Tensor:
    """How much each sample knows about each output, `(*runs, out, samples)`, 1 on average or less.

    For sums it is the curvature. A logarithm is believed less where the loss hardly sees the output, and where the
    output is small against the typical error, because there the target's logarithm is mostly noise. The output decides,
    not the target: weights that depend on the noise itself would let large errors pass for large targets.
    """
    h = evidence.curvature
    mean = h.mean(-1, keepdim=True)
    if isinstance(form, Sum):
        return torch.where(mean > 0, h / mean, 0.0)
    seen = h / (h + mean)
    noise = (evidence.implied - evidence.y).abs().median(-1, keepdim=True).values
    square = evidence.y.square()
    return torch.where(h > 0, 2 * seen * square / (square + noise.square()), 0.0).nan_to_num()
