"""What all ways of training a cohort share: its unit, batches of its task, and evaluation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeVar

import numpy as np
import torch
from torch import Tensor

from nalm.bench.distribution import Distribution
from nalm.bench.method import Stepwise
from nalm.bench.run import Run
from nalm.bench.task import SampledTask
from nalm.core.uniforms import Stream
from nalm.core.unit import Unit

Tensors = dict[str, Tensor]
Arrays = dict[str, np.ndarray]
Shape = tuple[int, ...]
M = TypeVar("M", bound=Stepwise)


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
class UnitOnTask(Generic[M]):
    """A cohort's unit on its task. `unit` decides over how many runs it works; `methods` are those of the runs."""

    unit: Unit
    task: SampledTask
    methods: Sequence[M]

    @property
    def method(self) -> M:
        """What all of them share: see `Method.shared`."""
        return self.methods[0]

    @cached_property
    def parameters(self) -> dict[str, Shape]:
        """Shapes of the trained tensors of one run."""
        skip = len(self.unit.runs)
        return {name: tuple(p.shape[skip:]) for name, p in self.unit.named_parameters()}

    def begin(self, parameters: Arrays) -> Arrays:
        """Everything that training carries on, before the first step: parameters, with a leading runs axis."""
        return parameters

    def shown(self, state: Arrays) -> Arrays:
        """The parameters that are evaluated and kept."""
        return {name: state[name] for name in self.parameters}

    @cached_property
    def draws(self) -> dict[str, tuple[int, Shape]]:
        """Stream and shape of the uniforms of one step and run, by name."""
        return {"x": (int(Stream.TRAIN), (self.task.draws, self.method.batch))}

    def constants(self, runs: Sequence[Run]) -> Arrays:
        """What differs between runs but not between steps, float32 with a leading runs axis."""
        tasks = [sampled(run) for run in runs]
        train = [task.train.numbers(task.in_features).numpy() for task in tasks]
        selection = [task.selection(run.seed).numpy() for task, run in zip(tasks, runs, strict=True)]
        return stacked({"train": train, "selection": selection})

    def evaluate(self, part: Distribution, state: Tensors, consts: Tensors, draws: Tensors) -> tuple[Tensors, Tensors]:
        """The task's error and measures in eval mode on `part`, whose numbers are `consts["part"]`."""
        x, t = self.task.sample(draws["x"], consts["part"], selected(consts), part)
        with substituted(self.unit, {name: state[name] for name in self.parameters}) as unit:
            y = unit.eval().compute(x)
            return {}, {"error": self.task.error(y, t), **self.task.measures(y, t)}

    @property
    def evaluation_shape(self) -> Shape:
        """Shape of the uniforms of an evaluation."""
        return (self.task.draws, self.task.samples)


def sampled(run: Run) -> SampledTask:
    """The run's task, if inputs can be drawn for it."""
    if not isinstance(run.task, SampledTask):
        method, task = type(run.method).__name__, type(run.task).__name__
        raise ValueError(f"{method} trains on tasks with drawn inputs (SampledTask); {task} is none.")
    return run.task


def stacked(columns: Mapping[str, Sequence[Any]]) -> Arrays:
    """One array per name, float32 with a leading runs axis; what is empty is left out."""
    arrays = {name: np.stack(values).astype(np.float32) for name, values in columns.items()}
    return {name: array for name, array in arrays.items() if array.size}


def selected(consts: Tensors) -> Tensor:
    """What the target needs to know of each run; nothing if the task needs nothing."""
    return consts["selection"] if "selection" in consts else torch.zeros(0)
