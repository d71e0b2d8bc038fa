"""The path of the weights in a run, trained anew."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray

from nalm.bench.engine.cohort import Cohort
from nalm.bench.engine.descent import choose
from nalm.bench.engine.descent_step import DescentStep
from nalm.bench.engine.options import Options
from nalm.bench.engine.unit_on_task import substituted
from nalm.bench.method import Descent
from nalm.bench.run import Run

Floats = NDArray[np.float64]


def weight_path(run: Run, points: int = 200, options: Options | None = None) -> tuple[Floats, dict[str, Floats]]:
    """The values of every weight during a run: steps `(points + 1,)` and, by weight, `(points + 1, *shape)`.

    The run is trained anew. It is a pure function of its content, so this is the path of the run that is kept.
    """
    cohort = Cohort([replace(run, every=max(1, run.method.steps // points))], DescentStep)
    steps: list[int] = []
    values: dict[str, list[Floats]] = {}

    def note(now: Cohort[Descent, DescentStep]) -> None:
        steps.append(now.step)
        state = {name: torch.from_numpy(value) for name, value in now.unit_on_task.shown(now.state).items()}
        with substituted(now.unit, state) as unit, torch.no_grad():
            for name, _, value in unit.named_weights():
                values.setdefault(name, []).append(value[0].double().numpy().copy())

    cohort.train(choose(cohort, options or Options(threads=1)), note)
    return np.asarray(steps, dtype=np.float64), {name: np.stack(series) for name, series in values.items()}
