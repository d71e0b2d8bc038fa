"""Random small steps from the supported operations, against eager torch."""

from __future__ import annotations

import numpy as np
import torch
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

from nalm.core.uniforms import uniforms
from nalm.native import compile_step

INPUTS, SAMPLES, RUNS, STEPS = 3, 48, 5, 3
# Compiling each candidate makes shrinking slow; the chains are short enough to read as they are.
SETTINGS = {
    "deadline": None,
    "derandomize": True,
    "database": None,
    "phases": (Phase.explicit, Phase.generate),
    "suppress_health_check": [HealthCheck.too_slow],
}
# Every operation maps real tensors to real tensors, whatever their size, so that a random chain stays finite.
UNARY = {
    "exp": lambda a: torch.exp(a.clamp(-3, 3)),
    "log": lambda a: torch.log(a.abs() + 0.1),
    "sin": torch.sin,
    "cos": torch.cos,
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "abs": torch.abs,
    "neg": torch.neg,
    "square": lambda a: a.clamp(-3, 3) ** 2,
    "cube": lambda a: a.clamp(-2, 2) ** 3,
    "root": lambda a: torch.sqrt(a.abs() + 0.1),
    "power": lambda a: torch.pow(a.abs() + 0.3, 1.7),
    "reciprocal": lambda a: 1 / (a.abs() + 0.5),
    "clamp": lambda a: a.clamp(-0.7, 0.8),
    "relu": torch.relu,
    "log1p": lambda a: torch.log1p(a.abs()),
    "softmax": lambda a: torch.softmax(a, 0),
    "sum of features": lambda a: a.sum(0, keepdim=True).expand_as(a),
    "product of features": lambda a: torch.prod(a.clamp(-2, 2), 0, keepdim=True).expand_as(a),
    "largest feature": lambda a: a.amax(0, keepdim=True).expand_as(a),
    "running product": lambda a: torch.cumprod(a.clamp(-2, 2), 0),
    "shuffle": lambda a: torch.cat([a[1:], a[:1]], 0),
    "overwrite": lambda a: torch.cat([a[:1] * 2, torch.flip(a, [0])[1:]], 0),
    "centre": lambda a: a - a.mean(-1, keepdim=True),
    "standardise": lambda a: (a - a.mean(-1, keepdim=True)) / (a.std(-1, keepdim=True) + 0.5),
    "mix": lambda a: torch.einsum("ij,jk->ik", torch.tensor([[0.5, -1, 0], [0, 1, 2.0], [1, 1, 1]]).to(a), a),
}
BINARY = {
    "add": torch.add,
    "sub": torch.sub,
    "mul": lambda a, b: a.clamp(-4, 4) * b.clamp(-4, 4),
    "div": lambda a, b: a / (b.abs() + 0.5),
    "minimum": torch.minimum,
    "maximum": torch.maximum,
    "power": lambda a, b: torch.pow(a.abs() + 0.3, b.clamp(-2, 2)),
}
operation = st.one_of(
    st.tuples(st.sampled_from(sorted(UNARY)), st.integers(0, 50)),
    st.tuples(st.sampled_from(sorted(BINARY)), st.integers(0, 50), st.integers(0, 50)),
)


def network(chain, x, w, scale, u):
    """Applies a chain of operations; each takes what earlier ones left, counted from the end."""
    values = [x, w.expand_as(x), w * x, torch.where(u < 0.4, x, scale * w)]
    for name, *places in chain:
        args = [values[-1 - place % len(values)] for place in places]
        values.append((UNARY if len(args) == 1 else BINARY)[name](*args))
    return values[-1] + 0.1 * values[-2]


def step_of(chain):
    def step(state, consts, draws, clock):
        x = consts["low"] + (consts["high"] - consts["low"]) * draws["u"]

        def loss(p):
            y = network(chain, x, p["w"], p["s"], draws["u"])
            return (y * y).mean() + clock["pull"] * p["w"].abs().sum()

        gradients, value = torch.func.grad_and_value(loss)({"w": state["w"], "s": state["s"]})
        size = torch.sqrt(sum(g.square().sum() for g in gradients.values()) + 1e-6)
        limit = torch.minimum(torch.ones(()), 1 / size)
        return {n: state[n] - consts["rate"] * limit * gradients[n] for n in gradients}, {"loss": value}

    return step


def trained_by_torch(step, state, consts, seeds, table, dtype):
    batched = torch.func.vmap(step, in_dims=(0, 0, 0, None))
    own, constants = ({n: torch.tensor(v).to(dtype) for n, v in a.items()} for a in (state, consts))
    for i, row in enumerate(torch.tensor(table).to(dtype)):
        u = uniforms(torch.tensor(seeds), 1, i, (INPUTS, SAMPLES)).to(dtype)
        own, metrics = batched(own, constants, {"u": u}, {"pull": row[0]})
    return {n: v.double().numpy() for n, v in {**own, **metrics}.items()}


@settings(max_examples=16, **SETTINGS)
@given(chain=st.lists(operation, min_size=1, max_size=7))
@example(chain=[("standardise", 0), ("standardise", 0), ("mul", 0, 1)])
@example(chain=[("softmax", 1), ("centre", 0), ("div", 0, 3)])
@example(chain=[("product of features", 2), ("running product", 1), ("maximum", 0, 1)])
def test_random_steps_agree_with_torch(chain):
    rng = np.random.default_rng(0)
    seeds = np.array([4, 4, 4, 8, 8])
    shapes = {"w": (INPUTS, 1), "s": ()}
    state = {n: rng.uniform(0.2, 0.8, (RUNS, *shape)).astype(np.float32) for n, shape in shapes.items()}
    low, high = rng.uniform(-2, 0, RUNS).astype(np.float32), rng.uniform(0.5, 2, RUNS).astype(np.float32)
    consts = {"low": low, "high": high, "rate": np.full(RUNS, 0.05, np.float32)}
    table = np.array([[0.1], [0.2], [0.3]], np.float32)
    step = step_of(chain)
    single, exact = (
        trained_by_torch(step, state, consts, seeds, table, dtype) for dtype in (torch.float32, torch.float64)
    )
    kernel = compile_step(
        step,
        state=shapes,
        consts={n: v.shape[1:] for n, v in consts.items()},
        draws={"u": (1, (INPUTS, SAMPLES))},
        clock=["pull"],
        samples=SAMPLES,
    )
    metrics = kernel.run(state, consts, seeds, table, 0)
    for n, got in {**state, **metrics}.items():
        allowed = 20 * np.abs(single[n] - exact[n]).max() + 2e-6 * (1 + np.abs(exact[n]).max())
        assert np.abs(got - exact[n]).max() <= allowed, n


def wide_step(squashed, normalised):
    def step(state, consts, draws, _):
        x = consts["low"] + (consts["high"] - consts["low"]) * draws["u"]
        target = consts["mask"] @ x

        def loss(p):
            w = torch.tanh(p["w"]) if squashed else p["w"]
            hidden = w @ x + p["b"]
            if normalised:
                hidden = hidden - hidden.mean(-1, keepdim=True)
            return (torch.tanh(hidden).sum(0) - 0.1 * target).square().mean() + 0.01 * w.abs().sum()

        gradients, value = torch.func.grad_and_value(loss)({"w": state["w"], "b": state["b"]})
        norm = sum(g.square().sum() for g in gradients.values()).sqrt()
        mean = state["mean"] + 0.1 * (gradients["w"] / (1 + norm) - state["mean"])
        new = {"w": state["w"] - 0.05 * mean, "b": state["b"] - 0.01 * gradients["b"], "mean": mean}
        return new, {"loss": value, "size": new["w"].square().sum()}

    return step


@settings(max_examples=6, **SETTINGS)
@given(st.integers(33, 130).filter(lambda n: n != SAMPLES), st.integers(1, 3), st.booleans(), st.booleans())
def test_random_wide_layers_agree_with_torch(features, outputs, squashed, normalised):
    """A long feature axis in every role: contracted forwards and backwards, summed, clipped by a norm, stored late."""
    step = wide_step(squashed, normalised)
    rng = np.random.default_rng(features)
    seeds = np.array([1, 1, 2])
    shapes = {"w": (outputs, features), "b": (outputs, 1), "mean": (outputs, features)}
    state = {n: rng.uniform(-0.1, 0.1, (3, *shape)).astype(np.float32) for n, shape in shapes.items()}
    consts = {"low": np.array([-1, 0.5, 1], np.float32), "high": np.array([1, 1, 2], np.float32)}
    consts["mask"] = np.repeat((rng.uniform(size=(1, features)) < 0.3), 3, 0).astype(np.float32)
    batched = torch.func.vmap(step, in_dims=(0, 0, 0, None))
    own, constants = ({n: torch.tensor(v).double() for n, v in a.items()} for a in (state, consts))
    for i in range(STEPS):
        u = uniforms(torch.tensor(seeds), 1, i, (features, SAMPLES)).double()
        own, expected = batched(own, constants, {"u": u}, {})
    kernel = compile_step(
        step,
        state=shapes,
        consts={n: v.shape[1:] for n, v in consts.items()},
        draws={"u": (1, (features, SAMPLES))},
        clock=[],
        samples=SAMPLES,
        seed_consts=["mask"],
    )
    metrics = kernel.run(state, consts, seeds, np.zeros((STEPS, 0), np.float32), 0)
    for n, got in {**state, **metrics}.items():
        np.testing.assert_allclose(got, {**own, **expected}[n], rtol=1e-5, atol=2e-6, err_msg=n)
