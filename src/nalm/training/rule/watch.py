"""Seeing units at work: within `watching`, each use of a unit is recorded; a form may stand in for its formula."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple, Self

import torch
from torch import Tensor, nn

from nalm.core.unit import Unit

Compute = Callable[[Tensor], Tensor]


@dataclass
class Use:
    """One call of a unit: its inputs `(*runs, in, samples)` and its output, a node of the graph."""

    x: Tensor
    y: Tensor


@dataclass
class Watched:
    """A unit and what it was used for.

    Attributes:
        unit: whose `compute` is watched.
        instead: computes in its place; by default the unit itself does.
        uses: its calls, while gradients are recorded.
    """

    unit: Unit
    instead: Compute | None = None
    uses: list[Use] = field(default_factory=list)

    def compute(self, x: Tensor) -> Tensor:
        """The output, recorded."""
        y = type(self.unit).compute(self.unit, x) if self.instead is None else self.instead(x)
        if torch.is_grad_enabled():
            y = y if y.requires_grad else y.requires_grad_()
            y.retain_grad()
            self.uses.append(Use(x.detach().expand(*self.unit.runs, *x.shape[-2:]), y))
        return y


@contextmanager
def watching(watched: Sequence[Watched]) -> Iterator[None]:
    """Replace `compute` of each unit; nothing of it stays on the modules, so they can be copied and saved as ever."""
    with ExitStack() as undo:
        for one in watched:
            one.unit.__dict__["compute"] = one.compute
            undo.callback(one.unit.__dict__.pop, "compute")
        yield


class WithoutGradients:
    """A pass in which some parameters are constants: numbers that stay need no gradient, which would cost a tenth of a
    small network's step. It is entered in most steps, and so is no generator, which takes nearly four times as long."""

    def __init__(self, parameters: Sequence[nn.Parameter]) -> None:
        self.trained = [p for p in parameters if p.requires_grad]

    def __enter__(self) -> None:
        for p in self.trained:
            p.requires_grad = False

    def __exit__(self, *_: object) -> None:
        for p in self.trained:
            p.requires_grad = True


def same_memory(a: Tensor, b: Tensor) -> bool:
    """Whether two tensors are the same numbers seen in different layouts."""
    return a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr() and a.numel() == b.numel()


class Written(NamedTuple):
    """What a parameter held after a step, and torch's count of its changes, which spares most comparisons."""

    value: Tensor
    version: int

    @classmethod
    def of(cls, parameter: Tensor, before: Self | None) -> Self:
        """What it holds now; the record from before, if it has not changed since."""
        version = parameter._version
        return before if before and before.version == version else cls(parameter.detach().clone(), version)

    def stands(self, parameter: Tensor) -> bool:
        """Whether it still holds that."""
        return parameter._version == self.version or torch.equal(parameter, self.value)


@contextmanager
def untouched(buffers: Sequence[Tensor], generator: Tensor) -> Iterator[None]:
    """A further pass over the same batch: it draws what the first pass drew, and no running statistic moves.

    Args:
        buffers: of the model.
        generator: state of torch's generator before the first pass.
    """
    kept = [b.clone() for b in buffers]
    after = torch.get_rng_state()
    torch.set_rng_state(generator)
    try:
        yield
    finally:
        torch.set_rng_state(after)
        for buffer, value in zip(buffers, kept, strict=True):
            buffer.copy_(value)
