"""How a whole network is trained: everything by the published descent, or its unit by the training rule."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar, Self

from nalm.bench.method import Method
from nalm.bench.vision.learners import Descending, Learner, LedByRule
from nalm.bench.vision.networks import Reading
from nalm.core.recipe import Ramp, Recipe, Schedule

RAMP_BEGINS, RAMP_ENDS = 0.5, 0.75  # of a run that is too short for the published place of its ramp


@dataclass(frozen=True)
class NetworkMethod(Method):
    """Base class: one network at a time, on batches of its task."""

    engine: ClassVar[str] = "nalm.bench.engine.network:train_group"
    together: ClassVar[int] = 1

    @property
    @abstractmethod
    def batch(self) -> int:
        """Samples per step."""

    @abstractmethod
    def learner(self, network: Reading) -> Learner:
        """What makes the steps."""

    @abstractmethod
    def with_batch(self, batch: int) -> Self:
        """The same with other batches."""


@dataclass(frozen=True)
class NetworkDescent(NetworkMethod):
    """Descent on all parameters as the recipe says; its steps are steps of the optimiser.

    Args:
        decay: weight decay of the parameters above the digits.
    """

    recipe: Recipe
    decay: float = 0.0
    way: ClassVar[str] = "published"

    @property
    def steps(self) -> int:
        return self.recipe.steps

    @property
    def batch(self) -> int:
        return self.recipe.batch

    def learner(self, network: Reading) -> Learner:
        return Descending(network, self.recipe, self.decay)

    def by_recipe(self, change: Callable[[Recipe], Recipe]) -> NetworkDescent:
        return replace(self, recipe=change(self.recipe))

    def with_batch(self, batch: int) -> NetworkDescent:
        return self.by_recipe(lambda recipe: replace(recipe, batch=batch))

    def scaled(self, steps: int) -> NetworkDescent:
        """In fewer steps. A ramp keeps its place if it ends in the first half of the run; in shorter runs it rises
        from half to three quarters, because the reader needs its time first."""
        penalties = {name: _moved(schedule, steps) for name, schedule in self.recipe.penalties.items()}
        return replace(self, recipe=replace(self.recipe, steps=steps, penalties=penalties))


def _moved(schedule: Schedule, steps: int) -> Schedule:
    if not isinstance(schedule, Ramp) or schedule.end <= steps / 2:
        return schedule
    start = round(steps * RAMP_BEGINS)
    return Ramp(schedule.to, start, max(start + 1, round(steps * RAMP_ENDS)))


@dataclass(frozen=True)
class NetworkRule(NetworkMethod):
    """The local Gauss-Newton rule for the unit, Adam for the reader below it."""

    steps: int = 1_000
    batch: int = 128
    rate: float = 1e-3
    way: ClassVar[str] = "lgn"

    def learner(self, network: Reading) -> Learner:
        return LedByRule(network, self.rate)

    def with_batch(self, batch: int) -> NetworkRule:
        return replace(self, batch=batch)

    def scaled(self, steps: int) -> NetworkRule:
        return replace(self, steps=steps)
