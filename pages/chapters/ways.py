"""The same unit under its published recipe, under the training rule and by the solver: what each of them costs."""

from __future__ import annotations

from statistics import median
from typing import Any

from nalm.bench.method import Stepwise
from nalm.bench.studies import studies
from nalm.bench.study import Cell, Study
from pages.committed import rows_of
from pages.markdown import markdown_table


def compared(chapter: str) -> str:
    """The table of a chapter's studies."""
    rows = {row["id"]: row for row in rows_of(chapter)}
    chosen = [study for study in studies().values() if study.name.startswith(f"{chapter}/")]
    head = ["study", "row", "solved", "samples until solved, median (most)", "seconds per run"]
    return markdown_table(head, [line for study in chosen for line in _lines(study, rows)])


def _lines(study: Study, rows: dict[str, dict[str, Any]]) -> list[list[str]]:
    """The rows trained in other ways, each kind of unit after its published row."""
    others = [cell for cell in study.cells if cell.method.way != "published"]
    units = {cell.row.rpartition(" ")[0] for cell in others}
    found: dict[str, list[tuple[Cell, dict[str, Any]]]] = {}
    for cell, run in study.runs():
        if run.id in rows and (cell.row in units or cell in others):
            found.setdefault(cell.row, []).append((cell, rows[run.id]))
    return [[f"`{study.name}`", row, *_numbers(own)] for row, own in found.items()]


def _numbers(own: list[tuple[Cell, dict[str, Any]]]) -> list[str]:
    solved = [(cell.method, row) for cell, row in own if row["solved"]]
    samples = [row["solved_at"] * method.batch for method, row in solved if isinstance(method, Stepwise)]
    counted = f"{median(samples):,.0f} ({max(samples):,.0f})" if samples else "-"
    seconds = sum(row["seconds"] for _, row in own) / len(own)
    return [f"{len(samples):,}/{len(own):,}", counted, f"{seconds:.2g}"]
