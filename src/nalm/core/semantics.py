"""What a recipe's words mean, as pure functions: penalties, waiting, gradient noise, clipping.

The benchmark's engines, `nalm.guide` and the plain loop of `nalm speed` call these, so that a recipe means one thing.
The order within a step: loss + penalty, gradient, noise, clipping, optimiser, projection.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from nalm.core.recipe import Clip, Late, Ramp, Recipe

NOISE_DECAY = 0.55  # of the published gradient noise N(0, eta / (1 + step)^0.55)
NORM_FLOOR = 1e-6  # added to a norm before dividing by it, as in torch.nn.utils.clip_grad_norm_


def penalty(terms: Mapping[str, Tensor], strengths: Mapping[str, float | Tensor], start: Tensor) -> Tensor:
    """`start` plus each of a unit's penalty terms times its strength; a term without a strength is left out."""
    total = start
    for name, strength in strengths.items():
        if name in terms:
            total = total + terms[name] * strength
    return total


def waiting(recipe: Recipe) -> dict[str, Late]:
    """The penalties that wait for a validation error."""
    return {name: schedule for name, schedule in recipe.penalties.items() if isinstance(schedule, Late)}


def strengths(recipe: Recipe, step: int, validation_error: float) -> dict[str, float]:
    """The penalty strengths that are not zero at a step, given the last validation error."""
    asleep = {name for name, late in waiting(recipe).items() if not late.awake(validation_error)}
    now = {name: float(schedule.at(step)) for name, schedule in recipe.penalties.items() if name not in asleep}
    return {name: strength for name, strength in now.items() if strength}


def of_any_strength(recipe: Recipe) -> Recipe:
    """The recipe with every ramp rising to one: what recipes that differ in the heights of their ramps share."""
    penalties = {n: replace(s, to=1.0) if isinstance(s, Ramp) else s for n, s in recipe.penalties.items()}
    return replace(recipe, penalties=penalties)


def ramps_end(recipe: Recipe) -> int:
    """The step from which no ramp rises any more."""
    return max((schedule.end for schedule in recipe.penalties.values() if isinstance(schedule, Ramp)), default=0)


def noise_deviation(recipe: Recipe, steps: NDArray[np.int64]) -> NDArray[np.float64]:
    """Standard deviation of the gradient noise at each of the steps."""
    deviation: NDArray[np.float64] = np.sqrt(recipe.gradient_noise / (1 + steps) ** NOISE_DECAY)
    return deviation


def noisy(
    gradients: Mapping[str, Tensor], deviation: float | Tensor, normal: Mapping[str, Tensor]
) -> dict[str, Tensor]:
    """Gradients plus standard normal numbers times the deviation."""
    return {name: gradient + deviation * normal[name] for name, gradient in gradients.items()}


def clipped(gradients: Mapping[str, Tensor], clip: Clip, runs: int) -> dict[str, Tensor]:
    """The norm over all gradients first, then single values, as in PyTorch's two functions.

    The first `runs` axes of every gradient count runs; each run is clipped by itself.
    """
    result = dict(gradients)
    if clip.norm is not None and result:
        squares = [gradient.square().sum(tuple(range(runs, gradient.dim()))) for gradient in result.values()]
        norm = torch.stack(squares).sum(0).sqrt()
        factor = (clip.norm / (norm + NORM_FLOOR)).clamp(max=1.0)
        result = {name: g * factor.reshape(*factor.shape, *[1] * (g.dim() - runs)) for name, g in result.items()}
    if clip.value is not None:
        result = {name: gradient.clamp(-clip.value, clip.value) for name, gradient in result.items()}
    return result
