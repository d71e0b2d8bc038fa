"""A cohort's error on 10,000 samples, in torch: every engine can fall back on it."""

from __future__ import annotations

import numpy as np
import torch

from nalm.bench.distribution import Distribution
from nalm.bench.engine.settings import SETTINGS
from nalm.bench.engine.unit_on_task import Arrays, M, Tensors, UnitOnTask
from nalm.bench.task import EVALUATION_SEED
from nalm.core.uniforms import uniforms


@torch.no_grad()
def evaluate(
    unit_on_task: UnitOnTask[M],
    part: Distribution,
    stream: int,
    parameters: Arrays,
    consts: Arrays,
    chosen: np.ndarray,
    device: str = "cpu",
) -> Arrays:
    """The task's error and measures of the chosen runs `(runs,)`, NaN for the others."""
    seed = torch.tensor(EVALUATION_SEED)
    draws = {"x": uniforms(seed, stream, 0, unit_on_task.evaluation_shape).to(device)}
    tensors, constants = tensors_of(parameters, device), tensors_of(consts, device)
    found = {"error": np.full(len(chosen), np.nan, np.float32)}
    for block in torch.split(torch.from_numpy(np.flatnonzero(chosen)), SETTINGS.evaluated_at_once):
        own = {n: v[block] for n, v in tensors.items()}
        _, metrics = unit_on_task.evaluate(part, own, {n: v[block] for n, v in constants.items()}, draws)
        for name, values in metrics.items():
            found.setdefault(name, np.full(len(chosen), np.nan, np.float32))[block.numpy()] = values.cpu().numpy()
    return found


def tensors_of(arrays: Arrays, device: str = "cpu") -> Tensors:
    """Copies of numpy arrays on a device."""
    return {name: torch.from_numpy(value.copy()).to(device) for name, value in arrays.items()}
