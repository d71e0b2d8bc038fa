"""Figures for a paper: numbers in, a matplotlib `Figure` out, the same bytes every time.

Nothing here reads a store or computes a statistic. matplotlib is loaded when a figure is drawn, not before.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from nalm.bench.results.stats import Interval
from nalm.bench.results.summary import CellSummary
from nalm.bench.show.tables import basis
from nalm.bench.study import Study

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH = 6.75  # inches: the text width of a two-column page
# Okabe and Ito's palette, told apart by colour-blind readers; its yellow is left out because it fades on white paper.
# From the eighth on each colour is the one of a 6 x 6 x 6 cube, of at most 78 % lightness, that is farthest in CIELAB
# from all before it: the nearest two of the 24 are 26 units apart, where 2 can just be told.
COLOURS = (
    *("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000"),
    *("#0000FF", "#00CC00", "#FF33FF", "#000066", "#FF0066", "#660000", "#0066FF", "#666600", "#666666"),
    *("#990099", "#99CC66", "#003300", "#CC9966", "#FF0000", "#330033", "#9999FF", "#FF66CC"),
)
Marker = str | tuple[int, int, int]
# Neighbours differ in print without colour. A triple is a star of so many points; the order keeps like shapes apart.
MARKERS: tuple[Marker, ...] = (
    *("o", "s", "^", "D", "v", "P", "X", "<", ">"),
    *("*", "p", (4, 1, 0), "d", "h", (3, 1, 0), "8", (4, 1, 45), (5, 0, 180), (6, 1, 0), "H", (3, 1, 180)),
    *((8, 1, 0), (7, 0, 0), (9, 0, 0), (10, 1, 0)),
)
GREY, PALE = "#555555", "#dddddd"
_HOLLOW: dict[str, Any] = {"ms": 7, "mfc": "none", "mew": 0.7}

_STYLE = {
    "font.family": "DejaVu Sans",  # comes with matplotlib, so that every machine draws the same
    "font.size": 8,
    "xtick.labelsize": 6.5,
    "ytick.labelsize": 7,
    "legend.title_fontsize": 9,
    "axes.linewidth": 0.6,
    "lines.linewidth": 0.9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "pdf.fonttype": 42,  # journals refuse Type 3 fonts
    "svg.hashsalt": "nalm",
}
# File endings, and what their files would otherwise say of the time and of the writer.
ENDINGS: dict[str, dict[str, str | None]] = {
    ".pdf": {"CreationDate": None, "Producer": None, "Creator": "nalm"},
    ".png": {"Software": None},
    ".svg": {"Date": None, "Creator": "nalm"},
}


@dataclass(frozen=True)
class Point:
    """One unit on one range: rates between 0 and 1, steps, and a sparsity error; None where nothing was solved."""

    unit: str
    range: str
    success: Interval
    solved_at: Interval | None = None
    sparsity: Interval | None = None
    published: float | None = None


def points(entries: Iterable[CellSummary]) -> list[Point]:
    """What the figures draw."""
    return [
        Point(e.row, e.column, e.success, e.solved_at, e.sparsity, e.published.success if e.published else None)
        for e in entries
    ]


def study_figure(study: Study, entries: Sequence[CellSummary]) -> Figure:
    """The field's figure of a study's entries."""
    return three_panel(points(entries), study.columns, study.rows, study.title, basis(study, entries))


def colour_and_marker(number: int) -> tuple[str, Marker]:
    """The look of the `number`-th thing in a figure. The first 23 share neither colour nor marker."""
    return COLOURS[number % len(COLOURS)], MARKERS[number % len(MARKERS)]


class _Look(NamedTuple):
    colour: str
    marker: Marker
    offset: float


def three_panel(
    points: Iterable[Point],
    ranges: Sequence[str] | None = None,
    units: Sequence[str] | None = None,
    title: str = "",
    basis: str = "",
) -> Figure:
    """The field's figure: success, steps to solve and sparsity error per range, with intervals, one look per unit.

    `ranges` orders the horizontal axis and `units` the looks; by default both follow the points. Give every figure of a
    paper the same `units` and each keeps its colour. Published success rates are hollow rings around our markers.
    `basis` says what every number stands on, and is written below.

    >>> point = Point("NMU", "U[1,2)", success=Interval(1.0, 0.87, 1.0), solved_at=Interval(2800, 2600, 3000))
    >>> len(three_panel([point]).axes)
    3
    """
    table = list(points)
    if not table:
        raise ValueError("there is no point to draw; run the study first")
    columns = list(ranges or dict.fromkeys(point.range for point in table))
    looks = _looks(list(units or dict.fromkeys(point.unit for point in table)), {point.unit for point in table})
    for point in table:
        if point.range not in columns or point.unit not in looks:
            raise ValueError(f"{point.unit} on {point.range} is not among the units and ranges to draw")
    with style():
        figure, (success, solved_at, sparsity) = _panels()
        for point in table:
            look = looks[point.unit]
            x = columns.index(point.range) + look.offset
            _interval(success, x, point.success, look)
            _interval(solved_at, x, point.solved_at, look)
            _interval(sparsity, x, point.sparsity, look)
            if point.published is not None:
                success.plot(x, point.published, ls="", marker=look.marker, mec=look.colour, clip_on=False, **_HOLLOW)
        _success_axis(success)
        _magnitude_axis(solved_at, [x for point in table for x in point.solved_at or ()], "Solved at step", steps=True)
        _magnitude_axis(sparsity, [x for point in table for x in point.sparsity or ()], "Sparsity error")
        _range_axis([success, solved_at, sparsity], columns, basis)
        entries = {unit: {"color": look.colour, "marker": look.marker, "ms": 4.5} for unit, look in looks.items()}
        if any(point.published is not None for point in table):
            entries["published"] = {"ls": "", "marker": "o", "mec": GREY, **_HOLLOW}
        _legend(figure, entries, title)
        return figure


def save(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write a figure as `.pdf`, `.png` or `.svg`, as the name says; equal figures give equal bytes."""
    ending = Path(path).suffix.lower()
    if ending not in ENDINGS:
        raise ValueError(f"cannot draw {os.fspath(path)}: the name must end in {', '.join(ENDINGS)}")
    with style():
        figure.savefig(path, dpi=300, metadata=ENDINGS[ending])


def style() -> AbstractContextManager[None]:
    """Within it everything is drawn in the library's style, whatever the user has set."""
    try:
        import matplotlib.style
    except ImportError as error:
        raise ImportError("figures need matplotlib: pip install 'nalm[figures]'") from error
    return matplotlib.style.context(["default", _STYLE])


def _panels() -> tuple[Figure, Sequence[Axes]]:
    """Success above, a little higher than the two below it."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, 4.6), layout="constrained")
    return figure, figure.subplots(3, 1, sharex=True, height_ratios=(1.15, 1, 1))


def _looks(units: Sequence[str], present: set[str]) -> dict[str, _Look]:
    """Colour and marker by place among all units, side by side those that are there."""
    shown = [number for number, unit in enumerate(units) if unit in present]
    offsets = (np.arange(len(shown)) - (len(shown) - 1) / 2) * 0.84 / len(shown)
    return {
        units[number]: _Look(*colour_and_marker(number), float(offset))
        for number, offset in zip(shown, offsets, strict=True)
    }


def _interval(axes: Axes, x: float, interval: Interval | None, look: _Look) -> None:
    if interval is not None:  # what is nan is not drawn
        axes.vlines(x, interval.low, interval.high, colors=look.colour)
        axes.plot(
            x, interval.estimate, ls="", marker=look.marker, color=look.colour, ms=4, mew=0, clip_on=False, zorder=3
        )


def _success_axis(axes: Axes) -> None:
    axes.set_ylabel("Success rate")
    axes.set_ylim(-0.03, 1.03)
    axes.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0 %", "25 %", "50 %", "75 %", "100 %"])
    axes.grid(axis="y", color=PALE, lw=0.5)


def _magnitude_axis(axes: Axes, values: ArrayLike, label: str, steps: bool = False) -> None:
    """A logarithmic axis; when there are zeros, one that is straight below the smallest positive decade."""
    from matplotlib.ticker import EngFormatter, LogLocator, NullFormatter, SymmetricalLogLocator

    axes.set_ylabel(label)
    axes.grid(axis="y", color=PALE, lw=0.5)
    finite = np.asarray(values, dtype=np.float64)[np.isfinite(values)]
    positive = finite[finite > 0]
    if not positive.size:  # nothing to choose a scale by: zeros at the bottom, and no number that none of them has
        axes.set_ylim(-0.1, 1)
        axes.set_yticks([0] if finite.size else [])
        return
    low, high = positive.min() / 1.3, positive.max() * 1.3
    widen = math.sqrt(max(1.0, 10 * low / high))  # at least a decade, so that there is a number to read
    if positive.size < finite.size:
        smallest = 10 ** math.floor(math.log10(positive.min()))
        axes.set_yscale("symlog", linthresh=smallest, linscale=0.6)
        axes.set_ylim(-0.25 * smallest, high * widen)
        axes.yaxis.set_major_locator(locator := SymmetricalLogLocator(base=10, linthresh=smallest))
        locator.set_params(numticks=6)
    else:
        axes.set_yscale("log")
        axes.set_ylim(low / widen, high * widen)
    axes.yaxis.set_minor_formatter(NullFormatter())
    if steps:
        axes.yaxis.set_major_formatter(EngFormatter(sep=""))
        if axes.get_yscale() == "log":  # within a few decades powers of ten are too few marks
            axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < 500 * low else (1,), numticks=12))


def _range_axis(panels: Sequence[Axes], columns: Sequence[str], basis: str) -> None:
    for axes in panels:
        for place in range(1, len(columns), 2):
            axes.axvspan(place - 0.5, place + 0.5, color="#f4f4f4", lw=0, zorder=0)
        axes.tick_params(axis="x", length=0)
    crowded = max(map(len, columns)) * len(columns) > 115
    labels = [re.sub(r"-(?=[\d.])", "\N{MINUS SIGN}", column) for column in columns]
    panels[-1].set_xticks(range(len(columns)), labels, rotation=25 * crowded, ha="right" if crowded else "center")
    panels[-1].set_xlim(-0.5, len(columns) - 0.5)
    panels[-1].set_xlabel(f"Training range ({f'{basis}; ' if basis else ''}lines: 95 % intervals)")


def _legend(figure: Figure, entries: Mapping[str, Mapping[str, Any]], title: str) -> None:
    """Above the panels, in rows of equal length, at most six in each."""
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], **{"mew": 0, **look}, label=label) for label, look in entries.items()]
    columns = math.ceil(len(handles) / math.ceil(len(handles) / 6))
    figure.legend(handles=handles, loc="outside upper center", ncols=columns, frameon=False, title=title or None)
    figure.align_ylabels()
