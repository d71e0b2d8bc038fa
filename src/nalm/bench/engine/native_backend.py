"""The native engine behind the same face: the step of one run, traced, lowered and compiled by `nalm.native`."""

from __future__ import annotations

from functools import partial

import numpy as np

from nalm.bench.distribution import Distribution
from nalm.bench.engine import evaluation
from nalm.bench.engine.descent_step import DescentStep
from nalm.bench.engine.unit_on_task import Arrays
from nalm.bench.task import EVALUATION_SEED
from nalm.native import Kernel, Unsupported, compile_step


class NativeBackend:
    """Runs the step of a descent as machine code, threads over seeds.

    Args:
        descent: the step of one run: its unit carries no runs axis.
        consts: the cohort's constants, for their shapes.
        cohort: the same over all runs, for evaluations that the compiler refuses: torch does them.

    Raises:
        nalm.native.Unsupported: before any training, naming the operation the compiler refuses.
    """

    name = "native"
    resumable = True

    def __init__(self, descent: DescentStep, consts: Arrays, threads: int, cohort: DescentStep) -> None:
        self.descent = descent
        self.threads = threads
        self.cohort = cohort
        self._evaluations: dict[tuple[str, int], Kernel | None] = {}
        self._step = compile_step(
            descent.step,
            state=descent.state,
            consts={name: value.shape[1:] for name, value in consts.items()},
            draws=descent.draws,
            clock=descent.clock_names,
            samples=descent.recipe.batch,
            seed_consts=[name for name in consts if name == "selection" and descent.task.selected_by_seed],
        )

    def advance(
        self, state: Arrays, consts: Arrays, seeds: np.ndarray, first: int, count: int, alive: np.ndarray
    ) -> None:
        """`count` steps from step `first`, in place; runs that are not alive stay as they are."""
        table = self.descent.clock(first, count)
        self._step.run(state, consts, seeds, table, first, alive=alive, threads=self.threads, flush=True)

    def evaluate(
        self, part: Distribution, stream: int, parameters: Arrays, consts: Arrays, chosen: np.ndarray
    ) -> Arrays:
        """The task's error and measures of the chosen runs `(runs,)`, NaN for the others."""
        key = (type(part).__name__, stream)
        if key not in self._evaluations:
            self._evaluations[key] = self._compiled(part, stream, consts)
        kernel = self._evaluations[key]
        if kernel is None:
            return evaluation.evaluate(self.cohort, part, stream, parameters, consts, chosen)
        seeds, table = np.full(len(chosen), EVALUATION_SEED), np.zeros((1, 0), np.float32)
        return kernel.run(parameters, consts, seeds, table, 0, alive=chosen, threads=self.threads)

    def _compiled(self, part: Distribution, stream: int, consts: Arrays) -> Kernel | None:
        evaluate = partial(self.descent.evaluate, part)
        try:
            return compile_step(
                lambda state, constants, draws, _: evaluate(state, constants, draws),
                state=self.descent.parameters,
                consts={name: value.shape[1:] for name, value in consts.items()},
                draws={"x": (stream, self.descent.evaluation_shape)},
                clock=(),
                samples=self.descent.task.samples,
            )
        except Unsupported:
            return None
