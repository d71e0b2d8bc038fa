"""No training and no unit: the solver's own formula, judged on the published data streams and thresholds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from nalm.bench.engine.options import Options, Progress
from nalm.bench.engine.records import described
from nalm.bench.method import Discover
from nalm.bench.results.store import Store
from nalm.bench.run import Run
from nalm.bench.task import EVALUATION_SEED, SampledTask
from nalm.core.uniforms import Stream, uniforms


def train_group(group: Sequence[Run], _store: Store | None, options: Options) -> list[dict[str, Any]]:
    """See `nalm.bench.engine.train.Engine`."""
    records: list[dict[str, Any]] = []
    for run in group:
        records.append(described(run, "discover") | _solved(run))
        options.progress(Progress([run], 1, 1, sum(record["solved"] for record in records)))
    return records


def _solved(run: Run) -> dict[str, Any]:
    from nalm.solver import solve

    task, method = run.task, run.method
    assert isinstance(task, SampledTask)
    assert isinstance(method, Discover)
    x, t = _draw(task, run.seed, Stream.TRAIN, method.samples, test=False)
    solution = solve(x.mT.numpy(), t[0].numpy())
    x, t = _draw(task, EVALUATION_SEED, Stream.TEST, task.samples, test=True)
    guess = torch.as_tensor(solution.predict(x.mT.numpy())).unsqueeze(0)
    error = float(task.error(guess, t))
    return {
        "solved": solution.exact and error < task.threshold(),
        "test_error": error,
        "formula": str(solution.expression),
        "seconds": solution.seconds,
    }


def _draw(task: SampledTask, seed: int, stream: int, samples: int, *, test: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """Inputs in float32 as every engine draws them, and their exact targets, in float64."""
    part, selection = task.test if test else task.train, task.selection(seed)
    u = uniforms(seed, stream, 0, (task.draws, samples))
    x, _ = task.sample(u, part.numbers(task.in_features).float(), selection, part)
    return x.double(), task.target(x.double(), selection.double())
