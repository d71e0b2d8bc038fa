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

from nalm.core.form import Form
from nalm.core.layout import check_input, features_last, samples_last
from nalm.core.recipe import Recipe
from nalm.core.scalar import Scalar
from nalm.core.start import Fan
from nalm.core.uniforms import Stream, seeds_of, uniforms
from nalm.core.weight import Weight, to_grid


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
    form: ClassVar[Form | None] = None  # what it learns, for nalm.LocalGaussNewton
    beside: ClassVar[bool] = False  # inner units stand side by side, not on top of each other
    _declared: ClassVar[Mapping[str, Weight]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "forward" in vars(cls):
            raise TypeError(f"{cls.__name__}: write compute(x) on (*runs, in, samples); forward follows from it.")
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

    def forward(self, x: Tensor) -> Tensor:
        """PyTorch's usual layout: `(..., in)` to `(..., out)`; with runs `(*runs, ..., in)`, or `(samples, in)` shared.

        A single layer takes any number of leading axes, like `torch.nn.Linear`.
        """
        check_input(type(self).__name__, (self.in_features, self.out_features), self.runs, x)
        inner, batch = samples_last(x, self.runs)
        return features_last(self.compute(inner), self.runs, batch)

    @final
    def _create(self, name: str, weight: Weight) -> None:
        weight = replace(weight)
        weight.__set_name__(type(self), name)
        weight.check(type(self).__name__)
        self.weights[name] = weight
        for parameter in weight.parameters:
            self.register_parameter(parameter, nn.Parameter(torch.empty(*self.runs, *weight.sizes(self))))

    @final
    def reset_parameters(self, seed: int | Sequence[int] | Tensor | None = None, attempt: int = 0) -> None:
        """Draw all initial weights anew, in this unit and those inside it.

        Equal seeds give equal weights, alone or in a cohort. `attempt` numbers redraws with the same seed.
        """
        seeds = seeds_of(seed, self.runs)
        raw = ((u, w, i) for u, w in self._declarations() for i in range(len(w.parameters)))
        for number, (unit, weight, index) in enumerate(raw):
            start = weight.start[index] if isinstance(weight.start, tuple) else weight.start
            parameter = weight.raw(unit)[index]
            u = uniforms(seeds, Stream.WEIGHTS + (number << 8), attempt, parameter.shape[len(self.runs) :])
            with torch.no_grad():
                parameter.copy_(start(u, Fan(unit.in_features, unit.out_features)))
        for unit in self.units():
            unit.draw_(seeds, attempt)

    def _zeros(self) -> Tensor:
        return next(self.parameters(), torch.empty(())).new_zeros(self.runs)

    @final
    def units(self) -> Iterator[Unit]:
        """This unit and all units inside it."""
        return (m for m in self.modules() if isinstance(m, Unit))

    @final
    def _declarations(self) -> Iterator[tuple[Unit, Weight]]:
        return ((unit, weight) for unit in self.units() for weight in unit.weights.values())

    # -- final: what follows from the weights --------------------------------------------------------------------

    @final
    def penalties(self, inner: bool = True) -> dict[str, Tensor]:
        """Each penalty term by name, of shape `runs`, summed over weights and, unless `inner` is false, inner units."""
        terms: dict[str, Tensor] = {}
        for unit, weight in self._declarations():
            if not inner and unit is not self:
                continue
            for pull in weight.pulls:
                if pull is to_grid and weight.grid is None:
                    continue
                term = pull(weight, weight.raw(unit))
                terms[pull.__name__] = terms[pull.__name__] + term if pull.__name__ in terms else term
        return terms

    @final
    def penalty(self) -> Tensor:
        """Distance to the grid, of shape `runs`: a mean over each weight, summed over weights and inner units."""
        return self.penalties().get("to_grid", self._zeros())

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
            return self._zeros()
        return torch.stack(inner).mean(0) if self.beside else torch.stack(inner).amax(0)

    @final
    def boxes(self) -> Iterator[tuple[str, tuple[float, float]]]:
        """Names of the parameters that are projected after each step, with their boxes."""
        for path, module in self.named_modules():
            for weight in module.weights.values() if isinstance(module, Unit) else ():
                if weight.projection is not None:
                    yield from ((f"{path}.{name}".lstrip("."), weight.projection) for name in weight.parameters)

    @final
    @torch.no_grad()
    def project_(self) -> Self:
        """Put every weight back into its box, in place: call it after each optimiser step."""
        parameters = dict(self.named_parameters())
        for name, box in self.boxes():
            parameters[name].clamp_(*box)
        return self

    @final
    @torch.no_grad()
    def snapped(self, within: float = float("inf")) -> Self:
        """A copy whose weights lie on their grid; only those nearer than `within` are moved."""
        twin = copy.deepcopy(self)
        for unit, weight in twin._declarations():
            weight.snap_(unit, within)
        return twin

    @final
    def on_grid(self) -> bool:
        """Whether every weight lies on its grid, up to rounding; False if a weight has no grid."""
        return all(bool(weight.on_grid(weight.value(*weight.raw(unit))).all()) for unit, weight in self._declarations())

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
        value = self.value(name).detach()
        if not bool(torch.isfinite(value).all()):
            raise ValueError(f"{label} holds NaN or infinity, so there is nothing to read; the training diverged.")
        return self.weights[name].numbers(value)

    @final
    def __getitem__(self, index: int | tuple[int, ...]) -> Self:
        """One run out of a cohort, as a layer of its own."""
        depth = len(index) if isinstance(index, tuple) else 1
        if depth > len(self.runs):
            raise IndexError(f"{type(self).__name__} has runs={self.runs}; there is no run {index} to take out.")
        twin = copy.deepcopy(self)
        for unit in twin.units():
            unit.runs = self.runs[depth:]
            for name, parameter in unit.named_parameters(recurse=False):
                unit._parameters[name] = nn.Parameter(parameter.detach()[index].clone())
        return twin

    __iter__ = None  # a layer is not a list, although a cohort can be indexed

    @final
    def extra_repr(self) -> str:
        return f"{self.in_features}, {self.out_features}" + (f", runs={self.runs}" if self.runs else "")


def _inner(module: nn.Module) -> Iterator[Unit]:
    """The units directly inside a module, through containers that are not units."""
    for child in module.children():
        yield from (child,) if isinstance(child, Unit) else _inner(child)
