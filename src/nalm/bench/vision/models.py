"""What stands above the reader of digits, as plain data: a unit, a solved operation, a recurrent cell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from torch import nn

from nalm.bench.run import Layer, Model
from nalm.bench.vision.heads import HEADS
from nalm.bench.vision.networks import Recurrent, RecurrentLSTM


@dataclass(frozen=True)
class HeadLayer(Layer):
    """A unit of the catalogue, a file of your own, or one of `HEADS`."""

    @property
    def source(self) -> type[nn.Module]:
        return HEADS.get(self.unit) or super().source


def head(unit: str, label: str | None = None, outputs: int = 1, **options: Any) -> Model:
    """A head of two digits and one result; a decision has two outputs, that it holds and that it does not.

    >>> head("ExactProduct", "MUL").build()(__import__("torch").tensor([[3.0, 4.0]])).tolist()
    [[12.0]]
    """
    return Model(label or unit, (HeadLayer(unit, 2, outputs, options),))


@dataclass(frozen=True)
class CellModel(Model):
    """A unit that is applied again and again to a digit and the result so far.

    Args:
        start: the result before the first digit.
    """

    start: float = 1.0

    def recurrent(self, unit: nn.Module, idle: float) -> nn.Module:
        """The unit as a cell."""
        return Recurrent(unit, self.start, idle)

    def content(self) -> list[dict[str, Any]]:
        return [*super().content(), {"start": self.start}]


@dataclass(frozen=True)
class LSTMModel(CellModel):
    """PyTorch's LSTM with one hidden number in place of a unit."""

    def recurrent(self, unit: nn.Module, idle: float) -> nn.Module:
        return RecurrentLSTM()


def cell(unit: str, start: float, label: str | None = None, **options: Any) -> CellModel:
    """A recurrent cell of a unit."""
    return CellModel(label or unit, (HeadLayer(unit, 2, 1, options),), start)


def as_cell(model: Model, idle: float) -> CellModel:
    """A model as a cell; one that does not say so starts at the value that changes nothing."""
    return model if isinstance(model, CellModel) else CellModel(model.label, model.layers, idle)
