"""Recipes and schedules: their numbers at single steps, and what another number of steps makes of them."""

from __future__ import annotations

import pytest

from nalm.core.recipe import Constant, Late, Ramp, Recipe, Restart, Schedule, Staircase, Switch


@pytest.mark.parametrize(
    ("schedule", "strengths"),
    [
        (Constant(0.5), {0: 0.5, 10**9: 0.5}),
        (Ramp(8, 10, 30), {0: 0, 10: 0, 11: 0.4, 20: 4, 29: 7.6, 30: 8, 31: 8}),
        (Staircase(2.0, 300.0, every=5), {0: 2, 4: 2, 5: 20, 9: 20, 10: 200, 15: 300, 99: 300}),
        (Late(0.25, after=7, error=1.0), {0: 0, 7: 0, 8: 0.25}),
    ],
    ids=lambda value: type(value).__name__,
)
def test_strengths_of_a_schedule(schedule: Schedule, strengths: dict[int, float]) -> None:
    assert {step: schedule.at(step) for step in strengths} == pytest.approx(strengths)


@pytest.mark.parametrize(
    ("schedule", "longer"),
    [
        (Constant(0.5), Constant(0.5)),
        (Ramp(8, 10, 30), Ramp(8, 30, 90)),
        (Staircase(2.0, 300.0, every=5), Staircase(2.0, 300.0, every=15)),
        (Late(0.25, after=7, error=1.0), Late(0.25, after=21, error=1.0)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_longer_training_keeps_a_schedule_in_its_place(schedule: Schedule, longer: Schedule) -> None:
    assert schedule.scaled(3) == longer
    recipe = Recipe(steps=1_000, penalties={"to_grid": schedule}).scaled(3_000)
    assert (recipe.steps, recipe.penalties) == (3_000, {"to_grid": longer})


def test_a_staircase_has_steps_however_short_the_training() -> None:
    assert Staircase(1e-9, 1e-7).scaled(1e-9).every == 1


def test_a_late_penalty_wakes_below_its_error() -> None:
    late = Late(0.25, after=7, error=1.0)
    assert [late.awake(error) for error in (0.99, 1.0, 1.01)] == [True, False, False]


def test_a_switch_of_losses_keeps_its_place() -> None:
    recipe = Recipe(steps=1_000, loss=Switch("mape", "mse", 400)).scaled(250)
    assert recipe.loss == Switch("mape", "mse", 100)


def test_a_ramp_needs_a_length() -> None:
    assert Ramp(1, 4, 5).at(5) == 1
    with pytest.raises(ValueError, match="needs start < end"):
        Ramp(1, 5, 5)


def test_defaults_are_those_of_the_papers() -> None:
    recipe = Recipe()
    assert (recipe.rate, recipe.steps, recipe.batch, recipe.gradient_noise) == (1e-3, 50_000, 128, 0)
    assert Restart() == Restart(check=10, memory=5_000, error=1.0, validate=1_000)
    assert Restart(memory=500, validate=500).validate == 500
    with pytest.raises(ValueError, match="validate <= memory"):
        Restart(memory=499, validate=500)
    assert Staircase(1e-9, 1e-7).every == 10_000


def test_a_ramp_keeps_a_length_however_short_the_training() -> None:
    assert Ramp(10, 20_000, 35_000).scaled(1e-6) == Ramp(10, 0, 1)
