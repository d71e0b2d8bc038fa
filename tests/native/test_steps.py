"""Compiled steps against eager torch: gradients, trajectories, evaluations."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from nalm.native.examples import ALL, CLOCK, SMALL, case, clock_table, copied, draw, gradient_errors, one_run


@pytest.mark.parametrize("name", ALL)
def test_gradients_are_as_close_to_float64_as_torch_is(name):
    ours, theirs = gradient_errors(case(name))
    # Where a whole range has one sign, all samples share one rounding of an angle: single runs are a matter of luck.
    assert ours.mean() <= 2 * theirs.mean() + 1e-7
    assert ours.max() <= 4 * theirs.max() + 1e-7


@pytest.mark.parametrize(("name", "steps"), [*((n, 500) for n in SMALL), ("NAU 100", 60), ("two-layer 100", 60)])
def test_weights_stay_within_1e_6_of_torch(name, steps):
    c = case(name)
    state, consts, seeds = c.arrays(1)
    table = clock_table(steps)
    expected, loss = eager(c, state, consts, steps)
    metrics = c.compile().run(state, consts, seeds, table, 0)
    for n in c.shapes:
        np.testing.assert_allclose(state[n], expected[n], rtol=0, atol=1e-6, err_msg=n)
    np.testing.assert_allclose(metrics["loss"], loss, rtol=1e-3, atol=1e-9)


def test_more_weights_are_more_lines_of_code_but_no_more_loops():
    """LLVM's passes over loops take minutes for a network of 1,500 weights that has a loop for each of them."""
    few, many = (case(name).compile().ir for name in ("NMU 2", "NMU 10"))
    assert len(many) > len(few)
    assert many.count("\nhead") == few.count("\nhead")


def eager(c, state, consts, steps):
    """The same steps of all runs of seed 0 in plain torch."""
    stepped = torch.func.vmap(c.step, in_dims=(0, 0, None, None))
    own, constants = ({n: torch.tensor(v) for n, v in arrays.items()} for arrays in (state, consts))
    for step, row in enumerate(torch.tensor(clock_table(steps))):
        own, metrics = stepped(own, constants, draw(c.draws(), 0, step), dict(zip(CLOCK, row, strict=True)))
    return own, metrics["loss"]


@pytest.mark.parametrize("name", ["NMU 2", "RealNPU 2", "two-layer 100"])
@pytest.mark.parametrize("samples", [33, 1000, 10_000])  # one more than whole vectors, eight more, whole ones
def test_evaluation_of_any_number_of_samples(name, samples):
    c = case(name)
    state, consts, seeds = c.arrays(1)
    parameters = {n: state[n] for n in c.shapes}
    before = copied(parameters)
    kernel = c.compile(c.evaluate, samples=samples)
    seeds = np.full(len(seeds), 5)  # an evaluation's inputs are the same for all
    errors = kernel.run(parameters, consts, seeds, np.zeros((1, len(CLOCK)), np.float32), 0)["error"]
    draws = {n: u.double() for n, u in draw(c.draws(samples), 5, 0).items()}
    for run in range(len(seeds)):
        exact = c.evaluate(one_run(parameters, run, torch.float64), one_run(consts, run, torch.float64), draws, {})
        np.testing.assert_allclose(errors[run], exact[1]["error"], rtol=3e-6)
    for n, value in before.items():
        np.testing.assert_array_equal(parameters[n], value)
