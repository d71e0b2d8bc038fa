"""A weight declares its whole life: its shape, how it starts, where it may go, where it should end, what pulls it there.

Initialisation, projection after a step, penalties, sparsity error, snapping and exact coefficients all follow from one
line in the unit's class body:

    W = Weight("out in", start=uniform(-0.5, 0.5), box=(-1, 1), grid=(-1, 0, 1))

Shapes are words: `in` and `out` are the unit's sizes, `2*in` twice the inputs, any other word an integer attribute of
the unit. Every weight carries the unit's `runs` axes in front, so all reductions here are over trailing axes only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import torch
from torch import Tensor, nn


class Fan(NamedTuple):
    """The sizes an initialisation may depend on."""

    inputs: int
    outputs: int


Start = Callable[[Tensor, Fan], Tensor]
"""Turns uniforms on [0, 1) into initial values: an inverse CDF, so that all weights come from one generator."""


def uniform(low: float, high: float) -> Start:
    """U[low, high)."""
    return lambda u, _: low + (high - low) * u


def uniform_within(bound: Callable[[Fan], float]) -> Start:
    """U[-r, r) with r depending on the layer's sizes."""

    def start(u: Tensor, fan: Fan) -> Tensor:
        r = bound(fan)
        return -r + 2 * r * u

    return start


def normal(mean: float, deviation: float | Callable[[Fan], float]) -> Start:
    """N(mean, deviation^2)."""

    def start(u: Tensor, fan: Fan) -> Tensor:
        sd = deviation(fan) if callable(deviation) else deviation
        # uniforms are multiples of 2**-24 including 0: the half step keeps the quantile finite
        return mean + sd * torch.special.ndtri(u.double() + 2.0**-25).to(u.dtype)

    return start


def constant(value: float) -> Start:
    """The same value everywhere."""
    return lambda u, _: torch.full_like(u, value)


def glorot_bound(fan: Fan) -> float:
    """sqrt(6 / (in + out)), the bound of the Xavier uniform initialisation."""
    return math.sqrt(6 / (fan.inputs + fan.outputs))


@dataclass(frozen=True)
class Link:
    """How a weight's value follows from what the optimiser sees.

    Attributes:
        suffixes: one per raw parameter, appended to the weight's name.
        value: raw parameters to value, elementwise.
        raw: a grid value to raw parameters that give exactly that value in float32 and float64.
        simplex: the value's last axis sums to one, so only one-hot rows lie on the grid.
    """

    suffixes: tuple[str, ...]
    value: Callable[..., Tensor]
    raw: Callable[[Tensor], tuple[Tensor, ...]]
    simplex: bool = False


SATURATED = 40.0  # sigmoid(40) and tanh(40) are exactly 1 in float64, sigmoid(-40) is 4e-18
IDENTITY = Link(("",), lambda raw: raw, lambda value: (value,))
LOGISTIC = Link(("_hat",), torch.sigmoid, lambda value: (SATURATED * (2 * value - 1),))
SOFTMAX = Link(("_hat",), lambda raw: torch.softmax(raw, -1), lambda value: (SATURATED * value,), simplex=True)

Pull = Callable[["Weight", Tensor, Sequence[Tensor]], Tensor]
"""A penalty term: (declaration, value, raw parameters) to a tensor of shape `runs`. Its name is the recipe's key."""


def to_grid(weight: Weight, value: Tensor, _raw: Sequence[Tensor]) -> Tensor:
    """Mean distance to the grid: the sparsity regulariser of the NAU and NMU."""
    return weight.distance(value).mean(weight.axes)


def l1(weight: Weight, _value: Tensor, raw: Sequence[Tensor]) -> Tensor:
    """Sum of absolute raw parameters, not a mean: the NPU's regulariser."""
    return torch.stack([r.abs().sum(weight.axes) for r in raw]).sum(0)


def l2(weight: Weight, _value: Tensor, raw: Sequence[Tensor]) -> Tensor:
    """Sum of the 2-norms of the raw parameters."""
    return torch.stack([r.square().sum(weight.axes).sqrt() for r in raw]).sum(0)


def saturate(weight: Weight, _value: Tensor, raw: Sequence[Tensor]) -> Tensor:
    """iNALU's regulariser: pushes raw parameters beyond +-20, where tanh and sigmoid are flat."""
    return torch.stack([(20 - r.abs()).clamp(min=0).mean(weight.axes) for r in raw]).sum(0)


Keep = Literal["project", "clamp", "both", "straight-through"]


@dataclass(frozen=True)
class Weight:
    """The declaration of one weight; on an instance, `unit.W` is its value as used in the forward pass.

    Args:
        shape: axis words, for example "out in".
        start: initial raw values, one function for all raw parameters or one each.
        box: closed interval in which the value must stay, or None.
        grid: values it should end on, or None if any value is final (a gate's slope, a baseline's weight).
        link: how the value follows from the raw parameters.
        keep: how the box is kept: the stored parameter is projected after each step, the forward pass clamps (no
            gradient outside), both, or the forward pass clamps with a straight-through gradient.
        pulls: penalty terms that apply to this weight.
        counts: whether it enters the sparsity error.
    """

    shape: str
    start: Start | tuple[Start, ...]
    box: tuple[float, float] | None = None
    grid: tuple[float, ...] | None = None
    link: Link = IDENTITY
    keep: Keep = "project"
    pulls: tuple[Pull, ...] = (to_grid,)
    counts: bool = True
    name: str = field(default="", init=False, compare=False)

    def __set_name__(self, owner: type, name: str) -> None:
        object.__setattr__(self, "name", name)

    if TYPE_CHECKING:

        def __get__(self, unit: Any, owner: type | None = None) -> Tensor: ...

    else:

        def __get__(self, unit, owner=None):
            return self if unit is None else unit.value(self.name)

    def check(self, unit: str) -> None:
        """Raise a ValueError that names the unit if the declaration contradicts itself."""
        where = f"{unit}.{self.name}"
        if self.box is not None and not self.box[0] < self.box[1]:
            raise ValueError(f"{where}: box {self.box} is empty; it needs low < high.")
        if self.grid is None:
            return
        if not self.grid:
            raise ValueError(f"{where}: the grid is empty; give the values the weight may end on, or grid=None.")
        outside = [g for g in self.grid if self.box and not self.box[0] <= g <= self.box[1]]
        if outside:
            raise ValueError(f"{where}: grid values {outside} lie outside the box {self.box}.")

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the raw parameters on the unit."""
        return tuple(self.name + suffix for suffix in self.link.suffixes)

    @property
    def axes(self) -> tuple[int, ...]:
        """The weight's own axes, counted from the end."""
        return tuple(range(-len(self.shape.split()), 0))

    def raw(self, unit: nn.Module) -> tuple[Tensor, ...]:
        """The raw parameters of this weight on `unit`."""
        found = tuple(unit._parameters.get(name) for name in self.parameters)
        if any(p is None for p in found):
            raise AttributeError(f"{type(unit).__name__} has no weight {self.name!r} yet")
        return found  # type: ignore[return-value]

    def value(self, *raw: Tensor) -> Tensor:
        """What the forward pass uses."""
        value = self.link.value(*raw)
        if self.box is None or self.keep == "project":
            return value
        clamped = value.clamp(*self.box)
        return value + (clamped - value).detach() if self.keep == "straight-through" else clamped

    def distance(self, value: Tensor) -> Tensor:
        """Elementwise distance to the nearest grid value; zero where any value is final."""
        if self.grid is None:
            return torch.zeros_like(value)
        nearest = (value - self.grid[0]).abs()
        for g in self.grid[1:]:
            nearest = torch.minimum(nearest, (value - g).abs())
        return nearest

    def nearest(self, value: Tensor) -> Tensor:
        """Elementwise nearest grid value (the smaller one of a tie); the value itself where any value is final."""
        if self.grid is None:
            return value
        if self.link.simplex:
            return nn.functional.one_hot(value.argmax(-1), value.shape[-1]).to(value.dtype)
        grid = torch.tensor(sorted(self.grid), dtype=value.dtype, device=value.device)
        return grid[(value.unsqueeze(-1) - grid).abs().argmin(-1)]
