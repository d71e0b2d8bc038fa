"""What the lessons page shows beside its tables."""

from __future__ import annotations

from collections import defaultdict
from statistics import mean

from nalm.bench.studies import find_study
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
