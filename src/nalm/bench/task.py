"""What is to be learned: where inputs come from, what the target is, what counts as solved."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from nalm.bench.distribution import Distribution
from nalm.core.scalar import Scalar

SAMPLES = 10_000
"""Size of the validation and of the test set."""
EVALUATION_SEED = 0
"""Both are drawn from this seed, so that they are the same for all runs."""


@dataclass(frozen=True)
class Task:
    """Base class of all tasks: what every engine and every table needs to know of one.

    Two runs can be trained as one group if their tasks agree in `structure`. Tasks whose inputs are drawn from
    distributions derive from `SampledTask`; others bring data of their own, with a method that trains on it.

    >>> from nalm.bench.tasks.arithmetic import RANGES, SingleModule
    >>> task = SingleModule(*RANGES["U[1,2)"], name="mul", inputs=10)
    >>> task.operation, task.in_features
    ('mul', 10)
    """

    @property
    @abstractmethod
    def in_features(self) -> int:
        """Number of inputs."""

    @property
    def out_features(self) -> int:
        """Number of outputs."""
        return 1

    @property
    @abstractmethod
    def structure(self) -> tuple[object, ...]:
        """What decides the program; distributions enter by their kind only."""

    @property
    @abstractmethod
    def operation(self) -> str:
        """A short name for tables, for example "mul"."""

    @property
    def range(self) -> str:
        """Where training inputs come from, in a few characters for tables."""
        return ""


@dataclass(frozen=True)
class SampledTask(Task):
    """Inputs drawn from distributions and a target computed from them: arithmetic on numbers.

    A subclass has the fields `train` and `test` (validation uses `train`) and defines the abstract methods. What
    counts as solved is an `error` below `threshold`; both may be the task's own.

    >>> from nalm.bench.tasks.arithmetic import RANGES, SingleModule
    >>> task = SingleModule(*RANGES["U[1,2)"])
    >>> str(task.train), str(task.test), f"{task.threshold():.1e}"
    ('U[1,2)', 'U[2,6)', '1.2e-07')
    """

    selected_by_seed: ClassVar[bool] = True  # runs of one seed and structure share their selection
    train: Distribution
    test: Distribution

    @property
    def range(self) -> str:
        return str(self.train)

    @property
    def draws(self) -> int:
        """Uniforms per sample."""
        return self.in_features

    @property
    def samples(self) -> int:
        """Size of the validation and of the test set."""
        return SAMPLES

    def sample(self, u: Tensor, numbers: Tensor, selection: Tensor, part: Distribution) -> tuple[Tensor, Tensor]:
        """Inputs and targets from uniforms `(*runs, draws, samples)`; `part` is `train` or `test`."""
        x = part.quantile(u, numbers)
        return x, self.target(x, selection)

    def selection(self, seed: int) -> Tensor:
        """What the target needs to know and differs between seeds, any shape; by default nothing."""
        return torch.zeros(0)

    @abstractmethod
    def target(self, x: Tensor, selection: Tensor) -> Tensor:
        """`(*runs, in, samples)` to `(*runs, out, samples)`."""

    @abstractmethod
    def formula(self, x: Sequence[Scalar], seed: int) -> list[Scalar]:
        """The same on numbers or symbols."""

    def error(self, y: Tensor, t: Tensor) -> Tensor:
        """What evaluations record of outputs and targets `(*runs, out, samples)`, per run: the mean squared error."""
        return (y - t).square().mean((-2, -1))

    def measures(self, y: Tensor, t: Tensor) -> dict[str, Tensor]:
        """Further numbers per run at each evaluation on `test`, by the name of the column they get in results."""
        return {}

    @abstractmethod
    def threshold(self) -> float:
        """The test error below which a run counts as solved."""


def kind(task: SampledTask) -> tuple[str, int]:
    """The part of a task's structure that its training distribution decides."""
    return type(task.train).__name__, task.train.numbers(task.in_features).shape[1]
