"""Training by the local Gauss-Newton rule, on the published data streams, evaluations and thresholds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nalm.bench.engine.cohort import Cohort, train_cohort
from nalm.bench.engine.options import Options
from nalm.bench.engine.plain_backend import Learner, LearningBackend
from nalm.bench.engine.unit_on_task import UnitOnTask
from nalm.bench.method import Rule
from nalm.bench.results.store import Store
from nalm.bench.run import Run
from nalm.core.unit import Unit


def train_group(group: Sequence[Run], store: Store | None, options: Options) -> list[dict[str, Any]]:
    """See `nalm.bench.engine.train.Engine`."""
    cohort = Cohort(group, UnitOnTask[Rule])
    return train_cohort(cohort, RuleBackend(cohort.unit_on_task), store, options)


class RuleBackend(LearningBackend[Rule]):
    """By `nalm.LocalGaussNewton`. A batch that is not finite teaches nothing, so no run diverges."""

    name = "rule"

    def learner(self, unit: Unit, seeds: list[int]) -> Learner:
        from nalm.training.rule import LocalGaussNewton

        return LocalGaussNewton(unit)
