"""Training of whole networks on images: one run at a time, on any device, continued from its last checkpoint."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import takewhile
from typing import Any

import numpy as np

from nalm.bench.engine.checkpoints import Checkpoint
from nalm.bench.engine.options import Options, Progress
from nalm.bench.engine.records import described
from nalm.bench.results.columns import CURVE_COLUMNS
from nalm.bench.results.store import Store
from nalm.bench.run import Run
from nalm.bench.vision.task import Measured
from nalm.bench.vision.training import Training

EXACT = 1e-5  # a unit is exact if, given the true digits, no result is further off: float32 keeps seven digits
SLICE = 25  # steps between two looks at the clock: seconds, even at the published batch on one core
IN_TRAINING = ("seconds", "digit_rounded", "result_rounded")  # what is kept of each evaluation beside its errors


def train_group(group: Sequence[Run], store: Store | None, options: Options) -> list[dict[str, Any]]:
    """See `nalm.bench.engine.train.Engine`."""
    return [train_network(run, Checkpoint(store, [run], "network", options), options) for run in group]


def train_network(run: Run, checkpoint: Checkpoint, options: Options) -> dict[str, Any]:
    """One run to its end, measured every `run.every` steps and at its end."""
    training = Training(run, options.device)
    checkpoint.resume(training.load)
    heard, last_step = 0, run.method.steps
    while True:
        if training.step == last_step or training.step % run.every == 0:
            measured = training.measured()
            done = Progress([run], training.step, training.step - heard, int(exact(measured)), glance(measured))
            options.progress(done)
            heard = training.step
        if training.step == last_step:
            return described(run, "network") | _record(training)
        mark = min(last_step, (training.step // run.every + 1) * run.every)
        training.advance(min(SLICE, mark - training.step))
        checkpoint.offer(training.step, training.dump)


def exact(measured: Measured) -> bool:
    """Whether the unit computes the operation when it is given the true digits."""
    return bool(measured["unit_error"] < EXACT)


def glance(measured: Measured) -> str:
    """What is worth a look in the progress bar."""
    return f"digits read {measured['digit_rounded']:.1%}"


def _record(training: Training) -> dict[str, Any]:
    """What is kept of a finished run. Numbers of the selected evaluation become columns; what is more than a number is
    kept as JSON text: the way of the weights, the confusion of digits, the errors by length."""
    records = training.records
    chosen = training.task.selected(records)
    since = len(list(takewhile(exact, reversed(records))))
    known = {"step", "weights", "seconds"}
    numbers = {name: value for name, value in chosen.items() if isinstance(value, float) and name not in known}
    texts = {name: json.dumps(value) for name, value in chosen.items() if isinstance(value, list | dict)}
    texts["path"] = json.dumps(
        [{name: r[name] for name in ("step", *IN_TRAINING, "weights") if name in r} for r in records]
    )
    curve = [*CURVE_COLUMNS, *(name for name in IN_TRAINING if name in chosen)]
    return {
        **numbers,
        **{name: text for name, text in texts.items() if name not in known},
        "solved": exact(chosen),
        "solved_at": records[-since]["step"] if since else None,
        "selected_step": chosen["step"],
        "seconds": training.seconds,
        "weights": chosen["weights"],
        "curve": {name: np.asarray([r.get(name, np.nan) for r in records], np.float32) for name in curve},
    }
