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
FIGURE = PAGE.with_name("solver_recovery.svg")
INTRODUCTION = """# The solver, measured

*Written by `python benchmarks/regression.py --page` from the files in `benchmarks/results`; not edited by hand.*

"""
SUMMARY_TEXT = """The solver sees the inputs and the target of the unit itself, as one batch. It is no rival of gradient
training inside a network: it replaces training where a unit sits directly on data, and shows what descent gives up.
Times are processor seconds of one thread on a machine shared with other work; compare them with each other only.

"""
LAWS_TEXT = """## Laws of physics: ours, gplearn and pyoperon

256 rows in float32, the law's own inputs and the stated number of redundant ones. *Recovered*: median relative error
below 1e-5 (or the noise, if larger) from the upper end of the data to twice that. *Wrong claims*: called exact or exact
up to a real coefficient, but not recovered. Ours is not told the noise; cells with noise hold the fits that were run so
far. At a noise of 1e-3 on U[1.1,1.2) the verdict is `ambiguous`. The peers make no claims. They stop at 10 s of
processor time for each fit (gplearn at the end of a generation) and were run on all laws, on U[1,2) with two redundant
inputs and without noise. A pyoperon fit that ended in an error of its own counts as not recovered. PySR could not take
part: it downloads Julia when it is imported, and there was no network. The 29 laws were used while the solver was
developed; the Feynman list (volume I without sin, cos, exp, log) was used to find shapes that were missing, so neither
is a blind test.

"""


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines) + "\n\n"


def counts(group: list[dict[str, str]]) -> tuple[int, int, int]:
    """Fits, recovered ones, wrong claims."""
    recovered = sum(row["recovered"] == "1" for row in group)
    return len(group), recovered, sum(row["claimed"] == "1" and row["recovered"] == "0" for row in group)


def law_table(rows: list[dict[str, str]], keys: Sequence[str]) -> str:
    """One line for each combination of `keys`, which may be set, noise, redundant, range and method."""
    cells: dict[tuple[str, ...], list[dict[str, str]]] = defaultdict(list)
    for row in rows:
        cells[tuple(row[key] for key in keys)].append(row)
    made = []
    for key, group in sorted(cells.items()):
        count, recovered, wrong = counts(group)
        seconds = [float(row["seconds"]) for row in group]
        error = np.median([float(row["error"]) for row in group])
        claims = wrong if group[0]["method"] == "nalm" else "–"
        times = f"{np.median(seconds):.2f}", f"{max(seconds):.1f}"
        made.append((*key, f"{recovered}/{count}", claims, f"{error:.1e}", *times))
    return table((*keys, "recovered", "wrong claims", "median error", "median s", "max s"), made)


def summary(rows: list[dict[str, str]], tasks: list[dict[str, str]]) -> str:
    """What a reader wants to know first."""
    ours = [row for row in rows if row["method"] == "nalm"]
    lines: list[tuple[object, ...]] = []
    for noise in sorted({row["noise"] for row in ours}, key=float):
        group = [row for row in ours if row["noise"] == noise]
        count, recovered, wrong = counts(group)
        name = f"laws of physics, noise {float(noise):g}" if float(noise) else "laws of physics, no noise"
        lines.append((name, count, recovered, wrong, f"{np.median([float(r['seconds']) for r in group]):.2f}"))
    for peer in ("gplearn", "pyoperon"):
        group = [row for row in rows if row["method"] == peer]
        count, recovered, _ = counts(group)
        middle = f"{np.median([float(r['seconds']) for r in group]):.1f}"
        lines.append((f"the same, {peer}, no noise, U[1,2)", count, recovered, "–", middle))
    for task in dict.fromkeys(row["task"] for row in tasks):
        group = [row for row in tasks if row["task"] == task]
        runs, exact, wrong = (sum(int(row[name]) for row in group) for name in ("runs", "exact", "wrong"))
        middle = f"{np.median([float(row['seconds']) for row in group]):.3f}"
        recovered_text = "must refuse" if "refusals" in task else exact
        lines.append((task, runs, recovered_text, wrong, middle))
    return table(("task", "runs", "recovered", "wrong claims", "median s"), lines)


def draw(rows: list[dict[str, str]]) -> None:
    """The share of laws recovered within so many seconds, all methods on the same data."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    matplotlib.rcParams["svg.hashsalt"] = "nalm"
    figure, axes = pyplot.subplots(figsize=(6, 3.2), layout="constrained")
    same = [row for row in rows if row["noise"] == "0.0" and row["redundant"] == "2" and row["range"] == "U[1,2)"]
    for method in ("nalm", "pyoperon", "gplearn"):
        group = [row for row in same if row["method"] == method]
        seconds = sorted(float(row["seconds"]) for row in group if row["recovered"] == "1")
        share = np.arange(1, len(seconds) + 1) / max(len(group), 1)
        axes.step([*seconds, 15], [*share, share[-1] if len(share) else 0], where="post", label=method)
    axes.set(xscale="log", ylim=(0, 1.03), xlabel="processor seconds", ylabel="laws recovered")
    axes.set_title("65 laws, U[1,2), two redundant inputs, no noise", fontsize=10)
    axes.legend(loc="center left", frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(FIGURE, metadata={"Date": None})
    pyplot.close(figure)


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
    missed = [f"{row['law']} ({row['range']}, {row['redundant']} redundant)" for row in rows if _clean(row)]
    return f"Not recovered without noise: {', '.join(missed) or 'none'}.\n\n"


def _clean(row: dict[str, str]) -> bool:
    return row["method"] == "nalm" and float(row["noise"]) == 0 and row["recovered"] == "0"


def task_tables(rows: list[dict[str, str]]) -> str:
    by_task: dict[str, list[dict[str, str]]] = defaultdict(list)
    for row in rows:
        by_task[row["task"]].append(row)
    text = "## The field's own tasks, from one batch\n\n"
    text += (
        "128 rows for single units (256 for 100 inputs), 1024 for the two-layer task, 256 for compositions and trees.\n"
    )
    text += "*Exact* counts runs whose formula is claimed and right; *wrong* those claimed and not right.\n\n"
    for task in ("two-layer task", "random trees, 6 inputs", "printed tables", "printed refusals", "refusals"):
        if task not in by_task:
            continue
        text += f"### {task.capitalize()}\n\n"
        lines = [
            (row["cell"], f"{row['exact']}/{row['runs']}", row["wrong"], row["seconds"], PUBLISHED.get(row["cell"], ""))
            for row in by_task[task]
        ]
        text += table(("cell", "exact", "wrong", "median s", "published success"), lines)
    short = [row for row in rows if row["exact"] != row["runs"] and "refusals" not in row["task"]]
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
    """Writes the page and its figure."""
    rows = [row | {"range": f"U[{float(row['low']):g},{float(row['high']):g})"} for row in read(results)]
    tasks = read(TASKS) if TASKS.exists() else []
    text = INTRODUCTION + summary(rows, tasks) + SUMMARY_TEXT
    text += f"![laws recovered against seconds]({FIGURE.name})\n\n" + LAWS_TEXT
    text += law_table(rows, ("set", "noise", "method", "redundant")) + speed_text(rows) + missed_text(rows)
    text += "### By range\n\n" + law_table(
        [row for row in rows if row["method"] == "nalm"], ("set", "noise", "redundant", "range")
    )
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text((text + task_tables(tasks)).rstrip() + "\n", encoding="utf-8")
    draw(rows)
