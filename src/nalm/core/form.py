"""What a unit tells a training rule about itself: which numbers it really learns, and in which coordinate.

A sum unit learns coefficients, a product unit learns exponents. Units differ in how they store them (a gate per input,
one weight for x and one for 1/x, a squashed parameter); a form reads and writes them. With `form = Product()` in its
class body a unit can be trained by `nalm.LocalGaussNewton`; a unit without a form is left to the base optimiser.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from nalm.core.weight import IDENTITY, Weight, nearest

LARGEST_LOG = 40.0  # the square of exp(40) is still a float32, so that a squared error is finite


def write_weight(unit: Any, weight: Weight, value: Tensor) -> None:
    """Store `value` in the raw parameters of a weight: exactly on its grid, to about 1e-7 elsewhere."""
    raw = weight.raw(unit)
    if weight.box is not None:
        value = value.clamp(*weight.box)
    value = value.to(raw[0].dtype)
    stored = weight.link.raw(value) if weight.link is IDENTITY else _inverted(weight, value)
    for parameter, number in zip(raw, stored, strict=True):
        parameter.copy_(number)


def _inverted(weight: Weight, value: Tensor) -> list[Tensor]:
    """Raw parameters of any value between the ends of the grid, by bisection along the line between the two ends."""
    grid, value = weight.grid or (0.0, 1.0), value.double()
    ends = [weight.link.raw(torch.full_like(value, end)) for end in (min(grid), max(grid))]

    def point(share: Tensor) -> list[Tensor]:
        return [torch.lerp(a, b, share) for a, b in zip(*ends, strict=True)]

    low, high = torch.zeros_like(value), torch.ones_like(value)
    for _ in range(50):
        middle = (low + high) / 2
        below = weight.link.value(*point(middle)) < value
        low, high = torch.where(below, middle, low), torch.where(below, high, middle)
    exact = weight.link.raw(weight.nearest(value))
    on_grid = weight.distance(value) == 0
    return [torch.where(on_grid, e, p) for e, p in zip(exact, point((low + high) / 2), strict=True)]


def _odd(numbers: Tensor) -> Tensor:
    """How odd: 1 for odd whole numbers, 0 for even ones, linear between."""
    return 1 - (numbers.remainder(2) - 1).abs()


def _varies(x: Tensor) -> Tensor:
    """Which inputs have both signs within the batch, `(*runs, 1, in, 1)`."""
    return ((x < 0).any(-1) & (x > 0).any(-1))[..., None, :, None]


@dataclass(frozen=True)
class Form(ABC):
    """How a unit computes from its numbers, `(*runs, out, in)`.

    Attributes:
        weight: the name of the weight that holds them.
    """

    weight: str = "W"

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

    def write(self, unit: Any, numbers: Tensor) -> None:
        """Store numbers in the unit; outside its box they are cut."""
        write_weight(unit, unit.weights[self.weight], numbers)

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

    def write(self, unit: Any, numbers: Tensor) -> None:
        write_weight(unit, unit.weights[self.weight], torch.cat([numbers, -numbers], -1).clamp(min=0))


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

    def write(self, unit: Any, numbers: Tensor) -> None:
        used = (numbers != 0).any(-2)
        write_weight(unit, unit.weights[self.gate], used.to(numbers.dtype))
        # an exponent behind a closed gate may rest on any value of the grid, also where 0 is none of them
        rest = torch.where(used.unsqueeze(-2), numbers, nearest(numbers, super().grid(unit)))
        write_weight(unit, unit.weights[self.weight], rest)
        if self.imaginary:
            write_weight(unit, unit.weights[self.imaginary], torch.zeros_like(numbers))
