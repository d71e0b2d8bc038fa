"""How a paper trains: optimiser, steps, batch, loss, penalty schedules, clipping, gradient noise, restarts.

A recipe is data. Its numbers may differ between the runs of one cohort, its structure decides who shares a program.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol, runtime_checkable

from nalm.core.arguments import Count, Finite, Index, NotNegative, Positive, check_fields, checks_arguments
from nalm.core.optimiser import SGD as SGD
from nalm.core.optimiser import Adam as Adam
from nalm.core.optimiser import Optimiser


@runtime_checkable
class Schedule(Protocol):
    """A number that depends on the training step (counted from 0); `str` says in words how."""

    def at(self, step: int) -> float:
        """The strength at a step."""

    def scaled(self, factor: float) -> Schedule:
        """The same for a training that is longer by a factor."""


@dataclass(frozen=True)
class Constant(Schedule):
    """The same strength at every step.

    >>> Constant(0.5).at(10)
    0.5
    """

    value: Finite

    def __post_init__(self) -> None:
        check_fields(self)

    def __str__(self) -> str:
        return f"{self.value:g} at every step"

    def at(self, step: int) -> float:
        return self.value

    def scaled(self, factor: float) -> Constant:
        return self


@dataclass(frozen=True)
class Ramp(Schedule):
    """Zero until `start`, then a straight line that reaches `to` at `end` and stays there.

    >>> Ramp(10, 20_000, 35_000).at(27_500)
    5.0
    """

    to: Finite
    start: Index
    end: Count

    def __post_init__(self) -> None:
        check_fields(self)
        if not self.start < self.end:
            raise ValueError(f"{self!r} has no length; it needs start < end.")

    def __str__(self) -> str:
        return f"0 until step {self.start:,}, rising to {self.to:g} at step {self.end:,}"

    def at(self, step: int) -> float:
        return self.to * min(max((step - self.start) / (self.end - self.start), 0.0), 1.0)

    def scaled(self, factor: float) -> Ramp:
        start = round(self.start * factor)
        return Ramp(self.to, start, max(start + 1, round(self.end * factor)))


@dataclass(frozen=True)
class Staircase(Schedule):
    """Starts at `first` and is multiplied by ten every `every` steps until it has reached `last`.

    >>> [f"{Staircase(1e-9, 1e-7).at(t):.0e}" for t in (0, 10_000, 20_000, 50_000)]
    ['1e-09', '1e-08', '1e-07', '1e-07']
    """

    first: NotNegative
    last: NotNegative
    every: Count = 10_000

    def __post_init__(self) -> None:
        check_fields(self)

    def __str__(self) -> str:
        return f"{self.first:g}, times ten every {self.every:,} steps up to {self.last:g}"

    def at(self, step: int) -> float:
        return min(self.first * 10.0 ** (step // self.every), self.last)

    def scaled(self, factor: float) -> Staircase:
        return replace(self, every=max(1, round(self.every * factor)))


@dataclass(frozen=True)
class Late(Schedule):
    """`strength` once `after` steps have passed and the last validation error was below `error` (iNALU).

    >>> print(Late(0.05, after=10_000, error=1.0))
    0.05 after step 10,000, once the validation error is below 1
    """

    strength: Finite
    after: Index
    error: NotNegative

    def __post_init__(self) -> None:
        check_fields(self)

    def __str__(self) -> str:
        return f"{self.strength:g} after step {self.after:,}, once the validation error is below {self.error:g}"

    def at(self, step: int) -> float:
        return self.strength if step > self.after else 0.0

    def awake(self, validation_error: float) -> bool:
        """Whether the error it waits for is reached."""
        return validation_error < self.error

    def scaled(self, factor: float) -> Late:
        return replace(self, after=round(self.after * factor))


@dataclass(frozen=True)
class Clip:
    """Gradient clipping: the norm over all parameters of a run, then each value.

    >>> Recipe(clip=Clip(norm=0.5)).clip
    Clip(norm=0.5, value=None)
    """

    norm: Positive | None = None
    value: Positive | None = None

    def __post_init__(self) -> None:
        check_fields(self)


@dataclass(frozen=True)
class Restart:
    """iNALU's reinitialisation. The last validation error is noted at every step; every `check` steps, once more than
    `memory` notes are held, the weights are drawn anew if the later half of the notes is no better than the earlier one
    (mean earlier <= mean later + deviation of later) and its mean is above `error`. A restart empties the notes. The
    error that is noted is measured every `validate` steps, at most `memory`.

    >>> Recipe(restart=Restart(error=0.5)).restart
    Restart(check=10, memory=5000, error=0.5, validate=1000)
    """

    check: Count = 10
    memory: Count = 5_000
    error: NotNegative = 1.0
    validate: Count = 1_000

    def __post_init__(self) -> None:
        check_fields(self)
        if self.validate > self.memory:
            raise ValueError(f"{self!r} hears of an error too rarely; it needs validate <= memory.")


Loss = Literal["mse", "pcc", "mape", "huber"]


@dataclass(frozen=True)
class Switch:
    """One loss until step `at`, then another."""

    before: Loss
    after: Loss
    at: Index

    def __post_init__(self) -> None:
        check_fields(self)


@dataclass(frozen=True)
class Recipe:
    """Everything about training that is not the unit, the task or the seed.

    Args:
        penalties: strength of each pull by its name, for example {"to_grid": Ramp(10, 20_000, 35_000)}.
        gradient_noise: eta of the noise N(0, eta / (1 + step)^0.55) added to every gradient, 0 for none.

    >>> Recipe(penalties={"to_grid": Ramp(10, 20_000, 35_000)}).scaled(1_000).penalties["to_grid"]
    Ramp(to=10, start=400, end=700)
    """

    optimiser: Optimiser = field(default_factory=Adam)
    steps: Count = 50_000
    batch: Count = 128
    loss: Loss | Switch = "mse"
    penalties: Mapping[str, Schedule] = field(default_factory=dict)
    clip: Clip = field(default_factory=Clip)
    gradient_noise: NotNegative = 0.0
    restart: Restart | None = None

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def rate(self) -> float:
        """The learning rate."""
        return self.optimiser.rate

    @checks_arguments
    def at_rate(self, rate: NotNegative) -> Recipe:
        """The same recipe with another learning rate."""
        return replace(self, optimiser=self.optimiser.at_rate(rate))

    @checks_arguments
    def scaled(self, steps: Count) -> Recipe:
        """The same recipe in another number of steps: schedules keep their place relative to the whole."""
        factor = steps / self.steps
        penalties = {name: schedule.scaled(factor) for name, schedule in self.penalties.items()}
        loss = replace(self.loss, at=round(self.loss.at * factor)) if isinstance(self.loss, Switch) else self.loss
        return replace(self, steps=steps, penalties=penalties, loss=loss)
