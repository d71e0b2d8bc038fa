"""What the report shows, as plain data: every study with its cells, and of each cell its runs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from nalm.bench.results.stats import Interval
from nalm.bench.results.summary import CellSummary, solved_by_seed, summarise, totals
from nalm.bench.study import Cell, Study

Record = Mapping[str, Any]

POINTS = 40
"""Points of a learning curve that the page draws: more are not seen at its size."""
WEIGHTS = 64
"""Weights of a run that are listed; wider layers are told by their number of weights."""
RUNS_WITH_CURVES = 3000
"""Runs whose curves and weights are put into the page: about 3 MB of the 5 that a browser opens at once."""


def content(studies: Iterable[Study], records: Sequence[Record]) -> dict[str, Any]:
    """Everything on the page; studies without a finished run are left out."""
    detailed = len(records) <= RUNS_WITH_CURVES
    by_id = {record["id"]: record for record in records}
    shown = [_study(study, by_id, detailed) for study in studies]
    return {"studies": [study for study in shown if study["cells"]], "detailed": detailed}


def _study(study: Study, by_id: Mapping[str, Record], detailed: bool) -> dict[str, Any]:
    own = {name: by_id[name] for name in study.ids() if name in by_id}  # a study may judge its runs by one another
    solved = solved_by_seed(study, own.values())
    runs: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for cell in study.cells:
        key = (cell.row, cell.column)
        found = [(seed, own[name]) for seed, name in enumerate(cell.ids(study.seeds)) if name in own]
        shown = [_run(cell, seed, record, solved[key][seed], detailed) for seed, record in found]
        runs.setdefault(key, []).extend(shown)
    return {
        "name": study.name,
        "title": study.title,
        "reproduces": study.reproduces,
        "notes": list(study.notes),
        "rows": study.rows,
        "totals": {row: _interval(rate) for row, rate in totals(study, own.values()).items()},
        "columns": study.columns,
        "cells": [_cell(entry, runs[entry.row, entry.column]) for entry in summarise(study, own.values())],
    }


def _cell(entry: CellSummary, runs: list[dict[str, Any]]) -> dict[str, Any]:
    published = entry.published
    return {
        "row": entry.row,
        "column": entry.column,
        "success": _interval(entry.success),
        "steps": _interval(entry.solved_at),
        "sparsity": _interval(entry.sparsity),
        "published": None if published is None else published.success,
        "source": "" if published is None else published.source,
        "disagrees": entry.disagrees,
        "runs": runs,
    }


def _run(cell: Cell, seed: int, record: Record, solved: bool, detailed: bool) -> dict[str, Any]:
    shown = {
        "seed": seed,
        "id": record["id"],
        "solved": solved,
        "at": record.get("solved_at"),
        "error": _number(record.get("test_error")),
        "sparsity": _number(record.get("sparsity")),
        "engine": str(record.get("engine") or ""),
        "versions": _versions(record),
    }
    if detailed:
        shown |= {"curve": _curve(record.get("curve")), **_learned(cell, record.get("weights"))}
    return shown


def _versions(record: Record) -> str:
    """What trained the run; tables leave it out."""
    names = {"nalm": record.get("library_version"), "torch": record.get("torch_version")}
    return ", ".join(f"{name} {version}" for name, version in names.items() if version)


def _curve(curve: Any) -> list[list[float | None]] | None:
    """Step, validation error and test error at a few evaluations."""
    if not isinstance(curve, Mapping) or not len(curve.get("step", ())):
        return None
    chosen = np.unique(np.linspace(0, len(curve["step"]) - 1, POINTS).astype(int))
    return [[_number(curve[name][i]) for i in chosen] for name in ("step", "validation_error", "test_error")]


def _learned(cell: Cell, weights: Any) -> dict[str, Any]:
    """The final weights, and the expression they read as: of a wide model only if it is on its grid."""
    if not isinstance(weights, Mapping) or not weights:
        return {}
    flat = {name: np.asarray(value, np.float64).ravel() for name, value in weights.items()}
    listed = {
        name: [_number(v) for v in values] if len(values) <= WEIGHTS else f"{len(values)} weights"
        for name, values in flat.items()
    }
    return {"weights": listed, "expression": _expression(cell, weights)}


def _expression(cell: Cell, weights: Mapping[str, Any]) -> str | None:
    import torch

    from nalm.core.reading import read

    unit = cell.model.build()
    try:
        with torch.no_grad():
            for name, parameter in unit.named_parameters():
                parameter.copy_(torch.tensor(weights[name]))
        if sum(values.numel() for values in unit.parameters()) > WEIGHTS and not unit.snapped(within=1e-3).on_grid():
            return None  # pages of decimals that nobody reads; SymPy needs minutes for the perceptrons of y = x
        return str(read(unit.eval(), within=1e-3))
    except (KeyError, RuntimeError, TypeError, ValueError):  # a unit without a formula, or weights that diverged
        return None


def _interval(interval: Interval | None) -> list[float | None] | None:
    return None if interval is None else [_number(v) for v in (interval.estimate, interval.low, interval.high)]


def _number(value: Any) -> float | None:
    """A number in four digits, as JSON can hold it."""
    if value is None or not math.isfinite(float(value)):
        return None
    return float(f"{float(value):.4g}")
