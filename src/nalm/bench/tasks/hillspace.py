"""The data of "Hill Space is All You Need" (DuJardin 2025): its distributions, its operations, its divisors."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from nalm.bench.distribution import Distribution
from nalm.bench.tasks.named import NamedTask
from nalm.core.scalar import Scalar, cos, sin

LARGEST_RATIO = 1e3  # of two numbers that are divided, in the published code
FAILED = 1e-2  # the mean squared error above which the paper calls a cell failed
# Weights off by 1e-5 each, the field's bound, make a relative squared error of about 1e-10 for each of two inputs.
RIGHT = 4e-10


@dataclass(frozen=True)
class Exponential(Distribution):
    """One exponential distribution for each of two columns, by its rate."""

    first: float
    second: float

    def numbers(self, features: int) -> Tensor:
        return torch.tensor([[self.first, self.second][:features]], dtype=torch.float64).unsqueeze(-1)

    @staticmethod
    def quantile(u: Tensor, numbers: Tensor) -> Tensor:
        return -torch.log(1 - u) / numbers[..., 0, :, :]

    def __str__(self) -> str:
        return f"E({self.first:g},{self.second:g})"


KNOTS = 64


@dataclass(frozen=True)
class NormalTail(Distribution):
    """The standard normal distribution between two points of its upper tail, piecewise linear over 64 quantiles.

    So far out float32 cannot hold a probability (beyond 8 lie 6e-16 of the whole), so the quantiles are tabulated.
    """

    low: float
    high: float

    def numbers(self, features: int) -> Tensor:
        from scipy.special import ndtr, ndtri

        share = torch.linspace(0, 1, KNOTS + 1, dtype=torch.float64).numpy()
        beyond = ndtr(-self.low) + share * (ndtr(-self.high) - ndtr(-self.low))
        return torch.from_numpy(-ndtri(beyond)).reshape(KNOTS + 1, 1, 1)

    @staticmethod
    def quantile(u: Tensor, numbers: Tensor) -> Tensor:
        x = numbers[..., 0, :, :]
        for k in range(KNOTS):
            rise = numbers[..., k + 1, :, :] - numbers[..., k, :, :]
            x = x + rise * (KNOTS * u - k).clamp(0, 1)
        return x

    def __str__(self) -> str:
        return f"N[{self.low:g},{self.high:g}]"


@dataclass(frozen=True)
class Operation:
    """What is computed of one or two numbers, on tensors and on scalars."""

    inputs: int
    tensor: Callable[..., Tensor]
    scalar: Callable[..., Scalar]


def _both(inputs: int, function: Callable[..., Scalar]) -> Operation:
    return Operation(inputs, function, function)


OPERATIONS: dict[str, Operation] = {
    "a+b": _both(2, lambda a, b: a + b),
    "a-b": _both(2, lambda a, b: a - b),
    "a*b": _both(2, lambda a, b: a * b),
    "a/b": _both(2, lambda a, b: a / b),
    "-a": _both(2, lambda a, _: -a),
    "a": _both(2, lambda a, _: a),
    "1/a": _both(2, lambda a, _: 1 / a),
    "cos t": Operation(1, torch.cos, cos),
    "sin t": Operation(1, torch.sin, sin),
    "cos(t+u)": Operation(2, lambda t, u: torch.cos(t + u), lambda t, u: cos(t + u)),
    "sin(t+u)": Operation(2, lambda t, u: torch.sin(t + u), lambda t, u: sin(t + u)),
    "cos(t-u)": Operation(2, lambda t, u: torch.cos(t - u), lambda t, u: cos(t - u)),
    "sin(t-u)": Operation(2, lambda t, u: torch.sin(t - u), lambda t, u: sin(t - u)),
}


@dataclass(frozen=True)
class HillSpace(NamedTask):
    """One operation; of those on one number, the second input is redundant, as in the published code.

    The published code moves one of two numbers whose quotient is beyond 1000 or below 1/1000, so that the quotient is
    anything between these and 1. So does this task, for division and reciprocals.
    """

    names: ClassVar[Collection[str]] = OPERATIONS
    name: str = "a/b"

    @property
    def in_features(self) -> int:
        return OPERATIONS[self.name].inputs

    @property
    def _divides(self) -> bool:
        return "/" in self.name

    @property
    def draws(self) -> int:
        """Two more for division: which number is moved, and where the quotient lands."""
        return self.in_features + 2 * self._divides

    def sample(self, u: Tensor, numbers: Tensor, selection: Tensor, part: Distribution) -> tuple[Tensor, Tensor]:
        x = part.quantile(u[..., : self.in_features, :], numbers)
        if self._divides:
            x = moderate(x, u[..., 2:3, :], u[..., 3:, :], "1/a" in self.name)
        return x, self.target(x, selection)

    def target(self, x: Tensor, selection: Tensor) -> Tensor:
        columns = [x[..., i : i + 1, :] for i in range(self.in_features)]
        return OPERATIONS[self.name].tensor(*columns)

    def formula(self, x: Sequence[Scalar], seed: int) -> list[Scalar]:
        return [OPERATIONS[self.name].scalar(*x)]

    def error(self, y: Tensor, t: Tensor) -> Tensor:
        """Squared error relative to the mean square of the target: the test range may hold numbers of 1e8."""
        return (y - t).square().mean((-2, -1)) / t.square().mean((-2, -1))

    def measures(self, y: Tensor, t: Tensor) -> dict[str, Tensor]:
        """The mean squared error, which the paper's tables hold."""
        return {"mse": (y - t).square().mean((-2, -1))}

    def threshold(self) -> float:
        return RIGHT


def moderate(x: Tensor, which: Tensor, where: Tensor, reciprocal: bool) -> Tensor:
    """Two numbers `(*runs, 2, samples)` whose quotient is at most a thousand and at least a thousandth."""
    a, b = x[..., :1, :], x[..., 1:, :]
    if reciprocal:  # of the first number: it may not be tiny
        smallest = torch.where(a < 0, -1.0, 1.0) / LARGEST_RATIO
        return torch.cat([torch.where(a.abs() < 1 / LARGEST_RATIO, smallest, a), b], -2)
    large, small = a.abs() > LARGEST_RATIO * b.abs(), a.abs() * LARGEST_RATIO < b.abs()
    ratio = torch.where(large, 1 + (LARGEST_RATIO - 1) * where, 1 / LARGEST_RATIO + (1 - 1 / LARGEST_RATIO) * where)
    moved_a = torch.where(a < 0, -1.0, 1.0) * b.abs() * ratio
    moved_b = torch.where(b < 0, -1.0, 1.0) * a.abs() / ratio
    move, first = large | small, ((which < 0.5) & (b != 0)) | (a == 0)  # only a zero itself can be moved
    return torch.cat([torch.where(move & first, moved_a, a), torch.where(move & ~first, moved_b, b)], -2)
