"""Truth values and comparisons: what logic units are for. Solved means that every test case is decided right."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from nalm.bench.distribution import Distribution
from nalm.bench.tasks.answers import AnsweredTask
from nalm.bench.tasks.named import WideTask
from nalm.core.scalar import Scalar, symbolic


@dataclass(frozen=True)
class Bits(Distribution):
    """0 or 1, with equal chance."""

    def numbers(self, features: int) -> Tensor:
        return torch.full((1, 1, 1), 0.5, dtype=torch.float64)

    @staticmethod
    def quantile(u: Tensor, numbers: Tensor) -> Tensor:
        return (u < numbers[..., 0, :, :]).to(u.dtype)

    def __str__(self) -> str:
        return "{0,1}"


@dataclass(frozen=True)
class Lattice(Distribution):
    """Multiples of `step` from low to high, both included, equally likely.

    >>> print(Lattice(-9, 9))
    {-9..9}
    """

    low: float
    high: float
    step: float = 1.0

    def numbers(self, features: int) -> Tensor:
        count = round((self.high - self.low) / self.step) + 1
        return torch.tensor([self.low, self.step, count], dtype=torch.float64).reshape(3, 1, 1)

    @staticmethod
    def quantile(u: Tensor, numbers: Tensor) -> Tensor:
        low, step, count = (numbers[..., k, :, :] for k in range(3))
        return low + step * torch.minimum(torch.floor(count * u), count - 1)

    def __str__(self) -> str:
        by = "" if self.step == 1 else f" by {self.step:g}"
        return f"{{{self.low:g}..{self.high:g}{by}}}"


# Of zeros and ones, as polynomials: exact on numbers, and readable with symbols.
FUNCTIONS: dict[str, Callable[..., Scalar]] = {
    "and": lambda a, b: a * b,
    "or": lambda a, b: a + b - a * b,
    "not": lambda a, _: 1 - a,
    "xor": lambda a, b: a + b - 2 * a * b,
    "implies": lambda a, b: 1 - a + a * b,
    "equal": lambda a, b: 1 - a - b + 2 * a * b,
}
LINES = 40  # test cases per line of the truth table


def share_wrong(y: Tensor, t: Tensor) -> Tensor:
    """Per run, the share of outputs on the wrong side of one half."""
    return ((y > 0.5).to(t.dtype) - t).abs().mean((-2, -1))


@dataclass(frozen=True)
class Boolean(AnsweredTask, WideTask):
    """A truth function of the first two of `inputs` truth values; the others are redundant.

    The test cases hold every line of the truth table: 40 times as many as lines, so that one is missing with a chance
    of exp(-40) per line.

    >>> Boolean(name="xor").formula([1, 0], 0)
    [1]
    """

    train: Distribution = Bits()
    test: Distribution = Bits()
    names: ClassVar[Collection[str]] = FUNCTIONS
    what: ClassVar[str] = "truth function"
    name: str = "xor"

    @property
    def samples(self) -> int:
        return int(LINES * 2**self.inputs)

    def target(self, x: Tensor, selection: Tensor) -> Tensor:
        result: Tensor = FUNCTIONS[self.name](x[..., :1, :], x[..., 1:2, :])
        return result

    def formula(self, x: Sequence[Scalar], seed: int) -> list[Scalar]:
        return [FUNCTIONS[self.name](x[0], x[1])]

    def wrong(self, y: Tensor, t: Tensor) -> Tensor:
        return share_wrong(y, t)


RELATIONS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "<": torch.lt,
    ">": torch.gt,
    "=": torch.eq,
    "!=": torch.ne,
    "<=": torch.le,
    ">=": torch.ge,
}
TIES = 0.25  # the share of samples in which both operands are made equal: numbers drawn apart hardly ever are


@dataclass(frozen=True)
class _OfPairs(AnsweredTask, WideTask):
    """The first two inputs are equal in a quarter of the samples."""

    @property
    def draws(self) -> int:
        return self.inputs + 1

    def sample(self, u: Tensor, numbers: Tensor, selection: Tensor, part: Distribution) -> tuple[Tensor, Tensor]:
        x = part.quantile(u[..., : self.inputs, :], numbers)
        tied = torch.where(u[..., self.inputs :, :] < TIES, x[..., :1, :], x[..., 1:2, :])
        x = torch.cat([x[..., :1, :], tied, x[..., 2:, :]], -2)
        return x, self.target(x, selection)


@dataclass(frozen=True)
class Compare(_OfPairs):
    """Whether a relation holds between the first two of `inputs` numbers, and whether it does not."""

    names: ClassVar[Collection[str]] = RELATIONS
    what: ClassVar[str] = "relation"
    name: str = "<"

    @property
    def out_features(self) -> int:
        return 2

    def target(self, x: Tensor, selection: Tensor) -> Tensor:
        holds = RELATIONS[self.name](x[..., :1, :], x[..., 1:2, :]).to(x.dtype)
        return torch.cat([holds, 1 - holds], -2)

    def formula(self, x: Sequence[Scalar], seed: int) -> list[Scalar]:
        holds = bool(RELATIONS[self.name](torch.tensor(x[0]), torch.tensor(x[1])))
        return [int(holds), int(not holds)]

    def wrong(self, y: Tensor, t: Tensor) -> Tensor:
        return share_wrong(y, t)


PIECEWISE = ("difference", "smaller", "larger", "minimum", "count")
HALF = 0.5  # answers are whole numbers: nearer than this, rounding gives the right one


@dataclass(frozen=True)
class Piecewise(_OfPairs):
    """A function with a case distinction: |a - b|, the smaller or larger of two numbers, the minimum of a list, or how
    often the first number occurs among the others. Solved: every test answer is right once rounded."""

    names: ClassVar[Collection[str]] = PIECEWISE
    what: ClassVar[str] = "piecewise function"
    name: str = "difference"

    def target(self, x: Tensor, selection: Tensor) -> Tensor:
        a, b = x[..., :1, :], x[..., 1:2, :]
        match self.name:
            case "difference":
                return (a - b).abs()
            case "larger":
                return torch.maximum(a, b)
            case "count":
                return (x[..., 1:, :] == a).to(x.dtype).sum(-2, keepdim=True)
            case _:
                smallest = a
                for i in range(1, self.inputs):
                    smallest = torch.minimum(smallest, x[..., i : i + 1, :])
                return smallest

    def formula(self, x: Sequence[Scalar], seed: int) -> list[Scalar]:
        if any(symbolic(a) for a in x):
            raise TypeError(f"{self.name} has no formula in symbols.")
        match self.name:
            case "difference":
                return [abs(x[0] - x[1])]
            case "larger":
                return [max(x)]
            case "count":
                return [sum(a == x[0] for a in x[1:])]
            case _:
                return [min(x)]

    def wrong(self, y: Tensor, t: Tensor) -> Tensor:
        return ((y - t).abs() >= HALF).to(t.dtype).mean((-2, -1))
