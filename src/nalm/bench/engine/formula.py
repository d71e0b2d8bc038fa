"""Training by the formula learner, on the published data streams, evaluations and thresholds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from nalm.bench.engine.cohort import Cohort, train_cohort
from nalm.bench.engine.options import Options
from nalm.bench.engine.plain_backend import LearningBackend
from nalm.bench.engine.unit_on_task import UnitOnTask
from nalm.bench.method import Search
from nalm.bench.results.store import Store
from nalm.bench.run import Run
from nalm.core.unit import Unit

if TYPE_CHECKING:
    from nalm.training.formula import FormulaLearner


def train_group(group: Sequence[Run], store: Store | None, options: Options) -> list[dict[str, Any]]:
    """See `nalm.bench.engine.train.Engine`."""
    cohort = Cohort(group, UnitOnTask[Search])
    return train_cohort(cohort, FormulaBackend(cohort.unit_on_task), store, options)


class FormulaBackend(LearningBackend[Search]):
    """By `nalm.FormulaLearner`; once every formula is verified, steps cost nothing."""

    name = "formula"
    _learner: FormulaLearner | None = None

    def learner(self, unit: Unit, seeds: list[int]) -> FormulaLearner:
        from nalm.training.formula import FormulaLearner

        return FormulaLearner(unit, seed=seeds)

    @property
    def settled(self) -> bool:
        return self._learner is not None and bool(self._learner.settled.all())
