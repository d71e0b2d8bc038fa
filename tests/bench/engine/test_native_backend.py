"""Denormal numbers count as zero while a cohort descends natively, and no stored number notices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nalm.bench import Run, single, train
from nalm.bench.engine.options import Options
from nalm.bench.method import Descent
from nalm.bench.tasks.arithmetic import RANGES, SingleModule
from nalm.native.kernel import Kernel
from nalm.units.nau import NMU


def trained(seeds: int) -> list[dict[str, Any]]:
    recipe = NMU.recipe.scaled(6_000)
    task = SingleModule(*RANGES["U[1,2)"])
    return list(train([Run(single("NMU", 2), task, Descent(recipe), s) for s in range(seeds)], None, Options("native")))


def test_descent_flushes_denormals_and_gets_the_same_records(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bool] = []
    run = Kernel.run

    def unflushed(self: Kernel, *given: Any, flush: bool = False, **more: Any) -> Any:
        asked.append(flush)
        return run(self, *given, flush=False, **more)

    ours = trained(3)
    monkeypatch.setattr(Kernel, "run", unflushed)
    plain = trained(3)
    assert any(asked)
    for one, other in zip(ours, plain, strict=True):
        assert one["solved_at"] == other["solved_at"]
        for name, weights in one["weights"].items():
            np.testing.assert_array_equal(weights, other["weights"][name])
