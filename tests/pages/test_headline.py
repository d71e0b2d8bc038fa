"""The README's picture is drawn from the committed measurements, and says what they say."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from pages import headline
from pages.committed import ROOT


def test_the_committed_picture_equals_a_rebuild() -> None:
    assert headline.PICTURE.read_text(encoding="utf-8") == headline.picture(), "run `make results`"
    assert headline.PICTURE.relative_to(ROOT).as_posix() in (ROOT / "README.md").read_text(encoding="utf-8")


def test_its_labels_are_the_medians_farthest_away() -> None:
    errors = {line.way: line.at(1e6)[1] for line in headline.lines()}
    assert errors["ReLU network"] > 0.9
    assert errors["units, rule"] < headline.ROUNDING
    for way in ("units, Adam", "units, guide"):
        shown = re.search(rf"{re.escape(headline.SAID[way][1])}: ([\d.]+) % off", headline.picture())
        assert shown is not None
        assert abs(float(shown[1]) - 100 * errors[way]) <= 0.5 * 10 ** -len(shown[1].partition(".")[2])


def test_every_way_has_the_same_seeds_and_distances() -> None:
    counts = {len(errors) for line in headline.lines() for errors in line.errors.values()}
    assert counts == {5}
    assert {len(line.errors) for line in headline.lines()} == {25}


def test_it_is_valid_and_nothing_lies_outside() -> None:
    root = ElementTree.fromstring(headline.picture())
    for text in root.iter("{http://www.w3.org/2000/svg}text"):
        assert 0 <= float(text.attrib["x"]) <= headline.WIDTH
        assert 0 <= float(text.attrib["y"]) <= headline.HEIGHT
