"""What a step costs beside Adam on the same model, in processor time: batches of 128, one thread."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import torch
from rule_networks import Encoder
from rule_tasks import single, stack
from torch import Tensor, nn

import nalm
from nalm.core.uniforms import uniforms
from nalm.training.rule import LocalGaussNewton

Row = dict[str, Any]
WARM, STEPS = 10, 60  # after so many steps the mean of so many...
REPEATS = 5  # ... of the fastest of so many times, in turn with Adam's, as the machine is shared


def encoded(runs: int) -> nn.Module:
    """An encoder of four scalars below a unit."""
    return nn.Sequential(Encoder(range(runs)), nalm.NRU(4, 1, (runs,)))


CASES: list[tuple[str, Callable[[int], nn.Module], int, int]] = [
    ("NMU, 2 inputs", single("NMU", 2), 2, 225),
    ("NMU, 10 inputs", single("NMU", 10), 10, 225),
    ("NAU, 100 inputs", single("NAU", 100), 100, 45),
    ("NAU to NMU, 100-2-1", stack(100, 2), 100, 45),
    ("encoder (16-32-32-1, used 4 times) below an NRU", encoded, 4, 25),
]


def cost() -> list[Row]:
    """Microseconds per run and step, alone and in a cohort."""
    rows = []
    for label, make, inputs, most in CASES:
        for runs in (1, most):
            times: dict[str, list[float]] = {"adam": [], "rule": []}
            for seed in range(REPEATS):
                for name, measured in times.items():
                    torch.manual_seed(seed)
                    measured.append(_timed(make(runs), inputs, runs, name == "rule"))
            rows.append({"case": label, "runs": runs} | {name: min(measured) for name, measured in times.items()})
            print(rows[-1], flush=True)
    return rows


def _timed(model: nn.Module, inputs: int, runs: int, by_rule: bool) -> float:
    optimiser: Any = LocalGaussNewton(model) if by_rule else torch.optim.Adam(model.parameters())
    x = 1 + uniforms(torch.arange(runs), 0, 0, (128, inputs))
    t = x[..., :1] * x[..., 1:2]

    def closure() -> tuple[Tensor, Tensor]:
        output = model(x)
        return output, (output - t).square().mean((-2, -1))

    def adam() -> None:
        optimiser.zero_grad()
        closure()[1].sum().backward()  # type: ignore[no-untyped-call]
        optimiser.step()

    times: list[float] = []
    for step in range(WARM + STEPS):
        began = time.process_time()
        optimiser.step(closure) if by_rule else adam()
        if step >= WARM:  # the first steps of a stack look around only
            times.append(time.process_time() - began)
    return round(1e6 * sum(times) / len(times) / runs, 1)
