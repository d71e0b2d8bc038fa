"""The Arithmetic Dataset Task (Madsen and Johansen 2020): a first layer must select and add subsets of the inputs, a
second one must multiply (or add, subtract, divide, root, square) the sums."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache, reduce
from math import sqrt
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from nalm.bench.distribution import Distribution
from nalm.bench.task import kind
from nalm.bench.tasks.arithmetic import EPSILON, OPERATIONS, subsets
from nalm.bench.tasks.named import NamedTask
from nalm.core.scalar import Scalar

MANY = ("add", "mul")  # operations that take any number of operands; the others take two


@dataclass(frozen=True)
class _SubsetSums(NamedTask):
    """An operation on sums over subsets of the inputs; a subclass says which subsets."""

    names: ClassVar[Collection[str]] = tuple(name for name in OPERATIONS if name != "inverse")
    name: str = "mul"

    @abstractmethod
    def members(self, seed: int) -> list[range]:
        """The inputs that each operand sums."""

    def selection(self, seed: int) -> Tensor:
        members = self.members(seed)
        chosen = torch.zeros(len(members), self.in_features)
        for row, own in enumerate(members):
            chosen[row, own.start : own.stop] = 1
        return chosen

    def target(self, x: Tensor, selection: Tensor) -> Tensor:
        sums = selection @ x
        operands = [sums[..., k : k + 1, :] for k in range(sums.shape[-2])]
        result: Tensor = apply(self.name, operands)
        return result

    def formula(self, x: Sequence[Scalar], seed: int) -> list[Scalar]:
        return [apply(self.name, [sum(x[i] for i in own) for own in self.members(seed)])]


def apply(name: str, operands: Sequence[Scalar]) -> Scalar:
    """The operation on all operands: sums and products take any number, roots and squares look at the first only."""
    return reduce(OPERATIONS[name], operands)


@dataclass(frozen=True)
class TwoLayer(_SubsetSums):
    """An operation on overlapping sums of neighbouring inputs, by default of two times 25 of 100 inputs.

    Args:
        size: inputs per subset; `overlap` of them are shared with the next subset, and there are `count` subsets.
        published: judge by the published threshold, whose subsets (and overlaps) are one input too long.

    >>> from nalm.bench.tasks.arithmetic import RANGES
    >>> [round(TwoLayer(*RANGES["U[1,2)"], published=p).threshold(), 4) for p in (False, True)]
    [0.1606, 0.16]
    """

    inputs: int = 100
    size: int = 25
    overlap: int = 12
    count: int = 2
    published: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.size < 1 or not 0 <= self.overlap <= self.size or self._used > self.inputs:
            raise ValueError(
                f"{self.inputs} inputs cannot hold {self.count} subsets of {self.size} that share {self.overlap}."
            )
        if self.count < 2 or (self.count > 2 and self.name not in MANY):
            raise ValueError(f"{self.name} of {self.count} subsets is not defined; more than two need {MANY}.")

    @property
    def _used(self) -> int:
        return self.size + (self.count - 1) * (self.size - self.overlap)

    @property
    def in_features(self) -> int:
        return self.inputs

    @property
    def structure(self) -> tuple[object, ...]:
        # runs of one seed and one structure share their subsets
        sizes = (self.inputs, self.size, self.overlap, self.count)
        return (type(self).__name__, self.name, *sizes, *kind(self))

    def members(self, seed: int) -> list[range]:
        return subsets(seed, self.inputs, self.size, self.overlap, self.count)

    def threshold(self) -> float:
        size, step = self.size + self.published, self.size - self.overlap
        members = [range(k * step, k * step + size) for k in range(self.count)]
        return nearly_solved(self.name, _patterns(members, self.inputs), self.test)


@dataclass(frozen=True)
class FourInputs(_SubsetSums):
    """An operation on x1 + x2 + x3 + x4 and x1 + x2: the static function of the paper's first table.

    >>> from nalm.bench.tasks.arithmetic import RANGES
    >>> f"{FourInputs(*RANGES['U[1,2)']).threshold():.3e}"
    '2.157e-06'
    """

    @property
    def in_features(self) -> int:
        return 4

    def members(self, seed: int) -> list[range]:
        return [range(4), range(2)]

    def threshold(self) -> float:
        return nearly_solved(self.name, _patterns(self.members(0), 4), self.test)


Patterns = tuple[tuple[tuple[bool, ...], int], ...]
LARGEST_GRID = 2_000_000
MOST_POINTS = 7


def _patterns(members: Sequence[range], inputs: int) -> Patterns:
    """How many inputs belong to which subsets: all that an error depends on."""
    return tuple(Counter(tuple(i in own for own in members) for i in range(inputs)).items())


@cache
def nearly_solved(name: str, patterns: Patterns, test: Distribution) -> float:
    """Test error when every first-layer weight is off by 1e-5 (relevant ones 1 - 1e-5, the others 1e-5).

    The papers simulate it with a million samples. Inputs of equal membership enter only through their sum, so it is an
    integral over a few independent sums; Gauss's rule for each makes it exact for sums, products and squares of two
    subsets, and exact to many digits for the rest.
    """
    points = min(MOST_POINTS, int(LARGEST_GRID ** (1 / len(patterns))))
    rules = [_gauss_rule(count, points, test) for _, count in patterns]
    nodes = np.stack(np.meshgrid(*(r[0] for r in rules))).reshape(len(rules), -1)
    weights = reduce(np.multiply, np.meshgrid(*(r[1] for r in rules))).reshape(-1)
    everything = nodes.sum(0)
    member = np.asarray([belongs for belongs, _ in patterns], dtype=np.float64).T  # (subsets, patterns)
    sums = member @ nodes
    near = (1 - EPSILON) * sums + EPSILON * (everything - sums)
    errors = apply(name, list(near)) - apply(name, list(sums))
    return float(weights @ np.square(errors))


def _gauss_rule(count: int, points: int, distribution: Distribution) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights that integrate polynomials of a sum of `count` inputs (Golub and Welsch, from its moments)."""
    u = (torch.arange(1 << 12, dtype=torch.float64) + 0.5) / (1 << 12)
    x = distribution.quantile(u[None], distribution.numbers(1)).numpy().reshape(-1)
    mean, deviation = x.mean(), x.std() * sqrt(count)
    factorials = np.cumprod([1.0, *range(1, 2 * points + 1)])
    one = (((x - mean) / deviation)[:, None] ** np.arange(2 * points + 1)).mean(0) / factorials
    # the series of moments over factorials of a sum is the product of its terms' series
    moments = reduce(lambda left, _: np.convolve(left, one)[: 2 * points + 1], range(1, count), one) * factorials
    hankel = np.asarray([[moments[i + j] for j in range(points + 1)] for i in range(points + 1)])
    r = np.linalg.cholesky(hankel).T
    slope = np.diag(r, 1) / np.diag(r)[:-1]  # r[j, j+1] / r[j, j]
    alpha = slope[:points] - np.concatenate([[0.0], slope[: points - 1]])
    beta = np.diag(r)[1:points] / np.diag(r)[: points - 1]
    values, vectors = np.linalg.eigh(np.diag(alpha) + np.diag(beta, 1) + np.diag(beta, -1))
    return count * mean + deviation * values, vectors[0] ** 2
