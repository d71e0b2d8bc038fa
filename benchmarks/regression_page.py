"""The results page of the solver, written from the result files and from nothing else."""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

PAGE = Path(__file__).parents[1] / "docs" / "results" / "solver.md"
TASKS = Path(__file__).parent / "results" / "solver_tasks.csv"
PUBLISHED = {  # success of NMU / sNMU on the two-layer task, Mistry 2023 (20 seeds, 5 and 2 million steps)
    "U[-2,-1) mul": "NMU 1",
    "U[-1.2,-1.1) mul": "NMU 0, sNMU 0",
    "U[-0.2,-0.1) mul": "NMU .75, sNMU .90",
    "U[-2,2) mul": "NMU .78, sNMU 1",
    "U[0.1,0.2) mul": "NMU .80, sNMU .90",
    "U[1,2) mul": "NMU 1",
    "U[1.1,1.2) mul": "NMU 0, sNMU 0",
    "U[10,20) mul": "NMU 1",
}
INTRODUCTION = """# The solver, measured

*Written by `python benchmarks/regression.py --page` from the files in `benchmarks/results`; not edited by hand.*

The solver sees the inputs and the target of the unit itself, as one batch. It is no rival of gradient training inside a
network: it replaces training where a unit sits directly on data, and shows what descent gives up.
Times are processor seconds of one thread on a machine shared with other work; compare them with each other only.

"""
LAWS_TEXT = """## Laws of physics: ours, gplearn and pyoperon

256 rows in float32, the law's own inputs and the stated number of redundant ones. *Recovered*: median relative error
below 1e-5 (or the noise, if larger) from the upper end of the data to twice that. *Wrong claims*: called exact or exact
up to a real coefficient, but not recovered. Ours is not told the noise. The peers make no claims; they stop at {cap} of
processor time, and were run on every third law only. The 29 laws were used while the solver was developed; the Feynman
list (volume I without sin, cos, exp, log) was used to find shapes that were missing, so neither is a blind test.

"""


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines) + "\n\n"


def law_table(rows: list[dict[str, str]]) -> str:
    cells: dict[tuple[str, ...], list[dict[str, str]]] = defaultdict(list)
    for row in rows:
        cells[row["set"], row["noise"], row["redundant"], f"U[{row['low']},{row['high']})", row["method"]].append(row)
    made = []
    for key, group in sorted(cells.items(), key=lambda item: (item[0][0], float(item[0][1]), *item[0][2:])):
        count = len(group)
        recovered = sum(row["recovered"] == "1" for row in group)
        wrong = sum(row["claimed"] == "1" and row["recovered"] == "0" for row in group)
        seconds = [float(row["seconds"]) for row in group]
        error = np.median([float(row["error"]) for row in group])
        claims = wrong if key[-1] == "nalm" else "–"
        times = f"{np.median(seconds):.2f}", f"{max(seconds):.1f}"
        made.append((*key, f"{recovered}/{count}", claims, f"{error:.1e}", *times))
    head = (
        "set",
        "noise",
        "redundant",
        "range",
        "method",
        "recovered",
        "wrong claims",
        "median error",
        "median s",
        "max s",
    )
    return table(head, made)


def speed_text(rows: list[dict[str, str]]) -> str:
    """Seconds where both we and a peer recovered the same law from the same data."""
    ours = {_data(row): float(row["seconds"]) for row in rows if row["method"] == "nalm" and row["recovered"] == "1"}
    lines = []
    for peer in ("gplearn", "pyoperon"):
        both = [
            (ours[_data(row)], float(row["seconds"]))
            for row in rows
            if row["method"] == peer and row["recovered"] == "1" and _data(row) in ours
        ]
        if both:
            faster = sum(mine < theirs for mine, theirs in both)
            mine, theirs = (float(np.median(side)) for side in zip(*both, strict=True))
            lines.append(
                f"- On the {len(both)} fits that both recovered, ours took {mine:.3f} s and {peer} {theirs:.2f} s "
                f"in the median; ours was faster in {faster} of {len(both)}.\n"
            )
    return "".join(lines) + "\n"


def _data(row: dict[str, str]) -> tuple[str, ...]:
    return tuple(row[name] for name in ("set", "law", "low", "high", "redundant", "noise"))


def missed_text(rows: list[dict[str, str]]) -> str:
    missed = sorted({row["law"] for row in rows if _clean(row) and row["recovered"] == "0"})
    return f"Not recovered without noise, on any range: {', '.join(missed) or 'none'}.\n\n"


def _clean(row: dict[str, str]) -> bool:
    return row["method"] == "nalm" and float(row["noise"]) == 0


def task_tables(rows: list[dict[str, str]]) -> str:
    by_task: dict[str, list[dict[str, str]]] = defaultdict(list)
    for row in rows:
        by_task[row["task"]].append(row)
    text = "## The field's own tasks, from one batch\n\n"
    text += (
        "128 rows for single units (256 for 100 inputs), 1024 for the two-layer task, 256 for compositions and trees.\n"
    )
    text += "*Exact* counts runs whose formula is claimed and right; *wrong* those claimed and not right.\n\n"
    summary = []
    for task, group in by_task.items():
        runs, exact, wrong = (sum(int(row[name]) for row in group) for name in ("runs", "exact", "wrong"))
        seconds = np.median([float(row["seconds"]) for row in group])
        summary.append((task, len(group), runs, exact, wrong, f"{seconds:.3f}"))
    text += table(("task", "cells", "runs", "exact", "wrong", "median s"), summary)
    for task in ("two-layer task", "random trees, 6 inputs", "refusals"):
        if task not in by_task:
            continue
        text += f"### {task.capitalize()}\n\n"
        lines = [
            (row["cell"], f"{row['exact']}/{row['runs']}", row["wrong"], row["seconds"], PUBLISHED.get(row["cell"], ""))
            for row in by_task[task]
        ]
        text += table(("cell", "exact", "wrong", "median s", "published success"), lines)
    short = [row for row in rows if row["exact"] != row["runs"] and row["task"] != "refusals"]
    if short:
        text += "Cells that are not complete: " + "; ".join(
            f"{row['task']}, {row['cell']} {row['exact']}/{row['runs']}" for row in short
        )
        text += ".\n"
    return text


def read(file: Path) -> list[dict[str, str]]:
    with file.open(newline="") as stream:
        return list(csv.DictReader(stream))


def write(results: Path) -> None:
    """Writes the page."""
    rows = read(results)
    caps = [float(row["seconds"]) for row in rows if row["method"] != "nalm"]
    cap = f"about {np.median(caps):.0f} s" if caps else "a cap"
    text = INTRODUCTION + LAWS_TEXT.format(cap=cap) + law_table(rows) + speed_text(rows) + missed_text(rows)
    if TASKS.exists():
        text += task_tables(read(TASKS))
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(text.rstrip() + "\n", encoding="utf-8")
