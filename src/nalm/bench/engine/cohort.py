"""Runs that share a structure, trained together: marks, evaluations, restarts, retirement, checkpoints, results."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from nalm.bench.distribution import Distribution
from nalm.bench.engine.backend import Backend
from nalm.bench.engine.program import Arrays, Program, substituted
from nalm.bench.engine.restart import Notes
from nalm.bench.run import Run
from nalm.core.recipe import Late, Ramp
from nalm.core.uniforms import Stream

VALIDATE = 1_000  # steps between the validations that penalties wait for
WINDOW = 5_000  # the best step is looked for among this many last evaluations, as published
ON_GRID = 1e-5  # a run may retire once no weight is further from its grid: the error that success allows per weight


class Cohort:
    """The state of a cohort's training. Pure bookkeeping: a back end does the arithmetic."""

    def __init__(self, runs: Sequence[Run]) -> None:
        self.runs = list(runs)
        self.recipe = runs[0].recipe
        self.every = runs[0].every
        self.seeds = np.asarray([run.seed for run in runs], dtype=np.int64)
        self.unit = runs[0].model.build((len(runs),))
        self.unit.reset_parameters(torch.from_numpy(self.seeds))
        self.program = Program(self.unit, runs[0].task, self.recipe)
        parameters = {n: p.detach().numpy().copy() for n, p in self.unit.named_parameters()}
        shapes = self.program.state.items()
        self.state: Arrays = {n: parameters.get(n, np.zeros((len(runs), *s), np.float32)) for n, s in shapes}
        self.consts = self.program.constants(runs)
        self.thresholds = np.asarray([run.task.threshold() for run in runs])
        self.step = 0
        self.alive = np.ones(len(runs), bool)
        self.nonfinite = np.full(len(runs), -1, np.int64)
        self.restarts = np.zeros(len(runs), np.int64)
        self.heard = np.full(len(runs), np.inf, np.float32)  # the validation error that rules and penalties go by
        self.notes = [Notes() for _ in runs]
        self.seconds = 0.0
        self._marks = 0
        self._lines = np.empty((-(-self.recipe.steps // self.every) + 1, len(runs), 4), np.float32)
        self._parts = _test_parts(self.runs)

    # -- training ------------------------------------------------------------------------------------------------

    def train(self, backend: Backend, after_mark: Callable[[Cohort], None]) -> None:
        """To the end. `after_mark` is called after each evaluation with the cohort in a state that can be saved."""
        while True:
            if not self._evaluated:
                self._evaluate(backend)
                after_mark(self)
            if self.step >= self.recipe.steps or not self.alive.any():
                return
            self._advance_to(min(self._next_mark, self.recipe.steps), backend)

    @property
    def curve(self) -> np.ndarray:
        """Step, validation error, test error and sparsity error of each evaluation so far, `(marks, runs, 4)`."""
        return self._lines[: self._marks]

    @property
    def retired(self) -> np.ndarray:
        """Runs that stopped because they were done, `(runs,)`."""
        return ~self.alive & (self.nonfinite < 0)

    @property
    def _evaluated(self) -> bool:
        return bool(len(self.curve)) and self.curve[-1, 0, 0] == self.step

    @property
    def _next_mark(self) -> int:
        return (self.step // self.every + 1) * self.every

    @property
    def solved(self) -> int:
        """Runs below their threshold at the last evaluation, or retired."""
        return int(((self.curve[-1, :, 2] < self.thresholds) | self.retired).sum()) if self._marks else 0

    def _evaluate(self, backend: Backend) -> None:
        validation = self._validation(backend)
        test = np.full(len(self.runs), np.nan, np.float32)
        for part, chosen, numbers in self._parts:
            errors = backend.evaluate(part, Stream.TEST, self.state, self._with_part(numbers), chosen & self.alive)
            test = np.where(chosen, errors, test)
        steps = np.full(len(self.runs), self.step, np.float32)
        self._lines[self._marks] = np.stack([steps, validation, test, self._sparsity()], -1)
        self._marks += 1
        if self.runs[0].retire and self.step >= self._ramps_end:
            _, _, test, sparsity = self.curve[-1].T
            self.alive &= ~((test < self.thresholds) & (sparsity < ON_GRID))

    @property
    def _ramps_end(self) -> int:
        return max((s.end for s in self.recipe.penalties.values() if isinstance(s, Ramp)), default=0)

    def _validation(self, backend: Backend) -> np.ndarray:
        train = self.runs[0].task.train
        return backend.evaluate(train, Stream.VALIDATION, self.state, self._with_part(self.consts["train"]), self.alive)

    def _with_part(self, numbers: np.ndarray) -> Arrays:
        own = {"selection": self.consts["selection"]} if "selection" in self.consts else {}
        return {"part": numbers, **own}

    @torch.no_grad()
    def _sparsity(self) -> np.ndarray:
        parameters = {n: torch.from_numpy(self.state[n]) for n in self.program.parameters}
        with substituted(self.unit, parameters) as unit:
            result: np.ndarray = unit.sparsity().numpy()
            return result

    def _advance_to(self, mark: int, backend: Backend) -> None:
        rule = self.recipe.restart
        waiting = any(isinstance(s, Late) for s in self.recipe.penalties.values())
        if rule is None and not waiting:
            self._steps(mark, backend)
            return
        interval = rule.validate if rule else VALIDATE
        while self.step < mark:
            end = min(mark, (self.step // interval + 1) * interval)
            if self.step % interval == 0:  # the rule's own validation: how often we look does not change it
                self.heard = self.curve[-1, :, 1] if self._evaluated else self._validation(backend)
                self._arm(self.heard)
            for step, chosen in self._planned_restarts(self.heard, end):
                self._steps(step, backend)
                self._draw_anew(chosen)
            self._steps(end, backend)

    def _arm(self, errors: np.ndarray) -> None:
        """Penalties that wait for a validation error are on where it is reached."""
        for schedule in self.recipe.penalties.values():
            if isinstance(schedule, Late):
                self.consts["late"] = (errors < schedule.error).astype(np.float32)

    def _planned_restarts(self, errors: np.ndarray, end: int) -> list[tuple[int, list[int]]]:
        planned: dict[int, list[int]] = {}
        count = end - self.step
        for index in np.flatnonzero(self.alive):
            notes, error = self.notes[index], float(errors[index])
            rule = self.recipe.restart
            step = notes.restart_within(rule, self.step, error, count) if rule else None
            if step is None:
                notes.add(error, count)
            else:
                planned.setdefault(step, []).append(int(index))
                self.notes[index] = Notes([error], [end - step])
        return sorted(planned.items())

    def _draw_anew(self, chosen: list[int]) -> None:
        """New initial weights; the optimiser's memory stays, as published."""
        for index in chosen:
            self.restarts[index] += 1
            fresh = self.runs[index].model.build(())
            fresh.reset_parameters(int(self.seeds[index]), attempt=int(self.restarts[index]))
            for name, parameter in fresh.named_parameters():
                self.state[name][index] = parameter.detach().numpy()

    def _steps(self, end: int, backend: Backend) -> None:
        if end > self.step and self.alive.any():
            backend.advance(self.state, self.consts, self.seeds, self.step, end - self.step, self.alive)
        self.step = end
        finite = np.ones(len(self.runs), bool)
        for name in self.program.parameters:
            finite &= np.isfinite(self.state[name]).reshape(len(self.runs), -1).all(1)
        self.nonfinite[self.alive & ~finite] = end
        self.alive &= finite

    # -- keeping -------------------------------------------------------------------------------------------------

    def dump(self) -> bytes:
        """Everything needed to continue, as an npz archive without pickles."""
        notes = {f"notes/{i}": np.asarray([n.errors, n.counts], np.float64) for i, n in enumerate(self.notes)}
        names = ("alive", "nonfinite", "restarts", "heard", "curve", "seconds", "step")
        plain = {name: getattr(self, name) for name in names}
        state = {f"state/{name}": value for name, value in self.state.items()}
        buffer = io.BytesIO()
        np.savez(buffer, **plain, **notes, **state)  # type: ignore[arg-type]
        return buffer.getvalue()

    def load(self, blob: bytes) -> None:
        """Continue from `dump`."""
        with np.load(io.BytesIO(blob), allow_pickle=False) as saved:
            self.step, self.seconds = int(saved["step"]), float(saved["seconds"])
            for name in ("alive", "nonfinite", "restarts", "heard"):
                setattr(self, name, saved[name])
            curve = saved["curve"]
            self._marks = len(curve)
            self._lines[: self._marks] = curve
            self.state = {name: saved[f"state/{name}"] for name in self.state}
            pairs = [saved[f"notes/{i}"] for i in range(len(self.runs))]
        self.notes = [Notes(list(e), [int(c) for c in n]) for e, n in pairs]
        self._arm(self.heard)

    def rows(self, engine: str) -> list[dict[str, Any]]:
        """One row per run for the store; the time is the cohort's, shared equally."""
        return [self._row(index, engine) for index in range(len(self.runs))]

    def _row(self, index: int, engine: str) -> dict[str, Any]:
        run, curve, threshold = self.runs[index], self.curve[:, index], float(self.thresholds[index])
        validation = np.where(np.isfinite(curve[:, 1]), curve[:, 1], np.inf)[-WINDOW:]
        best = len(curve) - len(validation) + int(np.argmin(validation))
        chosen = curve[best]
        solved = bool(np.isfinite(validation).any() and chosen[2] < threshold)
        crossed = np.flatnonzero(curve[:, 2] < threshold)
        weights = {name: self.state[name][index].tolist() for name in self.program.parameters}
        return {
            "id": run.id,
            "unit": run.model.label,
            "task": type(run.task).__name__,
            "operation": run.task.operation,
            "inputs": run.task.in_features,
            "range": str(run.task.train),
            "steps": run.recipe.steps,
            "seed": run.seed,
            "engine": engine,
            "solved": solved,
            "solved_at": int(curve[crossed[0], 0]) if solved else None,
            "selected_step": int(chosen[0]),
            "validation_error": float(chosen[1]),
            "test_error": float(chosen[2]),
            "sparsity": float(chosen[3]),
            "threshold": threshold,
            "reinitialisations": int(self.restarts[index]),
            "nonfinite_step": int(self.nonfinite[index]) if self.nonfinite[index] >= 0 else None,
            "seconds": self.seconds / len(self.runs),
            "run": run.json,
            "weights": weights,
            "curve": curve,
        }


def _test_parts(runs: Sequence[Run]) -> list[tuple[Distribution, np.ndarray, np.ndarray]]:
    """Test distributions by kind: an example, who has it `(runs,)`, its numbers with a leading runs axis."""
    kinds = [type(run.task.test).__name__ for run in runs]
    parts = []
    for kind in dict.fromkeys(kinds):
        chosen = np.asarray([k == kind for k in kinds])
        example = runs[int(np.argmax(chosen))].task.test
        rows = [run.task.test if has else example for run, has in zip(runs, chosen, strict=True)]
        numbers = np.stack([part.numbers(runs[0].task.in_features).numpy() for part in rows]).astype(np.float32)
        parts.append((example, chosen, numbers))
    return parts
