"""The same unit under its published recipe, under the training rule and by the solver: what each of them costs."""

from __future__ import annotations

from statistics import median
from typing import Any

from build_results import ROOT

from nalm.bench.results.store import read_table
from nalm.bench.studies import studies
from nalm.bench.study import Cell, Study


def single_module() -> str:
    """The Single Module Task's table."""
    return _chapter("single-module")


def division() -> str:
    """The division chapter's table."""
    return _chapter("division")


def two_layer() -> str:
    """The Arithmetic Dataset Task's table."""
    return _chapter("two-layer")


def _chapter(chapter: str) -> str:
    rows = {row["id"]: row for row in read_table(ROOT / "results" / f"{chapter}.csv.gz")}
    lines = [
        "| study | row | solved | samples until solved, median (most) | seconds per run |",
        "|---|---|---|---|---|",
    ]
    for study in studies().values():
        if study.name.startswith(f"{chapter}/"):
            lines += _lines(study, rows)
    return "\n".join(lines)


def _lines(study: Study, rows: dict[str, dict[str, Any]]) -> list[str]:
    """The rows trained in other ways, each kind of unit after its published row."""
    others = [cell for cell in study.cells if cell.recipe.way != "published"]
    units = {cell.row.rpartition(" ")[0] for cell in others}
    found: dict[str, list[tuple[Cell, dict[str, Any]]]] = {}
    for cell, run in study.runs():
        if run.id in rows and (cell.row in units or cell in others):
            found.setdefault(cell.row, []).append((cell, rows[run.id]))
    return [f"| `{study.name}` | {row} | {_numbers(own)} |" for row, own in found.items()]


def _numbers(own: list[tuple[Cell, dict[str, Any]]]) -> str:
    samples = [row["solved_at"] * cell.recipe.batch for cell, row in own if row["solved"]]
    counted = f"{median(samples):,.0f} ({max(samples):,.0f})" if samples else "-"
    seconds = sum(row["seconds"] for _, row in own) / len(own)
    return f"{len(samples):,}/{len(own):,} | {counted} | {seconds:.2g}"
