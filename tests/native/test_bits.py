"""The same bits whatever the chunking, the threads, the company and the processor."""

from __future__ import annotations

import platform

import numpy as np
import pytest
import torch

from nalm.core.uniforms import uniforms
from nalm.native import compile_step
from nalm.native.examples import case, clock_table, copied

TRIALS = [("NMU 2", 60), ("RealNPU 2", 30), ("sNMU 2", 30), ("two-layer 100", 8)]


def assert_same(a, b):
    for name in a:
        np.testing.assert_array_equal(a[name].view(np.uint32), b[name].view(np.uint32), err_msg=name)


@pytest.fixture(scope="module", params=TRIALS, ids=lambda trial: trial[0])
def trained(request):
    """A case, its kernel, and the state after some steps in one call on one thread."""
    name, steps = request.param
    c = case(name)
    state, consts, seeds = c.arrays(3)
    start, kernel = copied(state), c.compile()
    kernel.run(state, consts, seeds, clock_table(steps), 0)
    return c, kernel, start, consts, seeds, steps, state


def test_chunks_of_steps(trained):
    _, kernel, start, consts, seeds, steps, expected = trained
    state = copied(start)
    table = clock_table(steps)
    for first in range(0, steps, 7):
        kernel.run(state, consts, seeds, table[first : first + 7], first)
    assert_same(state, expected)


def test_threads(trained):
    _, kernel, start, consts, seeds, steps, expected = trained
    state = copied(start)
    kernel.run(state, consts, seeds, clock_table(steps), 0, threads=3)
    assert_same(state, expected)


def test_company(trained):
    """A run does not notice who shares its tile: alone, in another order, or with the others retired."""
    _, kernel, start, consts, seeds, steps, expected = trained
    order = np.random.default_rng(0).permutation(len(seeds))[:11]
    state = {n: v[order].copy() for n, v in start.items()}
    kernel.run(state, {n: v[order] for n, v in consts.items()}, seeds[order], clock_table(steps), 0)
    assert_same(state, {n: v[order] for n, v in expected.items()})
    alive = np.zeros(len(seeds), bool)
    alive[order[:4]] = True
    state = copied(start)
    metrics = kernel.run(state, consts, seeds, clock_table(steps), 0, alive=alive)
    assert_same({n: v[alive] for n, v in state.items()}, {n: v[alive] for n, v in expected.items()})
    assert_same({n: v[~alive] for n, v in state.items()}, {n: v[~alive] for n, v in start.items()})
    assert np.isnan(metrics["loss"][~alive]).all()
    assert np.isfinite(metrics["loss"][alive]).all()


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="the processors named here are x86")
@pytest.mark.parametrize("cpu", ["haswell", "znver2"])
def test_processors(trained, cpu):
    c, _, start, consts, seeds, steps, expected = trained
    state = copied(start)
    c.compile(cpu=cpu).run(state, consts, seeds, clock_table(steps), 0)
    assert_same(state, expected)


def test_a_nan_run_stays_alone(trained):
    c, kernel, start, consts, seeds, steps, expected = trained
    state = copied(start)
    parameter = next(iter(c.shapes))
    state[parameter][13] = np.nan
    kernel.run(state, consts, seeds, clock_table(steps), 0)
    assert np.isnan(state[parameter][13]).all()
    others = np.arange(len(seeds)) != 13
    assert_same({n: v[others] for n, v in state.items()}, {n: v[others] for n, v in expected.items()})


@pytest.mark.parametrize("shape", [(2, 128), (3, 37), (1, 1000), (128,)])
@pytest.mark.parametrize("step", [0, 123_456, (5 << 32) + 17])
def test_the_draws_are_the_librarys(shape, step):
    samples = shape[-1]

    def ranked(_, __, draws, ___):
        u = draws["u"]
        return {}, {"sum": u.sum(), "low": (u < 0.25).float().sum(), "square": (u * u).sum()}

    kernel = compile_step(ranked, state={}, consts={}, draws={"u": (6, shape)}, clock=[], samples=samples)
    seeds = np.array([0, 7, 2**32 - 1])
    got = kernel.run({}, {}, seeds, np.zeros((1, 0), np.float32), step)
    for i, seed in enumerate(seeds):
        u = uniforms(int(seed), 6, step, shape).double()
        np.testing.assert_allclose(got["sum"][i], u.sum(), rtol=1e-6)
        np.testing.assert_allclose(got["square"][i], (u * u).sum(), rtol=1e-6)
        assert got["low"][i] == (u < 0.25).sum()


def test_draws_without_samples_are_the_librarys_bits():
    """Noise on a gradient: one number per entry of a parameter, also along a wide axis."""
    shapes = {"short": (3, 2), "wide": (2, 70)}

    def store(_, __, draws, ___):
        return {name: draws[name] for name in shapes}, {}

    kernel = compile_step(
        store,
        state=shapes,
        consts={},
        draws={name: (5 + (i << 8), shape) for i, (name, shape) in enumerate(shapes.items())},
        clock=[],
        samples=128,
    )
    seeds = np.array([3, 3, 9])
    state = {name: np.zeros((3, *shape), np.float32) for name, shape in shapes.items()}
    kernel.run(state, {}, seeds, np.zeros((4, 0), np.float32), 10)
    for i, (name, shape) in enumerate(shapes.items()):
        expected = uniforms(torch.tensor(seeds), 5 + (i << 8), 13, shape).numpy()
        np.testing.assert_array_equal(state[name], expected)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(("flush", "left"), [(True, 0.0), (False, np.float32(1e-38) / 2)])
def test_denormals_are_kept_unless_they_are_to_be_flushed(flush, left, threads):
    kernel = compile_step(
        lambda state, *_: ({"v": state["v"] / 2}, {}), state={"v": (1,)}, consts={}, draws={}, clock=[], samples=128
    )
    state = {"v": np.full((40, 1), 1e-38, np.float32)}  # three tiles of up to sixteen runs
    kernel.run(state, {}, np.arange(40), np.zeros((1, 0), np.float32), 0, threads=threads, flush=flush)
    np.testing.assert_array_equal(state["v"], np.full((40, 1), left, np.float32))
