"""Figures show the numbers they were given, look the same everywhere, and need matplotlib only when drawn."""

from __future__ import annotations

import ast
import builtins
import doctest
import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import nalm
from nalm.bench.landscape import LANDSCAPES
from nalm.bench.results.stats import Interval, gamma_mean, wilson
from nalm.bench.results.summary import CellSummary
from nalm.bench.show import figures
from nalm.bench.show.drawings import draw_landscapes, draw_path, draw_starts, draw_surfaces
from nalm.bench.show.figures import Point, colour_and_marker, save, study_figure, three_panel
from nalm.bench.starts import Starts
from nalm.bench.studies import studies

matplotlib = pytest.importorskip("matplotlib")

RANGES = ["U[-2,-1)", "U[1,2)", "U[10,20)"]
UNITS = ["NAC", "NMU", "sNMU"]


def points() -> list[Point]:
    return [
        Point(
            unit,
            where,
            success=wilson(5 * place + 5 * number, 25),
            solved_at=Interval(1000.0 * (place + 1), 900.0, 4000.0) if place + number else None,
            sparsity=Interval(10.0 ** (-5 - place), 1e-9, 1e-3) if place + number else None,
            published=0.68 if unit == "NMU" else None,
        )
        for (place, where), (number, unit) in itertools.product(enumerate(RANGES), enumerate(UNITS))
    ]


def markers(axes: Any) -> list[tuple[float, float]]:
    return [(float(line.get_xdata()[0]), float(line.get_ydata()[0])) for line in axes.get_lines() if line.get_marker()]


def bars(axes: Any) -> list[tuple[float, float, float]]:
    segments = [segment for collection in axes.collections for segment in collection.get_segments()]
    return [(float(segment[0, 0]), *map(float, segment[:, 1])) for segment in segments]


def test_documentation_examples_hold() -> None:
    assert doctest.testmod(figures).failed == 0


def test_a_figure_says_what_its_lines_are() -> None:
    assert three_panel(points()).axes[-1].get_xlabel() == "Training range (lines: 95 % intervals)"


def test_a_figure_says_how_many_seeds_and_steps_it_stands_on() -> None:
    study = studies()["single-module/mul"].only(["NMU"])
    entries = [CellSummary("NMU", column, 7, wilson(6, 7), None, None, None) for column in study.columns]
    label = study_figure(study, entries).axes[-1].get_xlabel()
    assert label == "Training range (7 seeds per cell, 50,000 steps; lines: 95 % intervals)"


def test_every_number_is_drawn_where_it_belongs() -> None:
    table = points()
    success, solved_at, sparsity = three_panel(table, RANGES, UNITS).axes
    assert sorted(low for _, low, _ in bars(success)) == sorted(point.success.low for point in table)
    assert sorted(high for _, _, high in bars(success)) == sorted(point.success.high for point in table)
    rates = [point.success.estimate for point in table] + [0.68] * 3
    assert sorted(y for _, y in markers(success)) == sorted(rates)
    assert sorted(y for _, y in markers(solved_at)) == sorted(p.solved_at.estimate for p in table if p.solved_at)
    assert len(bars(sparsity)) == 8, "where nothing was solved there is nothing to draw"
    for x, y in markers(success):
        nearest = RANGES[round(x)]
        drawn = {point.success.estimate for point in table if point.range == nearest} | {0.68}
        assert y in drawn


def test_units_stand_side_by_side_in_their_range() -> None:
    success = three_panel(points(), RANGES, UNITS).axes[0]
    places = sorted({round(x, 9) for x, _, _ in bars(success)})
    assert len(places) == 9
    assert min(np.diff(places)) > 0.15
    assert all(abs(x - round(x)) < 0.5 for x in places)


def test_ranges_follow_the_given_order_with_a_true_minus() -> None:
    figure = three_panel(points(), RANGES[::-1])
    labels = [label.get_text() for label in figure.axes[-1].get_xticklabels()]
    assert labels == ["U[10,20)", "U[1,2)", "U[\N{MINUS SIGN}2,\N{MINUS SIGN}1)"]


def test_a_unit_keeps_its_look_whoever_else_is_shown() -> None:
    def look(figure: Any, unit: str) -> tuple[str, str]:
        legend = figure.legends[0]
        handles = dict(zip((text.get_text() for text in legend.get_texts()), legend.legend_handles, strict=True))
        return handles[unit].get_color(), handles[unit].get_marker()

    together = three_panel(points(), RANGES, UNITS)
    alone = three_panel([point for point in points() if point.unit == "sNMU"], RANGES, UNITS)
    assert look(together, "sNMU") == look(alone, "sNMU")
    assert look(together, "published")[1] == "o"
    assert [text.get_text() for text in alone.legends[0].get_texts()] == ["sNMU"]


def test_neither_colours_nor_markers_repeat_within_a_figure() -> None:
    most = max(len(study.rows) for study in studies().values())
    looks = [colour_and_marker(number) for number in range(most + 8)]  # and eight units of one's own
    assert len({colour for colour, _ in looks}) == len(looks)
    assert len({marker for _, marker in looks}) == len(looks)
    names = [f"unit {number}" for number in range(len(looks))]
    figure = three_panel([Point(name, "U[1,2)", wilson(1, 2)) for name in names], ["U[1,2)"], names)
    handles = figure.legends[0].legend_handles
    assert len({handle.get_color() for handle in handles}) == len(looks)
    assert len({str(handle.get_marker()) for handle in handles}) == len(looks)
    assert len({colour_and_marker(number) for number in range(500)}) == 500


@pytest.mark.parametrize("name", LANDSCAPES)
def test_landscapes_mark_their_optima_and_name_their_axes(name: str) -> None:
    landscape = LANDSCAPES[name]
    panel, bar = draw_landscapes([landscape], count=11).axes
    assert panel.get_xlabel()
    assert panel.get_ylabel()
    assert bar.get_ylabel() == "squared error"
    stars = [(float(line.get_xdata()[0]), float(line.get_ydata()[0])) for line in panel.get_lines()]
    assert stars == list(landscape.optima)
    assert stars
    first, second = (torch.tensor(values, dtype=torch.float64) for values in zip(*stars, strict=True))
    # the constant inside a logarithm leaves an error there: (2.2 + ε)(6 + ε) instead of 13.2
    epsilon = {"nac-1e-07": 1e-7, "nac-0.1": 0.1, "nac-1": 1.0, "real-npu": 1e-5}.get(name, 0.0)
    expected = ((2.2 + epsilon) * (6 + epsilon) - 13.2) ** 2
    np.testing.assert_allclose(landscape.error(first, second), expected, atol=1e-9)


def test_starts_say_what_their_colours_mean() -> None:
    grid = np.stack(np.meshgrid([0.0, 1.0], [0.0, 1.0], indexing="ij"), -1)
    figure = draw_starts({"NMU": Starts(grid, np.ones_like(grid))})
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["not solved", "solved"]
    assert (1.0, 1.0) in markers(figure.axes[0])


def test_surfaces_have_a_scale_and_named_axes() -> None:
    rows = {"+": {"true": lambda x: x.sum(1), "MLP": lambda x: x[:, 0]}}
    first, second, bar = draw_surfaces(rows, (-1, 1), (-2, 2)).axes
    assert first.get_xlabel() == second.get_xlabel() == "a"
    assert first.get_ylabel() == "b"
    assert bar.get_ylim() == (-4, 4)


def test_every_line_of_a_path_has_its_colour() -> None:
    (axes,) = draw_path(np.arange(3.0), {"W": np.zeros((3, 10, 10))}).axes
    assert len({str(line.get_color()) for line in axes.get_lines()}) == 100


def test_published_values_are_hollow() -> None:
    hollow = [line for line in three_panel(points()).axes[0].get_lines() if line.get_markerfacecolor() == "none"]
    assert [line.get_ydata()[0] for line in hollow] == [0.68] * 3


def test_zeros_are_shown_on_an_axis_that_reaches_zero() -> None:
    some = [
        Point("NMU", "U[1,2)", wilson(25, 25), gamma_mean([2000.0] * 25), Interval(0.0, 0.0, 0.0)),
        Point("NPU", "U[1,2)", wilson(25, 25), gamma_mean([2000.0]), Interval(1e-6, 1e-7, 1e-5)),
    ]
    _, solved_at, sparsity = three_panel(some).axes
    assert sparsity.get_yscale() == "symlog"
    low, high = sparsity.get_ylim()
    assert -1e-7 < low < 0
    assert high > 1e-5
    assert solved_at.get_yscale() == "log"
    bottom, top = solved_at.get_ylim()
    assert top / bottom >= 9.99, "a decade at least, so that there is a number to read"
    assert not any(math.isnan(y) for _, y in markers(solved_at))


def test_marks_of_an_axis_stand_where_their_labels_say() -> None:
    success, solved_at, _ = three_panel(points()).axes
    said = [float(label.get_text().removesuffix("%")) / 100 for label in success.get_yticklabels()]
    assert said == success.get_yticks().tolist() == [0, 0.25, 0.5, 0.75, 1]
    stripes = [patch.get_extents().transformed(success.transData.inverted()) for patch in success.patches]
    assert [(stripe.x0, stripe.x1) for stripe in stripes] == [pytest.approx((0.5, 1.5))], "every second range is shaded"
    within = {tick / 10 ** math.floor(math.log10(tick)) for tick in solved_at.get_yticks()}
    assert {round(mantissa) for mantissa in within} == {1, 2, 5}, "a few thousand steps need marks between decades"


def test_many_decades_have_marks_at_powers_of_ten_only() -> None:
    far = [Point("NMU", f"U[1,{k})", wilson(25, 25), Interval(10.0**k, 10.0**k, 10.0**k)) for k in (2, 6)]
    ticks = three_panel(far).axes[1].get_yticks()
    assert np.log10(ticks) == pytest.approx(np.round(np.log10(ticks)))


def test_nothing_solved_at_all_still_makes_a_figure(tmp_path: Path) -> None:
    save(three_panel([Point("NALU", "U[1,2)", wilson(0, 25))]), tmp_path / "none.png")
    assert (tmp_path / "none.png").stat().st_size > 1000


def test_points_outside_the_figure_are_named() -> None:
    with pytest.raises(ValueError, match=r"NAC on U\[-2,-1\) is not among"):
        three_panel(points(), RANGES[1:])
    with pytest.raises(ValueError, match="run the study first"):
        three_panel([])


@pytest.mark.parametrize("ending", ["pdf", "png", "svg"])
def test_equal_figures_give_equal_files_whatever_the_user_has_set(tmp_path: Path, ending: str) -> None:
    save(three_panel(points(), title="mul"), tmp_path / f"one.{ending}")
    with matplotlib.rc_context({"font.size": 20, "lines.linewidth": 5, "axes.facecolor": "red"}):
        save(three_panel(points(), title="mul"), tmp_path / f"two.{ending}")
        assert matplotlib.rcParams["font.size"] == 20, "the user's settings are left alone"
    one, two = (tmp_path / f"{name}.{ending}" for name in ("one", "two"))
    assert one.read_bytes() == two.read_bytes()
    assert one.read_bytes()[:5] in (b"%PDF-", b"\x89PNG\r", b"<?xml")


def test_an_unknown_ending_names_the_valid_ones(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"figure\.jpg: the name must end in \.pdf, \.png, \.svg"):
        save(three_panel(points()), tmp_path / "figure.jpg")
    assert not list(tmp_path.iterdir())


def test_matplotlib_is_loaded_only_to_draw() -> None:
    """No module of the library imports it except inside a function."""
    for path in Path(nalm.__file__).parent.rglob("*.py"):
        imports = [
            part
            for part in ast.parse(path.read_text(encoding="utf-8")).body
            if isinstance(part, ast.Import | ast.ImportFrom)
        ]
        assert not [part for part in imports if "matplotlib" in ast.unparse(part)], path


def test_without_matplotlib_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    real_import = builtins.__import__

    def without_matplotlib(name: str, *rest: Any) -> Any:
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real_import(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without_matplotlib)
    with pytest.raises(ImportError, match=r"pip install 'nalm\[figures\]'"):
        three_panel(points())


@pytest.mark.parametrize(("error", "ticks"), [(Interval(0.0, 0.0, 0.0), [0.0]), (None, [])])
def test_an_error_of_zero_everywhere_has_no_axis_below_zero(error: Interval | None, ticks: list[float]) -> None:
    sparsity = three_panel([Point("NMU", "U[1,2)", wilson(5, 5), sparsity=error)]).axes[2]
    assert list(sparsity.get_yticks()) == ticks


def test_few_weights_are_told_apart_by_their_places() -> None:
    few, many = draw_path(np.arange(3.0), {"W": np.zeros((3, 1, 2)), "V": np.zeros((3, 10, 10))}).axes
    assert [text.get_text() for text in few.get_legend().get_texts()] == ["[0, 0]", "[0, 1]"]
    assert many.get_legend() is None
