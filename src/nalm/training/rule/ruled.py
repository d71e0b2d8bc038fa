"""A unit the rule trains: what it is called, and how its numbers are read, tried and written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor, nn

from nalm.core.form import Form
from nalm.core.unit import Unit
from nalm.core.weight import nearest


@dataclass(frozen=True)
class Ruled:
    """A unit under the rule."""

    name: str
    unit: Unit
    form: Form

    @property
    def label(self) -> str:
        """Its name in messages."""
        return self.name or "the model"

    @property
    def grid(self) -> tuple[float, ...]:
        """The values its numbers may end on."""
        return self.form.grid(self.unit)

    @property
    def box(self) -> tuple[float, float]:
        """Between which ends it can hold them."""
        return self.form.box(self.unit)

    @cached_property
    def parameters(self) -> Sequence[nn.Parameter]:
        """Its own ones, in which its numbers are stored."""
        return list(self.unit.parameters(recurse=False))

    @property
    def trainable(self) -> bool:
        """Whether it is not frozen, as units may be and cease to be at any time."""
        return any(p.requires_grad for p in self.parameters)

    def nearest(self, numbers: Tensor) -> Tensor:
        """The nearest grid point."""
        return nearest(numbers, self.grid)

    def read(self) -> Tensor:
        """The numbers it holds, float64."""
        return self.form.read(self.unit).double()

    def write(self, numbers: Tensor, rows: Tensor) -> None:
        """Store some rows `(*runs, out)` of numbers."""
        if bool(rows.any()):
            self.form.write(self.unit, numbers, rows)

    def compute(self, numbers: Tensor, exact: Tensor, x: Tensor) -> Tensor:
        """What the form computes: rows `(*runs, out)` that lie on the grid exactly, the others smoothly."""
        numbers, rows = numbers.to(x.dtype), exact.unsqueeze(-1)
        # a row takes part in one of the two only: elsewhere its numbers are 0, so nothing infinite can leak
        if bool(exact.all()):
            return self.form.exact(numbers, x)
        if not bool(exact.any()):
            return self.form.smooth(numbers, x)
        on, off = (torch.where(r, numbers, 0.0) for r in (rows, ~rows))
        return torch.where(rows, self.form.exact(on, x), self.form.smooth(off, x))


@contextmanager
def holding(units: Sequence[tuple[Ruled, Tensor]]) -> Iterator[None]:
    """Within it the units hold other numbers, afterwards again their own."""
    parameters = [p for ruled, _ in units for p in ruled.parameters]
    kept = [p.detach().clone() for p in parameters]
    with torch.no_grad():
        for ruled, numbers in units:
            ruled.form.write(ruled.unit, numbers)
    try:
        yield
    finally:
        with torch.no_grad():
            for parameter, value in zip(parameters, kept, strict=True):
                parameter.copy_(value)


def covered(module: nn.Module) -> bool:
    """Whether the rule can train this module: a unit with a form that covers all its weights."""
    return isinstance(module, Unit) and module.form is not None and set(module.weights) == module.form.weights


def ruled(model: nn.Module) -> Iterator[Ruled]:
    """The units the rule trains."""
    for name, module in model.named_modules():
        if isinstance(module, Unit) and module.form is not None and covered(module):
            yield Ruled(name, module, module.form)
