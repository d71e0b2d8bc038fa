"""Training by the local Gauss-Newton rule, on the published data streams, evaluations and thresholds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from nalm.bench.engine.cohort import Cohort, train_cohort
from nalm.bench.engine.options import Options
from nalm.bench.engine.plain_backend import PlainBackend
from nalm.bench.engine.unit_on_task import Arrays, UnitOnTask
from nalm.bench.method import Rule
from nalm.bench.results.store import Store
from nalm.bench.run import Run

if TYPE_CHECKING:
    from nalm.training.rule import LocalGaussNewton


def train_group(group: Sequence[Run], store: Store | None, options: Options) -> list[dict[str, Any]]:
    """See `nalm.bench.engine.train.Engine`."""
    cohort = Cohort(group, UnitOnTask[Rule])
    return train_cohort(cohort, RuleBackend(cohort.unit_on_task), store, options)


class RuleBackend(PlainBackend[Rule]):
    """Trains the cohort with `nalm.training.rule.LocalGaussNewton`, all runs at once."""

    name = "rule"

    def __init__(self, unit_on_task: UnitOnTask[Rule]) -> None:
        super().__init__(unit_on_task)
        self._optimiser: LocalGaussNewton | None = None

    def advance(
        self, state: Arrays, consts: Arrays, seeds: np.ndarray, first: int, count: int, alive: np.ndarray
    ) -> None:
        """`count` steps from step `first`, in place; runs that are not alive stay as they are.

        A batch that is not finite teaches nothing, so no run diverges.
        """
        from nalm.training.rule import LocalGaussNewton

        unit = self.unit_on_task.unit.train()
        if self._optimiser is None:
            self.load(state)
            self._optimiser = LocalGaussNewton(unit)
        for step in range(first, first + count):
            x, t = self.batch(consts, seeds, step)

            def closure(x: torch.Tensor = x, t: torch.Tensor = t) -> tuple[torch.Tensor, torch.Tensor]:
                y = unit(x.mT)
                return y, (y - t.mT).square().mean((-2, -1))

            self._optimiser.step(closure)
        for name, parameter in unit.named_parameters():
            state[name][alive] = parameter.detach().numpy()[alive]
