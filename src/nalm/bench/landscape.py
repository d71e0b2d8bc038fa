"""Published loss surfaces over two weights: numbers only, `nalm.bench.show.drawings` draws them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from nalm.bench.find import nearest
from nalm.core.unit import Unit
from nalm.units.division import NMRU, NRU
from nalm.units.nau import NMU

Floats = NDArray[np.float64]
SAMPLE = (1.0, 1.2, 1.8, 2.0)  # (x1 + x2)(x1 + x2 + x3 + x4) = 13.2
SAMPLE_TARGET = 13.2
PAIR = (-2.0, -1.8)  # the NMU's local optimum: -2 times -1.8 is 1.5 times 2.4
PAIR_OPTIMA = ((1.0, 1.0), (-1 / 6, -1 / 2))
PLOT_EPSILON = 1e-5  # of the Real NPU, in the published surface only


@dataclass(frozen=True)
class Landscape:
    """A squared error as a function of two weights, with the box it is drawn over.

    Args:
        predict: the output for tensors of first and second weights of one shape.
        optima: the weights to be learned, for a mark; a constant ε in a logarithm leaves an error even there.
    """

    title: str
    predict: Callable[[Tensor, Tensor], Tensor]
    target: float
    first: tuple[float, float] = (-1, 1)
    second: tuple[float, float] = (-1, 1)
    labels: tuple[str, str] = ("weight of the first layer", "weight of the second layer")
    optima: tuple[tuple[float, float], ...] = ((1.0, 1.0), (-1.0, 1.0))  # of two layers: the sums, or both negative

    def error(self, first: Tensor, second: Tensor) -> Tensor:
        """The squared error, elementwise."""
        return (self.predict(first, second) - self.target).square()

    def grid(self, count: int = 201) -> tuple[Floats, Floats, Floats]:
        """Both axes, of `count` values, and the error `(second, first)` over them."""
        axes = [torch.linspace(*box, count, dtype=torch.float64) for box in (self.first, self.second)]
        second, first = torch.meshgrid(axes[1], axes[0], indexing="ij")
        return axes[0].numpy(), axes[1].numpy(), self.error(first, second).numpy()


def with_weights(make: Callable[[tuple[int, ...]], Unit], weights: Tensor) -> Unit:
    """A cohort of one unit per row of `weights`, `(rows, elements of W)`, in eval mode and float64."""
    unit = make((len(weights),)).double().eval()
    with torch.no_grad():
        dict(unit.named_parameters())["W"].copy_(weights.unsqueeze(-2))
    return unit


def _summed(first: Tensor) -> tuple[Tensor, Tensor]:
    """The hidden layer of the published surface: w (x1 + x2) and w (x1 + x2 + x3 + x4)."""
    return first * sum(SAMPLE[:2]), first * sum(SAMPLE)


def _log_space(epsilon: float, signed: bool) -> Callable[[Tensor, Tensor], Tensor]:
    """NAC• (always positive) or the Real NPU with open gates (signs by a cosine), both with equal exponents."""

    def predict(first: Tensor, second: Tensor) -> Tensor:
        a, b = _summed(first)
        size = ((a.abs() + epsilon) * (b.abs() + epsilon)).pow(second)
        turns = second * ((a < 0).double() + (b < 0).double())
        return size * torch.cos(math.pi * turns) if signed else size

    return predict


def _unit_on_sums(source: type[Unit], unused: int) -> Callable[[Tensor, Tensor], Tensor]:
    """A unit on the hidden layer, both weights equal and `unused` more at zero."""

    def predict(first: Tensor, second: Tensor) -> Tensor:
        flat = second.reshape(-1, 1)
        weights = torch.cat([flat, flat, *[torch.zeros_like(flat)] * unused], 1)
        unit = with_weights(lambda runs: source(2, 1, runs), weights)
        hidden = torch.stack(_summed(first.reshape(-1, 1)), -2)  # (points, 2, 1)
        return unit.compute(hidden).detach().reshape(first.shape)

    return predict


def _nmu_pair(first: Tensor, second: Tensor) -> Tensor:
    weights = torch.stack([first.flatten(), second.flatten()], 1)
    unit = with_weights(lambda runs: NMU(2, 1, runs), weights)
    x = torch.tensor(PAIR, dtype=torch.float64).reshape(2, 1).expand(len(weights), 2, 1)
    return unit.compute(x).detach().reshape(first.shape)


LANDSCAPES: dict[str, Landscape] = {
    **{
        f"nac-{epsilon:g}": Landscape(f"NAC+ and NAC•, ε = {epsilon:g}", _log_space(epsilon, False), SAMPLE_TARGET)
        for epsilon in (1e-7, 0.1, 1.0)
    },
    "nmu": Landscape("NAU and NMU", _unit_on_sums(NMU, 0), SAMPLE_TARGET, second=(0, 1)),
    "real-npu": Landscape("NAU and Real NPU, ε = 1e-5", _log_space(PLOT_EPSILON, True), SAMPLE_TARGET),
    "nru": Landscape("NAU and NRU", _unit_on_sums(NRU, 0), SAMPLE_TARGET),
    "nmru": Landscape("NAU and NMRU", _unit_on_sums(NMRU, 2), SAMPLE_TARGET, second=(0, 1)),
    "nmu-pair": Landscape(
        "NMU on −2 × −1.8",
        _nmu_pair,
        PAIR[0] * PAIR[1],
        first=(-1, 1.5),
        second=(-1, 1.5),
        labels=("w₁", "w₂"),
        optima=PAIR_OPTIMA,
    ),
}
"""The published surfaces: Madsen and Johansen 2020, figure 2; Mistry et al. 2022, figure 3, and (division) figure 9."""


def find_landscape(name: str) -> Landscape:
    """The landscape called `name`, or a ValueError that names the nearest.

    >>> find_landscape("nmu-pair").optima[0]
    (1.0, 1.0)
    """
    if name not in LANDSCAPES:
        raise ValueError(f"There is no landscape {name!r}. {nearest(name, LANDSCAPES)}")
    return LANDSCAPES[name]
