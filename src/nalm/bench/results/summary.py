"""From records to what a reader wants to see: success, steps and sparsity of each cell, beside what was published."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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
    median_solved_at: float | None
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


def summarise(study: Study, records: Iterable[Record]) -> list[CellSummary]:
    """Count the finished runs of a study; cells without any are left out."""
    by_id = {record["id"]: record for record in records}
    known = list(by_id.values())
    found: dict[tuple[str, str], list[Record]] = {}
    cells: dict[tuple[str, str], Cell] = {}
    for cell in study.cells:
        if own := [by_id[name] for name in cell.ids(study.seeds) if name in by_id]:
            found.setdefault((cell.row, cell.column), []).extend(own)
            cells.setdefault((cell.row, cell.column), cell)
    return [_entry(study, cells[key], own, known) for key, own in found.items()]


def _entry(study: Study, cell: Cell, records: list[Record], known: list[Record]) -> CellSummary:
    solved = [r for r in records if study.solved(r, cell.column, known)]
    at = [float(r["solved_at"]) for r in solved if r.get("solved_at") is not None]
    sparsities = [r.get("sparsity") for r in solved] if cell.model.has_grid else []
    errors = [float(sparsity) for sparsity in sparsities if sparsity is not None]
    return CellSummary(
        row=cell.row,
        column=cell.column,
        runs=len(records),
        success=stats.wilson(len(solved), len(records)),
        solved_at=stats.gamma_mean(at) if at else None,
        median_solved_at=stats.median(at).estimate if at else None,
        sparsity=stats.beta_mean([min(e, 0.5) for e in errors]) if errors else None,
        published=study.published.get((cell.row, cell.column)),
        measures={name: mean_of(records, name) for name in study.measured if any(name in r for r in records)},
    )


def mean_of(records: Iterable[Record], name: str) -> Interval:
    """The mean of a column with one standard error to either side, as the papers show accuracies."""
    values = np.asarray([np.nan if r.get(name) is None else r[name] for r in records], np.float64)
    centre = float(values.mean())
    error = float(values.std(ddof=1)) / len(values) ** 0.5 if len(values) > 1 else 0.0
    return Interval(centre, centre - error, centre + error)


def compare(study: Study, records: Iterable[Record], first: str, second: str) -> dict[str, Paired]:
    """Success of one row against another on the same seeds, by column."""
    by_id = {record["id"]: record for record in records}
    known = list(by_id.values())
    solved: dict[tuple[str, str], dict[int, bool]] = {}
    for cell in study.cells:
        own = {seed: by_id[name] for seed, name in enumerate(cell.ids(study.seeds)) if name in by_id}
        counted = {seed: study.solved(record, cell.column, known) for seed, record in own.items()}
        solved.setdefault((cell.row, cell.column), {}).update(counted)
    result = {}
    for column in study.columns:
        a, b = solved.get((first, column), {}), solved.get((second, column), {})
        common = sorted(a.keys() & b.keys())
        if common:
            result[column] = stats.paired_difference([a[s] for s in common], [b[s] for s in common])
    return result
