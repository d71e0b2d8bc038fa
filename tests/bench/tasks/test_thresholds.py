"""When a run counts as solved, and how a long recipe is shortened, by hand."""

from __future__ import annotations

import pytest
import torch

from nalm.bench.method import Descent, Rule
from nalm.bench.studies.two_layer import _shortened as shortened
from nalm.bench.tasks.answers import TRACE
from nalm.bench.tasks.arithmetic import RANGES, SingleModule, epsilon_threshold
from nalm.bench.tasks.logic import Boolean
from nalm.core.recipe import Ramp, Recipe, Switch


def test_answers_leave_a_trace_of_their_squared_error() -> None:
    y, t = torch.tensor([[[1.0, 3.0]], [[0.0, 1.0]]]), torch.tensor([[[1.0, 1.0]], [[1.0, 1.0]]])
    found = Boolean().error(y, t)  # squared errors 2 and 0.5; the second run has one of two answers wrong
    assert found.tolist() == pytest.approx([TRACE * 2 / 3, 0.5 + TRACE / 3])
    assert TRACE == 1e-6


def test_the_threshold_of_a_reciprocal_has_no_other_inputs() -> None:
    # the mean of 1/x² over U[2, 6) is (1/2 - 1/6) / 4, and the output is off by a factor 1 - 1e-5
    task = SingleModule(*RANGES["U[1,2)"], name="inverse", inputs=1)
    assert task.threshold() == pytest.approx(1e-10 / 12, rel=1e-4)
    assert epsilon_threshold("inverse", 1, RANGES["U[1,2)"][1], 1e-3) == pytest.approx(1e-6 / 12, rel=1e-4)


def test_a_long_recipe_is_shortened_and_a_short_one_or_another_method_is_not() -> None:
    early, late = Ramp(1, 0, 500), Ramp(1, 0, 501)
    short, rule = Descent(Recipe(steps=1_000, penalties={"to_grid": late})), Rule(9_999)
    assert shortened(short, 1_000) is short
    assert shortened(rule, 1_000) is rule
    kept = shortened(Descent(Recipe(steps=2_000, penalties={"to_grid": early})), 1_000)
    assert kept == Descent(Recipe(steps=1_000, penalties={"to_grid": early}))
    scaled = shortened(Descent(Recipe(steps=2_000, penalties={"to_grid": Ramp(1, 0, 800)})), 1_000)
    assert scaled == Descent(Recipe(steps=1_000, penalties={"to_grid": Ramp(1, 0, 400)}))
    switched = shortened(Descent(Recipe(steps=2_000, loss=Switch("mape", "mse", 600))), 1_000)
    assert switched == Descent(Recipe(steps=1_000, loss=Switch("mape", "mse", 300)))
