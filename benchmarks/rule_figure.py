"""The figure of the training rule's page: steps to a solution beside what was published or what Adam was given."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from nalm.bench.show.figures import COLOURS, GREY, WIDTH, save

Row = dict[str, Any]
OURS, THEIRS = COLOURS[0], COLOURS[1]


class Line(NamedTuple):
    """One line: when the rule's runs were solved, and the steps of the others."""

    label: str
    first: float
    last: float
    solved: str
    budget: float
    other: str


def _of(label: str, rows: Sequence[Row], budget: float, other: str, solved: str = "solved") -> Line:
    good, runs = sum(r[solved] for r in rows), sum(r["runs"] for r in rows)
    steps = [r["median_step"] for r in rows if r["median_step"]]
    return Line(label, median(steps), max(r["last_step"] or 0 for r in rows), f"{good}/{runs}", budget, other)


def lines(kept: dict[str, Any]) -> list[Line]:
    """What is shown, from the stored results."""
    single, stacks = kept["singles"]["rows"], kept["two_layer"]["rows"]
    network = {r["kind"] for r in kept["networks"]["rows"]}
    shown = [
        _of(
            "one unit, multiplication",
            [r for r in single if r["op"] == "mul"],
            50_000,
            "published 0.68 to 1 (2 inputs)",
        ),
        _of("one unit, division", [r for r in single if r["op"] == "div"], 100_000, "published 0 to 1"),
        _of("one unit, sums, up to 100 inputs", [r for r in single if r["unit"] == "NAU"], 100_000, "published 0 to 1"),
        _of("product of two sums, 2 hidden", [r for r in stacks if r["hidden"] == 2], 5e6, "published 0 to 1"),
        _of("product of two sums, 10 hidden", [r for r in stacks if r["hidden"] == 10], 5e6, "published about 0.6"),
    ]
    for kind in sorted(network, key=lambda k: [r["kind"] for r in kept["networks"]["rows"]].index(k)):
        rows = [r for r in kept["networks"]["rows"] if r["kind"] == kind]
        adam, runs = sum(r["adam"]["exact"] for r in rows), sum(r["adam"]["runs"] for r in rows)
        shown.append(_of(kind, rows, max(r["adam"]["steps"] for r in rows), f"Adam {adam}/{runs}", "exact"))
    return shown


def draw(kept: dict[str, Any], path: Path) -> None:
    """Write the figure."""
    from matplotlib.figure import Figure

    shown = lines(kept)
    figure = Figure(figsize=(WIDTH, 0.34 * len(shown) + 0.9), layout="constrained")
    axes = figure.subplots()
    for y, line in enumerate(shown):
        axes.plot([line.first, line.last], [y, y], color=OURS, lw=3, solid_capstyle="round", alpha=0.5)
        axes.plot(line.first, y, "o", color=OURS, ms=6)
        axes.plot(line.budget, y, "D", mfc="none", mec=THEIRS, ms=6)
        axes.annotate(
            line.solved, (line.first, y), (-8, 0), textcoords="offset points", ha="right", va="center", size=7
        )
        axes.annotate(line.other, (line.budget, y), (8, 0), textcoords="offset points", va="center", size=7, color=GREY)
    axes.set_xscale("log")
    axes.set_xlim(0.1, 1e9)
    axes.set_xticks([1, 10, 100, 1e3, 1e4, 1e5, 1e6, 1e7])
    axes.set_yticks(range(len(shown)), [line.label for line in shown], size=7.5)
    axes.invert_yaxis()
    axes.set_xlabel("training steps of 128 samples")
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="x", color="#eeeeee")
    axes.set_axisbelow(True)
    axes.plot([], [], "o-", color=OURS, label="rule: median and latest solution, solved runs")
    axes.plot([], [], "D", mfc="none", mec=THEIRS, label="steps of the papers, or of our Adam control, and success")
    figure.legend(loc="outside upper left", ncols=2, frameon=False, fontsize=7.5)
    path.parent.mkdir(parents=True, exist_ok=True)
    save(figure, path)
