"""The Single Module Task, an operation on two of the inputs, and what its two-layer sibling shares with it: operations,
ranges, positions of the operands."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cache
from typing import ClassVar, Literal

import numpy as np
import torch
from torch import Tensor

from nalm.bench.distribution import Distribution, Uniform, Union
from nalm.bench.tasks.named import WideTask
from nalm.core.scalar import Scalar

EPSILON = 1e-5
FLAT = 1e-5
SMALLEST = 2.0**-23

OPERATIONS: dict[str, Callable[..., Scalar]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "sqrt": lambda a, _: a**0.5,
    "square": lambda a, _: a * a,
    "inverse": lambda a, _: 1 / a,
}

RANGES: dict[str, tuple[Uniform, Uniform | Union]] = {
    str(train): (train, test)
    for train, test in (
        (Uniform(-20, -10), Uniform(-40, -20)),
        (Uniform(-2, -1), Uniform(-6, -2)),
        (Uniform(-1.2, -1.1), Uniform(-6.1, -1.2)),
        (Uniform(-0.2, -0.1), Uniform(-2, -0.2)),
        (Uniform(-2, 2), Union(Uniform(-6, -2), Uniform(2, 6))),
        (Uniform(0.1, 0.2), Uniform(0.2, 2)),
        (Uniform(1, 2), Uniform(2, 6)),
        (Uniform(1.1, 1.2), Uniform(1.2, 6)),
        (Uniform(10, 20), Uniform(20, 40)),
    )
}
"""The nine training ranges of the literature, with the range each is tested on."""


def subsets(seed: int, inputs: int, size: int, overlap: int, count: int = 2) -> list[range]:
    """Neighbouring subsets of `size` inputs sharing `overlap`, shifted by the seed's offset (the published draw).

    >>> [subsets(s, 10, 1, 0)[0].start for s in range(5)]
    [5, 5, 8, 8, 7]
    """
    starts = [k * (size - overlap) for k in range(count)]
    used = starts[-1] + size
    offset = int(np.random.RandomState(seed).randint(0, inputs - used + 1))
    return [range(offset + start, offset + start + size) for start in starts]


@dataclass(frozen=True)
class SingleModule(WideTask):
    """y = a op b for two neighbouring inputs at the seed's offset, among `inputs` in all.

    Args:
        criterion: "epsilon" for the simulated threshold (every weight off by 1e-5), in closed form; "flat" for the 1e-5
            of the division papers; or a number.

    >>> f"{SingleModule(*RANGES['U[1,2)'], name='mul').threshold():.4e}"
    '1.2018e-07'
    """

    names: ClassVar[Collection[str]] = OPERATIONS
    name: str = "mul"
    criterion: Literal["epsilon", "flat"] | float = "epsilon"

    def sample(self, u: Tensor, numbers: Tensor, selection: Tensor, part: Distribution) -> tuple[Tensor, Tensor]:
        x = part.quantile(u, numbers)
        if self.name in ("div", "inverse"):
            # Uniforms are multiples of 2^-24, so a range around zero holds zero: one input in 17 million, met by a
            # third of all runs. Published inputs are float64 and never zero; here zero becomes half a step of U[-2,2).
            x = torch.where(x == 0, SMALLEST, x)
        return x, self.target(x, selection)

    def members(self, seed: int) -> list[range]:
        """The inputs each operand sums: one each."""
        return [range(1), range(1)] if self.inputs == 1 else subsets(seed, self.inputs, 1, 0)

    def selection(self, seed: int) -> Tensor:
        if self.inputs <= 2:  # nothing to select
            return torch.zeros(0)
        chosen = torch.zeros(2, self.inputs)
        for row, members in enumerate(self.members(seed)):
            chosen[row, members.start : members.stop] = 1
        return chosen

    def target(self, x: Tensor, selection: Tensor) -> Tensor:
        operands = x if selection.numel() == 0 else selection @ x
        a, b = operands[..., :1, :], operands[..., -1:, :]
        result: Tensor = OPERATIONS[self.name](a, b)
        return result

    def formula(self, x: Sequence[Scalar], seed: int) -> list[Scalar]:
        a, b = (sum(x[i] for i in members) for members in self.members(seed))
        return [OPERATIONS[self.name](a, b)]

    def threshold(self) -> float:
        if self.criterion == "flat":
            return FLAT
        if not isinstance(self.criterion, str):
            return self.criterion
        return epsilon_threshold(self.name, self.inputs, self.test)


@cache
def epsilon_threshold(name: str, inputs: int, test: Distribution, epsilon: float = EPSILON) -> float:
    """Test error of a unit whose every weight is off by epsilon, as an expectation instead of a simulation."""
    m1, m2 = test.moment(1, inputs), test.moment(2, inputs)
    if name in ("add", "sub"):
        return epsilon**2 * (inputs * m2 + inputs * (inputs - 1) * m1**2)
    # y_eps = y * factor * prod over irrelevant inputs of (1 - eps |x|)
    factor = {"mul": (1 - epsilon) ** 2, "div": (1 - epsilon) / (1 + epsilon)}.get(name, 1 - epsilon)
    size = m2 * (m2 if name == "mul" else test.moment(-2, inputs)) if inputs > 1 else test.moment(-2, inputs)
    irrelevant = inputs - 2 if inputs > 1 else 0
    first = (1 - epsilon * m1) ** irrelevant
    second = (1 - 2 * epsilon * m1 + epsilon**2 * m2) ** irrelevant
    return size * math.fsum([factor**2 * second, -2 * factor * first, 1.0])
