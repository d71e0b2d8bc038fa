"""Inputs of constant magnitude, such as ±1, tell a product nothing but signs; those are linear equations modulo 2."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from nalm.training.rule.feedback import Feedback
from nalm.training.rule.ruled import Ruled

SAME = 1e-6  # logarithms of a constant magnitude differ by less
SPARE = 8  # so many equations more than unknowns: a wrong solution survives them once in 256 times


class Parities(NamedTuple):
    """The inputs that take part `(*runs, out, in)`, and whether they explain every sample `(*runs, out)`."""

    taken: Tensor
    explains: Tensor


def parities(negative: Tensor, wanted: Tensor) -> Parities:
    """Which inputs have to be multiplied for the wanted signs, by Gaussian elimination over the field of two elements.

    Args:
        negative: signs of the inputs `(*runs, in, samples)`.
        wanted: signs of the outputs `(*runs, out, samples)`.

    >>> x = torch.tensor([[1.0, -1, 1, -1], [1, 1, -1, -1], [-1, -1, 1, -1]])
    >>> found = parities(x < 0, x[:2].prod(0, keepdim=True) < 0)
    >>> found.taken.tolist(), found.explains.tolist()
    ([[True, True, False]], [True])
    """
    inputs, samples = negative.shape[-2:]
    system = torch.cat([negative, wanted], -2).mT.clone()  # an equation per sample
    spent = torch.zeros_like(system[..., 0])
    taken = []
    for i in range(inputs):
        usable = system[..., i] & ~spent
        found = usable.any(-1, keepdim=True)
        pivot = torch.nn.functional.one_hot(usable.to(torch.uint8).argmax(-1), samples).bool() & found
        equation = (system & pivot.unsqueeze(-1)).any(-2, keepdim=True)
        system = system ^ ((system[..., i : i + 1] & ~pivot.unsqueeze(-1)) & equation)
        spent = spent | pivot
        taken.append(pivot)
    solution = [(system[..., inputs:] & pivot.unsqueeze(-1)).any(-2) for pivot in taken]  # each (*runs, out)
    return Parities(torch.stack(solution, -1), ~(system[..., inputs:] & ~spent.unsqueeze(-1)).any(-2))


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
    found = parities(negative & mute.unsqueeze(-1), wanted)
    concerned = mute.unsqueeze(-2) & found.explains.unsqueeze(-1)
    return Signs(
        torch.where(concerned, found.taken.to(f), numbers),
        torch.where(mute.any(-1, keepdim=True), found.explains, explained),
    )
