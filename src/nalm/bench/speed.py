"""How fast an engine trains, against the plain way: the same unit, one run at a time, in an ordinary PyTorch loop.

Both are measured in one run on one thread. Rates are run-steps per second of processor time, so that another busy
process does not count, each the best of a few tries.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch

from nalm.bench.engine.cohort import Cohort
from nalm.bench.engine.descent import choose
from nalm.bench.engine.descent_step import DescentStep
from nalm.bench.engine.options import EngineName, Options
from nalm.bench.method import Descent
from nalm.bench.run import Layer, Model, Run, single
from nalm.bench.task import SampledTask
from nalm.bench.tasks.arithmetic import RANGES, SingleModule
from nalm.bench.tasks.two_layer import TwoLayer
from nalm.bench.threads import one_thread
from nalm.core import semantics
from nalm.core.recipe import Recipe
from nalm.units import catalogue

SECONDS = 0.5  # per measurement


@dataclass(frozen=True)
class TimedCohort:
    """What is timed."""

    model: Model
    task: SampledTask
    recipe: Recipe
    seeds: int = 25

    def runs(self) -> list[Run]:
        """The cohort of the published study: every seed on nine ranges."""
        tasks = [replace(self.task, train=a, test=b) for a, b in RANGES.values()]
        return [Run(self.model, task, Descent(self.recipe), seed) for task in tasks for seed in range(self.seeds)]


@dataclass(frozen=True)
class Timing:
    """Run-steps per second."""

    label: str
    inputs: int
    runs: int
    plain: float
    engine: float
    build_seconds: float

    @property
    def ratio(self) -> float:
        """How many times faster than the plain loop."""
        return self.engine / self.plain


def cases() -> Iterator[TimedCohort]:
    """The units of the native engine's table, and the two-layer task."""
    operations = {
        "NMU": "mul",
        "SNMU": "mul",
        "NAU": "add",
        "RealNPU": "div",
        "NALU": "mul",
        "NMRU": "div",
        "INALU": "mul",
    }
    for inputs in (2, 10):
        for unit, operation in operations.items():
            task = SingleModule(*RANGES["U[1,2)"], name=operation, inputs=inputs)
            yield TimedCohort(single(unit, inputs), task, catalogue()[unit].recipe)
    stack = Model("NAU-NMU", (Layer("NAU", 100, 2), Layer("NMU", 2, 1)))
    yield TimedCohort(stack, TwoLayer(*RANGES["U[1,2)"]), catalogue()["NMU"].recipe.scaled(5_000_000), seeds=20)


def measure(case: TimedCohort, engine: EngineName = "auto", seconds: float = SECONDS) -> Timing:
    """Time one case with an engine on one thread and with the plain loop."""
    with one_thread():
        runs = case.runs()
        cohort = Cohort(runs, DescentStep)
        started = time.process_time()
        backend = choose(cohort, Options(engine=engine, threads=1))
        built = time.process_time() - started

        def advance(steps: int) -> None:
            backend.advance(cohort.state, cohort.consts, cohort.seeds, cohort.step, steps, cohort.alive)
            cohort.step += steps

        rate = _rate(advance, seconds) * len(runs)
        return Timing(case.model.label, case.task.in_features, len(runs), plain_loop(case, seconds), rate, built)


def plain_loop(case: TimedCohort, seconds: float = SECONDS) -> float:
    """Steps per second of one run written as anybody would write it."""
    run = case.runs()[0]
    unit = case.model.build().train()
    unit.reset_parameters(run.seed)
    optimiser = case.recipe.optimiser.in_torch(unit.parameters())
    numbers, selection = case.task.train.numbers(case.task.in_features).float(), case.task.selection(run.seed)

    def advance(steps: int) -> None:
        for step in range(steps):
            u = torch.rand(case.task.draws, case.recipe.batch)
            x, t = case.task.sample(u, numbers, selection, case.task.train)
            loss = (unit.compute(x) - t).square().mean()
            strengths = semantics.strengths(case.recipe, step, float("inf"))
            loss = semantics.penalty(unit.penalties() if strengths else {}, strengths, loss)
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
            unit.project_()

    return _rate(advance, seconds)


def _rate(advance: Callable[[int], None], seconds: float, tries: int = 3) -> float:
    """The best rate of a few tries, each long enough to be measured."""
    steps = 1
    while True:
        started = time.process_time()
        advance(steps)
        if (spent := time.process_time() - started) > seconds / 10:
            break
        steps *= 2
    steps = max(1, int(steps * seconds / spent))
    best = np.inf
    for _ in range(tries):
        started = time.process_time()
        advance(steps)
        best = min(best, time.process_time() - started)
    return float(steps / best)
