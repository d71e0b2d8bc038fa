"""The native engine behind the same face: the step of one run, traced, lowered and compiled by `nalm.native`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from nalm.bench.distribution import Distribution
from nalm.bench.engine.program import Arrays, Program
from nalm.bench.engine.torch_backend import TorchBackend
from nalm.bench.task import EVALUATION_SEED, SAMPLES
from nalm.native import Kernel, Unsupported, compile_step


class NativeBackend:
    """Runs a program's step as machine code, threads over seeds.

    Args:
        program: the step of one run: its unit carries no runs axis.
        consts: the cohort's constants, for their shapes.
        torch: evaluates what the compiler refuses to evaluate.

    Raises:
        nalm.native.Unsupported: before any training, naming the operation the compiler refuses.
    """

    name = "native"
    resumable = True

    def __init__(self, program: Program, consts: Arrays, threads: int, torch: Callable[[], TorchBackend]) -> None:
        self.program = program
        self.threads = threads
        self._make_torch = torch
        self._torch: TorchBackend | None = None
        self._evaluations: dict[tuple[str, int], Kernel | None] = {}
        self._step = compile_step(
            program.step,
            state=program.state,
            consts={name: value.shape[1:] for name, value in consts.items()},
            draws=program.draws,
            clock=program.clock_names,
            samples=program.recipe.batch,
            seed_consts=[name for name in consts if name == "selection"],
        )

    def advance(
        self, state: Arrays, consts: Arrays, seeds: np.ndarray, first: int, count: int, alive: np.ndarray
    ) -> None:
        """`count` steps from step `first`, in place; runs that are not alive stay as they are."""
        table = self.program.clock(first, count)
        self._step.run(state, consts, seeds, table, first, alive=alive, threads=self.threads)

    def evaluate(
        self, part: Distribution, stream: int, state: Arrays, consts: Arrays, chosen: np.ndarray
    ) -> np.ndarray:
        """Mean squared error of the chosen runs `(runs,)`, NaN for the others."""
        key = (type(part).__name__, stream)
        if key not in self._evaluations:
            self._evaluations[key] = self._compiled(part, stream, consts)
        kernel = self._evaluations[key]
        if kernel is None:
            self._torch = self._torch or self._make_torch()
            return self._torch.evaluate(part, stream, state, consts, chosen)
        parameters = {name: state[name] for name in self.program.parameters}
        seeds, table = np.full(len(chosen), EVALUATION_SEED), np.zeros((1, 0), np.float32)
        return kernel.run(parameters, consts, seeds, table, 0, alive=chosen, threads=self.threads)["error"]

    def _compiled(self, part: Distribution, stream: int, consts: Arrays) -> Kernel | None:
        evaluate = partial(self.program.evaluate, part)
        try:
            return compile_step(
                lambda state, constants, draws, _: evaluate(state, constants, draws),
                state=self.program.parameters,
                consts={name: value.shape[1:] for name, value in consts.items()},
                draws={"x": (stream, self.program.evaluation_shape)},
                clock=(),
                samples=SAMPLES,
            )
        except Unsupported:
            return None
