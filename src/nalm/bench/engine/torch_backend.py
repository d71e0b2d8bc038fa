"""The torch engine: a cohort's step over its runs axis. Eager is the oracle, the compiled `while_loop` is fast."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.fx.experimental.proxy_tensor import make_fx

from nalm.bench.distribution import Distribution
from nalm.bench.engine.descent_step import DescentStep
from nalm.bench.engine.evaluation import evaluate, tensors_of
from nalm.bench.engine.unit_on_task import Arrays, Tensors
from nalm.core.uniforms import uniforms


def can_compile() -> bool:
    """Whether a C++ compiler is on the path."""
    return any(shutil.which(name) for name in ("c++", "g++", "clang++", "cl"))


class TorchBackend:
    """Runs the step of a descent with torch.

    Args:
        descent: its unit carries the cohort's runs axis.
        compiled: compile the loop over steps (takes 10 to 60 seconds, pays for long runs).
        device: "cpu", "cuda", ...
    """

    resumable = True

    def __init__(self, descent: DescentStep, compiled: bool = False, device: str = "cpu") -> None:
        self.name = "torch-compiled" if compiled else "torch"
        self.device = device
        self.descent = descent
        descent.unit.to(device)
        self._compiled: Callable[..., Any] | None = None
        self._chunk = self._loop if compiled else self._eager

    @torch.no_grad()  # the step takes its gradients itself
    def advance(
        self, state: Arrays, consts: Arrays, seeds: np.ndarray, first: int, count: int, alive: np.ndarray
    ) -> None:
        """`count` steps from step `first`, in place; runs that are not alive stay as they are."""
        table = torch.from_numpy(self.descent.clock(first, count)).to(self.device)
        start = torch.tensor(first, device=self.device)
        keep, seed = torch.from_numpy(alive), torch.from_numpy(seeds.astype(np.int64))
        new = self._chunk(
            self._tensors(state), self._tensors(consts), seed.to(self.device), table, start, keep.to(self.device)
        )
        for name, value in new.items():
            state[name][...] = value.cpu().numpy()

    def _one(self, state: Tensors, consts: Tensors, seeds: Tensor, now: Tensor, step: Tensor, alive: Tensor) -> Tensors:
        draws = {n: uniforms(seeds, stream, step, shape) for n, (stream, shape) in self.descent.draws.items()}
        clock = {name: now[i] for i, name in enumerate(self.descent.clock_names)}
        new, _ = self.descent.step(state, consts, draws, clock)
        return {n: torch.where(alive.reshape(-1, *[1] * (v.dim() - 1)), new[n], v) for n, v in state.items()}

    def _eager(
        self, state: Tensors, consts: Tensors, seeds: Tensor, table: Tensor, first: Tensor, alive: Tensor
    ) -> Tensors:
        for row in range(len(table)):
            state = self._one(state, consts, seeds, table[row], first + row, alive)
        return state

    def _loop(
        self, state: Tensors, consts: Tensors, seeds: Tensor, table: Tensor, first: Tensor, alive: Tensor
    ) -> Tensors:
        if self._compiled is None:
            self._compiled = torch.compile(self._while_loop(state, consts, seeds, table, alive), fullgraph=True)
        values = self._compiled(tuple(state.values()), tuple(consts.values()), seeds, table, first, alive)
        return dict(zip(state, values, strict=True))

    def _while_loop(
        self, state: Tensors, consts: Tensors, seeds: Tensor, table: Tensor, alive: Tensor
    ) -> Callable[..., Any]:
        """The loop over steps around the traced step: the compiler sees tensor operations, none of our Python."""
        from torch._higher_order_ops import while_loop  # the one private path we use: pinned by constraints.txt

        names, count = list(state), len(state)

        def flat(seeds: Tensor, now: Tensor, step: Tensor, alive: Tensor, *rest: Tensor) -> tuple[Tensor, ...]:
            own = dict(zip(names, rest[:count], strict=True))
            new = self._one(own, dict(zip(consts, rest[count:], strict=True)), seeds, now, step, alive)
            return tuple(new[name] for name in names)

        examples = (seeds, table[0], torch.zeros((), dtype=torch.int64, device=table.device), alive)
        step = make_fx(flat)(*examples, *state.values(), *consts.values())

        def loop(
            values: tuple[Tensor, ...],
            constants: tuple[Tensor, ...],
            seeds: Tensor,
            table: Tensor,
            first: Tensor,
            alive: Tensor,
        ) -> tuple[Tensor, ...]:
            def more(row: Tensor, *_: Tensor) -> Tensor:
                return row < table.shape[0]

            def body(row: Tensor, *carried: Tensor) -> tuple[Tensor, ...]:
                now = table.index_select(0, row.reshape(1)).squeeze(0)
                new = step(seeds, now, row + first, alive, *carried, *constants)
                return (row + 1, *(value.clone() for value in new))

            start = torch.zeros((), dtype=torch.int64, device=table.device)
            _, *results = while_loop(more, body, (start, *values))  # type: ignore[no-untyped-call]
            return tuple(results)

        return loop

    def evaluate(
        self, part: Distribution, stream: int, parameters: Arrays, consts: Arrays, chosen: np.ndarray
    ) -> Arrays:
        """The task's error and measures of the chosen runs `(runs,)`, NaN for the others."""
        return evaluate(self.descent, part, stream, parameters, consts, chosen, self.device)

    def _tensors(self, arrays: Arrays) -> Tensors:
        return tensors_of(arrays, self.device)
