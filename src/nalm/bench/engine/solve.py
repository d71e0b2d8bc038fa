"""No training: the solver fills the weights, judged on the published data streams, evaluations and thresholds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from nalm.bench.engine.cohort import Cohort, train_cohort
from nalm.bench.engine.options import Options
from nalm.bench.engine.plain_backend import PlainBackend
from nalm.bench.engine.unit_on_task import Arrays, UnitOnTask
from nalm.bench.method import Solve
from nalm.bench.results.store import Store
from nalm.bench.run import Run


def train_group(group: Sequence[Run], store: Store | None, options: Options) -> list[dict[str, Any]]:
    """See `nalm.bench.engine.train.Engine`."""
    cohort = Cohort(group, UnitOnTask[Solve])
    return train_cohort(cohort, SolverBackend(cohort.unit_on_task), store, options)


class SolverBackend(PlainBackend[Solve]):
    """Fills the unit's grid weights from one batch by `nalm.solver.solve`; a run it refuses keeps its weights."""

    name = "solver"

    def advance(
        self, state: Arrays, consts: Arrays, seeds: np.ndarray, first: int, count: int, alive: np.ndarray
    ) -> None:
        """One solve per run, in the only step there is."""
        from nalm.solver import solve

        self.load(state)
        x, t = self.batch(consts, seeds, first)
        for index in np.flatnonzero(alive):
            samples, targets = x[index].mT.double().numpy(), t[index, 0].double().numpy()
            solution = solve(samples, targets, like=self.unit_on_task.unit[int(index)])
            if solution.unit is not None:
                for name, parameter in solution.unit.named_parameters():
                    state[name][index] = parameter.detach().float().numpy()
