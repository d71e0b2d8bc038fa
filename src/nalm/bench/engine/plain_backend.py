"""What rule, formula learner and solver share: batches of the cohort as plain tensors, evaluation in torch."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, Generic, Protocol

import numpy as np
import torch
from torch import Tensor

from nalm.bench.distribution import Distribution
from nalm.bench.engine import evaluation
from nalm.bench.engine.unit_on_task import Arrays, M, UnitOnTask, selected
from nalm.core.uniforms import uniforms
from nalm.core.unit import Unit


class PlainBackend(Generic[M]):
    """A back end whose unit holds the weights itself while it trains."""

    resumable = False  # what it remembers is not in the cohort's arrays; its runs are short and begin anew

    def __init__(self, unit_on_task: UnitOnTask[M]) -> None:
        self.unit_on_task = unit_on_task

    def evaluate(
        self, part: Distribution, stream: int, parameters: Arrays, consts: Arrays, chosen: np.ndarray
    ) -> Arrays:
        """As the torch engine."""
        return evaluation.evaluate(self.unit_on_task, part, stream, parameters, consts, chosen)

    def batch(self, consts: Arrays, seeds: np.ndarray, step: int) -> tuple[Tensor, Tensor]:
        """Inputs and targets of a step, `(runs, in, samples)` and `(runs, out, samples)`."""
        stream, shape = self.unit_on_task.draws["x"]
        u = uniforms(torch.from_numpy(seeds), stream, step, shape)
        constants = {name: torch.from_numpy(value) for name, value in consts.items()}
        task = self.unit_on_task.task
        return task.sample(u, constants["train"], selected(constants), task.train)

    def load(self, state: Arrays) -> None:
        """Give the unit the cohort's weights."""
        with torch.no_grad():
            for name, parameter in self.unit_on_task.unit.named_parameters():
                parameter.copy_(torch.from_numpy(state[name]))


class Learner(Protocol):
    """What makes steps: an optimiser that calls the function it is given on the batch."""

    def step(self, evaluate: Callable[..., tuple[Tensor, Tensor]], *batch: Tensor) -> Any:
        """One step on one batch; `evaluate` computes output and loss from it."""


class LearningBackend(PlainBackend[M]):
    """Trains the cohort on the squared error with a learner of its unit, all runs at once."""

    _learner: Learner | None = None

    @abstractmethod
    def learner(self, unit: Unit, seeds: list[int]) -> Learner:
        """What trains the unit, whose runs have these seeds."""

    @property
    def settled(self) -> bool:
        """Whether no run can learn any more."""
        return False

    def advance(
        self, state: Arrays, consts: Arrays, seeds: np.ndarray, first: int, count: int, alive: np.ndarray
    ) -> None:
        """`count` steps from step `first`, in place; runs that are not alive stay as they are."""
        unit = self.unit_on_task.unit.train()
        if self._learner is None:
            self.load(state)
            self._learner = self.learner(unit, seeds.tolist())

        def evaluate(x: Tensor, t: Tensor) -> tuple[Tensor, Tensor]:
            y = unit(x.mT)
            return y, (y - t.mT).square().mean((-2, -1))

        for step in range(first, first + count):
            if self.settled:
                break
            self._learner.step(evaluate, *self.batch(consts, seeds, step))
        for name, parameter in unit.named_parameters():
            state[name][alive] = parameter.detach().numpy()[alive]
