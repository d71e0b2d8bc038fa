"""Training steps of one run, as a user of the compiler writes them: plain torch functions of plain tensors.

The compiler is tested and measured on them. They follow the published units but share no code with `nalm.units`, so
that a mistake there cannot hide one here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from nalm.core.uniforms import Stream, uniforms
from nalm.native.kernel import Kernel, compile_step

Tensors = dict[str, Tensor]
Floats = NDArray[Any]
Arrays = dict[str, Floats]
BATCH = 128
LOW = np.array([-20, -2, -1.2, -0.2, -2, 0.1, 1, 1.1, 10], np.float32)
HIGH = np.array([-10, -1, -1.1, -0.1, 2, 0.2, 2, 1.2, 20], np.float32)
CLOCK = ["penalty", "bias1", "bias2"]


def nmu(p: Tensors, x: Tensor, _: Tensors) -> Tensor:
    """A product, `(outputs, samples)`."""
    return torch.prod(1 + p["w"][..., None] * (x[:, None] - 1), 0)


def nau(p: Tensors, x: Tensor, _: Tensors) -> Tensor:
    """A sum."""
    return p["w"].T @ x


def snmu(p: Tensors, x: Tensor, draws: Tensors) -> Tensor:
    """A product under noise that is divided out again."""
    noise = 1 + 4 * draws["noise"]
    noisy = torch.prod(1 + p["w"][..., None] * (noise * x - 1)[:, None], 0)
    return noisy / torch.prod(1 + p["w"][..., None] * (noise - 1)[:, None], 0)


def real_npu(p: Tensors, x: Tensor, _: Tensors) -> Tensor:
    """Powers of magnitudes, signs apart."""
    gate = p["g"].clamp(0, 1)[:, None]
    magnitude = gate * (x.abs() + 1e-5) + (1 - gate)
    angle = torch.where(x < 0, torch.pi, 0.0) * gate
    return torch.exp(p["w"].T @ magnitude.log()) * torch.cos(p["w"].T @ angle)


def nalu(p: Tensors, x: Tensor, _: Tensors) -> Tensor:
    """A gated choice of a sum and a product."""
    w = torch.tanh(p["w"]) * torch.sigmoid(p["m"])
    gate = torch.sigmoid(p["g"].T @ x)
    return gate * (w.T @ x) + (1 - gate) * torch.exp(w.T @ torch.log(x.abs() + 1e-7))


def nmru(p: Tensors, x: Tensor, _: Tensors) -> Tensor:
    """A product of inputs and reciprocals."""
    both = torch.cat([x, 1 / x], 0)[:, None]
    w = p["w"][..., None]
    sign = torch.prod(torch.cos(torch.pi * w * torch.where(both < 0, 1.0, 0.0)), 0)
    return torch.prod(w * both.abs() + 1 - w, 0) * sign


def two_layers(p: Tensors, x: Tensor, _: Tensors) -> Tensor:
    """A product of sums."""
    hidden = p["w1"].T @ x
    return torch.prod(1 + p["w2"][..., None] * (hidden[:, None] - 1), 0)


def pull(w: Tensor) -> Tensor:
    """The mean distance of weights to -1, 0 and 1."""
    return torch.minimum(w.abs(), (1 - w.abs()).abs()).mean()


@dataclass(frozen=True)
class Example:
    """A unit on a task: two masked sums of the inputs are multiplied, added or divided."""

    forward: Callable[[Tensors, Tensor, Tensors], Tensor]
    inputs: int
    shapes: dict[str, tuple[int, ...]]
    operation: str = "mul"
    boxes: dict[str, tuple[float, float]] = field(default_factory=dict)
    noise: bool = False

    def data(self, consts: Tensors, draws: Tensors) -> tuple[Tensor, Tensor]:
        """Inputs and targets of a step."""
        x = consts["low"] + (consts["high"] - consts["low"]) * draws["x"]
        a, b = torch.split(consts["masks"] @ x, 1)
        return x, {"mul": a * b, "add": a + b, "div": a / b}[self.operation]

    def gradient(self, state: Tensors, consts: Tensors, draws: Tensors, clock: Tensors) -> tuple[Tensors, Tensor]:
        """The gradient of loss and penalty, and the error."""
        x, target = self.data(consts, draws)

        def loss(p: Tensors) -> tuple[Tensor, Tensor]:
            error = ((self.forward(p, x, draws) - target) ** 2).mean()
            penalty = sum(pull(p[name]) for name in self.boxes) if self.boxes else torch.zeros(())
            return error + clock["penalty"] * penalty, error

        parameters = {name: state[name] for name in self.shapes}
        gradients: tuple[Tensors, Tensor] = torch.func.grad(loss, has_aux=True)(parameters)
        return gradients

    def step(self, state: Tensors, consts: Tensors, draws: Tensors, clock: Tensors) -> tuple[Tensors, Tensors]:
        """Gradient, Adam, projection."""
        gradients, error = self.gradient(state, consts, draws, clock)
        new: Tensors = {}
        for name, g in gradients.items():
            mean = 0.9 * state["mean." + name] + 0.1 * g
            square = 0.999 * state["square." + name] + 0.001 * g * g
            value = state[name] - consts["rate"] * (mean * clock["bias1"]) / ((square * clock["bias2"]).sqrt() + 1e-8)
            new[name] = value.clamp(*self.boxes[name]) if name in self.boxes else value
            new["mean." + name], new["square." + name] = mean, square
        return new, {"loss": error}

    def gradient_step(self, state: Tensors, consts: Tensors, draws: Tensors, clock: Tensors) -> tuple[Tensors, Tensors]:
        """The gradient in place of new parameters, to be looked at."""
        gradients, error = self.gradient(state, consts, draws, clock)
        return gradients, {"loss": error}

    def evaluate(self, state: Tensors, consts: Tensors, draws: Tensors, _: Tensors) -> tuple[Tensors, Tensors]:
        """Nothing to keep, and the error."""
        x, target = self.data(consts, draws)
        return {}, {"error": ((self.forward(state, x, draws) - target) ** 2).mean()}

    def draws(self, samples: int = BATCH) -> dict[str, tuple[int, tuple[int, ...]]]:
        """Which random numbers a step needs: stream and shape by name."""
        own = {"noise": (int(Stream.NOISE), (self.inputs, samples))} if self.noise else {}
        return {"x": (int(Stream.TRAIN), (self.inputs, samples)), **own}

    def arrays(self, seeds: int) -> tuple[Arrays, Arrays, Floats]:
        """State with the optimiser's slots, consts and seeds of `seeds` x 9 runs."""
        runs, rng = 9 * seeds, np.random.default_rng(0)
        spread = 0.1 if self.inputs > 50 else 1.0
        state: Arrays = {}
        for name, shape in self.shapes.items():
            centre = 0.0 if spread < 1 and name == "w1" else 0.5
            start = rng.uniform(-0.25, 0.25, (runs, *shape)) * spread + centre
            state |= {name: start.astype(np.float32)}
            state |= {f"{slot}.{name}": np.zeros((runs, *shape), np.float32) for slot in ("mean", "square")}
        masks = np.zeros((runs, 2, self.inputs), np.float32)
        width = 1 if self.inputs < 50 else self.inputs // 4
        masks[:, 0, :width] = masks[:, 1, width : 2 * width] = 1
        rate = np.full(runs, 1e-3, np.float32)
        consts = {"low": np.tile(LOW, seeds), "high": np.tile(HIGH, seeds), "rate": rate, "masks": masks}
        return state, consts, np.repeat(np.arange(seeds), 9)

    def compile(self, function: Any = None, samples: int = BATCH, **options: Any) -> Kernel:
        """The case, or a function of the same arguments, as native code."""
        state, consts, _ = self.arrays(1)
        slots = function is None
        return compile_step(
            function or self.step,
            state={n: v.shape[1:] for n, v in state.items() if slots or n in self.shapes},
            consts={n: v.shape[1:] for n, v in consts.items()},
            draws=self.draws(samples),
            clock=CLOCK,
            samples=samples,
            seed_consts=["masks"],
            **options,
        )


def case(name: str) -> Example:
    """A case by name and number of inputs: "NMU 2"."""
    unit, inputs = name.split()
    n = int(inputs)
    w = (n, 1)
    cases = {
        "NMU": Example(nmu, n, {"w": w}, boxes={"w": (0, 1)}),
        "NAU": Example(nau, n, {"w": w}, "add", {"w": (-1, 1)}),
        "sNMU": Example(snmu, n, {"w": w}, boxes={"w": (0, 1)}, noise=True),
        "RealNPU": Example(real_npu, n, {"w": w, "g": (n,)}, "div", {"w": (-1, 1), "g": (0, 1)}),
        "NALU": Example(nalu, n, {"w": w, "m": w, "g": w}),
        "NMRU": Example(nmru, n, {"w": (2 * n, 1)}, "div", {"w": (0, 1)}),
        "two-layer": Example(two_layers, n, {"w1": (n, 2), "w2": (2, 1)}, boxes={"w1": (-1, 1), "w2": (0, 1)}),
    }
    return cases[unit]


SMALL = ["NMU 2", "NAU 2", "sNMU 2", "RealNPU 2", "NALU 2", "NMRU 2", "NMU 10", "RealNPU 10"]
ALL = [*SMALL, "NAU 100", "two-layer 100"]


def clock_table(steps: int, first: int = 0) -> Floats:
    """Penalty strength and Adam's bias corrections."""
    t = np.arange(first + 1, first + steps + 1, dtype=np.float64)
    columns = [np.clip(t / 100, 0, 1) * 0.1, 1 / (1 - 0.9**t), 1 / (1 - 0.999**t)]
    return np.stack(columns, 1).astype(np.float32)


def copied(arrays: Arrays) -> Arrays:
    """A deep copy."""
    return {name: value.copy() for name, value in arrays.items()}


def one_run(arrays: Arrays, run: int, dtype: torch.dtype = torch.float32) -> Tensors:
    """One run's share of arrays over all runs."""
    return {name: torch.tensor(value[run]).to(dtype) for name, value in arrays.items()}


def draw(draws: dict[str, tuple[int, tuple[int, ...]]], seed: int, step: int) -> Tensors:
    """The random numbers of a step, by name."""
    return {name: uniforms(seed, stream, step, shape) for name, (stream, shape) in draws.items()}


def gradient_errors(c: Example) -> tuple[Floats, Floats]:
    """Largest error of the compiled and of torch's float32 gradient, each relative to the float64 one, per run."""
    state, consts, seeds = c.arrays(2)
    gradients = {n: state[n] for n in c.shapes}
    start, table = copied(gradients), clock_table(1, first=50)
    c.compile(c.gradient_step).run(gradients, consts, seeds, table, 7)
    errors = []
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
        ours = one_run(gradients, run)
        errors.append([max(_distance(g[n], exact[n]) for n in c.shapes) for g in (ours, single)])
    return np.array(errors)[:, 0], np.array(errors)[:, 1]


def _distance(got: Tensor, exact: Tensor) -> float:
    return float((got - exact).abs().max() / exact.abs().max())
