"""What the rule and the solver share: batches of the cohort as plain tensors, evaluation in torch."""

from __future__ import annotations

from typing import Generic

import numpy as np
import torch

from nalm.bench.distribution import Distribution
from nalm.bench.engine import evaluation
from nalm.bench.engine.unit_on_task import Arrays, M, UnitOnTask, selected
from nalm.core.uniforms import uniforms


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

    def batch(self, consts: Arrays, seeds: np.ndarray, step: int) -> tuple[torch.Tensor, torch.Tensor]:
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
