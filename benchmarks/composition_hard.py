"""`python benchmarks/composition_hard.py` writes results/composition-hard.csv: `nalm.FormulaLearner` on two formulas
that stacks of units fail on under the local Gauss-Newton rule, with the same ranges, seeds and steps."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import torch
from torch import Tensor

import nalm
from nalm.core.uniforms import Stream, uniforms

SEEDS = list(range(100, 120))
STEPS = 1_500
BATCH = 128
RANGES = ((1.0, 2.0), (-2.0, 2.0), (-2.0, -1.0), (1.1, 1.2))
OUTPUT = Path(__file__).parents[1] / "results" / "composition-hard.csv"


def two_products(x: Tensor) -> Tensor:
    """(a + b)(b + c) - (d + e)(c + f)."""
    a, b, c, d, e, f = torch.chunk(x, 6, -2)
    return (a + b) * (b + c) - (d + e) * (c + f)


def nested(x: Tensor) -> Tensor:
    """(a b + c)(c - d)."""
    a, b, c, d = torch.chunk(x, 4, -2)
    return (a * b + c) * (c - d)


TARGETS: dict[str, tuple[int, Callable[[Tensor], Tensor]]] = {
    "(a+b)(b+c) - (d+e)(c+f)": (6, two_products),
    "(a b + c)(c - d)": (4, nested),
}


def learn(inputs: int, target: Callable[[Tensor], Tensor], low: float, high: float) -> list[int]:
    """The steps at which the runs that find a formula hold it first."""
    seeds = torch.tensor(SEEDS)
    layer = nalm.FormulaLayer(inputs, 1, runs=(len(SEEDS),))
    learner = nalm.FormulaLearner(layer, seed=SEEDS)

    def evaluate(x: Tensor, t: Tensor) -> tuple[Tensor, Tensor]:
        output = layer(x.mT)
        return output, (output - t.mT).square().mean((-2, -1))

    first: list[int | None] = [None] * len(SEEDS)
    for step in range(STEPS):
        x = low + (high - low) * uniforms(seeds, Stream.TRAIN, step, (inputs, BATCH))
        learner.step(evaluate, x, target(x))
        first = [(f or step + 1) if held else None for f, held in zip(first, learner.found.tolist(), strict=True)]
        if all(first):
            break
    return [f for f in first if f is not None]


def main() -> None:
    """All targets on all ranges."""
    lines: list[dict[str, Any]] = []
    for name, (inputs, target) in TARGETS.items():
        for low, high in RANGES:
            steps = learn(inputs, target, low, high)
            line = {"target": name, "range": f"U[{low:g},{high:g})", "runs": len(SEEDS), "solved": len(steps)}
            lines.append(line | {"median_step": median(steps) if steps else "", "last_step": max(steps, default="")})
            print(lines[-1], flush=True)
    with OUTPUT.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(lines[0]))
        writer.writeheader()
        writer.writerows(lines)


if __name__ == "__main__":
    main()
