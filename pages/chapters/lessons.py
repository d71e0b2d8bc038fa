"""What the lessons page shows beside its tables."""

from __future__ import annotations

from collections import defaultdict
from statistics import mean
from typing import Any

import torch

from nalm.bench.studies import find_study
from nalm.bench.study import Cell
from nalm.bench.task import EVALUATION_SEED, SampledTask
from nalm.core.uniforms import Stream, uniforms
from pages.committed import rows_of
from pages.markdown import markdown_table

PLACES = (0, 5, 10, 15, 20)


def _kept(study: str) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """The committed runs of a study by row and column."""
    known = {row["id"]: row for row in rows_of("intro")}
    found: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for cell, run in find_study(study).runs():
        if run.id in known:
            found[cell.row, cell.column].append(known[run.id])
    return found


def identity_errors(study: str) -> str:
    """Mean absolute errors of perceptrons on the identity, by the distance from zero, best first."""
    by_row = {row: records for (row, _), records in _kept(study).items()}
    errors = {
        name: [mean(float(record[f"error_at_{place}"]) for record in records) for place in PLACES]
        for name, records in by_row.items()
    }
    lines = [
        [
            name,
            f"{sum(bool(record['solved']) for record in by_row[name])} of {len(by_row[name])}",
            *(f"{value:.2g}" for value in values),
        ]
        for name, values in sorted(errors.items(), key=lambda item: item[1][-1])
    ]
    return markdown_table(["activation", "solved", *(f"near {place}" for place in PLACES)], lines)


def signed_sum() -> str:
    """What a NAC learned of the report's sum of eight terms: its raw parameters and the weights they make."""
    study = find_study("intro/signed")
    known = {row["id"]: row for row in rows_of("intro-signed")}
    run = next(run for cell, run in study.runs() if cell.row == "NAC")
    raw = {name: torch.tensor(value) for name, value in known[run.id]["weights"].items()}
    values = {"tanh of": raw["W_hat"], "sigmoid of": raw["W_gate"]}
    values["W"] = torch.tanh(raw["W_hat"]) * torch.sigmoid(raw["W_gate"])
    lines = [[name, *(f"{v:.4f}" for v in value.reshape(-1).tolist())] for name, value in values.items()]
    return markdown_table(["", *"abcdefgh"], lines)


UNTRAINED = 100


PUBLISHED = {
    "ReLU6": ("4.5", "86", "89", "97", "90", "5.9"),
    "linear": ("0.13", "2.2", "4.6", "61", "3", "40"),
    "NAC": ("0.15", "2.4", "5.4", "5.7", "4.7", "7.3"),
    "NALU": ("0.16", "35", "1.2", "3", "1.1", "1.1"),
}
"""Scores in the public code's README, a+b to sqrt a, to two digits."""


def functions() -> str:
    """Mean absolute test errors of function learning in percent of what untrained networks of ReLU6 units reach; in
    brackets those of the public code."""
    study = find_study("intro/functions")
    kept = _kept("intro/functions")
    random = {cell.column: _untrained(cell) for cell in study.cells if cell.row == "ReLU6"}
    lines = []
    for row in study.rows:
        told = []
        for column, theirs in zip(study.columns, PUBLISHED[row], strict=True):
            errors = [float(record["mae"]) for record in kept[row, column]]
            told.append(f"{_percent(mean(errors) / random[column])} ({theirs})" if errors else f"- ({theirs})")
        lines.append([row, *told])
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
