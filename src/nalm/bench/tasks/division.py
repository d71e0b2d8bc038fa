"""Division as the division papers test it: a flat threshold, and near zero thresholds from ideal weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import torch

from nalm.bench.distribution import Distribution, Uniform
from nalm.bench.task import EVALUATION_SEED, SAMPLES
from nalm.bench.tasks.arithmetic import SingleModule
from nalm.core.uniforms import Stream, uniforms
from nalm.core.unit import Unit
from nalm.units.classic import ProductUnit
from nalm.units.division import NMRU, NRU
from nalm.units.npu import RealNPU

ROUNDING = torch.finfo(torch.float32).eps


@dataclass(frozen=True)
class Division(SingleModule):
    """a / b (or 1 / a) for two neighbouring inputs, solved below a test error of 1e-5 as in the division papers.

    >>> Division(Uniform(1, 2), Uniform(2, 6)).threshold()
    1e-05
    """

    name: str = "div"
    criterion: str | float = "flat"  # type: ignore[assignment]


def near_zero(top: float) -> Uniform:
    """U[0, top) from half of our smallest step on, so that no reciprocal is infinite.

    >>> near_zero(1.0).low == 2.0**-25
    True
    """
    return Uniform(top * 2.0**-25, top)


Golden = Mapping[tuple[str, int], Mapping[str, list[float]]]
_POWERS: Golden = {("inverse", 1): {"W": [-1]}, ("inverse", 2): {"W": [-1, 0]}, ("div", 2): {"W": [1, -1]}}
GOLD: dict[str, tuple[type[Unit], Golden]] = {
    "NRU": (NRU, _POWERS),
    "NMRU": (
        NMRU,
        {("inverse", 1): {"W": [0, 1]}, ("inverse", 2): {"W": [0, 0, 1, 0]}, ("div", 2): {"W": [1, 0, 0, 1]}},
    ),
    "RealNPU": (
        RealNPU,
        {
            ("inverse", 1): {"W": [-1], "g": [1]},
            ("inverse", 2): {"W": [-1, 1], "g": [1, 0]},
            ("div", 2): {"W": [1, -1], "g": [1, 1]},
        },
    ),
    "ProductUnit": (ProductUnit, _POWERS),
}
"""Ideal weights by unit and (operation, inputs). The product unit is a Real NPU without epsilon."""


def gold_unit(unit: str, operation: str, inputs: int) -> Unit:
    """The unit with ideal weights, in eval mode.

    >>> gold_unit("NRU", "div", 2).W.tolist()
    [[1.0, -1.0]]
    """
    source, weights = GOLD[unit]
    return source(inputs, 1).set_(**weights[operation, inputs]).eval()


KINDS = (torch.float32, torch.float64)


@cache
def gold_error(
    unit: str, operation: str, inputs: int, part: Distribution, kinds: tuple[torch.dtype, ...] = KINDS
) -> float:
    """Test error that ideal weights keep, as published: inputs and targets are float64 and reach the unit as float32.

    The inputs are those of the test set with 24 more random bits. The unit computes in float32 and in float64, and the
    larger error counts: an engine may regroup 1 - w, which float32 loses beside a small input.
    """
    bits = [uniforms(EVALUATION_SEED, Stream.TEST + (k << 8), 0, (inputs, SAMPLES)).double() for k in range(2)]
    x = part.quantile(bits[0] + 2.0**-24 * bits[1], part.numbers(inputs))
    t = Division(part, part, operation, inputs).target(x, torch.zeros(0)).float()
    made = gold_unit(unit, operation, inputs)
    with torch.no_grad():
        y = [made.to(kind).compute(x.float().to(kind)) for kind in kinds]
    return max(float((result.double() - t.double()).square().mean()) for result in y)


@dataclass(frozen=True)
class GoldDivision(Division):
    """Division of numbers near zero; solved is what comes as close as ideal weights do.

    Args:
        gold: the unit whose ideal weights set the threshold, a name in `GOLD`.
    """

    gold: str = "NRU"

    def threshold(self) -> float:
        # one rounding above, as published, and one per cent, because the engines' inputs lack the 24 extra bits
        return 1.01 * gold_error(self.gold, self.name, self.inputs, self.test) + ROUNDING
