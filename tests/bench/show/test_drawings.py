"""Drawings hold the numbers they were given, each at its place; sizes and margins are a matter of taste."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from nalm.bench.landscape import LANDSCAPES
from nalm.bench.show import drawings, figures
from nalm.bench.starts import Starts


def test_starts_are_coloured_by_their_end_and_arrows_point_a_quarter_of_the_way() -> None:
    before = np.stack(np.meshgrid(np.linspace(0, 1, 3), np.linspace(0, 1, 3), indexing="ij"), -1)
    after = before.copy()
    after[0, 2] = (1.0, 1.0)  # a start at (0, 1) that finds the solution
    axes = drawings.draw_starts({"NMU": Starts(before, after)}).axes[0]
    (image,) = axes.get_images()
    assert np.asarray(image.get_array()).tolist() == [[False] * 3, [False] * 3, [True, False, True]]
    assert (image.get_clim(), image.origin) == ((0, 1), "lower")
    assert image.get_extent() == [-0.025, 1.025, -0.025, 1.025]
    (arrows,) = axes.collections
    moved = (arrows.U != 0) | (arrows.V != 0)
    assert arrows.get_offsets()[moved].tolist() == [[0.0, 1.0]]
    assert (arrows.U[moved].tolist(), arrows.V[moved].tolist(), arrows.scale) == ([1.0], [0.0], 4)
    assert axes.get_title() == "NMU: 22% of starts solved"


def test_a_path_has_a_line_for_every_element_of_a_weight() -> None:
    steps, values = np.array([0.0, 10.0]), np.arange(12.0).reshape(2, 2, 3)
    first, last = drawings.draw_path(steps, {"W": values, "b": values[:, 0, :1]}, "title").axes
    assert [line.get_ydata().tolist() for line in first.get_lines()] == [[n, n + 6.0] for n in range(6)]
    assert [line.get_xydata().tolist() for line in last.get_lines()] == [[[0, 0], [10, 6]]]
    assert (first.get_title(), first.get_ylabel(), last.get_xlabel()) == ("title", "W", "Training step")
    count = len(figures.COLOURS)
    assert drawings._colours(count) == figures.COLOURS[:count]
    assert len({tuple(colour) for colour in drawings._colours(count + 1)}) == count + 1


def test_surfaces_are_cut_at_the_scale_of_the_true_function_and_both_squares_are_drawn() -> None:
    rows = {"+": {"true": lambda x: x.sum(1), "MLP": lambda x: 99 * x[:, 0]}}
    first, second, _ = drawings.draw_surfaces(rows, (-1, 1), (-2, 2)).axes
    solid, dashed = (line.get_xydata().tolist() for line in first.get_lines())
    assert solid == [[-1, -1], [-1, 1], [1, 1], [1, -1], [-1, -1]]
    assert dashed == [[-2, -2], [-2, 2], [2, 2], [2, -2], [-2, -2]]
    assert (first.get_xlim(), first.get_ylim()) == (pytest.approx((-6, 6)), pytest.approx((-6, 6)))
    (contours,) = second.collections
    assert contours.levels.tolist() == pytest.approx(np.linspace(-4, 4, 21).tolist())
    assert [axes.get_title() for axes in (first, second)] == ["+ true", "+ MLP"]


def test_errors_stand_beside_each_other_in_their_column_with_its_threshold() -> None:
    groups = {"A": {"a": [1.0, 0.0], "b": [2.0]}, "B": {"b": [3.0]}}
    axes = drawings.draw_errors(groups, {"a": 1e-3, "b": 1e-2}).axes[0]
    first, second = axes.get_lines()
    assert first.get_xydata().tolist() == [pytest.approx(p) for p in ([-0.2, 1.0], [-0.2, 1e-16], [0.8, 2.0])]
    assert second.get_xydata().tolist() == [pytest.approx([1.2, 3.0])]
    ends = [line.get_segments()[0].tolist() for line in axes.collections]
    assert ends == [[[-0.45, 1e-3], [0.45, 1e-3]], [[0.55, 1e-2], [1.45, 1e-2]]]
    assert axes.get_yscale() == "log"


def test_lines_on_logarithmic_axes() -> None:
    figure = drawings.draw_lines({"one": {"A": {1: 2, 10: 20}, "B": {1: 3}}, "two": {"A": {1: 4}}}, "x", "y")
    first, second = figure.axes
    assert [line.get_xydata().tolist() for line in first.get_lines()] == [[[1, 2], [10, 20]], [[1, 3]]]
    assert [line.get_xydata().tolist() for line in second.get_lines()] == [[[1, 4]]]
    assert (first.get_ylabel(), second.get_xscale(), second.get_yscale()) == ("y", "log", "log")
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["A", "B"]


def test_the_way_of_two_weights_goes_from_a_ring_to_a_dot() -> None:
    way = np.array([[0.5, 0.6], [0.7, 0.8], [1.0, 0.9]])
    (axes,) = drawings.draw_weight_ways({"NMU": [way]}).axes
    line, ring, dot, star = axes.get_lines()
    assert line.get_xydata().tolist() == way.tolist()
    assert (ring.get_xydata().tolist(), ring.get_markerfacecolor()) == ([[0.5, 0.6]], "none")
    assert (dot.get_xydata().tolist(), star.get_xydata().tolist()) == ([[1.0, 0.9]], [[1.0, 1.0]])


@pytest.mark.parametrize(("count", "panels"), [(2, (1, 2)), (4, (2, 3))])
def test_landscapes_stand_in_rows_of_three(count: int, panels: tuple[int, int]) -> None:
    *axes, bar = drawings.draw_landscapes(list(LANDSCAPES.values())[:count], count=3).axes
    assert [panel.get_title() for panel in axes] == [chosen.title for chosen in list(LANDSCAPES.values())[:count]]
    assert axes[0].get_gridspec().get_geometry() == panels
    assert axes[0].get_figure().get_figheight() == pytest.approx(2.4 * panels[0]), "rows do not become flatter"
    assert bar.get_ylim() == pytest.approx((0.1, 500))


@pytest.mark.parametrize(("labels", "panels"), [(2, (1, 2)), (4, (2, 3))])
def test_confusions_are_shares_of_each_row(labels: int, panels: tuple[int, int]) -> None:
    found = np.zeros((10, 10), np.int64)
    found[3, 3], found[3, 5] = 3, 1
    axes = drawings.draw_confusions({str(n): found for n in range(labels)}).axes
    assert len(axes) == labels
    assert axes[0].get_gridspec().get_geometry() == panels
    shares = np.asarray(axes[-1].get_images()[0].get_array())
    assert (shares[3, 3], shares[3, 5], shares.sum()) == (0.75, 0.25, 1.0)
    assert axes[-1].get_images()[0].get_clim() == (0, 1)
    assert axes[-1].get_xticks().tolist() == axes[-1].get_yticks().tolist() == list(range(10))


def test_views_are_named_by_what_was_shown_and_read() -> None:
    images = np.zeros((2, 2, 3, 3), np.float32)
    images[1, 0, 0, 0] = images[1, 1, 1, 1] = 2.0
    views = np.stack([images, images])
    figure = drawings.draw_views(images, views, np.array([[1, 2], [3, 4]]), np.array([[1.1, 2.2], [3.3, 4.4]]))
    titles = [axes.get_title() for axes in figure.axes]
    assert titles == ["shown 1 2", "shown 3 4", "read 1.1", "read 3.3", "read 2.2", "read 4.4"]
    assert [figure.axes[place].get_ylabel() for place in (0, 2, 4)] == ["image", "first", "second"]
    picture = np.asarray(figure.axes[1].get_images()[0].get_array())
    assert picture[0, 0].tolist() == pytest.approx([1.0, 0.45, 0.0])
    assert picture[1, 1].tolist() == pytest.approx([0.0, 0.45, 1.0])
    assert picture[2, 2].tolist() == [0, 0, 0]


def test_units_stand_symmetrically_around_their_range() -> None:
    looks = figures._looks(["A", "B", "C", "D"], {"A", "C", "D"})
    assert [look.offset for look in looks.values()] == pytest.approx([-0.28, 0.0, 0.28])
    assert [look.offset for look in figures._looks(["A"], {"A"}).values()] == [0]
    assert looks["C"][:2] == figures.colour_and_marker(2)
