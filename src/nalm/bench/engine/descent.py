"""Training by gradient descent: native where it can, torch elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from nalm.bench.engine.backend import Backend
from nalm.bench.engine.cohort import Cohort, train_cohort
from nalm.bench.engine.descent_step import DescentStep
from nalm.bench.engine.native_backend import NativeBackend
from nalm.bench.engine.options import Options
from nalm.bench.engine.torch_backend import TorchBackend, can_compile
from nalm.bench.method import Descent
from nalm.bench.results.store import Store
from nalm.bench.run import Run
from nalm.native import Unsupported


def train_group(group: Sequence[Run], store: Store | None, options: Options) -> list[dict[str, Any]]:
    """See `nalm.bench.engine.train.Engine`."""
    cohort = Cohort(group, DescentStep)
    return train_cohort(cohort, choose(cohort, options), store, options)


def choose(cohort: Cohort[Descent, DescentStep], options: Options) -> Backend:
    """The fastest engine that can run this cohort."""
    if options.engine in ("auto", "native") and options.device == "cpu":
        single = replace(cohort.unit_on_task, unit=cohort.one)
        try:
            return NativeBackend(single, cohort.consts, options.threads, cohort.unit_on_task)
        except Unsupported as refusal:
            label = cohort.runs[0].model.label
            if options.engine == "native":
                raise ValueError(f"{label}: {refusal}. Use --engine torch.") from refusal
            options.say(f"{label}: {refusal}; the torch engine takes over.")
    compiled = cohort.method.steps >= options.settings.worth_compiling
    if compiled and not can_compile():
        options.say("No C++ compiler found: running plain torch, several times slower. Install g++ or clang.")
        compiled = False
    return TorchBackend(cohort.unit_on_task, compiled, options.device)
