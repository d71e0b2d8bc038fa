"""What the lessons page shows beside its tables."""

from __future__ import annotations

from collections import defaultdict
from statistics import mean

import torch

from nalm.bench.studies import find_study
from nalm.bench.study import Cell
from nalm.bench.task import EVALUATION_SEED, SampledTask
from nalm.core.uniforms import Stream, uniforms
from pages.committed import rows_of
from pages.markdown import markdown_table

PLACES = (0, 5, 10, 15, 20)


def identity_errors() -> str:
    """Mean absolute errors of perceptrons on the identity, by the distance from zero, best first."""
    study = find_study("intro/identity")
    kept = {row["id"]: row for row in rows_of("intro")}
    by_row = defaultdict(list)
    for cell, run in study.runs():
        if run.id in kept:
            by_row[cell.row].append(kept[run.id])
    errors = {
        name: [mean(float(record[f"error_at_{place}"]) for record in records) for place in PLACES]
        for name, records in by_row.items()
    }
    lines = [
        [name, str(sum(bool(record["solved"]) for record in by_row[name])), *(f"{value:.2g}" for value in values)]
        for name, values in sorted(errors.items(), key=lambda item: item[1][-1])
    ]
    return markdown_table(["activation", "solved of 10", *(f"near {place}" for place in PLACES)], lines)


UNTRAINED = 100


def functions() -> str:
    """Mean absolute test errors of function learning in percent of what untrained networks of ReLU6 units reach."""
    study = find_study("intro/functions")
    kept = {row["id"]: row for row in rows_of("intro")}
    errors = defaultdict(list)
    for cell, run in study.runs():
        if run.id in kept:
            errors[cell.row, cell.column].append(float(kept[run.id]["mae"]))
    random = {cell.column: _untrained(cell) for cell in study.cells if cell.row == "ReLU6"}
    lines = [
        [row, *(_percent(mean(errors[row, column]) / random[column]) for column in study.columns)] for row in study.rows
    ]
    return markdown_table(["network", *study.columns], lines)


def _percent(share: float) -> str:
    return f"{100 * share:.0f}" if share >= 0.1 else f"{100 * share:.2g}"


def _untrained(cell: Cell) -> float:
    """The mean absolute error of a hundred networks as they start."""
    task = cell.task
    assert isinstance(task, SampledTask)
    networks = cell.model.build((UNTRAINED,))
    networks.reset_parameters(list(range(UNTRAINED)))
    u = uniforms(EVALUATION_SEED, Stream.TEST, 0, (task.draws, task.samples))
    x, t = task.sample(u, task.test.numbers(task.in_features).float(), task.selection(0), task.test)
    with torch.no_grad():
        return float((networks.eval().compute(x) - t).abs().mean())
