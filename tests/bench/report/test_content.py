"""The numbers of the report: how curves are thinned, when weights are only counted, what JSON can hold."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from nalm.bench.report import content
from nalm.bench.results.stats import Interval
from nalm.bench.studies import studies


@pytest.mark.parametrize(
    ("value", "shown"), [(1.23456, 1.235), (None, None), (math.inf, None), (math.nan, None), (2, 2)]
)
def test_numbers_have_four_digits(value: Any, shown: float | None) -> None:
    assert content._number(value) == shown


def test_intervals_are_estimate_low_high() -> None:
    assert content._interval(Interval(0.5, 0.25, math.inf)) == [0.5, 0.25, None]
    assert content._interval(None) is None


def test_a_curve_keeps_forty_points_with_both_ends() -> None:
    steps = np.arange(1_001.0)
    curve = {"step": steps, "validation_error": steps / 2, "test_error": 2 * steps}
    found = content._curve(curve)
    assert found is not None
    assert [len(part) for part in found] == [40, 40, 40]
    assert (found[0][0], found[0][-1], found[1][-1], found[2][-1]) == (0, 1000, 500, 2000)
    short = content._curve({name: values[:3] for name, values in curve.items()})
    assert short == [[0, 1, 2], [0, 0.5, 1], [0, 2, 4]]
    assert content._curve(None) is None
    assert content._curve({"step": []}) is None


def test_many_weights_are_told_by_their_number_and_a_formula_is_read() -> None:
    cell = next(cell for cell in studies()["single-module/mul"].cells if cell.model.label == "NMU")
    found = content._learned(cell, {"W": [[1.0004, 0.9996]]})
    assert found["weights"] == {"W": [1.0, 0.9996]}
    assert found["expression"] == "x0*x1"
    assert content._learned(cell, {"W": [[1.0, 0.9375]]})["expression"] == "x0*(0.9375*x1 + 0.0625)"
    assert content._learned(cell, {"W": [0.5] * 64})["weights"] == {"W": [0.5] * 64}
    assert content._learned(cell, {"W": [0.5] * 65})["weights"] == {"W": "65 weights"}
    assert content._learned(cell, {"W": [0.5] * 65})["expression"] is None
    assert content._learned(cell, None) == {}


def test_a_wide_model_is_read_on_its_grid_only() -> None:
    cell = next(cell for cell in studies()["two-layer/ranges"].cells if cell.model.label == "NMU")
    weights = {name: np.zeros(value.shape) for name, value in cell.model.build().named_parameters()}
    sums, product = weights
    weights[sums][..., 0, 3] = weights[sums][..., 1, 7] = 1
    weights[product][...] = 1
    assert content._learned(cell, weights)["expression"] == "x3*x7"
    weights[sums][..., 0, 3] = 0.5
    assert content._learned(cell, weights)["expression"] is None


def test_versions_that_are_known_are_told() -> None:
    assert content._versions({"library_version": "1.0", "torch_version": "2.1"}) == "nalm 1.0, torch 2.1"
    assert content._versions({"torch_version": "2.1"}) == "torch 2.1"
