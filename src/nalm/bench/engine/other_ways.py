"""Other ways to a trained unit on the same rails: the local Gauss-Newton rule, and the solver.

Both keep to the published data streams, evaluations and thresholds, so that their rows stand beside the others.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from nalm.bench.distribution import Distribution
from nalm.bench.engine.program import Arrays, Program
from nalm.bench.engine.torch_backend import TorchBackend
from nalm.core.uniforms import uniforms


class _InTorch:
    """Shared: batches of the cohort in torch, evaluation by the torch engine."""

    resumable = False  # what they remember is not in the cohort's arrays; their runs are short and begin anew

    def __init__(self, program: Program) -> None:
        self.program = program
        self._torch = TorchBackend(program)

    def evaluate(
        self, part: Distribution, stream: int, state: Arrays, consts: Arrays, chosen: np.ndarray
    ) -> np.ndarray:
        """As the torch engine."""
        return self._torch.evaluate(part, stream, state, consts, chosen)

    def _batch(self, consts: Arrays, seeds: np.ndarray, step: int) -> tuple[torch.Tensor, torch.Tensor]:
        stream, shape = self.program.draws["x"]
        u = uniforms(torch.from_numpy(seeds), stream, step, shape)
        selection = torch.from_numpy(consts["selection"]) if "selection" in consts else torch.zeros(0)
        task = self.program.task
        return task.sample(u, torch.from_numpy(consts["train"]), selection, task.train)

    def _load(self, state: Arrays) -> None:
        with torch.no_grad():
            for name, parameter in self.program.unit.named_parameters():
                parameter.copy_(torch.from_numpy(state[name]))


class RuleBackend(_InTorch):
    """Trains the cohort with `nalm.training.rule.LocalGaussNewton`, all runs at once."""

    name = "rule"

    def __init__(self, program: Program) -> None:
        super().__init__(program)
        self._optimiser: Any = None

    def advance(
        self, state: Arrays, consts: Arrays, seeds: np.ndarray, first: int, count: int, alive: np.ndarray
    ) -> None:
        """`count` steps from step `first`, in place; runs that are not alive stay as they are.

        A batch that is not finite teaches nothing, so no run diverges.
        """
        from nalm.training.rule import LocalGaussNewton

        unit = self.program.unit.train()
        if self._optimiser is None:
            self._load(state)
            self._optimiser = LocalGaussNewton(unit)
        for step in range(first, first + count):
            x, t = self._batch(consts, seeds, step)

            def closure(x: torch.Tensor = x, t: torch.Tensor = t) -> tuple[torch.Tensor, torch.Tensor]:
                y = unit(x.mT)
                return y, (y - t.mT).square().mean((-2, -1))

            self._optimiser.step(closure)
        for name, parameter in unit.named_parameters():
            state[name][alive] = parameter.detach().numpy()[alive]


class SolverBackend(_InTorch):
    """Fills the unit's grid weights from one batch by `nalm.solver.solve`; a run it refuses keeps its weights."""

    name = "solver"

    def advance(
        self, state: Arrays, consts: Arrays, seeds: np.ndarray, first: int, count: int, alive: np.ndarray
    ) -> None:
        """One solve per run at step 0; further steps change nothing."""
        from nalm.solver import solve

        if first > 0:
            return
        self._load(state)
        x, t = self._batch(consts, seeds, 0)
        for index in np.flatnonzero(alive):
            samples, targets = x[index].mT.double().numpy(), t[index, 0].double().numpy()
            solution = solve(samples, targets, like=self.program.unit[int(index)])
            if solution.unit is not None:
                for name, parameter in solution.unit.named_parameters():
                    state[name][index] = parameter.detach().float().numpy()
