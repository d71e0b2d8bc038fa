"""The committed measurements: a study named chapter/name is read from results/chapter.csv.gz."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from nalm.bench.results.store import read_table
from nalm.bench.results.summary import CellSummary, summarise
from nalm.bench.studies import find_study
from nalm.bench.study import Study

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "results"
DOCS = ROOT / "docs"


@cache
def rows_of(chapter: str) -> list[dict[str, Any]]:
    """The committed runs of a chapter."""
    return read_table(RESULTS / f"{chapter}.csv.gz")


@cache
def counted(name: str) -> list[CellSummary]:
    """The cells of a study that have committed runs; none if it has not been run."""
    chapter = name.partition("/")[0]
    return summarise(find_study(name), rows_of(chapter)) if (RESULTS / f"{chapter}.csv.gz").exists() else []


def entries_of(name: str) -> tuple[Study, list[CellSummary]]:
    """A study and its counted cells; it must have some."""
    if not counted(name):
        chapter = name.partition("/")[0]
        raise SystemExit(f"results/{chapter}.csv.gz holds no run of {name}; run the study and export it there.")
    return find_study(name), counted(name)


def extended(name: str) -> tuple[Study, list[CellSummary]]:
    """A study and those of its cells that were run on more seeds than the published protocol has, with all of them."""
    study, usual = entries_of(name)
    seeds = 1 + max(row["seed"] for row in rows_of(name.partition("/")[0]))
    runs = {(entry.row, entry.column): entry.runs for entry in usual}
    entries = summarise(replace(study, seeds=seeds), rows_of(name.partition("/")[0]))
    longer = [entry for entry in entries if entry.runs > runs.get((entry.row, entry.column), 0)]
    rows = {entry.row for entry in longer}
    return replace(study, cells=tuple(cell for cell in study.cells if cell.row in rows)), longer


def cells_of(name: str) -> dict[tuple[str, str], CellSummary]:
    """The counted cells of a study by row and column."""
    return {(entry.row, entry.column): entry for entry in entries_of(name)[1]}
