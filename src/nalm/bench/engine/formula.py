"""Training by the formula learner, on the published data streams, evaluations and thresholds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from nalm.bench.engine.cohort import Cohort, train_cohort
from nalm.bench.engine.options import Options
from nalm.bench.engine.plain_backend import PlainBackend
from nalm.bench.engine.unit_on_task import Arrays, UnitOnTask
from nalm.bench.method import Search
from nalm.bench.results.store import Store
from nalm.bench.run import Run

if TYPE_CHECKING:
    from nalm.training.formula import FormulaLearner


def train_group(group: Sequence[Run], store: Store | None, options: Options) -> list[dict[str, Any]]:
    """See `nalm.bench.engine.train.Engine`."""
    cohort = Cohort(group, UnitOnTask[Search])
    return train_cohort(cohort, FormulaBackend(cohort.unit_on_task), store, options)


class FormulaBackend(PlainBackend[Search]):
    """Trains the cohort with `nalm.FormulaLearner`; a run whose formula is verified costs nothing any more."""

    name = "formula"

    def __init__(self, unit_on_task: UnitOnTask[Search]) -> None:
        super().__init__(unit_on_task)
        self._learner: FormulaLearner | None = None

    def advance(
        self, state: Arrays, consts: Arrays, seeds: np.ndarray, first: int, count: int, alive: np.ndarray
    ) -> None:
        """`count` steps from step `first`, in place; runs that are not alive stay as they are."""
        from nalm.training.formula import FormulaLearner

        unit = self.unit_on_task.unit.train()
        if self._learner is None:
            self.load(state)
            self._learner = FormulaLearner(unit, seed=seeds.tolist())
        for step in range(first, first + count):
            if bool(self._learner.settled.all()):
                break
            x, t = self.batch(consts, seeds, step)

            def evaluate(x: torch.Tensor, t: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
                y = unit(x.mT)
                return y, (y - t.mT).square().mean((-2, -1))

            self._learner.step(evaluate, x, t)
        for name, parameter in unit.named_parameters():
            state[name][alive] = parameter.detach().numpy()[alive]
