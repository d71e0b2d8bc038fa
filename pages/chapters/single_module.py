"""What the single-module page shows beside its tables."""

from __future__ import annotations

from nalm.bench.results.stats import wilson
from nalm.bench.studies import find_study
from pages.committed import rows_of
from pages.markdown import markdown_table

FLAT = 1e-5
SEVEN = ("NAC•", "NALU", "G-NALU", "iNALU", "NMU", "NPU", "Real NPU")
"""The units of the stochastic NMU's paper, figure 2."""


def flat() -> str:
    """Success in multiplication by a threshold that is the same for all ranges, from the same runs."""
    study = find_study("single-module/mul")
    errors = {row["id"]: float(row["test_error"]) for row in rows_of("single-module") if row["test_error"] is not None}
    counts = {
        (cell.row, cell.column): wilson(sum(errors.get(run, FLAT) < FLAT for run in cell.ids(study.seeds)), study.seeds)
        for cell in study.cells
    }
    lines = [[column, *(f"{counts[unit, column].estimate:.2f}" for unit in SEVEN)] for column in study.columns]
    return markdown_table(["success below 1e-5", *SEVEN], lines)


def near_misses() -> str:
    """The NAU's failed runs with redundant inputs: test errors as multiples of the threshold."""
    by_id = {row["id"]: row for row in rows_of("single-module")}
    lines = []
    for name in ("add-10", "sub-10", "add-100", "sub-100"):
        study = find_study(f"single-module/{name}")
        for cell in study.cells:
            rows = [by_id[run] for run in cell.ids(study.seeds)] if cell.row == "NAU" else []
            excess = sorted(row["test_error"] / row["threshold"] for row in rows if not row["solved"])
            if excess:
                lines.append([name, cell.column, ", ".join(f"{value:.1f}" for value in excess)])
    return markdown_table(["study", "range", "test error / threshold"], lines)


def cost() -> str:
    """Runs, solved runs and seconds of each way of training, summed over the committed table."""
    rows = rows_of("single-module")
    names = {"native": "published recipes, native engine", "rule": "local Gauss-Newton rule", "solver": "solver"}
    lines = []
    for engine, name in names.items():
        for inputs in (2, 10, 100):
            own = [row for row in rows if row["engine"] == engine and row["inputs"] == inputs]
            if own:
                seconds = sum(row["seconds"] for row in own)
                solved = sum(row["solved"] for row in own)
                numbers = [f"{len(own):,}", f"{solved:,}", f"{seconds:,.0f}", f"{1e3 * seconds / len(own):,.0f}"]
                lines.append([name, str(inputs), *numbers])
    return markdown_table(["trained by", "inputs", "runs", "solved", "wall seconds, all runs", "ms per run"], lines)
