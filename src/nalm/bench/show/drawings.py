"""Drawings of landscapes, starts, weight paths and learned surfaces: numbers in, a matplotlib `Figure` out."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nalm.bench.landscape import Floats, Landscape
from nalm.bench.show.figures import COLOURS, GREY, PALE, WIDTH, colour_and_marker, style
from nalm.bench.starts import Starts

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CUT = 500.0  # errors above it look alike, as in the published surfaces
FLOOR = 0.1
Surface = Callable[[NDArray[np.float64]], NDArray[np.float64]]
"""Inputs `(samples, 2)` to outputs `(samples,)`."""


@contextmanager
def figure_of(rows: int, columns: int, height: float) -> Iterator[tuple[Figure, list[Axes]]]:
    """An empty figure of `height` inches and its panels, to be drawn on in the library's style.

    >>> with figure_of(1, 2, 2.0) as (figure, panels):
    ...     line = panels[0].plot([0, 1], [0, 1])
    >>> len(figure.axes)
    2
    """
    with style():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(min(WIDTH, 2.7 * columns), height), layout="constrained")
        yield figure, list(figure.subplots(rows, columns, squeeze=False).flat)


def draw_landscapes(landscapes: Sequence[Landscape], count: int = 201) -> Figure:
    """The squared error over two weights, one panel each, on a logarithmic scale between 0.1 and 500.

    >>> from nalm.bench.landscape import LANDSCAPES
    >>> len(draw_landscapes([LANDSCAPES["nmu-pair"]], count=11).axes)
    2
    """
    columns = min(3, len(landscapes))
    rows = math.ceil(len(landscapes) / columns)
    with figure_of(rows, columns, 2.4 * rows) as (figure, panels):
        from matplotlib.colors import LogNorm

        for axes, landscape in zip(panels, landscapes, strict=False):
            first, second, error = landscape.grid(count)
            shown = np.clip(np.nan_to_num(error, nan=CUT), FLOOR, CUT)
            image = axes.pcolormesh(
                first, second, shown, norm=LogNorm(FLOOR, CUT), cmap="viridis_r", shading="nearest", rasterized=True
            )
            for optimum in landscape.optima:
                _star(axes, optimum)
            axes.set(title=landscape.title, xlabel=landscape.labels[0], ylabel=landscape.labels[1])
            axes.title.set_fontsize(8)
        for axes in panels[len(landscapes) :]:
            axes.remove()
        figure.colorbar(image, ax=panels[: len(landscapes)], label="squared error", aspect=30)
        return figure


def _star(axes: Axes, optimum: tuple[float, float]) -> None:
    """The mark of a place without error; it may lie on the edge of the panel."""
    axes.plot(*optimum, "*", color=COLOURS[1], ms=9, mec="white", mew=0.5, clip_on=False, zorder=3)


def draw_starts(starts: Mapping[str, Starts]) -> Figure:
    """From which starts training finds (1, 1), the star; arrows point to where it ended."""
    looks = {"not solved": "#f5d5bf", "solved": "#cfe3f1"}
    with figure_of(1, len(starts), 3.0) as (figure, panels):
        from matplotlib.colors import ListedColormap
        from matplotlib.patches import Patch

        for axes, (label, result) in zip(panels, starts.items(), strict=True):
            solved = result.solved
            axes.imshow(
                solved.T,
                origin="lower",
                extent=(-0.025, 1.025, -0.025, 1.025),
                cmap=ListedColormap(list(looks.values())),
                vmin=0,
                vmax=1,
            )
            start, move = result.before[::2, ::2], (result.after - result.before)[::2, ::2]
            arrows = (start[..., 0], start[..., 1], move[..., 0], move[..., 1])
            axes.quiver(*arrows, angles="xy", scale_units="xy", scale=4, width=0.004, color=GREY)
            _star(axes, (1.0, 1.0))
            axes.set(title=f"{label}: {solved.mean():.0%} of starts solved", xlabel="start of w₁", ylabel="start of w₂")
            axes.title.set_fontsize(8)
        patches = [Patch(color=colour, label=name) for name, colour in looks.items()]
        figure.legend(handles=patches, loc="outside lower center", ncols=2, frameon=False)
        return figure


MOST_NAMED = 6  # elements whose names fit beside a panel


def draw_path(steps: Floats, values: Mapping[str, Floats], title: str = "") -> Figure:
    """Every element of every weight over the steps, one panel per weight; grid values are where lines end flat. Where
    there are few, a legend says which is which."""
    with style():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(WIDTH, 1.1 + 1.3 * len(values)), layout="constrained")
        panels = list(figure.subplots(len(values), 1, sharex=True, squeeze=False).flat)
        for axes, (name, series) in zip(panels, values.items(), strict=True):
            flat, places = series.reshape(len(steps), -1), list(np.ndindex(series.shape[1:]))
            for line, colour, place in zip(flat.T, _colours(len(places)), places, strict=True):
                axes.plot(steps, line, color=colour, label=f"[{', '.join(map(str, place))}]")
            if 1 < len(places) <= MOST_NAMED:
                axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False, fontsize=6.5)
            axes.set_ylabel(name)
            axes.grid(axis="y", color=PALE, lw=0.5)
        panels[-1].set_xlabel("Training step")
        panels[-1].xaxis.set_major_formatter("{x:,.0f}")
        panels[0].set_title(title, fontsize=9)
        return figure


def _colours(count: int) -> Sequence[Any]:
    """So many different colours; more than the palette has come from a rainbow."""
    from matplotlib import colormaps

    return COLOURS[:count] if count <= len(COLOURS) else list(colormaps["turbo"](np.linspace(0, 1, count)))


def draw_surfaces(
    rows: Mapping[str, Mapping[str, Surface]], train: tuple[float, float], test: tuple[float, float]
) -> Figure:
    """What functions of two inputs look like on [-6, 6]^2 in 20 bins of equal width, rows of panels by operation.

    Each row shares the scale of its first panel (the true function) on the test square. Solid squares are where a
    network was trained, dashed ones where it was tested.
    """
    axis = np.arange(-6, 6.05, 0.1)
    first, second = np.meshgrid(axis, axis)
    points = np.stack([first.ravel(), second.ravel()], 1)
    columns = max(len(row) for row in rows.values())
    with figure_of(len(rows), columns, 1.45 * len(rows)) as (figure, panels):
        for place, (operation, row) in enumerate(rows.items()):
            low, high = _span(next(iter(row.values())), test)
            for axes, (label, function) in zip(panels[place * columns :], row.items(), strict=False):
                height = np.clip(function(points).reshape(first.shape), low, high)
                image = axes.contourf(first, second, height, levels=np.linspace(low, high, 21), cmap="viridis")
                for box, style in ((train, "-"), (test, "--")):
                    axes.plot(
                        *np.array([[box[i], box[j]] for i, j in ((0, 0), (0, 1), (1, 1), (1, 0), (0, 0))]).T,
                        style,
                        color="white",
                        lw=0.8,
                    )
                axes.set_aspect("equal")
                axes.tick_params(labelsize=5)
                axes.set_title(f"{operation} {label}", fontsize=7)
                axes.set_xlabel("a", fontsize=6, labelpad=1)
                axes.set_ylabel("b", fontsize=6, labelpad=1)
            bar = figure.colorbar(image, ax=panels[place * columns : (place + 1) * columns], aspect=12)
            bar.ax.tick_params(labelsize=5)
        return figure


def _span(gold: Surface, test: tuple[float, float]) -> tuple[float, float]:
    """A symmetric scale that holds the true function on the test square."""
    corners = np.array([[a, b] for a in test for b in test])
    largest = float(np.abs(gold(corners)).max())
    return -largest, largest


def draw_errors(
    groups: Mapping[str, Mapping[str, Sequence[float]]], limits: Mapping[str, float], label: str = "Test error"
) -> Figure:
    """Errors of single runs by group (colour) and column, with a line at each column's threshold."""
    columns = list(limits)
    with figure_of(1, 1, 3.0) as (figure, (axes,)):
        figure.set_figwidth(WIDTH)
        for number, (group, by_column) in enumerate(groups.items()):
            offset = (number - (len(groups) - 1) / 2) * 0.8 / len(groups)
            x = [columns.index(c) + offset for c, errors in by_column.items() for _ in errors]
            y = [max(e, 1e-16) for errors in by_column.values() for e in errors]
            colour, marker = colour_and_marker(number)
            axes.plot(x, y, ls="", ms=2.5, mew=0, label=group, color=colour, marker=marker)
        for place, limit in enumerate(limits.values()):
            axes.hlines(limit, place - 0.45, place + 0.45, color="black", lw=1)
        axes.set_yscale("log")
        axes.set_ylabel(label)
        axes.set_xticks(range(len(columns)), columns, rotation=20, ha="right")
        figure.legend(loc="outside upper center", ncols=min(4, len(groups)), frameon=False)
        return figure


def draw_lines(panels: Mapping[str, Mapping[str, Mapping[float, float]]], xlabel: str, ylabel: str) -> Figure:
    """Lines on doubly logarithmic axes, one panel per name: label to {x: y}."""
    with figure_of(1, len(panels), 2.6) as (figure, axes_list):
        for axes, (title, lines) in zip(axes_list, panels.items(), strict=True):
            for number, (label, line) in enumerate(lines.items()):
                colour, marker = colour_and_marker(number)
                axes.plot(list(line), list(line.values()), marker=marker, ms=3, color=colour, label=label)
            axes.set(xscale="log", yscale="log", xlabel=xlabel, title=title)
            axes.title.set_fontsize(8)
        axes_list[0].set_ylabel(ylabel)
        handles, labels = axes_list[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=len(labels), frameon=False)
        return figure


def draw_weight_ways(ways: Mapping[str, Sequence[NDArray[np.float64]]]) -> Figure:
    """The way of two weights in training, one panel per label: from a ring to a dot, one line `(evaluations, 2)` per
    run. The product is at (1, 1)."""
    with figure_of(1, len(ways), 1.7) as (figure, panels):
        for axes, (label, runs) in zip(panels, ways.items(), strict=True):
            for number, way in enumerate(runs):
                colour = COLOURS[number % len(COLOURS)]
                axes.plot(way[:, 0], way[:, 1], color=colour, lw=0.9)
                axes.plot(*way[0], "o", color=colour, ms=4, mfc="none")
                axes.plot(*way[-1], "o", color=colour, ms=4)
            axes.plot(1, 1, "*", color="black", ms=5, zorder=0)
            axes.set(title=label, xlim=(-0.05, 1.15), ylim=(-0.05, 1.15), aspect="equal", xlabel="w₁")
            axes.title.set_fontsize(8)
        panels[0].set_ylabel("w₂")
        return figure


def draw_confusions(counts: Mapping[str, NDArray[np.int64]]) -> Figure:
    """How often a digit (down) was read as which (across), `(10, 10)` counts per label, as shares of each row."""
    columns = min(3, len(counts))
    rows = math.ceil(len(counts) / columns)
    with figure_of(rows, columns, 2.1 * rows) as (figure, panels):
        for axes, (label, found) in zip(panels, counts.items(), strict=False):
            shares = found / np.maximum(found.sum(1, keepdims=True), 1)
            axes.imshow(shares, cmap="Blues", vmin=0, vmax=1)
            axes.set(title=label, xlabel="read", ylabel="shown", xticks=range(10), yticks=range(10))
            axes.title.set_fontsize(8)
        for axes in panels[len(counts) :]:
            axes.remove()
        return figure


def draw_views(
    images: NDArray[np.float32], views: NDArray[np.float32], shown: NDArray[np.int64], read: NDArray[np.float32]
) -> Figure:
    """Images of two colours `(count, 2, h, w)`, how two transformers see them `(2, count, 2, h, w)`, the digits they
    show and those that were read `(count, 2)`: a column each."""
    count = len(images)
    with figure_of(3, count, 3.4) as (figure, panels):
        figure.set_figwidth(WIDTH)
        lines = [images, *views]
        for place, axes in enumerate(panels):
            line, column = divmod(place, count)
            axes.imshow(_in_colour(lines[line][column]))
            axes.set(xticks=[], yticks=[])
            truth = "shown " + " ".join(map(str, shown[column]))
            axes.set_title(truth if line == 0 else f"read {read[column, line - 1]:.1f}", fontsize=7)
        for place, label in enumerate(("image", "first", "second")):
            panels[place * count].set_ylabel(label)
        return figure


def _in_colour(two: NDArray[np.float32]) -> NDArray[np.float32]:
    """Two grey images as orange and blue on black."""
    low, high = float(two.min()), float(two.max())
    first, second = (two - low) / max(high - low, 1e-9)
    return np.stack([first, 0.45 * (first + second), second], -1)
