"""The native engine behind the same face: the step of one run, traced, lowered and compiled by `nalm.native`."""

from __future__ import annotations

from functools import partial

import numpy as np

from nalm.bench.distribution import Distribution
from nalm.bench.engine import evaluation
from nalm.bench.engine.problem import Arrays
from nalm.bench.engine.program import Program
from nalm.bench.task import EVALUATION_SEED
from nalm.native import Kernel, Unsupported, compile_step


class NativeBackend:
    """Runs a program's step as machine code, threads over seeds.

    Args:
        program: the step of one run: its unit carries no runs axis.
        consts: the cohort's constants, for their shapes.
        cohort: the program over all runs, for evaluations that the compiler refuses: torch does them.

    Raises:
        nalm.native.Unsupported: before any training, naming the operation the compiler refuses.
    """

    name = "native"
    resumable = True

    def __init__(self, program: Program, consts: Arrays, threads: int, cohort: Program) -> None:
        self.program = program
        self.threads = threads
        self.cohort = cohort
        self._evaluations: dict[tuple[str, int], Kernel | None] = {}
        self._step = compile_step(
            program.step,
            state=program.state,
            consts={name: value.shape[1:] for name, value in consts.items()},
            draws=program.draws,
            clock=program.clock_names,
            samples=program.recipe.batch,
            seed_consts=[name for name in consts if name == "selection" and program.task.selected_by_seed],
        )

    def advance(
        self, state: Arrays, consts: Arrays, seeds: np.ndarray, first: int, count: int, alive: np.ndarray
    ) -> None:
        """`count` steps from step `first`, in place; runs that are not alive stay as they are."""
        table = self.program.clock(first, count)
        self._step.run(state, consts, seeds, table, first, alive=alive, threads=self.threads)

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
        evaluate = partial(self.program.evaluate, part)
        try:
            return compile_step(
                lambda state, constants, draws, _: evaluate(state, constants, draws),
                state=self.program.parameters,
                consts={name: value.shape[1:] for name, value in consts.items()},
                draws={"x": (stream, self.program.evaluation_shape)},
                clock=(),
                samples=self.program.task.samples,
            )
        except Unsupported:
            return None
