"""Units made of units: chains, gates, folds over a sequence, and an adapter that lets any `nn.Module` in."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.func import functional_call, vmap

from nalm.core.arguments import Count, Finite, checks_arguments
from nalm.core.layout import Runs
from nalm.core.scalar import Scalar, dot, sigmoid
from nalm.core.start import constant, glorot_bound, uniform_within
from nalm.core.unit import Unit
from nalm.core.weight import LOGISTIC, Weight, free


def _same_runs(owner: str, units: Sequence[Unit]) -> tuple[int, ...]:
    for unit in units:
        if not isinstance(unit, Unit):
            raise TypeError(f"{owner} got a {type(unit).__name__}; wrap foreign layers in nalm.Foreign.")
    shapes = {unit.runs for unit in units}
    if len(shapes) != 1:
        raise ValueError(
            f"{owner}: its units have different runs axes {sorted(shapes)}; build them with the same runs."
        )
    return shapes.pop()


class Layers(Unit):
    """Units one after another: `Chain` takes them, a subclass builds its own in `assemble`."""

    layers: Sequence[Unit]

    def stack(self, units: Sequence[Unit]) -> None:
        """Take these as the layers."""
        self.layers = cast("Sequence[Unit]", nn.ModuleList(units))

    def compute(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer.compute(x)
        return x

    def formula(self, x: Sequence[Scalar]) -> list[Scalar]:
        values = list(x)
        for layer in self.layers:
            values = layer.formula(values)
        return values

    def logic(self, x: Sequence[Any]) -> list[Any]:
        values = list(x)
        for layer in self.layers:
            values = layer.logic(values)
        return values


class Chain(Layers):
    """Units one after another, like `nn.Sequential`.

    >>> import nalm, torch
    >>> Chain(nalm.NAU(100, 2), nalm.NMU(2, 1))(torch.ones(5, 100)).shape
    torch.Size([5, 1])
    """

    def __init__(self, *units: Unit) -> None:
        if not units:
            raise ValueError("Chain needs at least one unit.")
        runs = _same_runs("Chain", units)
        for before, after in pairwise(units):
            if after.in_features not in (0, before.out_features):
                raise ValueError(
                    f"Chain: {type(before).__name__} gives {before.out_features} outputs, "
                    f"but {type(after).__name__} takes {after.in_features}."
                )
        super().__init__(max(units[0].in_features, 1), units[-1].out_features, runs)
        self.in_features = units[0].in_features
        self.stack(units)


class Mixture(Unit):
    """Two units side by side that a gate per output mixes: g a + (1 - g) b."""

    first: Unit
    second: Unit

    def join(self, first: Unit, second: Unit) -> None:
        """The constructor of containers that are given their two units; their gate lives where these do."""
        name = type(self).__name__
        runs = _same_runs(name, (first, second))
        sizes = [(u.in_features, u.out_features) for u in (first, second)]
        if sizes[0] != sizes[1]:
            raise ValueError(f"{name}: both units need the same sizes, got {sizes[0]} and {sizes[1]}.")
        like = next(first.parameters(), torch.empty(()))
        Unit.__init__(self, *sizes[0], runs, device=like.device, dtype=like.dtype)
        self.first = first
        self.second = second

    @abstractmethod
    def gate(self, x: Tensor) -> Tensor:
        """The gate's value, `(*runs, in, samples)` to `(*runs, out, samples or 1)`."""

    @abstractmethod
    def gate_formula(self, x: Sequence[Scalar]) -> Sequence[Scalar]:
        """The same on scalars."""

    def compute(self, x: Tensor) -> Tensor:
        g, a, b = self.gate(x), self.first.compute(x), self.second.compute(x)
        if not self.training:  # a path that is shut is 0, not infinity times 0 where a product overflows
            a, b = torch.where(g == 0, 0.0, a), torch.where(g == 1, 0.0, b)
        return g * a + (1 - g) * b

    def formula(self, x: Sequence[Scalar]) -> list[Scalar]:
        paths = zip(self.gate_formula(x), self.first.formula(x), self.second.formula(x), strict=True)
        return [a if g == 1 else b if g == 0 else g * a + (1 - g) * b for g, a, b in paths]


class StaticMixture(Mixture):
    """A mixture whose gate does not look at the input (iNALU style): one learned number per output."""

    g = Weight("out", start=constant(0.0), grid=(0, 1), link=LOGISTIC, counts=False)

    def gate(self, x: Tensor) -> Tensor:
        return self.g.unsqueeze(-1)

    def gate_formula(self, x: Sequence[Scalar]) -> Sequence[Scalar]:
        return self.numbers("g")


class Gated(StaticMixture):
    """Two units and one learned gate per output that does not look at the input (iNALU style): g a + (1 - g) b.

    >>> import nalm, torch
    >>> Gated(nalm.NAU(3, 2), nalm.NMU(3, 2))(torch.ones(5, 3)).shape
    torch.Size([5, 2])
    """

    def __init__(self, first: Unit, second: Unit) -> None:
        self.join(first, second)


class InputMixture(Mixture):
    """A mixture whose gate depends on the input (NALU style): g = sigmoid(G x)."""

    G = free("out in", uniform_within(glorot_bound))

    def gate(self, x: Tensor) -> Tensor:
        return torch.sigmoid(self.G @ x)

    def gate_formula(self, x: Sequence[Scalar]) -> Sequence[Scalar]:
        return [sigmoid(dot(weights, x)) for weights in self.numbers("G")]


class InputGated(InputMixture):
    """Two units and a gate that depends on the input (NALU style): g = sigmoid(G x), output g a + (1 - g) b.

    >>> import nalm, torch
    >>> InputGated(nalm.NAU(3, 2), nalm.NMU(3, 2))(torch.ones(5, 3)).shape
    torch.Size([5, 2])
    """

    def __init__(self, first: Unit, second: Unit) -> None:
        self.join(first, second)


class Fold(Unit):
    """A recurrent cell: folds a unit with two inputs [x_t, h_(t-1)] and one output over a sequence of any length.

    Args:
        cell: any unit of sizes (2, 1).
        start: the state before the first element, 0 for sums, 1 for products.
        every_step: give the state after each element instead of the last one only.

    The inputs' last axis is time.

    >>> import nalm, torch
    >>> Fold(nalm.NMU(2, 1), start=1.0)(torch.ones(5, 7)).shape
    torch.Size([5, 1])
    """

    @checks_arguments
    def __init__(self, cell: Unit, start: Finite = 0.0, every_step: bool = False) -> None:
        if (cell.in_features, cell.out_features) != (2, 1):
            raise ValueError(f"Fold: the cell has sizes {(cell.in_features, cell.out_features)}; it needs (2, 1).")
        super().__init__(1, 1, cell.runs)
        self.in_features = 0  # any length
        self.cell = cell
        self.start = float(start)
        self.every_step = every_step

    def compute(self, x: Tensor) -> Tensor:
        states = [torch.full_like(x[..., :1, :], self.start)]
        for t in range(x.shape[-2]):
            states.append(self.cell.compute(torch.cat([x[..., t : t + 1, :].expand_as(states[-1]), states[-1]], -2)))
        return torch.cat(states[1:], -2) if self.every_step else states[-1]

    def formula(self, x: Sequence[Scalar]) -> list[Scalar]:
        states: list[Scalar] = [int(self.start) if float(self.start).is_integer() else self.start]
        for a in x:
            states.extend(self.cell.formula([a, states[-1]]))
        return states[1:] if self.every_step else states[-1:]


class Foreign(Unit):
    """Any ordinary `nn.Module` as a unit, so that it can be benchmarked unchanged; copies are stacked with torch.func.

    Args:
        make: builds the module; called once per run with torch's generator seeded by the run.
        settings: `seed`, `device` and `dtype`, as for any unit.

    >>> import torch
    >>> Foreign(lambda: torch.nn.Linear(2, 1), 2, 1, runs=(4,))(torch.ones(5, 2)).shape
    torch.Size([4, 5, 1])
    """

    operations = "foreign"

    @checks_arguments
    def __init__(
        self,
        make: Callable[[], nn.Module],
        in_features: Count,
        out_features: Count,
        runs: Runs = (),
        **settings: Any,
    ) -> None:
        if isinstance(make, nn.Module):
            raise TypeError(
                f"Foreign: make is a {type(make).__name__}; it needs a function that builds one, such as "
                "`lambda: torch.nn.Linear(2, 1)`, for every run has its own."
            )
        self._make = make
        super().__init__(in_features, out_features, runs, **settings)

    def assemble(self, weights: Mapping[str, Weight]) -> None:
        module = self._make()
        if not isinstance(module, nn.Module):
            raise TypeError(f"Foreign: make gave a {type(module).__name__}; it needs to build an nn.Module.")
        if any(True for _ in module.buffers()):
            raise ValueError(
                f"Foreign: {type(module).__name__} has buffers (running statistics); they cannot be stacked."
            )
        self._names = {name.replace(".", "__"): name for name, _ in module.named_parameters()}
        self._module = [module]  # in a list, so that its parameters are not registered twice
        for flat, name in self._names.items():
            shape = module.get_parameter(name).shape
            self.register_parameter(flat, nn.Parameter(torch.empty(*self.runs, *shape)))

    def draw_(self, seeds: Tensor, attempt: int) -> None:
        with torch.random.fork_rng(devices=[]), torch.no_grad():
            for index, seed in enumerate(seeds.reshape(-1).tolist()):
                torch.manual_seed(seed + (attempt << 32))
                module = self._make()
                for flat, name in self._names.items():
                    value = module.get_parameter(name)
                    self._parameters[flat].view(-1, *value.shape)[index].copy_(value)  # type: ignore[union-attr]

    def compute(self, x: Tensor) -> Tensor:
        parameters = {name: cast(Tensor, self._parameters[flat]) for flat, name in self._names.items()}

        def one(p: dict[str, Tensor], samples: Tensor) -> Tensor:
            result: Tensor = functional_call(self._module[0].train(self.training), p, (samples.mT,))
            return result.mT

        call = one
        for _ in self.runs:
            call = vmap(call, in_dims=(0, 0 if x.dim() > 2 else None), randomness="different")
        return call(parameters, x)
