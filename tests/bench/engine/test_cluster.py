"""Cohorts on a cluster: same rows as here, a killed worker costs nothing but time."""

import os
import signal

import pytest

from nalm.bench.engine.train import Options, train
from nalm.bench.method import Descent
from nalm.bench.results.store import Store
from nalm.bench.run import Run, single
from nalm.bench.tasks.arithmetic import RANGES, SingleModule
from nalm.core.recipe import Recipe
from tests.bench.curves import same_curve

distributed = pytest.importorskip("distributed", reason="clusters are an extra: pip install 'nalm[dask]'")
pytestmark = pytest.mark.filterwarnings("ignore")  # Dask's own, when a worker dies


def runs(operations, steps=200):
    return [
        Run(single("NMU", 2), SingleModule(*RANGES[label], name=op), Descent(Recipe(steps=steps)), seed, 100)
        for op in operations
        for label in ("U[1,2)", "U[-2,2)")
        for seed in range(2)
    ]


@pytest.fixture(scope="module")
def client():
    from nalm.bench.engine.cluster import connected

    with connected("local:2") as client:
        yield client


def test_a_cluster_gives_the_same_rows(client, tmp_path):
    from nalm.bench.engine.cluster import train_on

    planned = runs(("mul", "add", "sub"))
    here = {row["id"]: row for row in train(planned, options=Options(threads=1))}
    with Store(tmp_path / "runs.db") as store:
        there = list(train_on(client, planned, store))
        assert store.missing([run.id for run in planned]) == []
        assert list(train_on(client, planned, store)) == []  # nothing is done twice
    assert len(there) == len(planned)
    for row in there:
        assert row["weights"] == here[row["id"]]["weights"]
        assert same_curve(row["curve"], here[row["id"]]["curve"])


def test_a_killed_worker_is_survived(client, tmp_path):
    from nalm.bench.engine.cluster import train_on

    planned = runs(("mul", "add", "sub", "div"), steps=3_000)
    victim = next(iter(client.run(os.getpid).values()))
    with Store(tmp_path / "runs.db") as store:
        rows = train_on(client, planned, store)
        first = next(rows)
        os.kill(victim, signal.SIGKILL)
        rest = list(rows)
        assert store.missing([run.id for run in planned]) == []
    assert len([first, *rest]) == len(planned)


@pytest.mark.parametrize("cluster", ["local", "local:0", "local:many"])
def test_a_mistyped_cluster_is_explained(cluster):
    from nalm.bench.engine.cluster import connected

    with pytest.raises(ValueError, match="local:N"), connected(cluster):
        pass
