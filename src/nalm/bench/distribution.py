"""Where inputs come from. A distribution is its inverse CDF: all ranges of one seed share the same uniforms.

`quantile` is plain torch on tensors, so every engine can run it; what differs between two distributions of one kind are
numbers, so that all nine ranges train in one program.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import ClassVar

import torch
from torch import Tensor

from nalm.core.uniforms import normal_quantile


@dataclass(frozen=True)
class Distribution:
    """Base class. `str(distribution)` is the label used in tables and on the command line."""

    @abstractmethod
    def numbers(self, features: int) -> Tensor:
        """What `quantile` needs, float64 of shape `(numbers, features or 1, 1)`."""

    @staticmethod
    @abstractmethod
    def quantile(u: Tensor, numbers: Tensor) -> Tensor:
        """Inputs from uniforms, `(*runs, features, samples)`; `numbers` are `(*runs, numbers, features or 1, 1)`."""

    def moment(self, power: float, features: int = 2) -> float:
        """E |x|^power, by the midpoint rule over the quantile function."""
        u = (torch.arange(1 << 16, dtype=torch.float64) + 0.5) / (1 << 16)
        x = self.quantile(u.expand(features, -1), self.numbers(features))
        return float(x.abs().pow(power).mean())


@dataclass(frozen=True)
class Uniform(Distribution):
    """U[low, high).

    >>> print(Uniform(1, 2))
    U[1,2)
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        if not self.low < self.high:
            raise ValueError(f"Uniform({self.low}, {self.high}) is empty; it needs low < high.")

    def numbers(self, features: int) -> Tensor:
        return torch.tensor([self.low, self.high - self.low], dtype=torch.float64).reshape(2, 1, 1)

    @staticmethod
    def quantile(u: Tensor, numbers: Tensor) -> Tensor:
        return numbers[..., 0, :, :] + numbers[..., 1, :, :] * u

    def __str__(self) -> str:
        return f"U[{self.low:g},{self.high:g})"


@dataclass(frozen=True)
class Union(Distribution):
    """Each element from one of two ranges, with equal chance."""

    first: Uniform
    second: Uniform

    def numbers(self, features: int) -> Tensor:
        return torch.cat([self.first.numbers(features), self.second.numbers(features)])

    @staticmethod
    def quantile(u: Tensor, numbers: Tensor) -> Tensor:
        low, width, low2, width2 = (numbers[..., k, :, :] for k in range(4))
        return torch.where(u < 0.5, low + width * (2 * u), low2 + width2 * (2 * u - 1))

    def __str__(self) -> str:
        return f"{self.first}∪{self.second}"


@dataclass(frozen=True)
class Halves(Distribution):
    """The first half of the columns from one range, the rest from another: the published mixed-sign sets."""

    first: Uniform
    second: Uniform

    def numbers(self, features: int) -> Tensor:
        parts = [self.first] * (features // 2) + [self.second] * (features - features // 2)
        return torch.cat([part.numbers(features) for part in parts], 1)

    quantile = staticmethod(Uniform.quantile)

    def __str__(self) -> str:
        return f"{self.first}|{self.second}"


@dataclass(frozen=True)
class Alternating(Distribution):
    """Columns alternate between two ranges, so that neighbours always differ: mixed signs at any position."""

    first: Uniform
    second: Uniform

    def numbers(self, features: int) -> Tensor:
        parts = [(self.first, self.second)[i % 2] for i in range(features)]
        return torch.cat([part.numbers(features) for part in parts], 1)

    quantile = staticmethod(Uniform.quantile)

    def __str__(self) -> str:
        return f"{self.first}~{self.second}"


def _normal_cdf(z: float) -> float:
    return 0.5 * math.erfc(-z / math.sqrt(2))


@dataclass(frozen=True)
class TruncatedNormal(Distribution):
    """N(mean, deviation^2) restricted to [low, high)."""

    mean: float
    deviation: float
    low: float
    high: float

    def numbers(self, features: int) -> Tensor:
        start, end = (_normal_cdf((edge - self.mean) / self.deviation) for edge in (self.low, self.high))
        return torch.tensor([self.mean, self.deviation, start, end - start], dtype=torch.float64).reshape(4, 1, 1)

    @staticmethod
    def quantile(u: Tensor, numbers: Tensor) -> Tensor:
        mean, deviation, start, width = (numbers[..., k, :, :] for k in range(4))
        return mean + deviation * normal_quantile(start + width * u)

    def __str__(self) -> str:
        return f"TN({self.mean:g},{self.deviation:g})[{self.low:g},{self.high:g})"


@dataclass(frozen=True)
class Benford(Distribution):
    """Whole numbers with Benford's first digit and a uniform tail of `digits` digits whose own first digit is not 0:
    two digits give 11..99 without multiples of ten, three give 110..999 with a second digit of 1 to 9."""

    digits: int

    _CHANCES: ClassVar[tuple[float, ...]] = (0.301, 0.176, 0.125, 0.097, 0.079, 0.067, 0.058, 0.051, 0.046)

    def numbers(self, features: int) -> Tensor:
        scale = 10.0 ** (self.digits - 1)
        return torch.tensor([scale, scale / 10, 0.9 * scale], dtype=torch.float64).reshape(3, 1, 1)

    @classmethod
    def _starts(cls) -> list[float]:
        return [0.0, *accumulate(cls._CHANCES)]

    @staticmethod
    def quantile(u: Tensor, numbers: Tensor) -> Tensor:
        scale, tail, count = (numbers[..., k, :, :] for k in range(3))
        digit = torch.ones_like(u)
        within = u / Benford._CHANCES[0]
        for d, (start, end) in enumerate(pairwise(Benford._starts()), 1):
            if d > 1:
                here = u >= start
                digit = torch.where(here, float(d), digit)
                within = torch.where(here, (u - start) / (end - start), within)
        return digit * scale + torch.floor(tail + within.clamp(max=1 - 2.0**-20) * count)

    def __str__(self) -> str:
        return f"Benford[{10 ** (self.digits - 1)},{10**self.digits})"
