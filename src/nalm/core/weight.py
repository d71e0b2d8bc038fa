"""A weight declares its whole life: shape, how it starts, where it may go, where it should end, what pulls it there.

Initialisation, projection after a step, penalties, sparsity error, snapping and exact coefficients all follow from one
line in the unit's class body:

    W = Weight("out in", start=uniform(-0.5, 0.5), box=(-1, 1), grid=(-1, 0, 1))

Shapes are words: `in` and `out` are the unit's sizes, `2*in` twice the inputs, any other word an integer attribute of
the unit. Every weight carries the unit's `runs` axes in front, so all reductions here are over trailing axes only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import reduce
from typing import Any, Literal, Self, overload

import torch
from torch import Tensor, nn

from nalm.core.arguments import Finite, check_fields
from nalm.core.start import Start


@dataclass(frozen=True)
class Link:
    """How a weight's value follows from what the optimiser sees.

    Attributes:
        suffixes: one per raw parameter, appended to the weight's name.
        value: raw parameters to value, elementwise.
        raw: a grid value to raw parameters that give that value, in float64 to 4e-18.
        simplex: the value's last axis sums to one, so only one-hot rows lie on the grid.
    """

    suffixes: tuple[str, ...]
    value: Callable[..., Tensor]
    raw: Callable[[Tensor], tuple[Tensor, ...]]
    simplex: bool = False


SATURATED = 40.0  # sigmoid(40) and tanh(40) are exactly 1 in float64, sigmoid(-40) is 4e-18


def _same(raw: Tensor) -> Tensor:
    return raw


def _softmax(raw: Tensor) -> Tensor:
    return torch.softmax(raw, -1)


def _raw_same(value: Tensor) -> tuple[Tensor]:
    return (value,)


def _raw_logistic(value: Tensor) -> tuple[Tensor]:
    return (SATURATED * (2 * value - 1),)


def _raw_softmax(value: Tensor) -> tuple[Tensor]:
    return (SATURATED * value,)


IDENTITY = Link(("",), _same, _raw_same)
LOGISTIC = Link(("_hat",), torch.sigmoid, _raw_logistic)
SOFTMAX = Link(("_hat",), _softmax, _raw_softmax, simplex=True)

Pull = Callable[["Weight", Sequence[Tensor]], Tensor]
"""A penalty term: declaration and raw parameters to a tensor of shape `runs`. Its name is the recipe's key."""


def to_grid(weight: Weight, raw: Sequence[Tensor]) -> Tensor:
    """Mean distance to the grid, of the unclamped value: the sparsity regulariser of the NAU and NMU."""
    return weight.distance(weight.link.value(*raw)).mean(weight.axes)


def l1(weight: Weight, raw: Sequence[Tensor]) -> Tensor:
    """Sum of absolute raw parameters, not a mean: the NPU's regulariser."""
    return torch.stack([r.abs().sum(weight.axes) for r in raw]).sum(0)


def l2(weight: Weight, raw: Sequence[Tensor]) -> Tensor:
    """Sum of the 2-norms of the raw parameters."""
    return torch.stack([r.square().sum(weight.axes).sqrt() for r in raw]).sum(0)


def saturate(weight: Weight, raw: Sequence[Tensor]) -> Tensor:
    """iNALU's regulariser: pushes raw parameters beyond +-20, where tanh and sigmoid are flat."""
    return torch.stack([(20 - r.abs()).clamp(min=0).mean(weight.axes) for r in raw]).sum(0)


def nearest(value: Tensor, grid: Sequence[float]) -> Tensor:
    """Elementwise nearest value of a grid, the smaller one of a tie."""
    points = torch.tensor(sorted(grid), dtype=value.dtype, device=value.device)
    return points[(value.unsqueeze(-1) - points).abs().argmin(-1)]


Keep = Literal["project", "clamp", "both", "straight-through"]


@dataclass(frozen=True)
class Weight:
    """The declaration of one weight; on an instance, `unit.W` is its value as used in the forward pass.

    Args:
        shape: axis words, for example "out in".
        start: initial raw values, one function for all raw parameters or one each.
        box: closed interval in which the value must stay, or None; (0, 0) holds it at zero.
        grid: values it should end on, or None if any value is final (a gate's slope, a baseline's weight).
        link: how the value follows from the raw parameters.
        keep: how the box is kept: the stored parameter is projected after each step, the forward pass clamps (no
            gradient outside), both, or the forward pass clamps with a straight-through gradient.
        pulls: penalty terms that apply to this weight.
        counts: whether it enters the sparsity error.

    >>> from nalm import NMU
    >>> NMU.W.box, NMU.W.grid, NMU.W.keep
    ((0, 1), (0, 1), 'project')
    >>> NMU(3, 2).W.shape
    torch.Size([2, 3])
    """

    shape: str
    start: Start | tuple[Start, ...]
    box: tuple[float, float] | None = None
    grid: tuple[Finite, ...] | None = None
    link: Link = IDENTITY
    keep: Keep = "project"
    pulls: tuple[Pull, ...] = (to_grid,)
    counts: bool = True
    name: str = field(default="", init=False, compare=False)

    def __post_init__(self) -> None:
        check_fields(self)

    def __set_name__(self, owner: type, name: str) -> None:
        if self.name not in ("", name):
            raise ValueError(
                f"{owner.__name__}.{name} is the declaration of {self.name}; give it a copy: replace(...)."
            )
        object.__setattr__(self, "name", name)

    @overload
    def __get__(self, unit: None, owner: type) -> Self: ...
    @overload
    def __get__(self, unit: nn.Module, owner: type) -> Tensor: ...
    def __get__(self, unit: Any, owner: type) -> Self | Tensor:
        # an instance may carry a variant of this declaration, so ask it
        return self if unit is None else unit.value(self.name)

    def check(self, unit: str) -> None:
        """Raise a ValueError that names the unit if the declaration contradicts itself."""
        where = f"{unit}.{self.name}"
        if isinstance(self.start, tuple) and len(self.start) != len(self.parameters):
            raise ValueError(f"{where}: {len(self.start)} starts for {len(self.parameters)} raw parameters.")
        if self.box is not None and not self.box[0] <= self.box[1]:
            raise ValueError(f"{where}: box {self.box} is empty; it needs low <= high.")
        if self.projection is not None and self.link != IDENTITY:
            raise ValueError(f"{where}: its box bounds the value, which only keep='clamp' can do for a linked weight.")
        if self.grid is None:
            return
        if not self.grid:
            raise ValueError(f"{where}: the grid is empty; give the values the weight may end on, or grid=None.")
        outside = [g for g in self.grid if self.box and not self.box[0] <= g <= self.box[1]]
        if outside:
            raise ValueError(f"{where}: grid values {outside} lie outside the box {self.box}.")

    @property
    def projection(self) -> tuple[float, float] | None:
        """The box into which the stored parameter is put back after each step, if it is."""
        return self.box if self.keep in ("project", "both") else None

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the raw parameters on the unit."""
        return tuple(self.name + suffix for suffix in self.link.suffixes)

    @property
    def axes(self) -> tuple[int, ...]:
        """The weight's own axes, counted from the end."""
        return tuple(range(-len(self.shape.split()), 0))

    def sizes(self, unit: nn.Module) -> list[int]:
        """The lengths of its own axes on `unit`."""
        return [_size(word, unit) for word in self.shape.split()]

    def raw(self, unit: nn.Module) -> tuple[Tensor, ...]:
        """The raw parameters of this weight on `unit`."""
        found = {name: unit._parameters.get(name) for name in self.parameters}
        for name in [name for name, parameter in found.items() if parameter is None]:
            raise TypeError(
                f"{type(unit).__name__}: its parameter {name!r} was taken away, as torch.nn.utils.parametrize and "
                "prune and torch.nn.DataParallel do. A unit needs its own: declare the change in `weights` when it is "
                "built, and use DistributedDataParallel."
            )
        return tuple(found.values())  # type: ignore[arg-type]

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
        return reduce(torch.minimum, [(value - g).abs() for g in self.grid])

    def sparsity(self, value: Tensor) -> Tensor:
        """Elementwise distance to the nearest of -1, 0, 1 and the grid.

        The field counts -1, 0 and 1 for every weight, also for one that is pulled to some of them only, such as the
        weights of the modified Real NPU (-1 and 1) and the imaginary ones of the NPU (0).
        """
        size = value.abs()
        return torch.minimum(self.distance(value), torch.minimum(size, (1 - size).abs()))

    def nearest(self, value: Tensor) -> Tensor:
        """Elementwise nearest grid value (the smaller one of a tie); the value itself where any value is final."""
        if self.grid is None:
            return value
        if self.link.simplex:
            return nn.functional.one_hot(value.argmax(-1), value.shape[-1]).to(value.dtype)
        return nearest(value, self.grid)

    def on_grid(self, value: Tensor) -> Tensor:
        """Elementwise, whether the value lies on the grid up to rounding; nothing does if there is no grid."""
        if self.grid is None:
            return torch.zeros_like(value, dtype=torch.bool)
        return self.distance(value) <= 4 * torch.finfo(value.dtype).eps

    def snap_(self, unit: nn.Module, within: float) -> None:
        """Move elements that are at most `within` from their grid onto it, in place."""
        if self.grid is None:
            return
        raw = self.raw(unit)
        value = self.value(*raw)
        move = self.distance(value) <= within
        if self.link.simplex:  # a row is one choice: it moves as a whole
            move = move.all(-1, keepdim=True)
        for parameter, target in zip(raw, self.link.raw(self.nearest(value)), strict=True):
            parameter.copy_(torch.where(move, target, parameter))

    def numbers(self, value: Tensor) -> list[Any]:
        """Nested lists of plain numbers: exact ones (int or Fraction) on the grid, floats elsewhere."""
        if value.dim() > 1:
            return [self.numbers(row) for row in value]
        triples = zip(value.tolist(), self.nearest(value).tolist(), self.on_grid(value).tolist(), strict=True)
        return [_exact(nearest) if on_grid else number for number, nearest, on_grid in triples]


def write_weight(unit: nn.Module, weight: Weight, value: Tensor, where: Tensor | None = None) -> None:
    """Store `value` in the raw parameters of a weight: exactly on its grid, to about 1e-7 elsewhere.

    `where` says which elements are stored; it is broadcast to the weight's shape. By default all.
    """
    raw = weight.raw(unit)
    if weight.box is not None:
        value = value.clamp(*weight.box)
    value = value.to(raw[0].dtype)
    stored = weight.link.raw(value) if weight.link is IDENTITY else _inverted(weight, value)
    for parameter, number in zip(raw, stored, strict=True):
        parameter.copy_(number if where is None else torch.where(where, number, parameter))


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


def free(shape: str, start: Start) -> Weight:
    """A weight for which any value is final: no grid, no pull, no part in the sparsity error."""
    return Weight(shape, start=start, pulls=(), counts=False)


def _size(word: str, unit: nn.Module) -> int:
    factor, _, name = word.rpartition("*")
    size = getattr(unit, {"in": "in_features", "out": "out_features"}.get(name, name), None)
    if not isinstance(size, int) or not (factor or "1").isdecimal():
        raise ValueError(
            f"{type(unit).__name__}: a weight has the axis {word!r}; axes are `in`, `out`, whole-number attributes of "
            "the unit, and multiples of these such as `2*in`."
        )
    return size * int(factor or 1)


def _exact(number: float) -> int | Fraction:
    return int(number) if number.is_integer() else Fraction(number).limit_denominator(1000)
