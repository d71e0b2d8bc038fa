"""Optimisers as pure functions of one parameter: (value, slots, gradient, rate, clock) to (value, slots)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from torch import Tensor

from nalm.core.recipe import SGD, Adam, Optimiser

BETAS = (0.9, 0.999)
EPSILON = 1e-8
Slots = dict[str, Tensor]


def slot_names(optimiser: Optimiser) -> tuple[str, ...]:
    """What the optimiser remembers of each parameter; everything starts at zero."""
    return ("mean", "square") if isinstance(optimiser, Adam) else ()


def clock(optimiser: Optimiser, steps: np.ndarray) -> dict[str, np.ndarray]:
    """Numbers that depend on the step alone: Adam's bias corrections, computed in float64."""
    if not isinstance(optimiser, Adam):
        return {}
    return {"bias1": 1 / (1 - BETAS[0] ** (steps + 1)), "bias2": (1 - BETAS[1] ** (steps + 1)) ** -0.5}


def update(
    optimiser: Optimiser, value: Tensor, slots: Slots, gradient: Tensor, rate: Tensor, now: Mapping[str, Tensor]
) -> tuple[Tensor, Slots]:
    """One step. `rate` broadcasts against the parameter."""
    if isinstance(optimiser, SGD):
        return value - rate * gradient, {}
    mean = slots["mean"] + (1 - BETAS[0]) * (gradient - slots["mean"])
    square = BETAS[1] * slots["square"] + (1 - BETAS[1]) * gradient.square()
    size = square.sqrt() * now["bias2"] + EPSILON
    return value - rate * now["bias1"] * mean / size, {"mean": mean, "square": square}
