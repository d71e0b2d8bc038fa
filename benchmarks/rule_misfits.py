"""A lone product unit on targets that none of its grid points is: does the rule end worse than Adam alone?"""

from __future__ import annotations

from collections.abc import Callable
from statistics import geometric_mean
from typing import Any

import torch
from rule_tasks import BATCH, FRESH, TEST
from torch import Tensor

import nalm
from nalm.core.uniforms import uniforms
from nalm.training.rule import LocalGaussNewton

Row = dict[str, Any]
INPUTS, STEPS, RATE = 3, 400, 0.01
RANGES = ((1.0, 2.0), (-2.0, 2.0))
UNITS = (nalm.NMU, nalm.NRU, nalm.RealNPU)
ROUNDING = 1e-10  # errors below this share of the target's variance are alike


def noise(x: Tensor) -> Tensor:
    """A number between 1 and 2 for each sample, which has nothing to do with the inputs."""
    return 1 + (x.abs().sum(-1, keepdim=True) * 1e4).frac()


TARGETS: dict[str, Callable[[Tensor], Tensor]] = {
    "1.3 a b": lambda x: 1.3 * x[..., :1] * x[..., 1:2],
    "0.5 a / b": lambda x: 0.5 * x[..., :1] / x[..., 1:2],
    "a b + 1": lambda x: x[..., :1] * x[..., 1:2] + 1,
    "a + b": lambda x: x[..., :1] + x[..., 1:2],
    "sin(2 a) + 1.5": lambda x: torch.sin(2 * x[..., :1]) + 1.5,
    "noise": noise,
}


def misfits() -> list[Row]:
    """Every unit, target and range: the rule's error over Adam's, of models with the same start and batches."""
    rows = []
    for name, target in TARGETS.items():
        for low, high in RANGES:
            for kind in UNITS:
                errors = [_errors(kind, target, low, high, by_rule) for by_rule in (True, False)]
                ratios = [a / b for a, b in zip(*errors, strict=True)]
                row = {"target": name, "range": f"U[{low:g},{high:g})", "unit": kind.__name__, "runs": len(ratios)}
                rows.append(row | {"mean": round(geometric_mean(ratios), 3), "worst": round(max(ratios), 3)})
                print(rows[-1], flush=True)
    return rows


def _errors(
    kind: type[nalm.Unit], target: Callable[[Tensor], Tensor], low: float, high: float, rule: bool
) -> list[float]:
    """Of each run, in eval mode, over the variance of the target."""
    seeds = torch.tensor(list(FRESH))
    unit = kind(INPUTS, 1, (len(seeds),), seed=FRESH)
    optimiser: Any = torch.optim.Adam(unit.parameters(), RATE)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, STEPS)
    if rule:
        optimiser = LocalGaussNewton(unit, optimiser)

    def evaluate(step: int, samples: int = BATCH) -> tuple[Tensor, Tensor]:
        x = low + (high - low) * uniforms(seeds, 0, step, (samples, INPUTS))
        output, t = unit(x), target(x)
        return output, (output - t).square().mean((-2, -1)) / t.var((-2, -1))

    for step in range(STEPS):
        if rule:
            optimiser.step(evaluate, step)
        else:
            optimiser.zero_grad()
            evaluate(step)[1].sum().backward()  # type: ignore[no-untyped-call]
            optimiser.step()
            unit.project_()
        schedule.step()
    unit.eval()
    with torch.no_grad():
        return [max(error, ROUNDING) for error in evaluate(1_000_000, TEST)[1].tolist()]
