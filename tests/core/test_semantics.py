"""What a recipe's words mean, on numbers one can check by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from nalm.core import semantics
from nalm.core.recipe import Clip, Constant, Late, Ramp, Recipe

RECIPE = Recipe(
    penalties={
        "to_grid": Ramp(10, 100, 200),
        "gates_to_grid": Ramp(4, 50, 150),
        "saturate": Late(0.5, after=20, error=1.0),
        "l1": Constant(0.25),
    }
)


def test_a_penalty_adds_the_terms_that_have_a_strength() -> None:
    terms = {"to_grid": torch.tensor([1.0, 2.0]), "l1": torch.tensor([3.0, 4.0])}
    total = semantics.penalty(terms, {"to_grid": 10.0, "absent": 7.0}, torch.tensor([0.5, 0.25]))
    assert total.tolist() == [10.5, 20.25]


def test_strengths_at_a_step_wait_for_their_error_and_leave_zeros_out() -> None:
    assert semantics.strengths(RECIPE, 10, 0.5) == {"l1": 0.25}
    assert semantics.strengths(RECIPE, 100, 0.5) == {"gates_to_grid": 2.0, "saturate": 0.5, "l1": 0.25}
    assert semantics.strengths(RECIPE, 150, 1.0) == {"to_grid": 5.0, "gates_to_grid": 4.0, "l1": 0.25}


def test_the_heights_of_ramps_are_what_recipes_may_differ_in() -> None:
    shared = semantics.of_any_strength(RECIPE).penalties
    assert (shared["to_grid"], shared["gates_to_grid"]) == (Ramp(1, 100, 200), Ramp(1, 50, 150))
    assert shared["l1"] == Constant(0.25)


def test_the_last_ramp_ends_all() -> None:
    assert semantics.ramps_end(RECIPE) == 200
    assert semantics.ramps_end(Recipe()) == 0


def test_gradient_noise_has_the_published_variance() -> None:
    deviation = semantics.noise_deviation(Recipe(gradient_noise=0.3), np.array([0, 1, 99]))
    assert deviation**2 == pytest.approx([0.3, 0.3 / 2**0.55, 0.3 / 100**0.55])
    noisy = semantics.noisy({"W": torch.tensor([1.0])}, 0.5, {"W": torch.tensor([-3.0])})
    assert noisy["W"].item() == -0.5


def test_each_run_is_clipped_by_its_own_norm_over_all_parameters_and_then_by_value() -> None:
    gradients = {"W": torch.tensor([[3.0, 0.0], [0.3, 0.0]]), "b": torch.tensor([[-4.0], [-0.4]])}  # norms 5 and 0.5
    by_norm = semantics.clipped(gradients, Clip(norm=1.0), runs=1)
    torch.testing.assert_close(by_norm["W"], torch.tensor([[0.6, 0.0], [0.3, 0.0]]), rtol=0, atol=1e-6)
    torch.testing.assert_close(by_norm["b"], torch.tensor([[-0.8], [-0.4]]), rtol=0, atol=1e-6)
    both = semantics.clipped(gradients, Clip(norm=1.0, value=0.5), runs=1)
    torch.testing.assert_close(both["W"], torch.tensor([[0.5, 0.0], [0.3, 0.0]]), rtol=0, atol=1e-6)
    torch.testing.assert_close(both["b"], torch.tensor([[-0.5], [-0.4]]), rtol=0, atol=1e-6)


def test_clipping_equals_pytorchs_two_functions() -> None:
    tiny = 2e-6  # of the size of what PyTorch adds to the norm
    ours = semantics.clipped({"W": torch.tensor([tiny, 0.0])}, Clip(norm=tiny), runs=0)["W"]
    parameter = torch.nn.Parameter(torch.zeros(2))
    parameter.grad = torch.tensor([tiny, 0.0])
    torch.nn.utils.clip_grad_norm_([parameter], tiny)
    torch.testing.assert_close(ours, parameter.grad, rtol=1e-5, atol=0)
    assert math.isclose(ours[0].item(), tiny * 2 / 3, rel_tol=1e-5)


def test_nothing_to_clip_is_nothing() -> None:
    assert semantics.clipped({}, Clip(norm=1.0, value=1.0), runs=0) == {}
