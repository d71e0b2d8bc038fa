"""Losses that are no squared errors, and batches of few samples: does the rule still find the whole numbers?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import geometric_mean
from typing import Any

import torch
from rule_tasks import FRESH
from torch import Tensor, nn

import nalm
from nalm.training.rule import LocalGaussNewton

Row = dict[str, Any]
RATE = 0.01  # of Adam, alone and as the rule's base
BATCH = 128
EXACT = 1e-8  # a squared error below this share of the target's variance is rounding

Loss = Callable[[Tensor, Tensor], Tensor]
# a star marks those that were not tried while the rule learned to work with such losses
LOSSES: dict[str, Loss] = {
    "squared": nn.functional.mse_loss,
    "absolute": nn.functional.l1_loss,
    "Huber, 1": nn.functional.huber_loss,
    "Huber, 0.03": lambda output, target: nn.functional.huber_loss(output, target, delta=0.03),
    "log cosh": lambda output, target: torch.log(torch.cosh(output - target)).mean(),
    "quantile 0.7": lambda o, t: torch.maximum(0.7 * (t - o), 0.3 * (o - t)).mean(),
    "Cauchy": lambda output, target: torch.log1p((output - target).square()).mean(),
    "expectile 0.8 *": lambda o, t: (torch.where(o < t, 0.8, 0.2) * (o - t).square()).mean(),
    "power 1.5 *": lambda output, target: (output - target).abs().pow(1.5).mean(),
    "Charbonnier, 0.01 *": lambda output, target: ((output - target).square() + 1e-4).sqrt().mean(),
    "absolute + 0.01": lambda output, target: nn.functional.l1_loss(output, target) + 0.01,
}


@dataclass(frozen=True)
class Problem:
    """A network on four inputs, its target, their range, and for how many steps it is trained."""

    name: str
    make: Callable[[int], nn.Module]
    target: Callable[[Tensor], Tensor]
    low: float
    high: float
    steps: int

    def draw(self, samples: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """A batch."""
        x = self.low + (self.high - self.low) * torch.rand(samples, 4, generator=generator)
        return x, self.target(x)


def encoder(seed: int) -> nn.Module:
    """A small MLP below a product."""
    return nn.Sequential(nn.Linear(4, 24), nn.Tanh(), nn.Linear(24, 2), nalm.NMU(2, 1, seed=seed))


PROBLEMS = [
    Problem("a - b", lambda s: nalm.NAU(4, 1, seed=s), lambda x: x[:, :1] - x[:, 1:2], -2, 2, 150),
    Problem("0.6 a - 0.3 b", lambda s: nalm.NAU(4, 1, seed=s), lambda x: 0.6 * x[:, :1] - 0.3 * x[:, 1:2], -2, 2, 150),
    Problem("a b", lambda s: nalm.NMU(4, 1, seed=s), lambda x: x[:, :1] * x[:, 1:2], 1, 3, 150),
    Problem("a / b", lambda s: nalm.NRU(4, 1, seed=s), lambda x: x[:, :1] / x[:, 1:2], 1, 3, 150),
    Problem(
        "(a + b) c, two layers", lambda s: nalm.Chain(nalm.NAU(4, 2, seed=s), nalm.NMU(2, 1, seed=s)),
        lambda x: (x[:, :1] + x[:, 1:2]) * x[:, 2:3], 1, 3, 600,
    ),
]  # fmt: skip
ENCODED = Problem("a b", encoder, lambda x: x[:, :1] * x[:, 1:2], 1, 3, 1500)


def train(problem: Problem, loss: Loss, seed: int, batch: int, by_rule: bool) -> tuple[nn.Module, float]:
    """The network after training, and its squared error on fresh data as a share of the target's variance."""
    torch.manual_seed(seed)
    model, generator = problem.make(seed), torch.Generator().manual_seed(seed)

    def evaluate(x: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        output = model(x)
        return output, loss(output, target)

    rule = LocalGaussNewton(model, base=lambda p: torch.optim.Adam(p, RATE)) if by_rule else None
    adam = torch.optim.Adam(model.parameters(), RATE)
    for _ in range(problem.steps):
        drawn = problem.draw(batch, generator)
        if rule is not None:
            rule.step(evaluate, *drawn)
        else:
            adam.zero_grad()
            evaluate(*drawn)[1].backward()  # type: ignore[no-untyped-call]
            adam.step()
    with torch.no_grad():
        x, target = problem.draw(4096, torch.Generator().manual_seed(seed + 10**6))
        return model.eval(), float((model(x) - target).square().mean() / target.var())


def losses() -> list[Row]:
    """How many runs end exact, by the rule and by Adam in as many steps; then the same encoder with small batches."""
    rows: list[Row] = []
    for name, loss in LOSSES.items():
        for problem in PROBLEMS:
            errors = {by: [train(problem, loss, s, BATCH, by)[1] for s in FRESH] for by in (True, False)}
            exact = {by: sum(e < EXACT for e in found) for by, found in errors.items()}
            row = {
                "loss": name,
                "problem": problem.name,
                "runs": len(FRESH),
                "exact": exact[True],
                "adam": exact[False],
            }
            rows.append(row)
            print(row, flush=True)
    for batch in (128, 32, 8, 2):
        on_grid, ratios = 0, []
        for seed in FRESH:
            model, error = train(ENCODED, nn.functional.mse_loss, seed, batch, by_rule=True)
            ratios.append(error / train(ENCODED, nn.functional.mse_loss, seed, batch, by_rule=False)[1])
            on_grid += sum(unit.on_grid() for unit in model.modules() if isinstance(unit, nalm.Unit))
        row = {"batch": batch, "runs": len(FRESH), "on_grid": on_grid, "ratio": f"{geometric_mean(ratios):.2g}"}
        rows.append(row)
        print(row, flush=True)
    return rows
