"""What a unit tells a training rule about itself: which numbers it really learns, and in which coordinate.

A sum unit learns coefficients, a product unit learns exponents. Units differ in how they store them (a gate per input,
one weight for x and one for 1/x, a squashed parameter); a form reads and writes them. With `form = Product()` in its
class body a unit can be trained by `nalm.LocalGaussNewton`; a unit without a form is left to the base optimiser.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from nalm.core.weight import nearest, write_weight

LARGEST_LOG = 40.0  # the square of exp(40) is still a float32, so that a squared error is finite
LARGEST_ERROR = 20.0  # half of it: a logarithm that is off by more (inputs near zero) says no more than that


def _odd(numbers: Tensor) -> Tensor:
    """How odd: 1 for odd whole numbers, 0 for even ones, linear between."""
    return 1 - (numbers.remainder(2) - 1).abs()


def _varies(x: Tensor) -> Tensor:
    """Which inputs have both signs within the batch, `(*runs, 1, in, 1)`."""
    return ((x < 0).any(-1) & (x > 0).any(-1))[..., None, :, None]


@dataclass(frozen=True)
class Form(ABC):
    """How a unit computes from its numbers, `(*runs, out, in)`.

    On the grid it computes what the unit computes. Between grid points it is smooth where the unit's own formula may
    not be; there it only stands in for the unit while the rule searches.

    Attributes:
        weight: the name of the weight that holds them.
        linear: whether the output is linear in the numbers.
        signed: whether the signs of the inputs multiply.
    """

    weight: str = "W"
    linear: ClassVar[bool] = False
    signed: bool = False

    @property
    def weights(self) -> frozenset[str]:
        """The names of all weights it reads and writes; a unit with others is left to the base optimiser."""
        return frozenset({self.weight})

    def grid(self, unit: Any) -> tuple[float, ...]:
        """The values each number may end on."""
        grid: tuple[float, ...] | None = unit.weights[self.weight].grid
        if grid is None:
            raise ValueError(f"{type(unit).__name__}.{self.weight} has no grid, so a form cannot use it.")
        return grid

    def read(self, unit: Any) -> Tensor:
        """The numbers the unit holds now."""
        value: Tensor = unit.value(self.weight).detach()
        return value

    def write(self, unit: Any, numbers: Tensor, rows: Tensor | None = None) -> None:
        """Store numbers in the unit, outside its box cut; `rows`, `(*runs, out)`, says which, by default all."""
        write_weight(unit, unit.weights[self.weight], numbers, None if rows is None else rows.unsqueeze(-1))

    def box(self, unit: Any) -> tuple[float, float]:
        """Between which ends the unit can hold its numbers: those of the weight, or of its grid."""
        grid = self.grid(unit)
        return unit.weights[self.weight].box or (min(grid), max(grid))

    def rounding(self, numbers: Tensor, features: Tensor) -> Tensor:
        """The size of which `numbers @ features` has rounding errors, `(*runs, out, samples)`.

        That of its terms. A logarithm's error has no scale: there it is 1.
        """
        return torch.ones_like(numbers @ features)

    def believed(self, error: Tensor) -> Tensor:
        """An error in the coordinate of the regression, cut where it says nothing about its size any more."""
        return error

    @abstractmethod
    def information(self, y: Tensor, implied: Tensor, curvature: Tensor) -> Tensor:
        """How much each sample knows about each output's numbers, `(*runs, out, samples)`, 1 on average or less.

        Args:
            y: the outputs.
            implied: the values they should have had.
            curvature: of the loss at y.
        """

    @abstractmethod
    def features(self, x: Tensor) -> Tensor:
        """What the numbers multiply, `(*runs, in, samples)`."""

    @abstractmethod
    def link(self, y: Tensor) -> Tensor:
        """The coordinate in which the output is `numbers @ features`."""

    @abstractmethod
    def smooth(self, numbers: Tensor, x: Tensor) -> Tensor:
        """The output for any numbers, `(*runs, in, samples)` to `(*runs, out, samples)`."""

    @abstractmethod
    def slopes(self, numbers: Tensor, x: Tensor) -> Tensor:
        """Derivatives of `smooth` by each output's own numbers, `(*runs, out, in, samples)`."""

    @abstractmethod
    def exact(self, numbers: Tensor, x: Tensor) -> Tensor:
        """The same for numbers on the grid, without the rounding of logarithms."""


@dataclass(frozen=True)
class Sum(Form):
    """y = sum_i w_i x_i."""

    linear: ClassVar[bool] = True

    def information(self, y: Tensor, implied: Tensor, curvature: Tensor) -> Tensor:
        mean = curvature.mean(-1, keepdim=True)
        return torch.where(mean > 0, curvature / mean, 0.0)

    def rounding(self, numbers: Tensor, features: Tensor) -> Tensor:
        return numbers.abs() @ features.abs()

    def features(self, x: Tensor) -> Tensor:
        return x

    def link(self, y: Tensor) -> Tensor:
        return y

    def smooth(self, numbers: Tensor, x: Tensor) -> Tensor:
        return numbers @ x

    def slopes(self, numbers: Tensor, x: Tensor) -> Tensor:
        return x.unsqueeze(-3).expand(*numbers.shape, x.shape[-1])

    def exact(self, numbers: Tensor, x: Tensor) -> Tensor:
        return numbers @ x


@dataclass(frozen=True)
class Product(Form):
    """y = prod_i x_i^w_i.

    Between whole exponents the sign of an input that changes within the batch fades into the other, as in the NRU: only
    so does it teach. One that is negative throughout keeps the sign of its nearest whole exponent.

    Attributes:
        signed: whether the unit keeps the signs of its inputs.
    """

    signed: bool = True

    def information(self, y: Tensor, implied: Tensor, curvature: Tensor) -> Tensor:
        """A logarithm is believed less where the loss hardly sees the output, and where the output is small against
        the typical error, because there the target's logarithm is mostly noise.

        The output decides, not the target: weights that depend on the noise would let large errors pass for large
        targets.
        """
        seen = curvature / (curvature + curvature.mean(-1, keepdim=True))
        noise = (implied - y).abs().median(-1, keepdim=True).values
        square = y.square()
        return torch.where(curvature > 0, 2 * seen * square / (square + noise.square()), 0.0).nan_to_num()

    def believed(self, error: Tensor) -> Tensor:
        return error.clamp(-LARGEST_ERROR, LARGEST_ERROR)

    def features(self, x: Tensor) -> Tensor:
        return self.link(x)

    def link(self, y: Tensor) -> Tensor:
        return y.abs().clamp(min=1e-30).log()

    def smooth(self, numbers: Tensor, x: Tensor) -> Tensor:
        return self._size(numbers, x) * self._signs(numbers, x).prod(-2)

    def slopes(self, numbers: Tensor, x: Tensor) -> Tensor:
        signs, size = self._signs(numbers, x), self._size(numbers, x).unsqueeze(-2)
        ones = torch.ones_like(signs[..., :1, :])
        before = torch.cat([ones, signs[..., :-1, :]], -2).cumprod(-2)
        after = torch.cat([signs[..., 1:, :], ones], -2).flip(-2).cumprod(-2).flip(-2)
        slope = signs * self.features(x).unsqueeze(-3)
        if self.signed:
            rising = torch.where(numbers.remainder(2) < 1, 1.0, -1.0).to(x.dtype).unsqueeze(-1)
            negative = (x < 0).unsqueeze(-3)
            slope = slope - 2 * rising * (negative & _varies(x))
        return size * before * slope * after

    def _size(self, numbers: Tensor, x: Tensor) -> Tensor:
        return (numbers @ self.features(x)).clamp(-LARGEST_LOG, LARGEST_LOG).exp()

    def _signs(self, numbers: Tensor, x: Tensor) -> Tensor:
        """A factor of each input, `(*runs, out, in, samples)`: -1 for negative inputs with odd exponents."""
        if not self.signed:
            return torch.ones_like(numbers.unsqueeze(-1) * x.unsqueeze(-3))
        between, whole = _odd(numbers).unsqueeze(-1), _odd(numbers.round()).unsqueeze(-1)
        return 1 - 2 * torch.where(_varies(x), between, whole) * (x < 0).to(x.dtype).unsqueeze(-3)

    def exact(self, numbers: Tensor, x: Tensor) -> Tensor:
        powers = numbers.unsqueeze(-1)  # (*runs, out, in, 1)
        base = (x if self.signed else x.abs()).unsqueeze(-3)
        return torch.where(powers == 0, 1.0, base).pow(powers).prod(-2)


@dataclass(frozen=True)
class PairedProduct(Product):
    """A product with one weight for x_i and one for 1/x_i (NMRU): the exponent is their difference."""

    def grid(self, unit: Any) -> tuple[float, ...]:
        return (-1, 0, 1)

    def read(self, unit: Any) -> Tensor:
        up, down = super().read(unit).chunk(2, -1)
        return up - down

    def box(self, unit: Any) -> tuple[float, float]:
        return (-1, 1)

    def write(self, unit: Any, numbers: Tensor, rows: Tensor | None = None) -> None:
        super().write(unit, torch.cat([numbers, -numbers], -1).clamp(min=0), rows)


@dataclass(frozen=True)
class GatedProduct(Product):
    """A product with a gate per input (NPU): the exponent is gate times weight, imaginary weights are zero."""

    gate: str = "g"
    imaginary: str | None = None

    @property
    def weights(self) -> frozenset[str]:
        return frozenset({self.weight, self.gate, *([self.imaginary] if self.imaginary else [])})

    def grid(self, unit: Any) -> tuple[float, ...]:
        return (-1, 0, 1)

    def read(self, unit: Any) -> Tensor:
        gate: Tensor = unit.value(self.gate).detach()
        return super().read(unit) * gate.unsqueeze(-2)

    def box(self, unit: Any) -> tuple[float, float]:
        return (-1, 1)

    def write(self, unit: Any, numbers: Tensor, rows: Tensor | None = None) -> None:
        if rows is not None:  # the rows share their gates, so the others are stored again as they are
            numbers = torch.where(rows.unsqueeze(-1), numbers, self.read(unit).to(numbers))
        runs = None if rows is None else rows.any(-1)[..., None]
        used = (numbers != 0).any(-2)
        write_weight(unit, unit.weights[self.gate], used.to(numbers.dtype), runs)
        # an exponent behind a closed gate may rest on any value of the grid, also where 0 is none of them
        rest = torch.where(used.unsqueeze(-2), numbers, nearest(numbers, super().grid(unit)))
        runs = None if runs is None else runs[..., None]
        write_weight(unit, unit.weights[self.weight], rest, runs)
        if self.imaginary:
            write_weight(unit, unit.weights[self.imaginary], torch.zeros_like(numbers), runs)
