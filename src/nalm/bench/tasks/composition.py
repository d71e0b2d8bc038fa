"""Composition (Mistry's thesis 2023, chapter 7): op2(op1(a, b), c) among redundant inputs, and longer chains."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product as pairs
from typing import ClassVar

import torch
from torch import Tensor

from nalm.bench.distribution import Distribution
from nalm.bench.find import nearest
from nalm.bench.task import EVALUATION_SEED, SampledTask, kind
from nalm.bench.tasks.arithmetic import EPSILON, SMALLEST
from nalm.core.scalar import Scalar
from nalm.core.uniforms import Stream, uniforms

CUMULATIVE: dict[str, Callable[[Scalar, Scalar], Scalar]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: -a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: 1 / (a * b),
}
"""The thesis' operations of any number of operands: a sum, a negative sum, a product, a reciprocal product."""

EXPRESSIONS = tuple("-".join(names) for names in pairs(CUMULATIVE, repeat=2))
"""The sixteen two-step expressions; "mul-sub" is -(a b) - c as in table 7.1 (table 7.6 says a b - c)."""

LONGER = tuple("-".join(names) for names in pairs(CUMULATIVE, repeat=3))
"""The 64 three-step expressions."""

THRESHOLD_SAMPLES = 100_000


@dataclass(frozen=True)
class Composition(SampledTask):
    """A chain of cumulative operations: each takes the value so far and the next input; the last inputs are redundant.

    Args:
        steps: operations joined by dashes, "add-mul" for (a + b) c, "add-mul-div" for 1 / ((a + b) c d).
        inputs: in all, at least one more than there are operations.

    The thesis states no criterion of success. Here, as in the Single Module Task, a run is solved below the test error
    of a chain whose operands are all off by 1e-5.

    >>> from nalm.bench.tasks.arithmetic import RANGES
    >>> task = Composition(*RANGES["U[1,2)"], steps="add-mul")
    >>> task.formula([2, 3, 4, 5], seed=0), f"{task.threshold():.2e}"
    ([20], '1.04e-06')
    """

    selected_by_seed: ClassVar[bool] = False
    steps: str = "add-mul"
    inputs: int = 4

    def __post_init__(self) -> None:
        for name in self.operations:
            if name not in CUMULATIVE:
                raise ValueError(f"There is no operation {name!r}. {nearest(name, CUMULATIVE)}")
        if self.inputs <= len(self.operations):
            raise ValueError(f"{self.steps} needs at least {len(self.operations) + 1} inputs, not {self.inputs}.")

    @property
    def operations(self) -> list[str]:
        """The steps, one by one."""
        return self.steps.split("-")

    @property
    def in_features(self) -> int:
        return self.inputs

    @property
    def operation(self) -> str:
        return self.steps

    @property
    def structure(self) -> tuple[object, ...]:
        # which operations they are is a number of the run, so that all expressions train in one program
        return (type(self).__name__, len(self.operations), self.inputs, *kind(self))

    def sample(self, u: Tensor, numbers: Tensor, selection: Tensor, part: Distribution) -> tuple[Tensor, Tensor]:
        x = _never_zero(part.quantile(u, numbers))  # as in the Single Module Task: published inputs are never zero
        return x, self.target(x, selection)

    def selection(self, seed: int) -> Tensor:
        """One row per step, 1 at its operation."""
        names = list(CUMULATIVE)
        return torch.tensor([[float(name == own) for name in names] for own in self.operations])

    def target(self, x: Tensor, selection: Tensor) -> Tensor:
        value = x[..., :1, :]
        for step in range(len(self.operations)):
            operand = x[..., step + 1 : step + 2, :]
            total, product = value + operand, value * operand
            results = (total, -total, product, 1 / _never_zero(product))
            chosen = selection[..., step, :, None, None]  # (*runs, operations, 1, 1)
            value = sum((chosen[..., m, :, :] * results[m] for m in range(1, 4)), chosen[..., 0, :, :] * results[0])
        return value

    def formula(self, x: Sequence[Scalar], seed: int) -> list[Scalar]:
        value = x[0]
        for name, operand in zip(self.operations, x[1:], strict=False):
            value = CUMULATIVE[name](value, operand)
        return [value]

    def threshold(self) -> float:
        return nearly_composed(self.steps, self.test)


def _never_zero(x: Tensor) -> Tensor:
    return torch.where(x == 0, SMALLEST, x)


@cache
def nearly_composed(steps: str, test: Distribution) -> float:
    """Test error of a chain in which each step sees its operands off by 1e-5 of their size, all errors adding up.

    Simulated, as the thresholds of the Single Module Task were; to first order in 1e-5.
    """
    names = steps.split("-")
    u = uniforms(EVALUATION_SEED, Stream.TASK, 0, (len(names) + 1, THRESHOLD_SAMPLES)).double()
    x = test.quantile(u, test.numbers(len(names) + 1))
    value, off = x[0], torch.zeros_like(x[0])
    for name, operand in zip(names, x[1:], strict=True):
        relative = off / value.abs() + EPSILON  # of the value as this step sees it
        absolute = relative * value.abs() + EPSILON * operand.abs()
        value = CUMULATIVE[name](value, operand)
        off = absolute if name in ("add", "sub") else value.abs() * (relative + EPSILON)
    return float(off.square().mean())
