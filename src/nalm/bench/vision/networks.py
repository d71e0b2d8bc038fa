"""Whole networks: a reader of digits below, arithmetic above. Only the arithmetic's result is ever told."""

from __future__ import annotations

from abc import abstractmethod

import torch
from torch import Tensor, nn

from nalm.bench.vision.digits import SIDE
from nalm.bench.vision.distortion import CANVAS
from nalm.bench.vision.readers import SmallReader, classifier, soft_argmax
from nalm.bench.vision.splines import Localiser, ThinPlateSpline, sampled
from nalm.core.form import Product
from nalm.core.unit import Unit
from nalm.units.nac import EPSILON


class Reading(nn.Module):
    """Base class: something that reads digits, and a head that computes with them."""

    head: nn.Module

    @abstractmethod
    def read(self, images: Tensor) -> Tensor:
        """Images to what their digits seem to be."""

    def input_penalty(self) -> Tensor:
        """R_z, for heads that are applied again and again."""
        return torch.zeros(())


class PairNetwork(Reading):
    """Two digits side by side, read one by one by the same classifier.

    Args:
        head: two digits to one result.
        smallest: the digit of the first class.
        light: read with the smaller network of the sequence studies.
    """

    def __init__(self, head: nn.Module, smallest: int = 0, light: bool = False) -> None:
        super().__init__()
        self.reader = classifier(1, SIDE, 10 - smallest, light)
        self.head = head
        self.smallest = smallest

    def read(self, images: Tensor) -> Tensor:
        """Images `(count, 28, 28)` to what the digits seem to be, `(count,)`."""
        return soft_argmax(self.reader(images.unsqueeze(1)), self.smallest)

    def forward(self, images: Tensor) -> Tensor:
        """Pairs `(count, 2, 28, 28)` to results `(count, 1)`."""
        result: Tensor = self.head(self.read(images.flatten(0, 1)).view(-1, 2))
        return result


class ColourNetwork(Reading):
    """Two moved digits as the colours of one image: a transformer finds each, one classifier reads both.

    Args:
        head: two digits to one result.
        identity: whether the transformers begin by changing nothing, see `Localiser`.
        light: read with the smaller network of the sequence studies.
    """

    def __init__(self, head: nn.Module, identity: bool = True, light: bool = False) -> None:
        super().__init__()
        self.localisers = nn.ModuleList(Localiser(identity=identity) for _ in range(2))
        self.spline = ThinPlateSpline(CANVAS)
        self.reader = classifier(2, CANVAS // 2, 10, light)
        self.head = head

    def found(self, images: Tensor) -> Tensor:
        """Images `(count, 2, 42, 42)` as each transformer shows them, `(2, count, 2, 42, 42)`."""
        return torch.stack([sampled(images, self.spline(localise(images))) for localise in self.localisers])

    def read(self, images: Tensor) -> Tensor:
        """Images `(count, 2, 42, 42)` to what their two digits seem to be, `(count, 2)`."""
        small = nn.functional.avg_pool2d(self.found(images).flatten(0, 1), 2)
        return soft_argmax(self.reader(small)).view(2, -1).T

    def forward(self, images: Tensor) -> Tensor:
        """Images `(count, 2, 42, 42)` to results `(count, 1)`."""
        result: Tensor = self.head(self.read(images))
        return result


class Recurrent(nn.Module):
    """A unit of two inputs applied again and again to a digit and the result so far.

    Args:
        cell: a unit or a solved operation, `(samples, 2)` to `(samples, 1)`.
        start: the result before the first digit.
        idle: what an input that the unit ignores should look like: 1 for products, 0 for sums.
    """

    def __init__(self, cell: nn.Module, start: float, idle: float = 0.0) -> None:
        super().__init__()
        self.cell = cell
        self.start = start
        self.idle = idle
        form = cell.form if isinstance(cell, Unit) else None
        self.in_log_space = isinstance(form, Product) and not form.signed

    def forward(self, digits: Tensor) -> tuple[Tensor, Tensor]:
        """Digits `(samples, length)` to all results on the way, of the same shape, and the mean `(2,)` of what the
        cell's weights multiply: its inputs, or their logarithms."""
        result = torch.full_like(digits[:, :1], self.start)
        results, inputs = [], []
        for digit in digits.unbind(1):
            inputs.append(torch.cat([digit[:, None], result], -1))
            result = self.cell(inputs[-1])
            results.append(result)
        seen = torch.stack(inputs)
        return torch.cat(results, -1), (torch.log(seen.abs() + EPSILON) if self.in_log_space else seen).mean((0, 1))

    def input_penalty(self, mean_input: Tensor) -> Tensor:
        """R_z: an input that the unit ignores should be idle on average, else the reader may scale its digits.

        In log space the published code asks for an idle logarithm of 1, where 0 would change nothing; so does this.
        """
        if not isinstance(self.cell, Unit) or "W" not in self.cell.weights:
            return mean_input.new_zeros(())
        return ((1 - self.cell.value("W").abs()) * (self.idle - mean_input).square()).mean()


class RecurrentLSTM(nn.Module):
    """The baseline: an LSTM with one hidden number in place of a unit."""

    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.LSTM(1, 1, batch_first=True)

    def forward(self, digits: Tensor) -> tuple[Tensor, Tensor]:
        """As `Recurrent`; its own inputs are not judged."""
        results, _ = self.cell(digits.unsqueeze(-1))
        return results.squeeze(-1), digits.new_zeros(2)

    def input_penalty(self, mean_input: Tensor) -> Tensor:
        """None."""
        return mean_input.new_zeros(())


class SequenceNetwork(Reading):
    """A sequence of digits, each read as a number, accumulated by a recurrent cell."""

    def __init__(self, head: nn.Module) -> None:
        super().__init__()
        self.reader = SmallReader()
        self.head = head
        self.mean_input = torch.zeros(2)

    def read(self, images: Tensor) -> Tensor:
        """Images `(count, 28, 28)` to what the digits seem to be, `(count,)`."""
        numbers: Tensor = self.reader(images.unsqueeze(1))
        return numbers.squeeze(-1)

    def forward(self, images: Tensor) -> Tensor:
        """Sequences `(count, length, 28, 28)` to their running results `(count, length)`."""
        digits = self.read(images.flatten(0, 1)).view(images.shape[:2])
        results: Tensor
        results, self.mean_input = self.head(digits)
        return results

    def input_penalty(self) -> Tensor:
        """R_z for what the cell was given last."""
        penalty: Tensor = self.head.input_penalty(self.mean_input)  # type: ignore[operator]
        return penalty
