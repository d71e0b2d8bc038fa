"""Optimisers as data, with their update as a pure function of one parameter.

(value, slots, gradient, rate, clock) to (value, slots): nothing in place, so that the benchmark's engines can trace it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
import torch
from torch import Tensor

from nalm.core.arguments import Index, NotNegative, check_fields

Slots = dict[str, Tensor]


@dataclass(frozen=True)
class Optimiser:
    """Base class. A new optimiser is a frozen dataclass with `rate`, its `slots` and `update`.

    Attributes:
        slots: names of what it remembers of each parameter, each a tensor of the parameter's shape.
    """

    rate: NotNegative = 1e-3
    slots: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        check_fields(self)

    def at_rate(self, rate: float) -> Self:
        """The same with another learning rate."""
        return replace(self, rate=rate)

    def start(self, value: np.ndarray) -> dict[str, np.ndarray]:
        """The slots before the first step; zeros unless a subclass says otherwise."""
        return {slot: np.zeros_like(value) for slot in self.slots}

    def clock(self, steps: np.ndarray) -> dict[str, np.ndarray]:
        """Numbers that depend on the step alone, computed in float64."""
        return {}

    def update(
        self, value: Tensor, slots: Slots, gradient: Tensor, rate: Tensor, now: Mapping[str, Tensor]
    ) -> tuple[Tensor, Slots]:
        """One step. `rate` broadcasts against the parameter, `now` holds this step's `clock`."""
        raise NotImplementedError(f"{type(self).__name__} does not say how it makes a step.")

    def shown(self, value: np.ndarray, slots: Mapping[str, np.ndarray]) -> np.ndarray:
        """The parameter that is evaluated and kept, where it is not the one that is trained (an average, say)."""
        return value

    def in_torch(self, parameters: Iterable[torch.nn.Parameter]) -> torch.optim.Optimizer:
        """The same as PyTorch's own optimiser, for the plain loop that engines are measured against."""
        raise NotImplementedError(f"PyTorch has no {type(self).__name__}.")


@dataclass(frozen=True)
class SGD(Optimiser):
    """Plain gradient descent, no momentum.

    >>> from nalm import Recipe
    >>> Recipe(SGD(0.1)).rate
    0.1
    """

    def update(
        self, value: Tensor, slots: Slots, gradient: Tensor, rate: Tensor, now: Mapping[str, Tensor]
    ) -> tuple[Tensor, Slots]:
        return value - rate * gradient, {}

    def in_torch(self, parameters: Iterable[torch.nn.Parameter]) -> torch.optim.Optimizer:
        return torch.optim.SGD(parameters, lr=self.rate)


@dataclass(frozen=True)
class Adam(Optimiser):
    """Adam with the usual betas (0.9, 0.999) and epsilon 1e-8.

    >>> from nalm import Recipe
    >>> Recipe(Adam(0.01), steps=5_000).optimiser
    Adam(rate=0.01)
    """

    slots: ClassVar[tuple[str, ...]] = ("mean", "square")
    betas: ClassVar[tuple[float, float]] = (0.9, 0.999)
    epsilon: ClassVar[float] = 1e-8

    def clock(self, steps: np.ndarray) -> dict[str, np.ndarray]:
        """Bias corrections."""
        first, second = self.betas
        return {"bias1": 1 / (1 - first ** (steps + 1)), "bias2": (1 - second ** (steps + 1)) ** -0.5}

    def update(
        self, value: Tensor, slots: Slots, gradient: Tensor, rate: Tensor, now: Mapping[str, Tensor]
    ) -> tuple[Tensor, Slots]:
        first, second = self.betas
        mean = slots["mean"] + (1 - first) * (gradient - slots["mean"])
        square = second * slots["square"] + (1 - second) * gradient.square()
        size = square.sqrt() * now["bias2"] + self.epsilon
        return value - rate * now["bias1"] * mean / size, {"mean": mean, "square": square}

    def in_torch(self, parameters: Iterable[torch.nn.Parameter]) -> torch.optim.Optimizer:
        return torch.optim.Adam(parameters, lr=self.rate)


@dataclass(frozen=True)
class RMSprop(Optimiser):
    """The gradient divided by its running size (Tieleman and Hinton 2012), in PyTorch's form and with its defaults."""

    decay: NotNegative = 0.99
    slots: ClassVar[tuple[str, ...]] = ("square",)
    epsilon: ClassVar[float] = 1e-8

    def update(
        self, value: Tensor, slots: Slots, gradient: Tensor, rate: Tensor, now: Mapping[str, Tensor]
    ) -> tuple[Tensor, Slots]:
        square = self.decay * slots["square"] + (1 - self.decay) * gradient.square()
        return value - rate * gradient / (square.sqrt() + self.epsilon), {"square": square}

    def in_torch(self, parameters: Iterable[torch.nn.Parameter]) -> torch.optim.Optimizer:
        return torch.optim.RMSprop(parameters, lr=self.rate, alpha=self.decay)


@dataclass(frozen=True)
class ScheduleFree(Optimiser):
    """Schedule-free AdamW (Defazio et al., "The Road Less Scheduled", 2024): the gradient is taken at y, between a fast
    sequence z and its average x; x is what is evaluated and kept.

    Args:
        betas: how far y lies from z towards x, and the memory of squared gradients.
        decay: decoupled weight decay, at y.
        warmup: steps over which the rate rises to its full size; the average weighs each z by the squared rate.
    """

    betas: tuple[float, float] = (0.9, 0.999)
    decay: NotNegative = 0.0
    warmup: Index = 0
    slots: ClassVar[tuple[str, ...]] = ("z", "x", "square")
    epsilon: ClassVar[float] = 1e-8

    def start(self, value: np.ndarray) -> dict[str, np.ndarray]:
        return {"z": value.copy(), "x": value.copy(), "square": np.zeros_like(value)}

    def clock(self, steps: np.ndarray) -> dict[str, np.ndarray]:
        """Warm-up, bias correction, and the share of the newest z in the average."""
        count = steps + 1.0
        rising = np.minimum(count, self.warmup)
        length = max(self.warmup, 1)
        warm = np.minimum(count / length, 1.0)
        # the sum of squares of 1/length, 2/length, ... up to 1, and then of ones
        total = rising * (rising + 1) * (2 * rising + 1) / (6 * length**2) + np.maximum(count - self.warmup, 0)
        return {"warm": warm, "bias2": (1 - self.betas[1] ** count) ** -0.5, "share": warm**2 / total}

    def update(
        self, value: Tensor, slots: Slots, gradient: Tensor, rate: Tensor, now: Mapping[str, Tensor]
    ) -> tuple[Tensor, Slots]:
        first, second = self.betas
        square = second * slots["square"] + (1 - second) * gradient.square()
        size = square.sqrt() * now["bias2"] + self.epsilon
        z = slots["z"] - rate * now["warm"] * (gradient / size + self.decay * value)
        x = slots["x"] + now["share"] * (z - slots["x"])
        return first * x + (1 - first) * z, {"z": z, "x": x, "square": square}

    def shown(self, value: np.ndarray, slots: Mapping[str, np.ndarray]) -> np.ndarray:
        return slots["x"]
