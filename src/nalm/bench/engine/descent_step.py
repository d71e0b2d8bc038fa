"""The single definition behind both engines: one training step as a pure torch function.

`step(state, consts, draws, clock) -> (new state, metrics)`: no Python state, nothing in place. With a unit of
`runs=()` it is the step of one run, which the native engine traces; with `runs=(R,)` the same code is the step of a
cohort, which the torch engine runs. Neither knows a unit's or a task's name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor

from nalm.bench.engine.losses import LOSSES
from nalm.bench.engine.unit_on_task import Arrays, Shape, Tensors, UnitOnTask, selected, stacked, substituted
from nalm.bench.method import Descent
from nalm.bench.run import Run
from nalm.core import semantics
from nalm.core.recipe import Recipe, Schedule, Switch
from nalm.core.uniforms import Stream, normal_quantile, supplied
from nalm.core.unit import Unit

T = TypeVar("T")


@dataclass(frozen=True)
class DescentStep(UnitOnTask[Descent]):
    """The step of a cohort's runs and what it needs."""

    @property
    def recipe(self) -> Recipe:
        """How they descend."""
        return self.method.recipe

    # -- what the step is given ----------------------------------------------------------------------------------

    def begin(self, parameters: Arrays) -> Arrays:
        """Parameters and the optimiser's slots."""
        slots = {name: self.recipe.optimiser.start(value) for name, value in parameters.items()}
        names = self.recipe.optimiser.slots
        return parameters | {f"{slot}:{name}": own[slot] for slot in names for name, own in slots.items()}

    def shown(self, state: Arrays) -> Arrays:
        return {n: self.recipe.optimiser.shown(state[n], self._slots(state, n)) for n in self.parameters}

    def _slots(self, state: Mapping[str, T], name: str) -> dict[str, T]:
        return {slot: state[f"{slot}:{name}"] for slot in self.recipe.optimiser.slots}

    @cached_property
    def state(self) -> dict[str, Shape]:
        """Shapes of everything the step carries on: parameters and the optimiser's slots."""
        slots = self.recipe.optimiser.slots
        return self.parameters | {f"{slot}:{n}": s for slot in slots for n, s in self.parameters.items()}

    @cached_property
    def draws(self) -> dict[str, tuple[int, Shape]]:
        """Stream and shape of the uniforms of one step and run: inputs, the unit's own noise, gradient noise."""
        found = dict(super().draws)
        for number, shape in enumerate(self._noise_shapes):
            found[f"noise{number}"] = (Stream.NOISE + (number << 8), shape)
        if self.recipe.gradient_noise:
            for number, (name, shape) in enumerate(self.parameters.items()):
                found[f"gradient:{name}"] = (Stream.GRADIENT + (number << 8), shape)
        return found

    @cached_property
    def _noise_shapes(self) -> list[Shape]:
        """Found by asking the unit: one forward pass in training mode that records what it draws."""
        shapes: list[Shape] = []

        def record(shape: Shape) -> Tensor:
            shapes.append(shape[len(self.unit.runs) :])
            return torch.full(shape, 0.5)

        with supplied(record), torch.no_grad():
            self.unit.train().compute(torch.ones(*self.unit.runs, self.unit.in_features, self.recipe.batch))
        return shapes

    @cached_property
    def clock_names(self) -> list[str]:
        """Numbers that depend on the step alone."""
        return list(self._clock_at(np.arange(1)))

    def clock(self, first: int, count: int) -> np.ndarray:
        """The clock's table `(count, names)`, computed in float64, kept as float32."""
        columns = list(self._clock_at(np.arange(first, first + count)).values())
        return np.asarray(columns).T.astype(np.float32, order="C").reshape(count, len(columns))

    def _clock_at(self, steps: np.ndarray) -> dict[str, np.ndarray]:
        now = {
            numbered(name, k): np.fromiter(map(schedule.at, steps.tolist()), float, len(steps))
            for name, schedules in self._schedules.items()
            for k, schedule in enumerate(schedules)
        }
        now |= self.recipe.optimiser.clock(steps)
        if self.recipe.gradient_noise:
            now["noise"] = semantics.noise_deviation(self.recipe, steps)
        if isinstance(self.recipe.loss, Switch):
            now["switched"] = (steps >= self.recipe.loss.at).astype(float)
        return now

    @cached_property
    def _schedules(self) -> dict[str, list[Schedule]]:
        """The different schedules of each penalty: runs of a group may differ in how strong it gets."""
        found = {}
        for name in self.recipe.penalties:
            own = [method.recipe.penalties[name] for method in self.methods]
            found[name] = [schedule for k, schedule in enumerate(own) if schedule not in own[:k]]
        return found

    def _choices(self) -> dict[str, list[list[float]]]:
        """A one for the run's own schedule and zeros for the others, `(runs, schedules)`, where there are several."""
        return {
            choice(name): [
                [float(method.recipe.penalties[name] == one) for one in schedules] for method in self.methods
            ]
            for name, schedules in self._schedules.items()
            if len(schedules) > 1
        }

    def constants(self, runs: Sequence[Run]) -> Arrays:
        """As for every method, with learning rates, chosen schedules, and whether each waiting penalty is awake yet."""
        asleep = {awake(name): [0.0] * len(runs) for name in self.method.waiting}
        rates = [method.recipe.rate for method in self.methods]
        return super().constants(runs) | stacked({"rate": rates, **asleep, **self._choices()})

    # -- the step ------------------------------------------------------------------------------------------------

    def step(self, state: Tensors, consts: Tensors, draws: Tensors, clock: Tensors) -> tuple[Tensors, Tensors]:
        """One training step: inputs, target, forward, loss, penalties, gradient, clipping, optimiser, projection."""
        parameters = {name: state[name] for name in self.parameters}
        x, t = self.task.sample(draws["x"], consts["train"], selected(consts), self.task.train)

        def objective(p: Tensors) -> tuple[Tensor, Tensor]:
            sources = iter([draws[f"noise{k}"] for k in range(len(self._noise_shapes))])
            with substituted(self.unit, p) as unit, supplied(lambda shape: next(sources).expand(shape)):
                loss = self._loss(unit.train().compute(x), t, clock)
                return (loss + self._penalty(unit, consts, clock)).sum(), loss

        gradients, loss = torch.func.grad(objective, has_aux=True)(parameters)
        gradients = semantics.clipped(self._noisy(gradients, draws, clock), self.recipe.clip, len(self.unit.runs))
        return self._updated(state, gradients, consts["rate"], clock), {"loss": loss}

    def _loss(self, y: Tensor, t: Tensor, clock: Tensors) -> Tensor:
        loss = self.recipe.loss
        if isinstance(loss, Switch):
            return torch.where(clock["switched"] > 0.5, LOSSES[loss.after](y, t), LOSSES[loss.before](y, t))
        return LOSSES[loss](y, t)

    def _penalty(self, unit: Unit, consts: Tensors, clock: Tensors) -> Tensor:
        strengths: dict[str, float | Tensor] = {name: self._strength(name, consts, clock) for name in self._schedules}
        strengths |= {name: strengths[name] * consts[awake(name)] for name in self.method.waiting}
        terms = unit.penalties() if strengths else {}
        return semantics.penalty(terms, strengths, torch.zeros(unit.runs))

    def _strength(self, name: str, consts: Tensors, clock: Tensors) -> Tensor:
        now = [clock[numbered(name, k)] for k in range(len(self._schedules[name]))]
        # a sum of zeros and one number is that number, to the last bit: who else is in the group changes no run
        return now[0] if len(now) == 1 else (consts[choice(name)] * torch.stack(now)).sum(-1)

    def _noisy(self, gradients: Tensors, draws: Tensors, clock: Tensors) -> Tensors:
        if not self.recipe.gradient_noise:
            return gradients
        normal = {name: normal_quantile(draws[f"gradient:{name}"]) for name in gradients}
        return semantics.noisy(gradients, clock["noise"], normal)

    def _updated(self, state: Tensors, gradients: Tensors, rate: Tensor, clock: Tensors) -> Tensors:
        new: Tensors = {}
        for name, gradient in gradients.items():
            speed = self._against(rate, name)
            value, own = self.recipe.optimiser.update(state[name], self._slots(state, name), gradient, speed, clock)
            box = self._boxes.get(name)
            new[name] = value if box is None else value.clamp(*box)
            new |= {f"{slot}:{name}": v for slot, v in own.items()}
        return new

    @cached_property
    def _boxes(self) -> dict[str, tuple[float, float]]:
        return dict(self.unit.boxes())

    def _against(self, per_run: Tensor, name: str) -> Tensor:
        """A number per run, shaped to multiply a parameter."""
        return per_run.reshape(*per_run.shape, *[1] * len(self.parameters[name]))


def numbered(penalty: str, schedule: int) -> str:
    """The number of the clock that says how strong a penalty is by one of its schedules."""
    return f"penalty:{penalty}:{schedule}"


def choice(penalty: str) -> str:
    """The constant that says, run by run, which of its schedules holds."""
    return f"choice:{penalty}"


def awake(penalty: str) -> str:
    """The constant that says, run by run, whether a waiting penalty is on."""
    return f"awake:{penalty}"
