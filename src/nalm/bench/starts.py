"""Where training ends from every start on a grid: numbers only, `nalm.bench.show.drawings` draws them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray

from nalm.bench.engine.unit_on_task import substituted
from nalm.bench.landscape import PAIR, Floats
from nalm.core.uniforms import Stream, supplied, uniforms
from nalm.units.nau import NMU
from nalm.units.snmu import SNMU


@dataclass(frozen=True)
class Starts:
    """Where SGD on one sample ends from every start on a grid: weights `(count, count, 2)` before and after."""

    before: Floats
    after: Floats

    @property
    def solved(self) -> NDArray[np.bool_]:
        """Whether both weights came within 0.01 of one, `(count, count)`."""
        return np.asarray(np.abs(self.after - 1).max(-1) < 0.01)


def from_every_start(
    noise: tuple[float, float] | None = None,
    sample: tuple[float, float] = PAIR,
    count: int = 21,
    steps: int = 2_500,
    rate: float = 1e-3,
) -> Starts:
    """Train an NMU (or, with a noise range, an sNMU) on one product from `count` x `count` starts on [0, 1].

    Plain SGD, projection to [0, 1], no penalty, as in Mistry 2023, figure 4.3.
    """
    axis = torch.linspace(0, 1, count, dtype=torch.float64)
    before = torch.cartesian_prod(axis, axis)
    unit = SNMU(2, 1, (len(before),), noise=noise) if noise else NMU(2, 1, (len(before),))
    x = torch.tensor(sample, dtype=torch.float64).reshape(2, 1).expand(len(before), 2, 1)
    target = sample[0] * sample[1]
    weights = before
    for step in range(steps):
        weights = weights.detach().requires_grad_()
        draw = partial(uniforms, 0, Stream.NOISE, step)
        with substituted(unit.train(), {"W": weights.unsqueeze(-2)}), supplied(draw):
            error = (unit.compute(x) - target).square().sum()
        (gradient,) = torch.autograd.grad(error, weights)
        weights = (weights - rate * gradient).clamp(0, 1)
    shape = (count, count, 2)
    return Starts(before.reshape(shape).numpy(), weights.detach().reshape(shape).numpy())
