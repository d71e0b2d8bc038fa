"""Seeing a unit at work: within `watching`, each use of a unit computes from the rule's own numbers and is recorded."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

import torch
from torch import Tensor

from nalm.core.form import Form
from nalm.core.unit import Unit


@dataclass
class Use:
    """One call of a unit: its inputs `(*runs, in, samples)` and its output, a node of the graph."""

    x: Tensor
    y: Tensor
    learned: bool  # whether anything trainable lies below


@dataclass
class Watched:
    """A unit, the numbers its forward pass should use, and what it was used for."""

    unit: Unit
    form: Form
    numbers: Tensor  # (*runs, out, in), float64
    exact: Tensor  # (*runs, out): rows on the grid
    uses: list[Use] = field(default_factory=list)

    def compute(self, x: Tensor) -> Tensor:
        """The unit's output, smooth between grid points and exact on them, and a record of it."""
        numbers, rows = self.numbers.to(x.dtype), self.exact.unsqueeze(-1)
        # a row takes part in one of the two only: elsewhere its numbers are 0, so nothing infinite can leak
        if bool(self.exact.all()):
            y = self.form.exact(numbers, x)
        elif not bool(self.exact.any()):
            y = self.form.smooth(numbers, x)
        else:
            on, off = (torch.where(r, numbers, 0.0) for r in (rows, ~rows))
            y = torch.where(rows, self.form.exact(on, x), self.form.smooth(off, x))
        learned = y.requires_grad
        if torch.is_grad_enabled():
            y = y if learned else y.requires_grad_()
            y.retain_grad()
            self.uses.append(Use(x.detach().expand(*self.unit.runs, *x.shape[-2:]), y, learned))
        return y


@contextmanager
def watching(watched: Sequence[Watched]) -> Iterator[None]:
    """Replace `compute` of each unit; nothing of it stays on the modules, so they can be copied and saved as ever."""
    with ExitStack() as undo:
        for one in watched:
            _replace(one.unit, one.compute, undo)
        yield


def _replace(unit: Unit, compute: Callable[[Tensor], Tensor], undo: ExitStack) -> None:
    unit.__dict__["compute"] = compute
    undo.callback(unit.__dict__.pop, "compute")


def same_memory(a: Tensor, b: Tensor) -> bool:
    """Whether two tensors are the same numbers seen in different layouts."""
    return a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr() and a.numel() == b.numel()
