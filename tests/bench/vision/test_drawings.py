"""Drawings of the studies on images: what is drawn where."""

from __future__ import annotations

import numpy as np

from nalm.bench.show.drawings import draw_confusions, draw_views, draw_weight_ways


def test_ways_begin_with_a_ring_and_end_with_a_dot() -> None:
    way = np.array([[0.3, 0.6], [0.5, 0.7], [1.0, 0.9]])
    figure = draw_weight_ways({"NMU": [way, way / 2], "sNMU": [way]})
    first, second = figure.axes
    assert (first.get_title(), second.get_title()) == ("NMU", "sNMU")
    drawn = [line.get_xydata().tolist() for line in first.lines]
    assert drawn[:3] == [way.tolist(), [way[0].tolist()], [way[-1].tolist()]]
    assert first.lines[1].get_markerfacecolor() == "none"
    assert len(drawn) == 3 * 2 + 1


def test_confusions_are_shares_of_what_was_shown() -> None:
    counts = np.zeros((10, 10), dtype=np.int64)
    counts[3, 8], counts[3, 3] = 1, 3
    figure = draw_confusions({f"head {k}": counts for k in range(4)})
    assert len(figure.axes) == 4  # two rows of three panels, the empty ones are gone
    (image,) = figure.axes[0].get_images()
    shares = np.asarray(image.get_array())
    assert (shares[3, 8], shares[3, 3], shares[0].sum()) == (0.25, 0.75, 0)


def test_views_stand_below_their_image() -> None:
    images = np.random.default_rng(0).random((3, 2, 5, 5)).astype(np.float32)
    views = np.stack([images, 1 - images])
    shown, read = np.array([[1, 2], [3, 4], [5, 6]]), np.array([[1.0, 2.2], [3.0, 4.0], [5.0, 6.0]], np.float32)
    figure = draw_views(images, views, shown, read)
    titles = [axes.get_title() for axes in figure.axes]
    assert titles[0] == "shown 1 2"
    assert titles[3] == "read 1.0"
    assert titles[6] == "read 2.2"
    colours = np.asarray(figure.axes[0].get_images()[0].get_array())
    assert colours.shape == (5, 5, 3)
    assert colours.min() >= 0
    assert colours.max() <= 1
