"""What the composition page shows: counts of expressions, errors, and our layer on every range."""

from __future__ import annotations

import csv
import math
from statistics import fmean, median, stdev
from typing import Any

from nalm.bench.studies.composition import ARCHITECTURES, OURS, REDUNDANT, THREE_STEP, Architecture
from nalm.bench.study import Study
from nalm.bench.tasks.composition import EXPRESSIONS
from pages.committed import RESULTS, rows_of
from pages.markdown import markdown_table

Record = dict[str, Any]


def published() -> str:
    """Table 7.3 of the thesis: ours, and the published numbers in brackets."""
    head = ["network", "correct of 16", "runs solved", "interpolation error", "extrapolation error", "diverged"]
    return markdown_table(head, [_line(architecture) for architecture in ARCHITECTURES])


def _line(architecture: Architecture) -> list[str]:
    records = [r for r in rows_of("composition") if r["unit"] == architecture.model.label]
    solved = [r for r in records if r["solved"]]
    limit = "" if architecture.possible == len(EXPRESSIONS) else f", at most {architecture.possible}"
    return [
        architecture.model.label,
        f"{len({r['operation'] for r in solved})} ({architecture.correct}{limit})",
        f"{len(solved)}/{len(records)}",
        f"{_spread(records, 'validation_error')} ({architecture.interpolation:g})",
        f"{_spread(records, 'test_error')} ({architecture.extrapolation:g})",
        str(sum(r["nonfinite_step"] is not None for r in records)),
    ]


def _spread(records: list[Record], name: str) -> str:
    """Mean and deviation over the runs that ended with a number."""
    values = [float(r[name]) for r in records if r[name] is not None and math.isfinite(float(r[name]))]
    return f"{fmean(values):.3g} ± {stdev(values):.2g}" if len(values) > 1 else "none"


def learned() -> str:
    """Which expressions each published network learned, and in how many of its seeds."""
    lines = []
    for architecture in ARCHITECTURES:
        records = [r for r in rows_of("composition") if r["unit"] == architecture.model.label and r["solved"]]
        counts = {steps: sum(r["operation"] == steps for r in records) for steps in EXPRESSIONS}
        found = ", ".join(f"{steps} {count}" for steps, count in counts.items() if count)
        if found:
            lines.append([architecture.model.label, found])
    return markdown_table(["network", "expressions learned, in so many of five seeds"], lines)


def ours() -> str:
    """Our layer and the solver on the nine ranges."""
    lines = [[study.name.partition("/")[2], *_ways(study)] for study in OURS]
    head = ["range", "FormulaLayer: runs", "expressions in every seed", "median step", "solver: runs", "expressions"]
    return markdown_table(head, lines)


def _ways(study: Study) -> list[str]:
    cells: list[str] = []
    for way in ("formula", "solver"):
        own = _records(study, way)
        always = sum(all(r["solved"] for r in own if r["operation"] == steps) for steps in EXPRESSIONS)
        cells += [f"{sum(bool(r['solved']) for r in own)}/{len(own)}", f"{always}/{len(EXPRESSIONS)}"]
        if way == "formula":
            cells.append(f"{median(int(r['solved_at']) for r in own if r['solved']):g}")
    return cells


def _records(study: Study, way: str) -> list[Record]:
    """The committed runs of a study that were trained one way."""
    known = {run.id for cell, run in study.runs() if cell.method.way == way}
    return [record for record in rows_of("composition") if record["id"] in known]


def missed() -> str:
    """The runs of our layer that found nothing."""
    records = [(study, r) for study in OURS for r in _records(study, "formula") if not r["solved"]]
    found = [f"{r['operation']} on {study.name.partition('/')[2]}, seed {r['seed']}" for study, r in records]
    return "; ".join(found) if found else "none"


def hard() -> str:
    """The two formulas that stacks of units fail on."""
    with (RESULTS / "composition-hard.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    lines = [[r["target"], r["range"], f"{r['solved']}/{r['runs']}", r["median_step"], r["last_step"]] for r in rows]
    return markdown_table(["formula", "range", "found", "median step", "last step"], lines)


def unseen() -> str:
    """Studies that had no part in the development."""
    lines = []
    for study in (REDUNDANT, THREE_STEP):
        own, solved = _records(study, "formula"), _records(study, "solver")
        failed = ", ".join(r["operation"] for r in own if not r["solved"]) or "none"
        lines.append([study.title, _counted(own), failed if own else "", _counted(solved)])
    return markdown_table(["", "FormulaLayer", "not found", "solver"], lines)


def _counted(records: list[Record]) -> str:
    return f"{sum(bool(r['solved']) for r in records)}/{len(records)}" if records else "not run"
