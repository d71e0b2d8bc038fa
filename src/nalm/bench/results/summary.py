"""From records to what a reader wants to see: success, steps and sparsity of each cell, beside what was published."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from nalm.bench.results import stats
from nalm.bench.results.stats import Interval, Paired
from nalm.bench.study import Cell, Published, Study

Record = Mapping[str, Any]


@dataclass(frozen=True)
class CellSummary:
    """One cell of a study, counted. `runs` may be fewer than planned while a study is under way."""

    row: str
    column: str
    runs: int
    success: Interval
    solved_at: Interval | None
    sparsity: Interval | None
    published: Published | None
    measures: Mapping[str, Interval] = field(default_factory=dict)

    @property
    def disagrees(self) -> bool:
        """Whether our interval and the published one do not overlap."""
        if self.published is None or self.published.success is None:
            return False
        seeds = self.published.seeds
        return stats.disjoint(self.success, (round(self.published.success * seeds), seeds))


def _numbers() -> array[float]:
    return array("d")


@dataclass
class _Tally:
    """What is counted of a cell: of each run a few numbers, for there may be very many."""

    first: Cell
    runs: int = 0
    solved: int = 0
    solved_at: array[float] = field(default_factory=_numbers)
    sparsity: array[float] = field(default_factory=_numbers)
    measures: dict[str, array[float]] = field(default_factory=dict)
    named: set[str] = field(default_factory=set)  # measures that at least one of the runs has

    def count(self, record: Record, solved: bool, measured: Iterable[str]) -> None:
        """Add a run."""
        self.runs += 1
        for name in measured:
            value = record.get(name)
            self.measures.setdefault(name, _numbers()).append(np.nan if value is None else value)
            if name in record:
                self.named.add(name)
        if not solved:
            return
        self.solved += 1
        for name, numbers in (("solved_at", self.solved_at), ("sparsity", self.sparsity)):
            if record.get(name) is not None:
                numbers.append(record[name])

    def summary(self, published: Published | None) -> CellSummary:
        """The cell as it is shown."""
        at = sorted(self.solved_at)
        errors = [min(error, 0.5) for error in sorted(self.sparsity)] if self.first.model.has_grid else []
        return CellSummary(
            row=self.first.row,
            column=self.first.column,
            runs=self.runs,
            success=stats.wilson(self.solved, self.runs),
            solved_at=stats.gamma_mean(at) if at else None,
            sparsity=stats.beta_mean(errors) if errors else None,
            published=published,
            measures={name: mean_of(values) for name, values in self.measures.items() if name in self.named},
        )


def summarise(study: Study, records: Iterable[Record]) -> list[CellSummary]:
    """Count the finished runs of a study; cells without any are left out. Records may come one at a time."""
    tallies: dict[tuple[str, str], _Tally] = {}
    waiting: dict[str, list[_Tally]] = {}  # by the run's name: cells may share runs
    for cell in study.cells:
        tally = tallies.setdefault((cell.row, cell.column), _Tally(cell))
        shared = [tally]  # one list for all runs of a cell that no other cell has
        for name in cell.ids(study.seeds):
            waiting[name] = [*waiting[name], tally] if name in waiting else shared
    for record, solved in study.judged(records):
        for tally in waiting.pop(record["id"], ()):  # of records with one name the first counts
            tally.count(record, solved(tally.first.column), study.measured)
    return [tally.summary(study.published.get(key)) for key, tally in tallies.items() if tally.runs]


def mean_of(values: Sequence[float]) -> Interval:
    """The mean with one standard error to either side, as the papers show accuracies."""
    numbers = np.asarray(values, np.float64)
    centre = float(numbers.mean())
    error = float(numbers.std(ddof=1)) / len(numbers) ** 0.5 if len(numbers) > 1 else 0.0
    return Interval(centre, centre - error, centre + error)


def compare(study: Study, records: Iterable[Record], first: str, second: str) -> dict[str, Paired]:
    """Success of one row against another on the same seeds, by column."""
    solved = solved_by_seed(study, records)
    result = {}
    for column in study.columns:
        a, b = solved.get((first, column), {}), solved.get((second, column), {})
        common = sorted(a.keys() & b.keys())
        if common:
            result[column] = stats.paired_difference([a[s] for s in common], [b[s] for s in common])
    return result


def totals(study: Study, records: Iterable[Record]) -> dict[str, Interval]:
    """Success of each row over all its columns. The runs of a seed begin alike in every column, so that they count for
    less than as many independent ones; rows without a finished run are left out."""
    seeds: dict[str, dict[int, list[bool]]] = {}
    for (row, _), cell in solved_by_seed(study, records).items():
        for seed, solved in cell.items():
            seeds.setdefault(row, {}).setdefault(seed, []).append(solved)
    return {row: stats.clustered_rate(list(runs.values())) for row, runs in seeds.items()}


def solved_by_seed(study: Study, records: Iterable[Record]) -> dict[tuple[str, str], dict[int, bool]]:
    """Which seeds are finished in each cell, by row and column, and whether they count as solved there."""
    by_id = {record["id"]: solved_in for record, solved_in in study.judged(records)}
    found: dict[tuple[str, str], dict[int, bool]] = {}
    for cell in study.cells:
        own = {seed: by_id[name] for seed, name in enumerate(cell.ids(study.seeds)) if name in by_id}
        counted = {seed: solved_in(cell.column) for seed, solved_in in own.items()}
        found.setdefault((cell.row, cell.column), {}).update(counted)
    return found
