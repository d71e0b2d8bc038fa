"""Training a cohort of runs by the rule: what a benchmark needs, in batched eager torch."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Generic, TypeVar

import torch
from torch import Tensor

from nalm.core.unit import Unit
from nalm.training.rule.optimiser import LocalGaussNewton
from nalm.training.rule.settings import Settings

Mark = TypeVar("Mark")


@dataclass(frozen=True)
class Trained(Generic[Mark]):
    """What became of a cohort.

    Attributes:
        steps: how many each run has made.
        marks: what `evaluate` said, with the step at which it was asked.
        seconds: of training, without evaluation.
    """

    steps: int
    marks: list[tuple[int, Mark]]
    seconds: float


def train_cohort(
    unit: Unit,
    batch: Callable[[int], tuple[Tensor, Tensor]],
    steps: int,
    evaluate: Callable[[Unit], Mark],
    every: int = 50,
    enough: Callable[[Mark], bool] | None = None,
    settings: Settings | None = None,
) -> Trained[Mark]:
    """Train all runs of `unit` on the squared error, in place.

    Args:
        unit: built with `runs=(R,)`; its weights after the call are those the last mark was made with.
        batch: the step to inputs `(R, in, samples)` and targets `(R, out, samples)`, a pure function of the step.
        steps: how many.
        evaluate: anything about the unit; asked at step 0, every `every` steps and at the end. It must not change it.
        every: distance between two marks.
        enough: stops early if it says so about a mark. Marks up to there are the same as without it.
        settings: the numbers of the rule.

    >>> import nalm, torch
    >>> from nalm.core.uniforms import uniforms
    >>> seeds = torch.arange(4)
    >>> def batch(step):
    ...     x = 1 + uniforms(seeds, 0, step, (3, 64))
    ...     return x, x[:, :1] / x[:, 1:2]
    >>> unit = nalm.NMRU(3, 1, runs=(4,), seed=[0, 1, 2, 3])
    >>> trained = train_cohort(unit, batch, 20, lambda u: u.sparsity().max().item(), every=10)
    >>> trained.marks[-1]
    (20, 0.0)
    """
    optimiser = LocalGaussNewton(unit, settings=settings)
    marks: list[tuple[int, Mark]] = []
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
