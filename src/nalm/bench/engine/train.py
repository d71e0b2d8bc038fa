"""`train(runs)`: group runs into cohorts, choose an engine for each, keep what is finished."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from nalm.bench.engine.backend import Backend
from nalm.bench.engine.cohort import Cohort
from nalm.bench.engine.other_ways import RuleBackend, SolverBackend
from nalm.bench.engine.torch_backend import TorchBackend, can_compile
from nalm.bench.results.store import Store
from nalm.bench.run import Run
from nalm.core.recipe import LocalGaussNewton, Solver

EngineName = Literal["auto", "native", "torch"]
LARGEST = 256  # runs per cohort: enough to fill the vectors, small enough to keep finished work often
CHECKPOINT_SECONDS = 30.0
WORTH_COMPILING = 20_000  # steps from which compiling the torch loop pays


@dataclass
class Options:
    """How to train, which never changes what is trained.

    Args:
        engine: "native", "torch", or "auto": native where it can, torch elsewhere.
        threads: native threads over seeds; all cores by default.
        say: receives one line when an engine refuses or could be faster.
        progress: receives (cohort, steps just done) after each evaluation.
    """

    engine: EngineName = "auto"
    device: str = "cpu"
    threads: int = field(default_factory=lambda: os.cpu_count() or 1)
    say: Callable[[str], None] = lambda _: None
    progress: Callable[[Cohort, int], None] = lambda *_: None


def cohorts(runs: Iterable[Run]) -> list[list[Run]]:
    """Runs of equal structure together, at most `LARGEST` of them, in a fixed order."""
    groups: dict[tuple[object, ...], list[Run]] = {}
    for run in runs:
        groups.setdefault(run.structure, []).append(run)
    return [group[i : i + LARGEST] for group in groups.values() for i in range(0, len(group), LARGEST)]


def train(runs: Iterable[Run], store: Store | None = None, options: Options | None = None) -> Iterator[dict[str, Any]]:
    """Train all runs that the store does not hold yet; yields a row per run as cohorts finish.

    A killed process loses nothing that was finished; long cohorts continue from their last checkpoint.
    """
    options = options or Options()
    wanted = {run.id: run for run in runs}
    missing = set(store.missing(wanted) if store else wanted)
    for group in cohorts(run for run in wanted.values() if run.id in missing):
        yield from _train_cohort(group, store, options)


def _train_cohort(group: list[Run], store: Store | None, options: Options) -> list[dict[str, Any]]:
    last_mark = last_saved = time.monotonic()
    cohort = Cohort(group)
    key = hashlib.sha256("".join(run.id for run in group).encode()).hexdigest()[:16]
    saved = store.load_checkpoint(key) if store else None
    if saved:
        cohort.load(saved[1])
    backend = choose(cohort, options)
    last_step = 0  # what a checkpoint brought counts as progress too

    def after_mark(c: Cohort) -> None:
        nonlocal last_mark, last_saved, last_step
        now = time.monotonic()
        c.seconds += now - last_mark
        options.progress(c, c.step - last_step)
        last_mark, last_step = now, c.step
        if store and backend.resumable and now - last_saved > CHECKPOINT_SECONDS:
            store.save_checkpoint(key, c.step, c.dump())
            last_saved = now

    cohort.train(backend, after_mark)
    rows = cohort.rows(backend.name)
    if store:
        store.add(rows)
        store.drop_checkpoint(key)
    return rows


def choose(cohort: Cohort, options: Options) -> Backend:
    """The fastest engine that can run this cohort."""
    if isinstance(cohort.recipe.optimiser, LocalGaussNewton):
        return RuleBackend(cohort.program)
    if isinstance(cohort.recipe.optimiser, Solver):
        return SolverBackend(cohort.program)
    if options.engine in ("auto", "native") and options.device == "cpu":
        try:
            return _native(cohort, options)
        except _refusals() as refusal:
            label = cohort.runs[0].model.label
            if options.engine == "native":
                raise ValueError(f"{label}: {refusal}. Use --engine torch.") from refusal
            options.say(f"{label}: {refusal}; the torch engine takes over.")
    compiled = cohort.recipe.steps >= WORTH_COMPILING
    if compiled and not can_compile():
        options.say("No C++ compiler found: running plain torch, several times slower. Install g++ or clang.")
        compiled = False
    return TorchBackend(cohort.program, compiled, options.device)


def _refusals() -> tuple[type[Exception], ...]:
    try:
        from nalm.native import Unsupported
    except ImportError:
        return (ImportError,)
    return (ImportError, Unsupported)


def _native(cohort: Cohort, options: Options) -> Backend:
    from nalm.bench.engine.native_backend import NativeBackend

    single = replace(cohort.program, unit=cohort.runs[0].model.build(()))
    return NativeBackend(single, cohort.consts, options.threads, lambda: TorchBackend(cohort.program))
