"""Chains of gated layers, each a sum or a product (or quotient): which of sixteen two-step formulas are learned."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import torch
from rule_tasks import FRESH
from torch import Tensor

import nalm
from nalm.bench.tasks.composition import CUMULATIVE, EXPRESSIONS
from nalm.core.uniforms import uniforms
from nalm.training.rule import LocalGaussNewton

Row = dict[str, Any]
INPUTS, HIDDEN, STEPS = 4, 2, 2000
SOLVED = 1e-9  # of the target's mean square: rounding of float32, squared, and some


def chain(second: type[nalm.Unit], seeds: Sequence[int]) -> nalm.Chain:
    """Two layers, each a sum unit or another one."""
    runs = (len(seeds),)
    sizes = ((INPUTS, HIDDEN), (HIDDEN, 1))
    made = nalm.Chain(*(nalm.Gated(nalm.NAU(i, o, runs), second(i, o, runs)) for i, o in sizes))
    made.reset_parameters(list(seeds))
    return made


def train(second: type[nalm.Unit], formula: str, by_rule: bool, most: int = STEPS) -> Row:
    """Op2(op1(a, b), c) of four inputs of U[1,2); all seeds as one cohort, until all are solved or `most` steps."""
    inner, outer = (CUMULATIVE[name] for name in formula.split("-"))
    net, began = chain(second, FRESH), time.process_time()
    optimiser: Any = LocalGaussNewton(net) if by_rule else torch.optim.Adam(net.parameters(), 1e-2)
    guide = None if by_rule else nalm.guide(net, optimiser, steps=most)
    since: list[int | None] = [None] * len(FRESH)
    for step in range(most):
        x = 1 + uniforms(torch.tensor(list(FRESH)), 0, step, (128, INPUTS))
        target: Any = outer(inner(x[..., :1], x[..., 1:2]), x[..., 2:3])

        def evaluate(x: Tensor = x, target: Tensor = target) -> tuple[Tensor, Tensor]:
            output = net(x)
            return output, (output - target).square().mean((-2, -1))

        if guide is None:
            loss = optimiser.step(evaluate)
        else:
            loss = evaluate()[1]
            optimiser.zero_grad()
            (loss.sum() + guide.penalty()).backward()  # type: ignore[no-untyped-call]
            optimiser.step()
        right = (loss.detach() < SOLVED * target.square().mean((-2, -1))).tolist()
        since = [(s or step) if r else None for s, r in zip(since, right, strict=True)]
        if all(s is not None and step - s >= 5 for s in since):
            break
    steps = [s for s in since if s is not None]
    solved = {"solved": len(steps), "runs": len(FRESH), "last_step": max(steps, default=None), "steps": step + 1}
    return solved | {"seconds": round(time.process_time() - began, 1)}


def gates() -> list[Row]:
    """All formulas that a layer's units can compute, by the rule, and by Adam with their penalties in as many steps."""
    rows = []
    for second in (nalm.NMU, nalm.NRU):
        for formula in EXPRESSIONS:
            if second is nalm.NRU or "div" not in formula:
                row: Row = {"units": f"NAU;{second.__name__}", "formula": formula, **train(second, formula, True)}
                rows.append(row | {"adam": train(second, formula, False, most=row["steps"])})
                print(rows[-1], flush=True)
    return rows
