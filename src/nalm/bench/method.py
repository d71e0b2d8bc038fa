"""How a run is trained: by descent on a recipe, by the local Gauss-Newton rule, by a formula learner, or solved.

A method is data and names the engine that trains its runs; what it has no field for, it cannot be asked to do.
To add one: a frozen dataclass here and, behind `engine`, a function that trains a group of runs (`engine/train.py`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from nalm.bench.plain import plain
from nalm.core import semantics
from nalm.core.arguments import Count, check_fields
from nalm.core.recipe import Late, Recipe, Restart


@dataclass(frozen=True)
class Method(ABC):
    """Base class.

    Attributes:
        way: how the command line calls it (`--recipe`) and the column `recipe` of results says it.
        engine: `module:function` that trains a group of runs; see `nalm.bench.engine.train.Engine`.
        together: the most runs that are trained as one group.

    >>> Descent(Recipe()).way, Rule().way, Solve().way
    ('published', 'lgn', 'solver')
    """

    way: ClassVar[str]
    engine: ClassVar[str]
    together: ClassVar[int] = 256  # enough to fill the vectors, small enough to keep finished work often

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    @abstractmethod
    def steps(self) -> int:
        """How many steps a run makes; progress is counted in them."""

    def content(self) -> Any:
        """What the run's id depends on, as plain data."""
        return plain(self)

    def shared(self) -> Any:
        """What runs must have in common to be trained as one group, as plain data."""
        return self.content()

    @abstractmethod
    def scaled(self, steps: int) -> Self:
        """The same in another number of steps, as far as it has any."""

    def by_recipe(self, change: Callable[[Recipe], Recipe]) -> Self | None:
        """The same with its recipe changed; None if it follows no recipe."""
        return None


@dataclass(frozen=True)
class Stepwise(Method):
    """Methods whose runs make steps on batches of a sampled task, and are evaluated on the way as published."""

    @property
    @abstractmethod
    def batch(self) -> int:
        """Samples per step."""

    @property
    def restart(self) -> Restart | None:
        """When weights are drawn anew."""
        return None

    @property
    def waiting(self) -> Mapping[str, Late]:
        """Penalties that wait for a validation error."""
        return {}

    @property
    def earliest_end(self) -> int:
        """The step before which no run retires."""
        return 0


@dataclass(frozen=True)
class Descent(Stepwise):
    """Gradient descent as a recipe says.

    >>> Descent(Recipe(steps=100)).steps
    100
    """

    recipe: Recipe
    way: ClassVar[str] = "published"
    engine: ClassVar[str] = "nalm.bench.engine.descent:train_group"

    @property
    def steps(self) -> int:
        return self.recipe.steps

    @property
    def batch(self) -> int:
        return self.recipe.batch

    @property
    def restart(self) -> Restart | None:
        return self.recipe.restart

    @property
    def waiting(self) -> Mapping[str, Late]:
        return semantics.waiting(self.recipe)

    @property
    def earliest_end(self) -> int:
        """Once every ramp has ended."""
        return semantics.ramps_end(self.recipe)

    def content(self) -> Any:
        return plain(self.recipe)

    def shared(self) -> Any:
        """Learning rates and heights of ramps are numbers and may differ within a group."""
        return plain(semantics.of_any_strength(self.recipe.at_rate(0.0)))

    def scaled(self, steps: int) -> Descent:
        return Descent(self.recipe.scaled(steps))

    def by_recipe(self, change: Callable[[Recipe], Recipe]) -> Descent:
        return Descent(change(self.recipe))


@dataclass(frozen=True)
class Rule(Stepwise):
    """The local Gauss-Newton rule (`nalm.training.rule`) on the squared error: it has no rate, loss or penalty.

    >>> from nalm.bench import Run, single, train
    >>> from nalm.bench.tasks.arithmetic import RANGES, SingleModule
    >>> run = Run(single("NMU", 2), SingleModule(*RANGES["U[1,2)"]), Rule(steps=50), seed=0)
    >>> [record["solved"] for record in train([run])]
    [True]
    """

    steps: Count = 500
    batch: Count = 128
    way: ClassVar[str] = "lgn"
    engine: ClassVar[str] = "nalm.bench.engine.rule:train_group"

    def content(self) -> Any:
        return _named_as_recipe("LocalGaussNewton", self.steps, self.batch)

    def scaled(self, steps: int) -> Rule:
        return replace(self, steps=steps)


@dataclass(frozen=True)
class Search(Stepwise):
    """Formula layers trained by `nalm.FormulaLearner` on the squared error, until fresh batches confirm a formula."""

    steps: Count = 1_000
    batch: Count = 128
    way: ClassVar[str] = "formula"
    engine: ClassVar[str] = "nalm.bench.engine.formula:train_group"
    together: ClassVar[int] = 40  # a run has many attempts of its own

    def scaled(self, steps: int) -> Search:
        return replace(self, steps=steps)


@dataclass(frozen=True)
class Solve(Stepwise):
    """No training: `nalm.solver.solve` fills the grid weights from one batch of `samples`.

    >>> from nalm.bench import Run, single, train
    >>> from nalm.bench.tasks.arithmetic import RANGES, SingleModule
    >>> run = Run(single("NMU", 2), SingleModule(*RANGES["U[1,2)"]), Solve(samples=64), seed=0)
    >>> [record["solved"] for record in train([run])]
    [True]
    """

    samples: Count = 256
    way: ClassVar[str] = "solver"
    engine: ClassVar[str] = "nalm.bench.engine.solve:train_group"

    @property
    def steps(self) -> int:
        return 1

    @property
    def batch(self) -> int:
        return self.samples

    def content(self) -> Any:
        return _named_as_recipe("Solver", self.steps, self.batch)

    def scaled(self, steps: int) -> Solve:
        return self


@dataclass(frozen=True)
class Discover(Method):
    """No training and no unit: `nalm.solver.solve` finds the formula of one batch of `samples` by itself."""

    samples: Count = 256
    way: ClassVar[str] = "solver"
    engine: ClassVar[str] = "nalm.bench.engine.discover:train_group"
    together: ClassVar[int] = 32

    @property
    def steps(self) -> int:
        return 1

    def scaled(self, steps: int) -> Discover:
        return self


def _named_as_recipe(kind: str, steps: int, batch: int) -> Any:
    """These methods were once optimisers of a recipe; the names of their runs stay."""
    return {**plain(Recipe(steps=steps, batch=batch)), "optimiser": {"kind": kind}}
