"""What is to be run: a model, a task, a method and a seed. A run is a pure function of these, named by their hash."""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import torch

from nalm.bench.find import from_file, nearest
from nalm.bench.method import Method
from nalm.bench.plain import plain
from nalm.bench.task import Task
from nalm.core import weight as weights
from nalm.core.arguments import Count, Seed, check_fields, checks_arguments
from nalm.core.containers import Chain, Foreign
from nalm.core.layout import Runs
from nalm.core.recipe import Recipe
from nalm.core.start import uniform
from nalm.core.unit import Unit
from nalm.core.weight import Pull, Weight
from nalm.units import catalogue


@dataclass(frozen=True)
class Layer:
    """One layer of a model: which unit, its sizes, its options.

    Args:
        unit: a class name of the catalogue, or `path/to/file.py:Name` for a unit (or any `nn.Module`) of your own.
        options: keyword arguments of the class. `weights` holds what differs from the declared weights as plain data:
            `{"W": {"box": [-1, 1], "grid": [-1, 1], "start": [-0.5, 0.5], "keep": "both", "pulls": ["l1"]}}`.

    >>> Layer("NMU", 4, 1).outputs
    1
    """

    unit: str
    inputs: Count
    outputs: Count
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def source(self) -> type[torch.nn.Module]:
        """The class."""
        if ":" in self.unit:
            found = from_file(self.unit)
            if not (isinstance(found, type) and issubclass(found, torch.nn.Module)):
                raise ValueError(f"{self.unit} is not a class derived from nalm.Unit or torch.nn.Module.")
            return found
        classes = catalogue()
        if self.unit not in classes:
            raise ValueError(f"There is no unit {self.unit!r}. {nearest(self.unit, classes)}")
        return classes[self.unit]

    @property
    def recipe(self) -> Recipe:
        """How the unit's paper trains it; the default for any other module."""
        source = self.source
        return source.recipe if issubclass(source, Unit) else Recipe()

    def build(self, runs: Runs) -> Unit:
        """An instance with the given runs axes."""
        source = self.source
        if issubclass(source, Unit):
            changes = self.options.get("weights")
            options = {**self.options, "weights": variants(source, changes)} if changes else self.options
            return source(self.inputs, self.outputs, runs, **options)
        return Foreign(lambda: source(self.inputs, self.outputs, **self.options), self.inputs, self.outputs, runs)

    def content(self) -> dict[str, Any]:
        """What the run's id depends on; a file of your own enters with its text, so an edited unit is a new run."""
        content = {"unit": self.unit, "sizes": [int(self.inputs), int(self.outputs)], "options": dict(self.options)}
        if ":" in self.unit:
            path, _, name = self.unit.rpartition(":")
            content |= {"unit": name, "text": hashlib.sha256(Path(path).read_bytes()).hexdigest()}
        return content


def variants(source: type[Unit], changes: Mapping[str, Mapping[str, Any]]) -> dict[str, Weight]:
    """Declared weights of a unit with some fields replaced, for ablations: plain data in, see `Layer`."""
    return {name: _variant(source, name, fields) for name, fields in changes.items()}


def pulls() -> dict[str, Pull]:
    """The penalty terms of `nalm.core.weight` by name: the functions of a weight and its raw parameters."""
    functions = {name: value for name, value in vars(weights).items() if inspect.isfunction(value)}
    return {n: f for n, f in functions.items() if list(inspect.signature(f).parameters) == ["weight", "raw"]}


def _variant(source: type[Unit], name: str, fields: Mapping[str, Any]) -> Weight:
    declared, known = source.declared, pulls()
    if name not in declared:
        raise ValueError(f"{source.__name__} has no weight {name!r}. {nearest(name, declared)}")
    read: dict[str, Callable[[Any], Any]] = {
        "start": lambda bounds: uniform(*bounds),
        "box": lambda box: box and tuple(box),
        "grid": lambda grid: grid and tuple(grid),
        "keep": str,
        "pulls": lambda names: tuple(known[pull] for pull in names),
    }
    for unknown in [f for f in fields if f not in read] + [p for p in fields.get("pulls", ()) if p not in known]:
        raise ValueError(f"{source.__name__}.{name}: there is no {unknown!r}. {nearest(unknown, (*read, *known))}")
    return replace(declared[name], **{field: read[field](value) for field, value in fields.items()})


@dataclass(frozen=True)
class Model:
    """A stack of layers with the name it has in tables.

    >>> Model("NAU-NMU", (Layer("NAU", 4, 2), Layer("NMU", 2, 1))).build().in_features
    4
    """

    label: str
    layers: tuple[Layer, ...]

    def __post_init__(self) -> None:
        check_fields(self)
        if not self.layers:
            raise ValueError(f"Model {self.label!r} has no layers; it needs at least one.")

    @checks_arguments
    def build(self, runs: Runs = ()) -> Unit:
        """The unit, or the chain of units."""
        units = [layer.build(runs) for layer in self.layers]
        return units[0] if len(units) == 1 else Chain(*units)

    @cached_property
    def has_grid(self) -> bool:
        """Whether any weight should settle on whole numbers; a dense layer has none that should."""
        weights = (weight for unit in self.build().units() for weight in unit.weights.values())
        return any(weight.counts and weight.grid for weight in weights)

    def content(self) -> list[dict[str, Any]]:
        """What the run's id depends on; the label does not."""
        return [layer.content() for layer in self.layers]


@checks_arguments
def single(unit: str, inputs: Count, outputs: Count = 1, label: str | None = None, **options: Any) -> Model:
    """A model of one layer.

    >>> single("NMU", 2).label
    'NMU'
    """
    return Model(label or unit.rpartition(":")[2], (Layer(unit, inputs, outputs, options),))


@dataclass(frozen=True)
class Run:
    """One training run; it is evaluated every `every` steps, which changes what is recorded but not what is learned.

    Args:
        retire: stop once it is solved, on the grid and past every ramp; the published protocol trains on.

        study: for which study it is trained; other studies may share it, so its name does not depend on it.

    >>> from nalm.bench.method import Descent
    >>> from nalm.bench.tasks.arithmetic import RANGES, SingleModule
    >>> from nalm.units.nau import NMU
    >>> len(Run(single("NMU", 2), SingleModule(*RANGES["U[1,2)"]), Descent(NMU.recipe), seed=0).id)
    16
    """

    model: Model
    task: Task
    method: Method
    seed: Seed
    every: Count = 1_000
    retire: bool = False
    study: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        check_fields(self)

    @cached_property
    def id(self) -> str:
        """A stable name: the hash of everything the result depends on."""
        return _name(self.json)

    @checks_arguments
    def ids(self, seeds: Iterable[Seed]) -> list[str]:
        """Names of the same run with other seeds."""
        before, after = json.dumps({**self._content(), "seed": _MARK}, **_CANONICAL).split(f'"{_MARK}"')
        return [_name(f"{before}{seed}{after}") for seed in seeds]

    @property
    def json(self) -> str:
        """The exact run as canonical JSON."""
        return json.dumps({**self._content(), "seed": int(self.seed)}, **_CANONICAL)

    def _content(self) -> dict[str, Any]:
        content = {"model": self.model.content(), "task": plain(self.task), "recipe": self.method.content()}
        return content | {"every": int(self.every), **({"retire": True} if self.retire else {})}

    @property
    def structure(self) -> tuple[object, ...]:
        """Runs of equal structure train as one group; learning rates, ramps and ranges are numbers and may differ."""
        method = (type(self.method).__name__, json.dumps(self.method.shared(), sort_keys=True))
        model = json.dumps(self.model.content(), sort_keys=True)
        return (model, self.task.structure, method, self.every, self.retire)


_CANONICAL: dict[str, Any] = {"sort_keys": True, "separators": (",", ":")}
_MARK = "the place of the seed"


def _name(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
