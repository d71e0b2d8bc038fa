"""What the scaling page shows beside its tables.

`python -m pages.chapters.scaling` writes results/scaling-own-range.csv: runs with min-max scaling, tested on inputs
that are scaled by the test range (half a minute).
"""

from __future__ import annotations

import csv
from typing import Any

import torch

from nalm.bench.engine.train import train
from nalm.bench.run import Run
from nalm.bench.show.drawings import draw_errors
from nalm.bench.studies import find_study
from nalm.bench.task import SAMPLES, SampledTask
from nalm.units.scaling import ScaledNMU
from pages.committed import RESULTS, ROOT, rows_of
from pages.markdown import markdown_table, picture

TABLE = RESULTS / "scaling-own-range.csv"
SOLVED_HERE = ("U[-2,2)", "U[0.1,0.2)", "U[1,2)", "U[10,20)")
SEEDS = 5


def scaling_errors() -> str:
    """Test errors of single runs by range, with the threshold of each range."""
    study = find_study("scaling/multiplication")
    by_id = {row["id"]: row for row in rows_of("scaling")}
    groups: dict[str, dict[str, list[float]]] = {}
    limits = dict.fromkeys(study.columns, 0.0)
    for cell, run in study.runs():
        if run.id in by_id:
            row = by_id[run.id]
            groups.setdefault(cell.row, {}).setdefault(cell.column, []).append(float(row["test_error"]))
            limits[cell.column] = float(row["threshold"])
    return picture(draw_errors(groups, limits), "scaling-errors.svg", "Test errors with scaled features")


def collect() -> int:
    """Train, test with the test set scaled by its own range, and write the table; returns its number of lines."""
    study = find_study("scaling/multiplication")
    cells = [cell for cell in study.cells if cell.row == "min-max" and cell.column in SOLVED_HERE]
    planned = {run.id: (cell, run) for cell in cells for run in (cell.run(seed) for seed in range(SEEDS))}
    lines = []
    for record in train([run for _, run in planned.values()]):
        cell, run = planned[record["id"]]
        lines.append((cell.column, run.seed, record["threshold"], record["test_error"], _own_error(run, record)))
    with TABLE.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows(
            [("range", "seed", "threshold", "training_range", "own_range"), *sorted(lines)]
        )
    return len(lines)


def _own_error(run: Run, record: dict[str, Any]) -> float:
    """The test error of a trained run when the test set is scaled by its own mean and range (thesis, equation 6.1)."""
    assert isinstance(run.task, SampledTask)
    u = torch.rand((2, SAMPLES), generator=torch.Generator().manual_seed(run.seed), dtype=torch.float64)
    x, t = run.task.sample(u, run.task.test.numbers(2).double(), run.task.selection(run.seed), run.task.test)
    before = float(x.mean()), float(x.max() - x.min()) / 2
    after = 0.0, float(t.max() - t.min()) / 2
    unit = ScaledNMU(2, 1, before=before, after=after, learn=True).double().eval()
    with torch.no_grad():
        for name, parameter in unit.named_parameters():
            parameter.copy_(torch.tensor(record["weights"][name]))
        return float(run.task.error(unit.compute(x), t))


def own_range() -> str:
    """The table: solved by the scaling of the training range, and by that of the test range."""
    with TABLE.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    lines = []
    for name in dict.fromkeys(row["range"] for row in rows):
        own = [row for row in rows if row["range"] == name]
        counts = [
            sum(float(row[key]) < float(row["threshold"]) for row in own) for key in ("training_range", "own_range")
        ]
        least = min(float(row["own_range"]) for row in own)
        lines.append([name, *(f"{count} of {len(own)}" for count in counts), f"{least:.1e}"])
    return markdown_table(
        ["min-max scaling", "by the training range", "by the set's own range", "least error there"], lines
    )


if __name__ == "__main__":
    print(f"{collect()} runs written to {TABLE.relative_to(ROOT)}.")
