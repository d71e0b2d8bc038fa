"""The one concept everything else serves: a unit, a small layer whose weights should settle on whole numbers.

An author declares weights, writes `compute` on tensors and `formula` on scalars. Everything else is final here and
follows from the weights. Inside, tensors are `(*runs, features, samples)`: the long axis is last and contiguous, and
any number of independent copies ("runs") train as one. A user's layer has `runs=()`.
"""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self, final

import torch
from torch import Tensor, nn

from nalm.recipe import Recipe
from nalm.scalar import Scalar
from nalm.uniforms import Stream, uniforms
from nalm.weight import Fan, Weight, to_grid


class Unit(nn.Module):
    """Base class of all units and of stacks of units.

    Args:
        in_features: number of inputs.
        out_features: number of outputs.
        runs: leading axes of independent copies, () for one layer.
        seed: where the initial weights come from, one number or one per run; by default torch's global generator.
        weights: declarations that replace or join those of the class, for variants of a published unit:
            `NMU(2, 1, weights={"W": replace(NMU.W, keep="clamp")})`.

    A subclass sets `paper` (a citation), `operations` (what it can represent), `negatives` (whether signs of inputs
    are kept) and `recipe` (how the paper trains it).
    """

    paper: ClassVar[str] = ""
    operations: ClassVar[str] = ""
    negatives: ClassVar[bool] = True
    recipe: ClassVar[Recipe] = Recipe()
    beside: ClassVar[bool] = False  # inner units stand side by side, not on top of each other
    _declared: ClassVar[Mapping[str, Weight]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        own = {name: value for name, value in vars(cls).items() if isinstance(value, Weight)}
        for weight in own.values():
            weight.check(cls.__name__)
        cls._declared = {**cls._declared, **own}

    def __init__(
        self,
        in_features: int,
        out_features: int,
        runs: Sequence[int] = (),
        *,
        seed: int | Sequence[int] | None = None,
        weights: Mapping[str, Weight] | None = None,
    ) -> None:
        super().__init__()
        for label, size in (("in_features", in_features), ("out_features", out_features)):
            if not isinstance(size, int) or size < 1:
                raise ValueError(f"{type(self).__name__}: {label} is {size!r}; it needs a whole number of at least 1.")
        self.in_features = in_features
        self.out_features = out_features
        self.runs = tuple(runs)
        self.weights: dict[str, Weight] = {}
        for name, weight in {**self._declared, **(weights or {})}.items():
            self._create(name, weight)
        self.reset_parameters(seed)

    # -- written by the author -----------------------------------------------------------------------------------

    @abstractmethod
    def compute(self, x: Tensor) -> Tensor:
        """The forward pass, `(*runs, in, samples)` to `(*runs, out, samples)`."""

    def formula(self, x: Sequence[Scalar]) -> list[Scalar]:
        """The same in eval mode on plain numbers or symbols, one list of inputs to one list of outputs."""
        raise TypeError(f"{type(self).__name__} has no formula: it cannot be read as an expression.")

    def draw_(self, seeds: Tensor, attempt: int) -> None:
        """Draw parameters that are not declared weights; only an adapter of foreign layers has any."""

    # -- final: shapes and parameters ----------------------------------------------------------------------------

    @final
    def forward(self, x: Tensor) -> Tensor:
        """PyTorch's usual layout: `(..., in)` to `(..., out)`; with runs `(*runs, ..., in)`, or `(samples, in)` shared.

        A single layer takes any number of leading axes, like `torch.nn.Linear`.
        """
        self._check_input(x)
        lead = () if x.dim() <= 2 else tuple(x.shape[: len(self.runs)])
        batch = tuple(x.shape[len(lead) : -1])
        y = self.compute(x.reshape(*lead, -1, x.shape[-1]).mT)
        return y.mT.reshape(*self.runs, *batch, y.shape[-2])

    def _check_input(self, x: Tensor) -> None:
        name = type(self).__name__
        if not x.dtype.is_floating_point:
            raise TypeError(f"{name} got {x.dtype} inputs; it needs floating point. Convert with x.float().")
        if self.in_features and (x.dim() == 0 or x.shape[-1] != self.in_features):
            raise ValueError(
                f"{name}({self.in_features}, {self.out_features}) got inputs of shape {tuple(x.shape)}; "
                f"the last axis needs {self.in_features} features."
            )
        if x.dim() > 2 and tuple(x.shape[: len(self.runs)]) != self.runs:
            raise ValueError(
                f"{name} with runs={self.runs} got inputs of shape {tuple(x.shape)}; "
                f"they need to start with the runs axes, or be (samples, {self.in_features}) shared by all runs."
            )

    @final
    def _create(self, name: str, weight: Weight) -> None:
        weight = replace(weight)
        weight.__set_name__(type(self), name)
        weight.check(type(self).__name__)
        self.weights[name] = weight
        sizes = [self._size(word) for word in weight.shape.split()]
        for parameter in weight.parameters:
            self.register_parameter(parameter, nn.Parameter(torch.empty(*self.runs, *sizes)))

    def _size(self, word: str) -> int:
        factor, _, word = word.rpartition("*")
        size: int = getattr(self, {"in": "in_features", "out": "out_features"}.get(word, word))
        return size * int(factor or 1)

    @final
    def reset_parameters(self, seed: int | Sequence[int] | Tensor | None = None, attempt: int = 0) -> None:
        """Draw all initial weights anew, in this unit and those inside it.

        Equal seeds give equal weights, alone or in a cohort. `attempt` numbers redraws with the same seed.
        """
        if seed is None:
            seeds = torch.randint(2**32, self.runs, dtype=torch.int64)
        else:
            seeds = torch.as_tensor(seed, dtype=torch.int64).expand(self.runs)
        for number, (unit, weight, index) in enumerate(self._raw_parameters()):
            start = weight.start[index] if isinstance(weight.start, tuple) else weight.start
            parameter = weight.raw(unit)[index]
            own = parameter.shape[len(self.runs) :]
            u = uniforms(seeds, Stream.WEIGHTS + (number << 8), attempt, own)
            with torch.no_grad():
                parameter.copy_(start(u, Fan(unit.in_features, unit.out_features)))
        for unit in self.units():
            unit.draw_(seeds, attempt)

    @final
    def units(self) -> Iterator[Unit]:
        """This unit and all units inside it."""
        return (m for m in self.modules() if isinstance(m, Unit))

    @final
    def _declarations(self) -> Iterator[tuple[Unit, Weight]]:
        return ((unit, weight) for unit in self.units() for weight in unit.weights.values())

    @final
    def _raw_parameters(self) -> Iterator[tuple[Unit, Weight, int]]:
        return ((u, w, i) for u, w in self._declarations() for i in range(len(w.parameters)))

    # -- final: what follows from the weights --------------------------------------------------------------------

    @final
    def penalties(self, inner: bool = True) -> dict[str, Tensor]:
        """Each penalty term by name, of shape `runs`, summed over weights and, unless `inner` is false, inner units."""
        terms: dict[str, Tensor] = {}
        for unit, weight in self._declarations():
            if not inner and unit is not self:
                continue
            raw = weight.raw(unit)
            for pull in weight.pulls:
                if pull is to_grid and weight.grid is None:
                    continue
                term = pull(weight, weight.value(*raw), raw)
                terms[pull.__name__] = terms[pull.__name__] + term if pull.__name__ in terms else term
        return terms

    @final
    def penalty(self) -> Tensor:
        """Distance to the grid, of shape `runs`: a mean over each weight, summed over weights and inner units."""
        return self.penalties().get("to_grid", torch.zeros(self.runs))

    @final
    def sparsity(self) -> Tensor:
        """Sparsity error, of shape `runs`: the largest distance of an element to its grid.

        What stands side by side (the weights of a unit, the two halves of a gate) is averaged, layers on top of each
        other give their maximum, as published.
        """
        own = [w.distance(w.value(*w.raw(self))).amax(w.axes) for w in self.weights.values() if w.counts and w.grid]
        inner = [unit.sparsity() for unit in _inner(self)]
        if own:
            inner.append(torch.stack(own).mean(0))
        if not inner:
            return torch.zeros(self.runs)
        return torch.stack(inner).mean(0) if self.beside else torch.stack(inner).amax(0)

    @final
    def boxes(self) -> Iterator[tuple[str, tuple[float, float]]]:
        """Names of the parameters that are projected after each step, with their boxes."""
        for path, module in self.named_modules():
            if isinstance(module, Unit):
                for weight in module.weights.values():
                    if weight.box is not None and weight.keep in ("project", "both"):
                        yield from ((f"{path}.{name}" if path else name, weight.box) for name in weight.parameters)

    @final
    @torch.no_grad()
    def project_(self) -> Self:
        """Put every weight back into its box, in place: call it after each optimiser step."""
        for name, box in self.boxes():
            self.get_parameter(name).clamp_(*box)
        return self

    @final
    @torch.no_grad()
    def snapped(self, within: float = float("inf")) -> Self:
        """A copy whose weights lie on their grid; only those nearer than `within` are moved."""
        twin = copy.deepcopy(self)
        for unit, weight in twin._declarations():
            if weight.grid is None:
                continue
            raw = weight.raw(unit)
            value = weight.value(*raw)
            move = weight.distance(value) <= within
            for parameter, target in zip(raw, weight.link.raw(weight.nearest(value)), strict=True):
                parameter.copy_(torch.where(move, target, parameter))
        return twin

    @final
    def on_grid(self) -> bool:
        """Whether every weight lies on its grid, up to rounding; False if a weight has no grid."""
        for _, weight, value in self._values():
            tolerance = 4 * torch.finfo(value.dtype).eps
            if weight.grid is None or bool((weight.distance(value) > tolerance).any()):
                return False
        return True

    @final
    def _values(self) -> Iterator[tuple[Unit, Weight, Tensor]]:
        for unit, weight in self._declarations():
            yield unit, weight, weight.value(*weight.raw(unit)).detach()

    @final
    def value(self, name: str) -> Tensor:
        """The value of a weight by name, as the forward pass uses it."""
        return self.weights[name].value(*self.weights[name].raw(self))

    @final
    def numbers(self, name: str) -> list[Any]:
        """A weight as nested lists of plain numbers for `formula`: whole numbers on the grid, floats elsewhere."""
        label = f"{type(self).__name__}.{name}"
        if self.runs:
            raise ValueError(f"{label}: a cohort of runs={self.runs} has no one formula; take one run out: unit[0].")
        weight = self.weights[name]
        value = weight.value(*weight.raw(self)).detach()
        if not bool(torch.isfinite(value).all()):
            raise ValueError(f"{label} holds NaN or infinity, so there is nothing to read; the training diverged.")
        exact = weight.distance(value) <= 4 * torch.finfo(value.dtype).eps if weight.grid else None
        return _nested(value, weight.nearest(value), exact)

    @final
    def __getitem__(self, index: int | tuple[int, ...]) -> Self:
        """One run out of a cohort, as a layer of its own."""
        twin = copy.deepcopy(self)
        for unit in twin.units():
            unit.runs = self.runs[1:] if isinstance(index, int) else self.runs[len(index) :]
            for name, parameter in unit._parameters.items():
                if parameter is not None:
                    unit._parameters[name] = nn.Parameter(parameter.detach()[index].clone())
        return twin

    @final
    def __iter__(self) -> Iterator[Self]:
        raise TypeError(f"{type(self).__name__} is a layer, not a list; one run of a cohort is unit[i].")

    @final
    def extra_repr(self) -> str:
        runs = f", runs={self.runs}" if self.runs else ""
        return f"{self.in_features}, {self.out_features}{runs}"


def _inner(module: nn.Module) -> Iterator[Unit]:
    """The units directly inside a module, through containers that are not units."""
    for child in module.children():
        yield from (child,) if isinstance(child, Unit) else _inner(child)


def _nested(value: Tensor, nearest: Tensor, exact: Tensor | None) -> list[Any]:
    if value.dim() > 1:
        rows = range(value.shape[0])
        return [_nested(value[r], nearest[r], None if exact is None else exact[r]) for r in rows]
    numbers: list[Any] = value.tolist()
    for i, number in enumerate(nearest.tolist()):
        if exact is not None and bool(exact[i]):
            numbers[i] = int(number) if float(number).is_integer() else number
    return numbers
