"""Choices that are hard in the forward pass and soft in the backward pass (Bengio et al. 2013, Jang et al. 2017)."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from nalm.core.weight import LOGISTIC, SOFTMAX

TEMPERATURE = 10.0  # of the choice between modules, in the thesis' algorithm 1
SMALLEST_UNIFORM = 2.0**-25  # uniforms are multiples of 2**-24 including 0: half a step keeps both logarithms finite


def straight_through(hard: Tensor, soft: Tensor) -> Tensor:
    """The value of `hard` with the gradient of `soft`."""
    return hard.detach() + (soft - soft.detach())


def first_largest(x: Tensor) -> Tensor:
    """One-hot along the last axis: 1 at the first largest element.

    >>> first_largest(torch.tensor([1.0, 3.0, 3.0])).tolist()
    [0.0, 1.0, 0.0]
    """
    largest = (x >= x.amax(-1, keepdim=True)).to(x.dtype)
    return largest * (largest.cumsum(-1) < 1.5).to(x.dtype)


def hard_softmax(logits: Tensor, temperature: float = 1.0) -> Tensor:
    """Straight-through softmax: the most likely class in the forward pass, softmax(logits / temperature) behind it."""
    return straight_through(first_largest(logits), torch.softmax(logits / temperature, -1))


def hard_gumbel_softmax(logits: Tensor, uniform: Tensor, temperature: float) -> Tensor:
    """Straight-through Gumbel softmax: a class drawn with probabilities softmax(logits), from uniforms."""
    gumbel = -torch.log(-torch.log(uniform.clamp(min=SMALLEST_UNIFORM)))
    return hard_softmax(logits + gumbel, temperature)


def hard_sigmoid(logit: Tensor) -> Tensor:
    """Straight-through gate: 1 where sigmoid(logit) > 1/2, else 0."""
    return straight_through((logit > 0).to(logit.dtype), torch.sigmoid(logit))


def _module(raw: Tensor) -> Tensor:
    return hard_softmax(raw, TEMPERATURE)


HARD_SOFTMAX = replace(SOFTMAX, value=hard_softmax)
HARD_MODULE = replace(SOFTMAX, value=_module)
HARD_GATE = replace(LOGISTIC, value=hard_sigmoid)
