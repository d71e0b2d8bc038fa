"""Inputs of constant magnitude, such as ±1, tell a product nothing but signs; those are linear equations modulo 2."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from nalm.core.parity import parities
from nalm.training.rule.feedback import Feedback
from nalm.training.rule.ruled import Ruled

SAME = 1e-6  # logarithms of a constant magnitude differ by less
SPARE = 8  # so many equations more than unknowns: a wrong solution survives them once in 256 times


class Signs(NamedTuple):
    """Numbers `(*runs, out, in)`, and the rows whose signs are explained `(*runs, out)`."""

    numbers: Tensor
    explained: Tensor


def by_signs(ruled: Ruled, feedback: Feedback, numbers: Tensor) -> Signs:
    """Set the exponents of inputs of constant magnitude by the signs."""
    explained = torch.ones_like(numbers[..., 0], dtype=torch.bool)
    if not ruled.form.signed:
        return Signs(numbers, explained)
    f = ruled.form.features(feedback.x)
    mute = f.amax(-1) - f.amin(-1) < SAME  # (*runs, in)
    if not bool(mute.any()) or f.shape[-1] < f.shape[-2] + SPARE:
        return Signs(numbers, explained)
    negative = feedback.x < 0
    others = torch.where(mute.unsqueeze(-2), 0.0, ruled.nearest(numbers)).remainder(2) @ negative.to(f)
    wanted = (feedback.implied < 0) ^ (others.remainder(2) > 0.5)
    found = parities(*(signs.mT.cpu().numpy() for signs in (negative & mute.unsqueeze(-1), wanted)))
    taken, explains = (torch.from_numpy(bits).to(f.device) for bits in found)
    concerned = mute.unsqueeze(-2) & explains.unsqueeze(-1)
    return Signs(
        torch.where(concerned, taken.to(f), numbers),
        torch.where(mute.any(-1, keepdim=True), explains, explained),
    )
