"""Harder than the published tasks: sequences, sums of products, quotients of sums, three layers, parity, noise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import torch
from rule_tasks import FRESH, noisy_ten
from torch import Tensor

import nalm
from nalm.bench.studies.division import OTHERS
from nalm.bench.tasks.arithmetic import RANGES
from nalm.core.uniforms import uniforms
from nalm.core.unit import Unit
from nalm.training.rule import LocalGaussNewton

Row = dict[str, Any]
SMALL = 1e-8  # a loss below this share of the mean squared target is rounding


@dataclass(frozen=True)
class Problem:
    """Units only, and what they have to find.

    Attributes:
        item: of the list of open ends it belongs to.
        name: of the target.
        make: the number of runs to a cohort.
        target: `(runs, inputs, samples)` to `(runs, 1, samples)`.
        ranges: of the inputs; None is a fair choice between -1 and 1.
        view: what the network does with the units' output.
    """

    item: str
    name: str
    make: Callable[[int], Unit]
    target: Callable[[Tensor], Tensor]
    inputs: int
    ranges: Sequence[tuple[float, float] | None]
    steps: int
    view: Callable[[Tensor], Tensor] = lambda y: y


def learn(problem: Problem, part: tuple[float, float] | None) -> Row:
    """One cohort; a run is solved while all units lie on their grid and its loss is rounding."""
    seeds = torch.tensor(list(FRESH))
    unit = problem.make(len(seeds))
    unit.reset_parameters(seeds)
    optimiser = LocalGaussNewton(unit)
    units = [one.unit for one in optimiser.units]

    def evaluate(x: Tensor, t: Tensor) -> tuple[Tensor, Tensor]:
        output = problem.view(unit.compute(x)).mT
        return output, (output - t.mT).square().mean((-2, -1))

    first: list[int | None] = [None] * len(seeds)
    for step in range(problem.steps):
        u = uniforms(seeds, 0, step, (problem.inputs, 128))
        x = torch.where(u < 0.5, -1.0, 1.0) if part is None else part[0] + (part[1] - part[0]) * u
        target = problem.target(x)
        loss = optimiser.step(evaluate, x, target)
        whole = torch.stack([one.sparsity() for one in units]).amax(0) == 0
        good = whole & (loss <= SMALL * target.square().mean((-2, -1)))
        first = [(f or step + 1) if g else None for f, g in zip(first, good.tolist(), strict=True)]
        if all(first):
            break
    steps = [f for f in first if f is not None]
    label = "±1" if part is None else f"U[{part[0]:g},{part[1]:g})"
    row = {"item": problem.item, "target": problem.name, "data": label, "runs": len(seeds), "solved": len(steps)}
    row |= {"median_step": median(steps) if steps else None, "last_step": max(steps, default=None)}
    print(row, flush=True)
    return row


def add(x: Tensor, *columns: int) -> Tensor:
    """The sum of some inputs."""
    return x[:, list(columns)].sum(1, keepdim=True)


def mul(x: Tensor, *columns: int) -> Tensor:
    """The product of some inputs."""
    return x[:, list(columns)].prod(1, keepdim=True)


def chain(*layers: tuple[str, int, int]) -> Callable[[int], Unit]:
    """A maker of cohorts of a stack."""
    return lambda runs: nalm.Chain(*(getattr(nalm, name)(i, o, (runs,)) for name, i, o in layers))


def fold(cell: str, start: float) -> Callable[[int], Unit]:
    """A maker of cohorts of one cell that reads a sequence."""
    return lambda runs: nalm.Fold(getattr(nalm, cell)(2, 1, (runs,)), start=start)


FOUR = ((1.0, 2.0), (-2.0, 2.0), (-2.0, -1.0), (1.1, 1.2))
FIVE = (*FOUR, (10.0, 20.0))
PROBLEMS = [
    Problem("sequences", "product of 4, NMU folded", fold("NMU", 1.0), lambda x: x.prod(1, True), 4, FOUR, 800),
    Problem("sequences", "sum of 4, NAU folded", fold("NAU", 0.0), lambda x: x.sum(1, True), 4, FOUR, 800),
    Problem("sequences", "sum of 10, NAU folded", fold("NAU", 0.0), lambda x: x.sum(1, True), 10, FOUR, 800),
    Problem(
        "sums of products", "a b + c / d, NRU, fixed sum", lambda runs: nalm.NRU(4, 2, (runs,)),
        lambda x: mul(x, 0, 1) + x[:, 2:3] / x[:, 3:4], 4, FIVE, 1500, lambda y: y.sum(-2, True),
    ),
    Problem(
        "sums of products", "a b - c d, NMU to NAU", chain(("NMU", 4, 2), ("NAU", 2, 1)),
        lambda x: mul(x, 0, 1) - mul(x, 2, 3), 4, FOUR, 1500,
    ),
    Problem(
        "quotients of sums", "(a+b+c) / (c+d+e+f), 10 inputs, NAU to NRU", chain(("NAU", 10, 2), ("NRU", 2, 1)),
        lambda x: add(x, 0, 1, 2) / add(x, 2, 3, 4, 5), 10, FOUR, 2000,
    ),
    Problem(
        "three learned layers", "-(a+b)(b+c), NAU to NMU to NAU", chain(("NAU", 4, 3), ("NMU", 3, 1), ("NAU", 1, 1)),
        lambda x: -add(x, 0, 1) * add(x, 1, 2), 4, FOUR, 1000,
    ),
    Problem(
        "three learned layers", "(a+b)(b+c) - (d+e)(c+f)", chain(("NAU", 6, 4), ("NMU", 4, 2), ("NAU", 2, 1)),
        lambda x: add(x, 0, 1) * add(x, 1, 2) - add(x, 3, 4) * add(x, 2, 5), 6, FOUR, 1500,
    ),
    Problem(
        "three learned layers", "(a b + c)(c - d), NMU to NAU to NMU",
        chain(("NMU", 4, 3), ("NAU", 3, 2), ("NMU", 2, 1)),
        lambda x: (mul(x, 0, 1) + x[:, 2:3]) * (x[:, 2:3] - x[:, 3:4]), 4, FOUR, 1500,
    ),
    Problem("parity", "product of 5 of 10, NMU", chain(("NMU", 10, 1)), lambda x: mul(x, *range(5)), 10, (None,), 20),
    Problem("parity", "product of 5 of 10, NRU", chain(("NRU", 10, 1)), lambda x: mul(x, *range(5)), 10, (None,), 20),
    Problem("parity", "product of 50 of 100", chain(("NMU", 100, 1)), lambda x: mul(x, *range(50)), 100, (None,), 20),
]  # fmt: skip


def beyond() -> list[Row]:
    """Every problem on every range, and single units of ten inputs with noisy labels."""
    rows = [learn(problem, part) for problem in PROBLEMS for part in problem.ranges]
    for noise in (0.01, 0.1, 0.3):
        for op in ("mul", "div"):
            done = {name: noisy_ten(op, *parts, noise) for name, parts in {**RANGES, **OTHERS}.items()}
            failed = [f"{name} ({d['solved']}/{d['runs']})" for name, d in done.items() if d["solved"] < d["runs"]]
            row = {"item": "label noise", "target": f"{op}, 10 inputs, noise {noise:.0%} of the target's deviation"}
            row["data"] = "15 distributions" + (f"; not all on {', '.join(failed)}" if failed else "")
            total = {key: sum(d[key] for d in done.values()) for key in ("runs", "solved")}
            rows.append(
                row | total | {"median_step": None, "last_step": max(d["last_step"] or 0 for d in done.values())}
            )
            print(rows[-1], flush=True)
    return rows
