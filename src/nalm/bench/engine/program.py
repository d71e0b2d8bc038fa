"""The single definition behind both engines: one training step as a pure torch function.

`step(state, consts, draws, clock) -> (new state, metrics)`: no Python state, nothing in place. With a unit of
`runs=()` it is the step of one run, which the native engine traces; with `runs=(R,)` the same code is the step of a
cohort, which the torch engine runs. Neither knows a unit's or a task's name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from nalm.bench.distribution import Distribution
from nalm.bench.engine import optimisers
from nalm.bench.engine.losses import LOSSES, mse
from nalm.bench.run import Run
from nalm.bench.task import SAMPLES, Task
from nalm.core.recipe import Late, Recipe, Switch
from nalm.core.uniforms import Stream, normal_quantile, supplied
from nalm.core.unit import Unit

Tensors = dict[str, Tensor]
Arrays = dict[str, np.ndarray]
Shape = tuple[int, ...]


@contextmanager
def substituted(unit: Unit, parameters: Mapping[str, Tensor]) -> Iterator[Unit]:
    """Within the context the unit computes with `parameters` instead of its own."""
    owners = []
    for path, value in parameters.items():
        prefix, _, name = path.rpartition(".")
        owner = unit.get_submodule(prefix)
        owners.append((owner, name, owner._parameters[name]))
        owner._parameters[name] = value  # type: ignore[assignment]
    try:
        yield unit
    finally:
        for owner, name, original in owners:
            owner._parameters[name] = original


@dataclass(frozen=True)
class Program:
    """The step of a cohort's runs and what it needs. `unit` decides over how many runs it works."""

    unit: Unit
    task: Task
    recipe: Recipe

    # -- what the step is given ----------------------------------------------------------------------------------

    @cached_property
    def parameters(self) -> dict[str, Shape]:
        """Shapes of the trained tensors of one run."""
        skip = len(self.unit.runs)
        return {name: tuple(p.shape[skip:]) for name, p in self.unit.named_parameters()}

    @cached_property
    def state(self) -> dict[str, Shape]:
        """Shapes of everything the step carries on: parameters and the optimiser's slots."""
        slots = optimisers.slot_names(self.recipe.optimiser)
        return self.parameters | {f"{slot}:{n}": s for slot in slots for n, s in self.parameters.items()}

    @cached_property
    def draws(self) -> dict[str, tuple[int, Shape]]:
        """Stream and shape of the uniforms of one step and run: inputs, the unit's own noise, gradient noise."""
        found: dict[str, tuple[int, Shape]] = {"x": (int(Stream.TRAIN), (self.task.draws, self.recipe.batch))}
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
        schedules = self.recipe.penalties.items()
        now = {f"penalty:{n}": np.fromiter(map(s.at, steps.tolist()), float, len(steps)) for n, s in schedules}
        now |= optimisers.clock(self.recipe.optimiser, steps)
        if self.recipe.gradient_noise:
            now["noise"] = np.sqrt(self.recipe.gradient_noise / (1 + steps) ** 0.55)
        if isinstance(self.recipe.loss, Switch):
            now["switched"] = (steps >= self.recipe.loss.at).astype(float)
        return now

    def constants(self, runs: Sequence[Run]) -> dict[str, np.ndarray]:
        """What differs between runs but not between steps, float32 with a leading runs axis."""
        rows: dict[str, list[np.ndarray]] = {"train": [], "selection": [], "rate": [], "late": []}
        for run in runs:
            rows["train"].append(run.task.train.numbers(run.task.in_features).numpy())
            rows["selection"].append(run.task.selection(run.seed).numpy())
            rows["rate"].append(np.asarray(run.recipe.rate))
            rows["late"].append(np.asarray(0.0))
        arrays = {name: np.stack(values).astype(np.float32) for name, values in rows.items()}
        if not any(isinstance(s, Late) for s in self.recipe.penalties.values()):
            del arrays["late"]
        return {name: a for name, a in arrays.items() if a.size}

    # -- the step ------------------------------------------------------------------------------------------------

    def step(self, state: Tensors, consts: Tensors, draws: Tensors, clock: Tensors) -> tuple[Tensors, Tensors]:
        """One training step: inputs, target, forward, loss, penalties, gradient, clipping, optimiser, projection."""
        parameters = {name: state[name] for name in self.parameters}
        x, t = self.task.sample(draws["x"], consts["train"], _selection(consts), self.task.train)

        def objective(p: Tensors) -> tuple[Tensor, Tensor]:
            sources = iter([draws[f"noise{k}"] for k in range(len(self._noise_shapes))])
            with substituted(self.unit, p) as unit, supplied(lambda shape: next(sources).expand(shape)):
                loss = self._loss(unit.train().compute(x), t, clock)
                return (loss + self._penalty(unit, consts, clock)).sum(), loss

        gradients, loss = torch.func.grad(objective, has_aux=True)(parameters)
        gradients = self._clipped(self._noisy(gradients, draws, clock))
        return self._updated(state, gradients, consts["rate"], clock), {"loss": loss}

    def _loss(self, y: Tensor, t: Tensor, clock: Tensors) -> Tensor:
        loss = self.recipe.loss
        if isinstance(loss, Switch):
            return torch.where(clock["switched"] > 0.5, LOSSES[loss.after](y, t), LOSSES[loss.before](y, t))
        return LOSSES[loss](y, t)

    def _penalty(self, unit: Unit, consts: Tensors, clock: Tensors) -> Tensor:
        total = torch.zeros(unit.runs)
        terms = unit.penalties() if self.recipe.penalties else {}
        for name, schedule in self.recipe.penalties.items():
            if name in terms:
                strength = clock[f"penalty:{name}"]
                total = total + terms[name] * (strength * consts["late"] if isinstance(schedule, Late) else strength)
        return total

    def _noisy(self, gradients: Tensors, draws: Tensors, clock: Tensors) -> Tensors:
        if not self.recipe.gradient_noise:
            return gradients
        return {n: g + clock["noise"] * normal_quantile(draws[f"gradient:{n}"]) for n, g in gradients.items()}

    def _clipped(self, gradients: Tensors) -> Tensors:
        """The norm over all parameters of a run first, then single values, as in PyTorch's two functions."""
        clip = self.recipe.clip
        if clip.norm is not None:
            squares = [g.square().sum(self._own_axes(n)) for n, g in gradients.items()]
            norm = torch.stack(squares).sum(0).sqrt()
            factor = (clip.norm / (norm + 1e-6)).clamp(max=1.0)
            gradients = {n: g * self._against(factor, n) for n, g in gradients.items()}
        if clip.value is not None:
            gradients = {n: g.clamp(-clip.value, clip.value) for n, g in gradients.items()}
        return gradients

    def _updated(self, state: Tensors, gradients: Tensors, rate: Tensor, clock: Tensors) -> Tensors:
        slots = optimisers.slot_names(self.recipe.optimiser)
        new: Tensors = {}
        for name, gradient in gradients.items():
            own = {slot: state[f"{slot}:{name}"] for slot in slots}
            speed = self._against(rate, name)
            value, own = optimisers.update(self.recipe.optimiser, state[name], own, gradient, speed, clock)
            box = self._boxes.get(name)
            new[name] = value if box is None else value.clamp(*box)
            new |= {f"{slot}:{name}": v for slot, v in own.items()}
        return new

    @cached_property
    def _boxes(self) -> dict[str, tuple[float, float]]:
        return dict(self.unit.boxes())

    def _own_axes(self, name: str) -> tuple[int, ...]:
        return tuple(range(-len(self.parameters[name]), 0))

    def _against(self, per_run: Tensor, name: str) -> Tensor:
        """A number per run, shaped to multiply a parameter."""
        return per_run.reshape(*per_run.shape, *[1] * len(self.parameters[name]))

    # -- evaluation ----------------------------------------------------------------------------------------------

    def evaluate(self, part: Distribution, state: Tensors, consts: Tensors, draws: Tensors) -> tuple[Tensors, Tensors]:
        """Mean squared error in eval mode on `part`, whose numbers are `consts["part"]`."""
        x, t = self.task.sample(draws["x"], consts["part"], _selection(consts), part)
        with substituted(self.unit, {name: state[name] for name in self.parameters}) as unit:
            return {}, {"error": mse(unit.eval().compute(x), t)}

    @property
    def evaluation_shape(self) -> Shape:
        """Shape of the uniforms of an evaluation."""
        return (self.task.draws, SAMPLES)


def _selection(consts: Tensors) -> Tensor:
    return consts["selection"] if "selection" in consts else torch.zeros(0)
