"""First lessons: the identity, sums and differences of several numbers, functions of two."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

import torch
from torch import Tensor

from nalm.bench.distribution import Distribution
from nalm.bench.task import kind
from nalm.bench.tasks.answers import AnsweredTask
from nalm.bench.tasks.named import WideTask
from nalm.core.scalar import Scalar, product

TOLERANCE = 0.01  # ours, no source states one: an answer is right within one percent of the target, or 0.01 near zero
WINDOW = 1.0  # how near to a point inputs must be to count for the error there


def share_off(y: Tensor, t: Tensor) -> Tensor:
    """Per run, the share of answers that are not right."""
    allowed = TOLERANCE * t.abs().clamp(min=1.0)
    return ((y - t).abs() > allowed).to(t.dtype).mean((-2, -1))


@dataclass(frozen=True)
class Identity(AnsweredTask):
    """y = x, the first thing a perceptron cannot do beyond what it has seen."""

    @property
    def in_features(self) -> int:
        return 1

    @property
    def operation(self) -> str:
        return "identity"

    @property
    def structure(self) -> tuple[object, ...]:
        return (type(self).__name__, *kind(self))

    def target(self, x: Tensor, selection: Tensor) -> Tensor:
        return x

    def formula(self, x: Sequence[Scalar], seed: int) -> list[Scalar]:
        return list(x)

    def wrong(self, y: Tensor, t: Tensor) -> Tensor:
        return share_off(y, t)

    def measures(self, y: Tensor, t: Tensor) -> dict[str, Tensor]:
        """Mean absolute errors near 0, 5, 10, 15 and 20 on either side."""
        return {f"error_at_{at}": _mean_near(y, t, float(at)) for at in (0, 5, 10, 15, 20)}


def _mean_near(y: Tensor, t: Tensor, at: float) -> Tensor:
    near = ((t.abs() - at).abs() <= WINDOW).to(t.dtype)
    return ((y - t).abs() * near).sum((-2, -1)) / near.sum((-2, -1)).clamp(min=1.0)


Name = Literal["sum", "alternating", "signed", "product", "quotient", "root", "square", "first root", "first square"]
OPERANDS: tuple[Name, ...] = get_args(Name)
SIGNS = (1, 1, -1, 1, -1, 1, -1, -1)  # of the report's sum of eight terms


@dataclass(frozen=True)
class Operands(AnsweredTask, WideTask):
    """An operation on all inputs: a + b + c, a - b + c, a + b - c + d - e + f - g - h (signed), a b c, a / b / c, the
    root or square of their sum, or the root or square of the first alone."""

    names: ClassVar[Collection[str]] = OPERANDS
    name: Name = "sum"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.name == "signed" and self.inputs > len(SIGNS):
            raise ValueError(f"The signed sum has at most {len(SIGNS)} terms, not {self.inputs}.")

    def target(self, x: Tensor, selection: Tensor) -> Tensor:
        columns = [x[..., i : i + 1, :] for i in range(self.inputs)]
        result: Tensor = torch.as_tensor(_operation(self.name, columns))
        return result

    def formula(self, x: Sequence[Scalar], seed: int) -> list[Scalar]:
        return [_operation(self.name, x)]

    def wrong(self, y: Tensor, t: Tensor) -> Tensor:
        return share_off(y, t)

    def measures(self, y: Tensor, t: Tensor) -> dict[str, Tensor]:
        """The mean absolute error, which the function-learning table normalises, and the share of right answers."""
        return {"mae": (y - t).abs().mean((-2, -1)), "right": 1 - share_off(y, t)}


def _operation(name: Name, x: Sequence[Scalar]) -> Scalar:
    match name:
        case "sum":
            return sum(x[1:], x[0])
        case "alternating":
            return sum((a if i % 2 == 0 else -a for i, a in enumerate(x[1:], 1)), x[0])
        case "signed":
            return sum((sign * a for sign, a in zip(SIGNS[1:], x[1:], strict=False)), SIGNS[0] * x[0])
        case "product":
            return product(x)
        case "quotient":
            return x[0] / product(x[1:])
        case "root":
            return sum(x[1:], x[0]) ** 0.5
        case "square":
            return sum(x[1:], x[0]) ** 2
        case "first root":
            return x[0] ** 0.5
        case "first square":
            return x[0] ** 2


@dataclass(frozen=True)
class SumsOfFive(Distribution):
    """Each input is the sum of five numbers from U[low, high), by the normal distribution of equal mean and variance.

    The source sums five entries of a fixed vector; what matters is that the inputs crowd around their mean.
    """

    low: float
    high: float

    def numbers(self, features: int) -> Tensor:
        mean, deviation = 2.5 * (self.low + self.high), (5 / 12) ** 0.5 * (self.high - self.low)
        return torch.tensor([mean, deviation], dtype=torch.float64).reshape(2, 1, 1)

    @staticmethod
    def quantile(u: Tensor, numbers: Tensor) -> Tensor:
        from nalm.core.uniforms import normal_quantile

        return numbers[..., 0, :, :] + numbers[..., 1, :, :] * normal_quantile(u.clamp(2.0**-20, 1 - 2.0**-20))

    def __str__(self) -> str:
        return f"5×U[{self.low:g},{self.high:g})"
