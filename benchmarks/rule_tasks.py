"""Cohorts of benchmark tasks trained by the rule: single units, stacks, drifting inputs."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Any

import torch
from torch import Tensor

import nalm
from nalm.bench.distribution import Distribution
from nalm.bench.task import SampledTask
from nalm.bench.tasks.arithmetic import SingleModule
from nalm.bench.tasks.division import Division
from nalm.core.uniforms import Stream, uniforms
from nalm.core.unit import Unit
from nalm.training.rule import LocalGaussNewton, Settings

FRESH = range(1800, 1808)  # neither these seeds nor later ones had a part in any choice
BATCH = 128
TEST = 2_000


@dataclass(frozen=True)
class Trained:
    """What became of a cohort.

    Attributes:
        steps: how many each run has made.
        marks: what `evaluate` said, with the step at which it was asked.
        seconds: of training, without evaluation.
    """

    steps: int
    marks: list[tuple[int, Tensor]]
    seconds: float


def train_cohort(
    unit: Unit,
    batch: Callable[[int], tuple[Tensor, Tensor]],
    steps: int,
    evaluate: Callable[[Unit], Tensor],
    every: int = 50,
    enough: Callable[[Tensor], bool] | None = None,
    settings: Settings | None = None,
) -> Trained:
    """Train all runs of `unit` on the squared error, in place.

    Args:
        unit: built with `runs=(R,)`; its weights after the call are those the last mark was made with.
        batch: the step to inputs `(R, in, samples)` and targets `(R, out, samples)`, a pure function of the step.
        steps: how many.
        evaluate: anything about the unit; asked at step 0, every `every` steps and at the end. It must not change it.
        every: distance between two marks.
        enough: stops early if it says so about a mark. Marks up to there are the same as without it.
        settings: the numbers of the rule.
    """
    optimiser = LocalGaussNewton(unit, settings=settings)
    marks: list[tuple[int, Tensor]] = []
    seconds = 0.0
    for step in range(steps + 1):
        if step % every == 0 or step == steps:
            with torch.no_grad():
                marks.append((step, evaluate(unit)))
            if step == steps or (enough is not None and enough(marks[-1][1])):
                break
        begin = time.perf_counter()
        optimiser.step(partial(_squared_error, unit), *batch(step))
        seconds += time.perf_counter() - begin
    return Trained(marks[-1][0], marks, seconds)


def _squared_error(unit: Unit, x: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    output = unit.compute(x).mT
    return output, (output - target.mT).square().mean((-2, -1))


@dataclass(frozen=True)
class Data:
    """A task for several seeds at once."""

    task: SampledTask
    seeds: Tensor

    def draw(self, part: Distribution, stream: int, step: int, samples: int) -> tuple[Tensor, Tensor]:
        """Inputs `(runs, in, samples)` and targets, drawn in float64 and rounded to float32 as published."""
        u = uniforms(self.seeds, stream, step, (self.task.draws, samples)).double()
        numbers = part.numbers(self.task.in_features).double()
        selection = torch.stack([self.task.selection(int(s)) for s in self.seeds]).double()
        x = self.task.sample(u, numbers, selection, part)[0].float()
        return x, self.task.target(x.double(), selection).float()

    def batch(self, step: int) -> tuple[Tensor, Tensor]:
        """A fresh training batch."""
        return self.draw(self.task.train, Stream.TRAIN, step, BATCH)


def run(
    make: Callable[[int], Unit],
    task: SampledTask,
    seeds: Sequence[int],
    steps: int,
    every: int,
    settings: Settings | None = None,
    batch: Callable[[Data, int], tuple[Tensor, Tensor]] | None = None,
    stop: bool = True,
) -> dict[str, Any]:
    """Train one cohort, one run per seed; how many runs solve the task by its criterion, and when they first did.

    Unless `stop` is false training ends when all are solved; otherwise being solved at the very end counts.
    """
    data = Data(task, torch.tensor(list(seeds)))
    unit = make(len(seeds))
    unit.reset_parameters(data.seeds)
    test_x, test_t = data.draw(task.test, Stream.TEST, 0, TEST)
    threshold = task.threshold()

    def evaluate(unit: Unit) -> Tensor:
        error = (unit.eval().compute(test_x) - test_t).square().mean((-2, -1))
        unit.train()
        return error < threshold

    draw = data.batch if batch is None else lambda step: batch(data, step)
    enough = (lambda good: bool(good.all())) if stop else None
    trained = train_cohort(unit, draw, steps, evaluate, every, enough, settings)
    solved = trained.marks[-1][1]
    first = [_first(trained.marks, r) for r in range(len(seeds)) if solved[r]]
    whole = [unit[r].on_grid() for r in range(len(seeds))]
    return {
        "runs": len(seeds),
        "solved": int(solved.sum()),
        "on_grid": sum(w and bool(s) for w, s in zip(whole, solved, strict=True)),
        "median_step": median(first) if first else None,
        "last_step": max(first) if first else None,
        "steps_trained": trained.steps,
        "microseconds": round(1e6 * trained.seconds / max(1, trained.steps) / len(seeds)),
    }


def _first(marks: Sequence[tuple[int, Tensor]], run: int) -> int:
    return next(step for step, good in marks if bool(good[run]))


def single(name: str, inputs: int) -> Callable[[int], Unit]:
    """A maker of cohorts of one unit."""
    return lambda runs: getattr(nalm, name)(inputs, 1, (runs,))


def stack(inputs: int, hidden: int, top: str = "NMU") -> Callable[[int], Unit]:
    """A maker of cohorts of a product of sums."""
    return lambda runs: nalm.Chain(nalm.NAU(inputs, hidden, (runs,)), getattr(nalm, top)(hidden, 1, (runs,)))


def ten(
    op: str,
    train: Any,
    test: Any,
    seeds: Sequence[int],
    steps: int,
    settings: Settings | None = None,
    size: int = BATCH,
) -> dict[str, Any]:
    """A product (NMU) or quotient (NRU) of two of ten inputs."""
    task = _ten(op, train, test)
    return run(
        single(_UNITS[op], 10), task, seeds, steps, 10, settings, lambda d, step: d.draw(task.train, 0, step, size)
    )


def noisy_ten(op: str, train: Any, test: Any, noise: float) -> dict[str, Any]:
    """The same with normal noise on every label, in proportion to the deviation of the batch's targets."""
    task = _ten(op, train, test)

    def batch(data: Data, step: int) -> tuple[Tensor, Tensor]:
        x, t = data.batch(step)
        u = uniforms(data.seeds, 4, step, tuple(t.shape[1:]))
        return x, t + noise * t.std(-1, keepdim=True) * torch.special.ndtri(u.clamp(min=1e-7))

    return run(single(_UNITS[op], 10), task, FRESH, 200, 10, None, batch, stop=False)


def _ten(op: str, train: Any, test: Any) -> SingleModule:
    return Division(train, test, inputs=10) if op == "div" else SingleModule(train, test, op, 10)


_UNITS = {"mul": "NMU", "div": "NRU"}
