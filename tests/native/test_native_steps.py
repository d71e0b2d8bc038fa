"""Compiled steps against eager torch: gradients, trajectories, evaluations."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from native_steps import ALL, CLOCK, SMALL, case, clock_table, copied, draw, one_run


@pytest.mark.parametrize("name", ALL)
def test_gradients_are_as_close_to_float64_as_torch_is(name):
    c = case(name)
    state, consts, seeds = c.arrays(2)
    parameters = {n: state[n] for n in c.shapes}
    start = copied(parameters)
    table = clock_table(1, first=50)
    c.compile(c.gradient_step).run(parameters, consts, seeds, table, 7)
    ours, theirs = [], []
    for run in range(len(seeds)):
        draws = draw(c.draws(), int(seeds[run]), 7)
        exact, single = (
            c.gradient_step(
                one_run(start, run, dtype),
                one_run(consts, run, dtype),
                {n: u.to(dtype) for n, u in draws.items()},
                dict(zip(CLOCK, torch.tensor(table[0]).to(dtype), strict=True)),
            )[0]
            for dtype in (torch.float64, torch.float32)
        )
        got = {n: torch.tensor(parameters[n][run]) for n in c.shapes}
        ours.append(max(_distance(got[n], exact[n]) for n in c.shapes))
        theirs.append(max(_distance(single[n], exact[n]) for n in c.shapes))
    # Where a whole range has one sign, all samples share one rounding of an angle: single runs are a matter of luck.
    assert np.mean(ours) <= 2 * np.mean(theirs) + 1e-7
    assert np.max(ours) <= 4 * np.max(theirs) + 1e-7


def _distance(got, exact):
    return float((got - exact).abs().max() / exact.abs().max())


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


def eager(c, state, consts, steps):
    """The same steps of all runs of seed 0 in plain torch."""
    stepped = torch.func.vmap(c.step, in_dims=(0, 0, None, None))
    own, constants = ({n: torch.tensor(v) for n, v in arrays.items()} for arrays in (state, consts))
    for step, row in enumerate(torch.tensor(clock_table(steps))):
        own, metrics = stepped(own, constants, draw(c.draws(), 0, step), dict(zip(CLOCK, row, strict=True)))
    return own, metrics["loss"]


@pytest.mark.parametrize("name", ["NMU 2", "RealNPU 2", "two-layer 100"])
@pytest.mark.parametrize("samples", [37, 1000, 10_000])
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
