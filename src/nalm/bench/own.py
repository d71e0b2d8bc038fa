"""What users bring in a file of their own: a study, or a task to try units on; and a look at their units in time."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from nalm.bench.find import from_file
from nalm.bench.method import Descent
from nalm.bench.run import Model, single
from nalm.bench.study import Cell, Study
from nalm.bench.task import SampledTask, Task
from nalm.bench.tasks.arithmetic import RANGES
from nalm.core.unit import Unit

TRIAL_RUNS, TRIAL_SAMPLES = 3, 8  # enough to see whether shapes are right, and different from each other
ALIKE = 1e-3  # relative: a run among others may round otherwise, but not compute something else


def study_from_file(reference: str, units: Sequence[str]) -> Study:
    """The study that `my_study.py:STUDY` names, or one of `units` on the task that `my_task.py:Task` names.

    A task's class is tried on the nine ranges of the literature, a task itself as it is; every unit is trained by its
    own recipe.
    """
    found = from_file(reference)
    if isinstance(found, Study):
        return found
    tasks = _tasks(reference, found)
    if not units:
        raise ValueError(f"{reference} is a task; say which units to train on it, for example --unit NMU,NAU")
    cells = [
        Cell(model.label, task.range or task.operation, model, task, Descent(model.layers[0].recipe))
        for unit in dict.fromkeys(units)
        for task in tasks
        for model in [single(unit, task.in_features, task.out_features)]
    ]
    return Study(reference, f"{reference.rpartition(':')[2]}, a task of your own", "", tuple(cells))


def _tasks(reference: str, found: object) -> list[Task]:
    if isinstance(found, Task):
        return [found]
    if not (isinstance(found, type) and issubclass(found, SampledTask)):
        what = f"the class {found.__name__}" if isinstance(found, type) else f"a {type(found).__name__}"
        raise ValueError(f"{reference} is {what}; it must be a Study, a Task, or a class derived from SampledTask")
    try:
        tasks: list[Task] = [found(train, test) for train, test in RANGES.values()]
        for task in tasks:
            if not isinstance(task.in_features, int) or not isinstance(task.operation, str) or not task.structure:
                raise TypeError("it needs in_features, operation and structure")
        return tasks
    except Exception as error:
        raise ValueError(f"{reference} cannot be made from a range to train and one to test on: {error}") from error


def check_model(model: Model, task: Task) -> None:
    """Try a model on a few inputs, so that a mistake in a user's unit is one sentence before anything is trained."""
    if not isinstance(task, SampledTask):
        return
    for runs in ((), (TRIAL_RUNS,)):
        unit, x = _check_shapes(model, task, runs)
    _check_runs(model.label, unit, x)


def _check_runs(label: str, unit: Unit, x: torch.Tensor) -> None:
    """Each run has its own weights, and computes among others what it computes alone."""
    for name, parameter in unit.named_parameters():
        if parameter.shape[:1] != (TRIAL_RUNS,):
            raise ValueError(
                f"{label}: the parameter {name} has the shape {tuple(parameter.shape)} for {TRIAL_RUNS} runs, so they "
                f"would share it; declare it in the class body: {name.rpartition('.')[2]} = nalm.Weight(...)."
            )
    with torch.no_grad():
        together = unit.eval().compute(x)
        for run in range(TRIAL_RUNS):
            if not torch.allclose(unit[run].eval().compute(x[run]), together[run], ALIKE, ALIKE, equal_nan=True):
                raise ValueError(
                    f"{label}: compute mixes runs: one of {TRIAL_RUNS} gives another output than it gives alone. "
                    "Inputs are (*runs, in, samples); use negative axes only."
                )


def _check_shapes(model: Model, task: SampledTask, runs: tuple[int, ...]) -> tuple[Unit, torch.Tensor]:
    """The model and the inputs it was tried on."""
    try:
        unit = model.build(runs)
        x = torch.rand(*runs, task.in_features, TRIAL_SAMPLES) + 1
        y = unit.compute(x)
    except Exception as error:
        made = ", ".join(map(str, (task.in_features, task.out_features, *([runs] if runs else []))))
        raise ValueError(
            f"{model.label} cannot be used: {type(error).__name__}: {str(error).rstrip('.')}. It is made as "
            f"{model.label}({made}) and gets inputs (*runs, in, samples); use negative axes only."
        ) from error
    wanted = (*runs, task.out_features, TRIAL_SAMPLES)
    if not isinstance(y, torch.Tensor) or not y.is_floating_point():
        got = f"a tensor of {y.dtype}" if isinstance(y, torch.Tensor) else f"a {type(y).__name__}"
        raise ValueError(f"{model.label}: compute returned {got}; it must return a tensor of floats")
    if y.shape != wanted:
        raise ValueError(
            f"{model.label}: compute returned the shape {tuple(y.shape)} for inputs {tuple(x.shape)}; "
            f"it must be {wanted}, that is (*runs, out, samples)"
        )
    if not any(parameter.requires_grad for parameter in unit.parameters()) or not y.requires_grad:
        raise ValueError(f"{model.label}: the output depends on no weight, so there is nothing to train")
    return unit, x
