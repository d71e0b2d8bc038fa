"""What follows from declared weights: drawing, penalties, sparsity, projection, snapping, taking one run out.

Nothing here knows what a unit computes. Every method works over this module and all units inside it.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self, final

import torch
from torch import Tensor, nn

from nalm.core.arguments import Index, Seed, checks_arguments, is_whole, shown
from nalm.core.start import Fan, Start
from nalm.core.uniforms import Stream, seeds_of, uniforms
from nalm.core.weight import IDENTITY, Weight, to_grid, write_weight

_WRITTEN = 1e-6  # how near a squashed weight must come to what it was given: raw parameters are found by bisection


class Weighted(nn.Module):
    """A module whose parameters are declared weights; the base class of `Unit`."""

    beside: ClassVar[bool] = False  # inner units stand side by side, not on top of each other
    declared: ClassVar[Mapping[str, Weight]] = {}
    in_features: int
    out_features: int
    runs: tuple[int, ...]
    weights: dict[str, Weight]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        own = {name: value for name, value in vars(cls).items() if isinstance(value, Weight)}
        for weight in own.values():
            weight.check(cls.__name__)
        cls.declared = {**cls.declared, **own}

    def draw_(self, seeds: Tensor, attempt: int) -> None:
        """Draw parameters that are not declared weights; only an adapter of foreign layers has any."""

    @final
    def create(self, name: str, weight: Weight) -> None:
        """Add a weight and its raw parameters, not yet drawn."""
        weight = replace(weight)
        weight.__set_name__(type(self), name)
        weight.check(type(self).__name__)
        for parameter in weight.parameters:
            self.register_parameter(parameter, nn.Parameter(self._room(name, weight.sizes(self))))
        self.weights[name] = weight

    @final
    def _room(self, name: str, sizes: Sequence[int]) -> Tensor:
        try:
            return torch.empty(*self.runs, *sizes)
        except (RuntimeError, TypeError) as error:
            wanted = " x ".join(f"{size:,}" for size in (*self.runs, *sizes))
            raise MemoryError(f"{type(self).__name__}: there is no room for {name}, {wanted} numbers.") from error

    @final
    @checks_arguments
    def reset_parameters(self, seed: Seed | Sequence[Seed] | Tensor | None = None, attempt: Index = 0) -> None:
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
                parameter.copy_(unit._drawn(weight.name, start, u))
        for unit in self._holders():
            unit.draw_(seeds, attempt)

    @final
    def _drawn(self, name: str, start: Start, u: Tensor) -> Tensor:
        """Initial values from uniform numbers, by a function that may be a user's."""
        try:
            values = start(u, Fan(self.in_features, self.out_features))
            return values.expand_as(u)
        except (TypeError, AttributeError, RuntimeError) as error:
            raise ValueError(
                f"{type(self).__name__}.{name}: its start {shown(start)} cannot be used ({error}). It is a function of "
                "a tensor of uniform numbers and a Fan(in, out), and returns a tensor of that shape."
            ) from error

    @final
    def _holders(self) -> Iterator[Weighted]:
        return (m for m in self.modules() if isinstance(m, Weighted))

    @final
    def _declarations(self) -> Iterator[tuple[Weighted, Weight]]:
        return ((unit, weight) for unit in self._holders() for weight in unit.weights.values())

    @final
    def _zeros(self) -> Tensor:
        return next(self.parameters(), torch.empty(())).new_zeros(self.runs)

    # -- penalties and sparsity ----------------------------------------------------------------------------------

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
        """Sparsity error, of shape `runs`: the largest distance of an element to -1, 0, 1 or a value of its grid.

        The weights of a unit are averaged, and so are the two paths of the iNALU (`beside`); other inner units give
        their maximum: all as published.
        """
        own = [w.sparsity(w.value(*w.raw(self))).amax(w.axes) for w in self.weights.values() if w.counts and w.grid]
        parts = [unit.sparsity() for unit in _directly_inside(self)]
        if own:
            parts.append(torch.stack(own).mean(0))
        if not parts:
            return self._zeros()
        return torch.stack(parts).mean(0) if self.beside else torch.stack(parts).amax(0)

    # -- box and grid --------------------------------------------------------------------------------------------

    @final
    def boxes(self) -> Iterator[tuple[str, tuple[float, float]]]:
        """Names of the parameters that are projected after each step, with their boxes."""
        for path, module in self.named_modules():
            for weight in module.weights.values() if isinstance(module, Weighted) else ():
                if weight.projection is not None:
                    yield from ((f"{path}.{name}".lstrip("."), weight.projection) for name in weight.parameters)

    @final
    @torch.no_grad()
    def project_(self) -> Self:
        """Put every weight back into its box, in place: call it after each optimiser step."""
        for unit, weight in self._declarations():
            if weight.projection is not None:
                for parameter in weight.raw(unit):
                    parameter.clamp_(*weight.projection)
        return self

    @final
    @checks_arguments
    @torch.no_grad()
    def snapped(self, within: float = float("inf")) -> Self:
        """A copy whose weights lie on their grid; only those at most `within` away are moved."""
        if within < 0:
            raise ValueError(f"within is {within}; it needs a distance of at least 0, such as 0.1.")
        twin = copy.deepcopy(self)
        for unit, weight in twin._declarations():
            weight.snap_(unit, float(within))
        return twin

    @final
    def on_grid(self) -> bool:
        """Whether every weight lies on its grid, up to rounding; False if a weight has no grid."""
        return all(bool(weight.on_grid(weight.value(*weight.raw(unit))).all()) for unit, weight in self._declarations())

    # -- values --------------------------------------------------------------------------------------------------

    @final
    @torch.no_grad()
    def set_(self, **values: Any) -> Self:
        """Store weights by hand, in place: afterwards `unit.W` is what was given, exactly so on its grid.

        Writing into `unit.W` itself may change a copy only: it is the value that the forward pass uses, which many
        units compute from raw parameters.

        Args:
            values: numbers by the names of this unit's own weights, of a weight's shape; all runs get the same unless
                runs axes stand in front.

        >>> import nalm
        >>> print(nalm.read(nalm.NAC(2, 1).set_(W=[[1, -1]])))
        x0 - x1
        """
        for name, given in values.items():
            now = self.value(name)
            weight = self.weights[name]
            wanted = self._broadcast(name, given, now)
            before = [parameter.clone() for parameter in weight.raw(self)]
            write_weight(self, weight, wanted)
            off = (self.value(name) - wanted).abs() / wanted.abs().clamp(min=1)
            if not bool((off <= max(_WRITTEN, 4 * torch.finfo(now.dtype).eps)).all()):  # NaN is not there either
                for parameter, kept in zip(weight.raw(self), before, strict=True):
                    parameter.copy_(kept)
                raise ValueError(f"{type(self).__name__}.{name} cannot hold {shown(given)}; {_holds(weight)}.")
        return self

    @final
    def _broadcast(self, name: str, given: Any, now: Tensor) -> Tensor:
        try:
            return torch.as_tensor(given, dtype=now.dtype, device=now.device).expand_as(now).clone()
        except (TypeError, ValueError, RuntimeError) as error:
            sizes = tuple(now.shape[len(self.runs) :])
            raise ValueError(
                f"{type(self).__name__}.{name} is given {shown(given)}; it needs numbers of the shape {sizes}."
            ) from error

    @final
    def value(self, name: str) -> Tensor:
        """The value of a weight by name, as the forward pass uses it."""
        if name not in self.weights:
            raise AttributeError(f"{type(self).__name__} has no weight {name!r}; it has {', '.join(self.weights)}.")
        return self.weights[name].value(*self.weights[name].raw(self))

    @final
    def named_weights(self) -> Iterator[tuple[str, Weight, Tensor]]:
        """Every weight of this unit and those inside it: its name with the way to it, its declaration, its value."""
        for path, module in self.named_modules():
            for name, weight in module.weights.items() if isinstance(module, Weighted) else ():
                yield f"{path}.{name}".lstrip("."), weight, weight.value(*weight.raw(module)).detach()

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
        place = index if isinstance(index, tuple) else (index,)
        depth = len(place)
        if depth > len(self.runs) or not all(
            is_whole(i) and -size <= i < size for i, size in zip(place, self.runs, strict=False)
        ):
            raise IndexError(f"{type(self).__name__} has runs={self.runs}; there is no run {shown(index)} to take out.")
        twin = copy.deepcopy(self)
        for unit in twin._holders():
            unit.runs = self.runs[depth:]
            for name, parameter in unit.named_parameters(recurse=False):
                unit._parameters[name] = nn.Parameter(parameter.detach()[index].clone(), parameter.requires_grad)
        return twin

    __iter__ = None  # a layer is not a list, although a cohort can be indexed


def _holds(weight: Weight) -> str:
    """What values a weight can have, for an error message."""
    if weight.link.simplex:
        return "each of its rows is a choice: a 1, and zeros"
    if weight.box is None and weight.link is IDENTITY:
        return "it holds finite numbers"
    low, high = weight.box or (min(weight.grid or (0,)), max(weight.grid or (1,)))
    return f"it holds finite numbers from {low:g} to {high:g}"


def _directly_inside(module: nn.Module) -> Iterator[Weighted]:
    """The units directly inside a module, through containers that are not units."""
    for child in module.children():
        yield from (child,) if isinstance(child, Weighted) else _directly_inside(child)
