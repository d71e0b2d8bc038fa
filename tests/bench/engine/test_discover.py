"""The solver by itself as an engine: what is heard on the way, and what counts as solved."""

from __future__ import annotations

from nalm.bench.engine.options import Options, Progress
from nalm.bench.engine.train import train
from nalm.bench.method import Discover
from nalm.bench.run import Run, single
from nalm.bench.tasks.arithmetic import RANGES, SingleModule


def test_every_run_is_heard_of_once_with_those_solved_so_far() -> None:
    heard: list[Progress] = []
    task = SingleModule(*RANGES["U[1,2)"], name="mul")
    runs = [Run(single("NMU", 2), task, Discover(samples=64), seed) for seed in range(3)]
    records = list(train(runs, options=Options(progress=heard.append)))
    assert [(record["solved"], record["formula"]) for record in records] == [(True, "x0*x1")] * 3
    assert [run.id for said in heard for run in said.runs] == [run.id for run in runs]
    assert [(said.step, said.advanced, said.solved) for said in heard] == [(1, 1, 1), (1, 1, 2), (1, 1, 3)]
    assert sum(said.advanced * len(said.runs) for said in heard) == sum(run.method.steps for run in runs)
