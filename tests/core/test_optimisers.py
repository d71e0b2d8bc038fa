"""Optimisers against published code, and against themselves in both engines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from nalm.core.optimiser import SGD, Adam, Optimiser, RMSprop, ScheduleFree

STEPS = 250
Torch = Callable[[list[torch.nn.Parameter]], Any]


def gradient(value: torch.Tensor, step: int) -> torch.Tensor:
    """Of a bowl that is not round, with a disturbance."""
    return torch.tensor([4.0, 0.3, -1.0], dtype=value.dtype) * value + 0.5 * np.sin(step)


def ours(optimiser: Optimiser) -> tuple[np.ndarray, np.ndarray]:
    """The trained and the shown parameter after some steps, in float64."""
    start = np.array([1.5, -2.0, 0.3])
    value, slots = torch.tensor(start), {n: torch.tensor(s) for n, s in optimiser.start(start).items()}
    clock = optimiser.clock(np.arange(STEPS))
    rate = torch.tensor(optimiser.rate, dtype=torch.float64)
    for step in range(STEPS):
        now = {name: torch.tensor(column[step]) for name, column in clock.items()}
        value, slots = optimiser.update(value, slots, gradient(value, step), rate, now)
    return value.numpy(), optimiser.shown(value.numpy(), {n: s.numpy() for n, s in slots.items()})


def theirs(make: Torch) -> tuple[torch.nn.Parameter, Any]:
    parameter = torch.nn.Parameter(torch.tensor([1.5, -2.0, 0.3], dtype=torch.float64))
    optimiser = make([parameter])
    for step in range(STEPS):
        parameter.grad = gradient(parameter.detach(), step)
        optimiser.step()
    return parameter, optimiser


@pytest.mark.parametrize("optimiser", [SGD(0.01), Adam(0.01), RMSprop(0.01), RMSprop(0.01, decay=0.9)], ids=str)
def test_pytorch_makes_the_same_steps(optimiser: Optimiser) -> None:
    parameter, _ = theirs(optimiser.in_torch)
    value, shown = ours(optimiser)
    np.testing.assert_allclose(value, parameter.detach().numpy(), rtol=1e-9)
    np.testing.assert_array_equal(value, shown)


@pytest.mark.parametrize(
    "optimiser",
    [
        ScheduleFree(0.1),
        ScheduleFree(0.1, betas=(0.9, 0.96), decay=1e-2, warmup=100),
        ScheduleFree(0.05, betas=(0.7, 0.9), warmup=1),
        ScheduleFree(0.05, warmup=2 * STEPS),
    ],
    ids=str,
)
def test_schedule_free_makes_the_steps_of_its_authors(optimiser: ScheduleFree) -> None:
    schedulefree = pytest.importorskip("schedulefree", reason="pip install schedulefree: the authors' own code")

    def make(parameters: list[torch.nn.Parameter]) -> Any:
        made = schedulefree.AdamWScheduleFreeReference(
            parameters,
            lr=optimiser.rate,
            betas=optimiser.betas,
            weight_decay=optimiser.decay,
            warmup_steps=optimiser.warmup,
        )
        made.train()
        return made

    parameter, reference = theirs(make)
    value, shown = ours(optimiser)
    np.testing.assert_allclose(value, parameter.detach().numpy(), rtol=1e-9)
    reference.eval()
    np.testing.assert_allclose(shown, parameter.detach().numpy(), rtol=1e-9)


def test_one_step_of_schedule_free_by_hand() -> None:
    optimiser = ScheduleFree(0.1, betas=(0.9, 0.96), decay=0.5, warmup=2)
    now = {name: torch.tensor(column[0]) for name, column in optimiser.clock(np.arange(2)).items()}
    two = torch.tensor(2.0, dtype=torch.float64)
    slots = {n: torch.tensor(s) for n, s in optimiser.start(np.array(2.0)).items()}
    value, slots = optimiser.update(two, slots, torch.tensor(-3.0, dtype=torch.float64), torch.tensor(0.1), now)
    # half the rate; the corrected size of the first gradient is its own; decay is at y = 2; the average is z itself
    z = 2 - 0.05 * (-1 + 0.5 * 2)
    assert float(slots["z"]) == pytest.approx(z, rel=1e-8)
    assert float(slots["x"]) == pytest.approx(z, rel=1e-8)
    assert float(value) == pytest.approx(z, rel=1e-8)
    later = optimiser.clock(np.arange(4))["share"]
    assert later == pytest.approx([1, 1 / (1.25), 1 / 2.25, 1 / 3.25])
