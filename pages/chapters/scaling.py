"""What the scaling page shows beside its tables."""

from __future__ import annotations

from nalm.bench.show.drawings import draw_errors
from nalm.bench.studies import find_study
from pages.committed import rows_of
from pages.markdown import picture


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
