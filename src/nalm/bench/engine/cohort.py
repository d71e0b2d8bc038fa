"""Runs that share a structure, trained together: marks, evaluations, restarts, retirement, checkpoints, results."""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, Generic, TypeVar

import numpy as np
import torch

from nalm.bench.distribution import Distribution
from nalm.bench.engine.backend import Backend
from nalm.bench.engine.checkpoints import Checkpoint
from nalm.bench.engine.descent_step import awake
from nalm.bench.engine.options import Options, Progress
from nalm.bench.engine.records import described
from nalm.bench.engine.restart import Notes
from nalm.bench.engine.settings import SETTINGS
from nalm.bench.engine.unit_on_task import Arrays, M, UnitOnTask, sampled, substituted
from nalm.bench.results.store import Store
from nalm.bench.run import Run
from nalm.bench.task import SampledTask
from nalm.core.uniforms import Stream
from nalm.core.unit import Unit

P = TypeVar("P", bound=UnitOnTask[Any])
Mark = dict[str, np.ndarray]
"""One evaluation: named numbers of each run, `(runs,)`."""


class Cohort(Generic[M, P]):
    """The state of a cohort's training. Pure bookkeeping: a back end does the arithmetic.

    Args:
        put: makes the unit on its task from unit, task and the methods of the runs.
    """

    def __init__(self, runs: Sequence[Run], put: Callable[[Unit, SampledTask, Sequence[M]], P]) -> None:
        self.began = time.monotonic()
        self.runs = list(runs)
        self.tasks = [sampled(run) for run in runs]
        self.every = runs[0].every
        self.seeds = np.asarray([run.seed for run in runs], dtype=np.int64)
        self.unit = runs[0].model.build((len(runs),))
        self.unit.reset_parameters(torch.from_numpy(self.seeds))
        methods: list[M] = [run.method for run in runs]  # type: ignore[misc]
        self.unit_on_task = put(self.unit, self.tasks[0], methods)
        self.method: M = self.unit_on_task.method
        self.state = self.unit_on_task.begin({n: p.detach().numpy().copy() for n, p in self.unit.named_parameters()})
        self.consts = self.unit_on_task.constants(runs)
        self.thresholds = np.asarray([task.threshold() for task in self.tasks])
        self.step = 0
        self.alive = np.ones(len(runs), bool)
        self.nonfinite = np.full(len(runs), -1, np.int64)
        self.restarts = np.zeros(len(runs), np.int64)
        self.heard = np.full(len(runs), np.inf, np.float32)  # the validation error that rules and penalties go by
        self.notes = [Notes() for _ in runs]
        self.seconds = 0.0
        self.marks: list[Mark] = []
        self._parts = _test_parts(self.tasks)

    @cached_property
    def one(self) -> Unit:
        """A single unit of the same kind, for what is done run by run."""
        return self.runs[0].model.build(())

    # -- training ------------------------------------------------------------------------------------------------

    def train(self, backend: Backend, after_mark: Callable[[Cohort[M, P]], None]) -> None:
        """To the end. `after_mark` is called after each evaluation with the cohort in a state that can be saved."""
        while True:
            if not self._evaluated:
                self._evaluate(backend)
                after_mark(self)
            if self.step >= self.method.steps or not self.alive.any():
                return
            self._advance_to(min(self._next_mark, self.method.steps), backend)

    @property
    def retired(self) -> np.ndarray:
        """Runs that stopped because they were done, `(runs,)`."""
        return ~self.alive & (self.nonfinite < 0)

    @property
    def _evaluated(self) -> bool:
        return bool(self.marks) and self.marks[-1]["step"][0] == self.step

    @property
    def _next_mark(self) -> int:
        return (self.step // self.every + 1) * self.every

    @property
    def solved(self) -> int:
        """Runs below their threshold at the last evaluation, or retired."""
        return int(((self.marks[-1]["test_error"] < self.thresholds) | self.retired).sum()) if self.marks else 0

    def _evaluate(self, backend: Backend) -> None:
        validation = self._validation(backend)
        unknown = np.full(len(self.runs), np.nan, np.float32)
        test: Mark = {"error": unknown}
        shown = self.unit_on_task.shown(self.state)
        for part, chosen, numbers in self._parts:
            found = backend.evaluate(part, Stream.TEST, shown, self._with_part(numbers), chosen & self.alive)
            test |= {name: np.where(chosen, values, test.get(name, unknown)) for name, values in found.items()}
        steps = np.full(len(self.runs), self.step, np.float32)
        error, sparsity = test.pop("error"), self._sparsity()
        self.marks.append(
            {"step": steps, "validation_error": validation, "test_error": error, "sparsity": sparsity, **test}
        )
        if self.runs[0].retire and self.step >= self.method.earliest_end:
            self.alive &= ~((error < self.thresholds) & (sparsity < SETTINGS.on_grid))

    def _validation(self, backend: Backend) -> np.ndarray:
        shown, consts = self.unit_on_task.shown(self.state), self._with_part(self.consts["train"])
        return backend.evaluate(self.tasks[0].train, Stream.VALIDATION, shown, consts, self.alive)["error"]

    def _with_part(self, numbers: np.ndarray) -> Arrays:
        own = {"selection": self.consts["selection"]} if "selection" in self.consts else {}
        return {"part": numbers, **own}

    @torch.no_grad()
    def _sparsity(self) -> np.ndarray:
        parameters = {n: torch.from_numpy(value) for n, value in self.unit_on_task.shown(self.state).items()}
        with substituted(self.unit, parameters) as unit:
            result: np.ndarray = unit.sparsity().numpy()
            return result

    def _advance_to(self, mark: int, backend: Backend) -> None:
        rule = self.method.restart
        if rule is None and not self.method.waiting:
            self._steps(mark, backend)
            return
        interval = rule.validate if rule else SETTINGS.validate
        while self.step < mark:
            end = min(mark, (self.step // interval + 1) * interval)
            if self.step % interval == 0:  # the rule's own validation: how often we look does not change it
                self.heard = self.marks[-1]["validation_error"] if self._evaluated else self._validation(backend)
                self._wake(self.heard)
            for step, chosen in self._planned_restarts(self.heard, end):
                self._steps(step + 1, backend)  # the published loop restarts at the end of a step
                self._draw_anew(chosen)
            self._steps(end, backend)

    def _wake(self, errors: np.ndarray) -> None:
        """Penalties that wait for a validation error are on where it is reached."""
        for name, late in self.method.waiting.items():
            self.consts[awake(name)] = np.asarray([late.awake(error) for error in errors.tolist()], np.float32)

    def _planned_restarts(self, errors: np.ndarray, end: int) -> list[tuple[int, list[int]]]:
        """Which runs draw anew at the end of which step before `end`."""
        rule, planned = self.method.restart, dict[int, list[int]]()
        if rule is None:
            return []
        for index in np.flatnonzero(self.alive):
            step = self.notes[index].take(rule, self.step, float(errors[index]), end - self.step)
            if step is not None:
                planned.setdefault(step, []).append(int(index))
        return sorted(planned.items())

    def _draw_anew(self, chosen: list[int]) -> None:
        """New initial weights; the optimiser's memory stays, as published."""
        for index in chosen:
            self.restarts[index] += 1
            self.one.reset_parameters(int(self.seeds[index]), attempt=int(self.restarts[index]))
            for name, parameter in self.one.named_parameters():
                self.state[name][index] = parameter.detach().numpy()

    def _steps(self, end: int, backend: Backend) -> None:
        if end > self.step and self.alive.any():
            backend.advance(self.state, self.consts, self.seeds, self.step, end - self.step, self.alive)
        self.step = end
        finite = np.ones(len(self.runs), bool)
        for name in self.unit_on_task.parameters:
            finite &= np.isfinite(self.state[name]).reshape(len(self.runs), -1).all(1)
        self.nonfinite[self.alive & ~finite] = end
        self.alive &= finite

    # -- keeping -------------------------------------------------------------------------------------------------

    def dump(self) -> bytes:
        """Everything needed to continue, as an npz archive without pickles."""
        arrays: dict[str, Any] = {name: getattr(self, name) for name in (*_PLAIN, "seconds", "step")}
        arrays |= {f"notes/{i}": np.asarray([n.errors, n.counts], np.float64) for i, n in enumerate(self.notes)}
        arrays |= {f"state/{name}": value for name, value in self.state.items()}
        arrays |= {f"curve/{name}": np.stack([mark[name] for mark in self.marks]) for name in self.marks[0]}
        buffer = io.BytesIO()
        np.savez(buffer, **arrays)
        return buffer.getvalue()

    def load(self, blob: bytes) -> None:
        """Continue from `dump`; if it cannot be read, an error, and nothing has changed."""
        with np.load(io.BytesIO(blob), allow_pickle=False) as archive:
            saved = {name: archive[name] for name in archive.files}
        state = {name: saved[f"state/{name}"] for name in self.state}
        plain = {name: saved[name] for name in _PLAIN}
        pairs = [saved[f"notes/{i}"] for i in range(len(self.runs))]
        notes = [Notes(list(errors), [int(count) for count in counts]) for errors, counts in pairs]
        curves = {name.removeprefix("curve/"): values for name, values in saved.items() if name.startswith("curve/")}
        marks = [dict(zip(curves, at, strict=True)) for at in zip(*curves.values(), strict=True)]
        wrong = [name for name, value in self.state.items() if state[name].shape != value.shape]
        if wrong or not marks or any(len(value) != len(self.runs) for value in (*plain.values(), *marks[-1].values())):
            raise ValueError("a checkpoint of other runs")
        self.step, self.seconds = int(saved["step"]), float(saved["seconds"])
        self.state, self.notes, self.marks = state, notes, marks
        for name, value in plain.items():
            setattr(self, name, value)
        self._wake(self.heard)

    def records(self, engine: str) -> list[dict[str, Any]]:
        """One record per run for the store; the time is the cohort's, shared equally."""
        curves = {name: np.stack([mark[name] for mark in self.marks]) for name in self.marks[0]}
        shown = self.unit_on_task.shown(self.state)
        return [self._record(i, engine, {n: c[:, i] for n, c in curves.items()}, shown) for i in range(len(self.runs))]

    def _record(self, index: int, engine: str, curve: Mark, shown: Arrays) -> dict[str, Any]:
        threshold = float(self.thresholds[index])
        errors = curve["validation_error"]
        validation = np.where(np.isfinite(errors), errors, np.inf)[-SETTINGS.window :]
        best = len(errors) - len(validation) + int(np.argmin(validation))
        chosen = {name: float(values[best]) for name, values in curve.items()}
        solved = bool(np.isfinite(validation).any() and chosen["test_error"] < threshold)
        # in float64 like `solved`: rounded to float32 the threshold may equal an error that is below it
        crossed = np.flatnonzero(curve["test_error"].astype(np.float64) < threshold)
        return described(self.runs[index], engine) | {
            "solved": solved,
            "solved_at": int(curve["step"][crossed[0]]) if solved else None,
            "selected_step": int(chosen.pop("step")),
            **chosen,
            "threshold": threshold,
            "reinitialisations": int(self.restarts[index]),
            "nonfinite_step": int(self.nonfinite[index]) if self.nonfinite[index] >= 0 else None,
            "seconds": self.seconds / len(self.runs),
            "weights": {name: value[index].tolist() for name, value in shown.items()},
            "curve": curve,
        }


_PLAIN = ("alive", "nonfinite", "restarts", "heard")


def train_cohort(cohort: Cohort[M, P], backend: Backend, store: Store | None, options: Options) -> list[dict[str, Any]]:
    """Train a cohort to its end, with progress and checkpoints; returns a record per run."""
    last_mark, last_step = cohort.began, 0  # what a checkpoint brought counts as progress, too
    checkpoint = Checkpoint(store if backend.resumable else None, cohort.runs, backend.name, options)
    checkpoint.resume(cohort.load)

    def after_mark(now: Cohort[M, P]) -> None:
        nonlocal last_mark, last_step
        moment = time.monotonic()
        now.seconds += moment - last_mark
        options.progress(Progress(now.runs, now.step, now.step - last_step, now.solved))
        last_mark, last_step = moment, now.step
        checkpoint.offer(now.step, now.dump)

    cohort.train(backend, after_mark)
    return cohort.records(backend.name)


def _test_parts(tasks: Sequence[SampledTask]) -> list[tuple[Distribution, np.ndarray, np.ndarray]]:
    """Test distributions by kind: an example, who has it `(runs,)`, its numbers with a leading runs axis."""
    kinds = [type(task.test).__name__ for task in tasks]
    parts = []
    for kind in dict.fromkeys(kinds):
        chosen = np.asarray([k == kind for k in kinds])
        example = tasks[int(np.argmax(chosen))].test
        own = [task.test if has else example for task, has in zip(tasks, chosen, strict=True)]
        numbers = np.stack([part.numbers(tasks[0].in_features).numpy() for part in own]).astype(np.float32)
        parts.append((example, chosen, numbers))
    return parts
