"""What the solver's page shows: the lists of the field, laws of physics, adversarial targets, published tasks."""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cache
from statistics import median

from pages.committed import RESULTS
from pages.markdown import markdown_table, picture

Row = dict[str, str]
LISTS = (
    "Feynman", "Feynman bonus", "Strogatz", "classic", "laboratory curves", "NIST models", "SI units",
    "SI units, unseen", "everyday", "everyday, unseen",
)  # fmt: skip
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


@cache
def _rows(name: str) -> tuple[Row, ...]:
    with (RESULTS / f"solver-{name}.csv").open(newline="", encoding="utf-8") as stream:
        return tuple(csv.DictReader(stream))


def _grouped(rows: Iterable[Row], *keys: str) -> dict[tuple[str, ...], list[Row]]:
    cells: dict[tuple[str, ...], list[Row]] = defaultdict(list)
    for row in rows:
        cells[tuple(row[key] for key in keys)].append(row)
    return cells


def _recovered(rows: Sequence[Row]) -> int:
    return sum(row["recovered"] == "1" for row in rows)


def _wrong(rows: Sequence[Row]) -> int:
    """Claims of what is not the law."""
    return sum(row["claimed"] == "1" and row["recovered"] == "0" for row in rows)


def _seconds(rows: Sequence[Row], name: str) -> list[str]:
    times = [float(row[name]) for row in rows]
    return [f"{median(times):.2f}", f"{max(times):.1f}"]


# The lists of the field.


def lists() -> str:
    """Ours on every list that was run: one line for each list, noise and number of rows."""
    cells = _grouped([row for row in _rows("lists") if row["method"] == "nalm"], "rows", "noise", "list")
    ordered = sorted(cells.items(), key=lambda cell: (-int(cell[0][0]), float(cell[0][1]), LISTS.index(cell[0][2])))
    lines = []
    for (rows, noise, name), group in ordered:
        claimed = sum(row["claimed"] == "1" for row in group)
        counts = [f"{_recovered(group)}/{len(group)}", str(claimed), str(_wrong(group))]
        lines.append([name, f"{float(noise):g}", rows, *counts, *_seconds(group, "cpu")])
    return markdown_table(["list", "noise", "rows", "recovered", "claimed", "wrong", "median s", "max s"], lines)


def lists_missed() -> str:
    """The equations that were not recovered without noise."""
    ours = [row for row in _rows("lists") if row["method"] == "nalm" and float(row["noise"]) == 0]
    missed = _grouped([row for row in ours if row["recovered"] == "0"], "rows", "list")
    ordered = sorted(missed.items(), key=lambda cell: (-int(cell[0][0]), LISTS.index(cell[0][1])))
    lines = [[name, rows, ", ".join(row["name"] for row in group)] for (rows, name), group in ordered]
    return markdown_table(["list", "rows", "not recovered without noise"], lines)


def peers() -> str:
    """Other methods and ours on the same equations, without noise."""
    clean = [row for row in _rows("lists") if float(row["noise"]) == 0]
    ours = {(row["list"], row["name"], row["rows"]): row for row in clean if row["method"] == "nalm"}
    cells = _grouped([row for row in clean if row["method"] != "nalm"], "method", "list", "rows")
    lines = []
    for (method, name, rows), group in sorted(cells.items()):
        same = [ours[key] for row in group if (key := (row["list"], row["name"], row["rows"])) in ours]
        for label, chosen in ((method, group), ("nalm", same)):
            lines.append([label, name, rows, f"{_recovered(chosen)}/{len(chosen)}", *_seconds(chosen, "cpu")])
    if not lines:
        return "The peers have not been run on these lists."
    return markdown_table(["method", "list", "rows", "recovered", "median s", "max s"], lines)


# Adversarial targets.


def adversary() -> str:
    """Every family of adversarial targets that was run."""
    cells = _grouped(_rows("adversary"), "effort", "family")
    names = ("runs", "right", "wrong", "close", "hidden", "ambiguous", "none", "timeout")
    lines = [
        [family, effort, *(str(sum(int(row[name]) for row in group)) for name in names)]
        for (effort, family), group in cells.items()
    ]
    totals = [str(sum(int(row[name]) for row in _rows("adversary"))) for name in names]
    return markdown_table(["family", "effort", *names], [*lines, ["**all**", "", *totals]])


def adversary_in_short() -> str:
    """How many cases there were at each effort, and what became of the claims."""
    rows = _rows("adversary")
    total = {
        name: sum(int(row[name]) for row in rows) for name in ("runs", "claimed", "right", "wrong", "close", "hidden")
    }
    efforts = " and ".join(
        f"{sum(int(row['runs']) for row in rows if row['effort'] == effort):,} at effort `{effort}`"
        for effort in ("quick", "normal")
    )
    return (
        f"Of {total['runs']:,} cases ({efforts}) {total['claimed']:,} were claimed: {total['right']:,} rightly, "
        f"{total['wrong']} wrongly, {total['close']} close and {total['hidden']} hidden."
    )


# Laws of physics, with redundant inputs.


def laws() -> str:
    """Every method on the laws of physics, by noise and redundant inputs."""
    return _law_table(_rows("regression"), ("set", "noise", "method", "redundant"))


def laws_by_range() -> str:
    """Ours on the laws of physics, by range."""
    ranged = [
        row | {"range": f"U[{float(row['low']):g},{float(row['high']):g})"}
        for row in _rows("regression")
        if row["method"] == "nalm"
    ]
    return _law_table(ranged, ("set", "noise", "redundant", "range"))


def _law_table(rows: Iterable[Row], keys: tuple[str, ...]) -> str:
    lines = []
    for key, group in sorted(_grouped(rows, *keys).items()):
        claims = str(_wrong(group)) if group[0]["method"] == "nalm" else "–"
        error = f"{median(float(row['error']) for row in group):.1e}"
        lines.append([*key, f"{_recovered(group)}/{len(group)}", claims, error, *_seconds(group, "seconds")])
    return markdown_table([*keys, "recovered", "wrong claims", "median error", "median s", "max s"], lines)


def faster() -> str:
    """Seconds where both we and a peer recovered the same law from the same data."""
    keys = ("set", "law", "low", "high", "redundant", "noise")
    found = [row for row in _rows("regression") if row["recovered"] == "1"]
    ours = {tuple(row[k] for k in keys): float(row["seconds"]) for row in found if row["method"] == "nalm"}
    lines = []
    for peer in ("gplearn", "pyoperon"):
        theirs = {tuple(row[k] for k in keys): float(row["seconds"]) for row in found if row["method"] == peer}
        both = [(ours[key], seconds) for key, seconds in theirs.items() if key in ours]
        quicker = sum(mine < other for mine, other in both)
        mine, other = (median(side) for side in zip(*both, strict=True))
        lines.append(
            f"- On the {len(both)} fits that both recovered, ours took {mine:.3f} s and {peer} {other:.2f} s in the "
            f"median; ours was faster in {quicker} of {len(both)}."
        )
    return "\n".join(lines)


def recovery_figure() -> str:
    """The share of laws recovered within so many seconds, all methods on the same data."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 3.2), layout="constrained")
    axes = figure.subplots()
    same = [
        row
        for row in _rows("regression")
        if float(row["noise"]) == 0 and row["redundant"] == "2" and (row["low"], row["high"]) == ("1.0", "2.0")
    ]
    for method in ("nalm", "pyoperon", "gplearn"):
        group = [row for row in same if row["method"] == method]
        seconds = sorted(float(row["seconds"]) for row in group if row["recovered"] == "1")
        share = [(k + 1) / len(group) for k in range(len(seconds))]
        axes.step([*seconds, 15], [*share, share[-1]], where="post", label=method)
    axes.set(xscale="log", ylim=(0, 1.03), xlabel="processor seconds", ylabel="laws recovered")
    axes.set_title("65 laws, U[1,2), two redundant inputs, no noise", fontsize=10)
    axes.legend(loc="center left", frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    return picture(figure, "solver-recovery.svg", "laws recovered against seconds")


# Published tasks, from one batch.


def tasks() -> str:
    """Every task in one line."""
    return markdown_table(
        ["task", "runs", "exact", "wrong claims", "median s"],
        [[task, *_task_counts(task, group)] for (task,), group in _grouped(_rows("tasks"), "task").items()],
    )


def _task_counts(task: str, group: Sequence[Row]) -> list[str]:
    runs, exact, wrong = (str(sum(int(row[name]) for row in group)) for name in ("runs", "exact", "wrong"))
    shown = "must refuse" if "refusals" in task else exact
    return [runs, shown, wrong, f"{median(float(row['seconds']) for row in group):.3f}"]


def task_cells(task: str) -> str:
    """The cells of one task."""
    lines = [
        [row["cell"], f"{row['exact']}/{row['runs']}", row["wrong"], row["seconds"], PUBLISHED.get(row["cell"], "")]
        for row in _rows("tasks")
        if row["task"] == task
    ]
    return markdown_table(["cell", "exact", "wrong", "median s", "published success"], lines)
