"""The gate histogram of the two-layer page: where the second layer's gate stands after training.

`python -m pages.chapters.two_layer STORE.db` writes results/two-layer-gates.csv from the weights of a store (compact
tables carry none); the template's `{{ two_layer.gates() }}` draws it.
"""

from __future__ import annotations

import csv
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from nalm.bench.method import Stepwise
from nalm.bench.results.store import Store
from nalm.bench.run import Run
from nalm.bench.show.figures import COLOURS
from nalm.bench.show.tables import markdown_tables
from nalm.bench.studies import find_study, studies
from nalm.bench.task import SampledTask
from nalm.core.containers import Chain
from nalm.core.uniforms import Stream, uniforms
from pages.committed import RESULTS, ROOT, counted, entries_of, extended, rows_of
from pages.markdown import markdown_table, picture

TABLE = RESULTS / "two-layer-gates.csv"
STUDIES = ("two-layer/gating", "two-layer/gating-short")
BINS = 25  # as in the paper


def mean_gate(run: Run, weights: dict[str, Any]) -> float:
    """The gate of the second layer, averaged over one batch of the run's training inputs."""
    unit = run.model.build()
    assert isinstance(unit, Chain)
    with torch.no_grad():
        for name, parameter in unit.named_parameters():
            parameter.copy_(torch.tensor(weights[name]))
        assert isinstance(run.task, SampledTask)
        assert isinstance(run.method, Stepwise)
        u = uniforms(run.seed, Stream.TRAIN, run.method.steps, (run.task.draws, run.method.batch))
        x = run.task.train.quantile(u, run.task.train.numbers(run.task.in_features).float())
        second = unit.layers[1]
        return float(torch.sigmoid(second.get_parameter("G") @ unit.layers[0].compute(x)).mean())


def collect(store: Path) -> int:
    """Write the table from a store; returns its number of lines."""
    lines = []
    with Store(store, readonly=True) as kept:
        for name in STUDIES:
            planned = {run.id: (cell, run) for cell, run in find_study(name).runs()}
            for row in kept.records(id=list(planned)):
                cell, run = planned[row["id"]]
                gate = f"{mean_gate(run, row['weights']):.4f}" if row["nonfinite_step"] is None else ""
                lines.append((name, cell.row, cell.column, run.seed, int(row["solved"]), gate))
    with TABLE.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows(
            [("study", "model", "operation", "seed", "solved", "gate"), *sorted(lines)]
        )
    return len(lines)


def more_nac() -> str:
    """How many more seeds the multiplicative NAC solves in the static task."""
    study, entries = extended("two-layer/static")
    (entry,) = (entry for entry in entries if entry.row == "NAC•")
    solved = round(entry.success.estimate * entry.runs)
    first = next(e for e in entries_of(study.name)[1] if e.row == "NAC•")
    earlier = round(first.success.estimate * first.runs)
    return (
        f"Part of that is the luck of these seeds: the next {entry.runs - first.runs} solve {solved - earlier} "
        f"(together {entry.success.estimate:.2f}, interval {entry.success.low:.2f} to {entry.success.high:.2f})."
    )


ENOUGH = 10  # seeds at full length below which a table would show luck


def table(name: str) -> str:
    """The cells of a study that have enough seeds; shortened runs are other studies, and are not shown."""
    study, entries = find_study(name), counted(name)
    enough = [entry for entry in entries if entry.runs >= ENOUGH]
    if not enough:
        return f"`{name}`: no cell has {ENOUGH} seeds at full length yet; see the end."
    rows = {entry.row for entry in enough}
    return markdown_tables(replace(study, cells=tuple(c for c in study.cells if c.row in rows)), enough)


STEPS_PER_SECOND = 5e5  # of one run, on one core, with 100 inputs and two hidden units: `nalm speed two-layer`


def outstanding() -> str:
    """What is not yet run in full, and what it costs."""
    done = {row["id"] for row in rows_of("two-layer")}
    lines = []
    for study in studies().values():
        if not study.name.startswith("two-layer/") or study.name.endswith("-short"):
            continue
        runs = [(run.id in done, cell.method.steps) for cell, run in study.runs() if cell.method.way == "published"]
        left = sum(steps for held, steps in runs if not held)
        counts = [f"{sum(held for held, _ in runs):,}", f"{len(runs):,}", f"{left / STEPS_PER_SECOND / 3600:,.0f}"]
        lines.append([f"`{study.name}`", study.reproduces, *counts])
    return markdown_table(["study", "reproduces", "runs so far", "of", "core hours left"], lines)


def gates(folder: str = "") -> str:
    """Draw the table: one panel per model and operation, solved runs on top of the others."""
    from matplotlib.figure import Figure

    with TABLE.open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["gate"]]
    models, operations = (sorted({row[key] for row in rows}) for key in ("model", "operation"))
    figure = Figure(figsize=(6.75, 1.5 * len(operations) + 0.5), layout="constrained")
    panels = figure.subplots(len(operations), len(models), sharex=True, sharey=True, squeeze=False)
    for line, operation in zip(panels, operations, strict=True):
        for axes, model in zip(line, models, strict=True):
            gates = [
                [float(r["gate"]) for r in rows if (r["model"], r["operation"], r["solved"]) == (model, operation, s)]
                for s in ("1", "0")
            ]
            axes.hist(gates, bins=BINS, range=(0, 1), stacked=True, color=COLOURS[:2], label=["solved", "not solved"])
            axes.set_title(f"{model}, {operation}", fontsize=8)
    panels[0][-1].legend(frameon=False, fontsize=7)
    figure.supxlabel("mean gate of the second layer (1: sum, 0: product)", fontsize=8)
    figure.supylabel("runs", fontsize=8)
    return picture(figure, "two-layer-gates.svg", "Mean gate of the second layer", folder)


if __name__ == "__main__":
    print(f"{collect(Path(sys.argv[1]))} runs written to {TABLE.relative_to(ROOT)}.")
