"""Groups of runs on other processes: same records as here, a killed worker costs nothing but time."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nalm.bench.engine.cluster import ClusterError, Processes, Scheduler, connected, task_key, train_on
from nalm.bench.engine.options import Options
from nalm.bench.engine.train import groups, train
from nalm.bench.method import Descent
from nalm.bench.results.store import Store
from nalm.bench.run import Run, single
from nalm.bench.tasks.arithmetic import RANGES, SingleModule
from nalm.core.recipe import Recipe
from tests.bench.curves import same_curve


def runs(operations: tuple[str, ...], steps: int = 200) -> list[Run]:
    return [
        Run(single("NMU", 2), SingleModule(*RANGES[label], name=op), Descent(Recipe(steps=steps)), seed, 100)
        for op in operations
        for label in ("U[1,2)", "U[-2,2)")
        for seed in range(2)
    ]


def kill_workers(deaths: int, stop: threading.Event) -> None:
    """Kill worker processes as soon as there are any, also while they start."""
    while deaths and not stop.is_set():
        for child in multiprocessing.active_children():
            if child.pid is not None:
                os.kill(child.pid, signal.SIGKILL)
                deaths -= 1
                break
        time.sleep(0.05)


def test_processes_give_the_same_records(tmp_path: Path) -> None:
    planned, by_torch = runs(("mul", "add")), Options(threads=1, engine="torch")  # nothing to compile
    here = {record["id"]: record for record in train(planned, options=by_torch)}
    with Store(tmp_path / "runs.db") as store, connected("local:2") as workers:
        there = list(train_on(workers, planned, store, by_torch))
        assert store.missing([run.id for run in planned]) == []
        assert list(train_on(workers, planned, store)) == []  # nothing is done twice
    assert len(there) == len(planned)
    for record in there:
        assert record["weights"] == here[record["id"]]["weights"]
        assert same_curve(record["curve"], here[record["id"]]["curve"])


def test_a_worker_killed_while_it_starts_is_survived(tmp_path: Path) -> None:
    planned = runs(("mul",))
    said: list[str] = []
    stop = threading.Event()
    killer = threading.Thread(target=kill_workers, args=(1, stop))
    with Store(tmp_path / "runs.db") as store:
        killer.start()
        try:
            found = list(train_on(Processes(1), planned, store, Options(say=said.append)))
        finally:
            stop.set()
            killer.join()
        assert store.missing([run.id for run in planned]) == []
    assert len(found) == len(planned)
    assert "A worker process died" in said[0]


def test_workers_that_always_die_end_in_a_sentence(tmp_path: Path) -> None:
    stop = threading.Event()
    killer = threading.Thread(target=kill_workers, args=(1_000, stop))
    options = Options()
    options.settings = replace(options.settings, retries=0)
    with Store(tmp_path / "runs.db") as store:
        killer.start()
        try:
            with pytest.raises(ClusterError, match="Workers keep dying while they train NMU"):
                list(train_on(Processes(1), runs(("mul",)), store, options))
        finally:
            stop.set()
            killer.join()


def test_only_equal_work_has_equal_names() -> None:
    """Two drivers on one scheduler once got each other's records."""
    planned = runs(("mul",))
    (group,) = groups(planned)
    other = [*group[:1], *runs(("mul",), steps=300)[1:]]  # as long, and begins with the same run
    keys = {
        task_key(group, Options()),
        task_key(other, Options()),
        task_key(group, Options(engine="native")),
        task_key(group, Options(engine="torch")),
        task_key(group, Options(device="cuda")),
    }
    assert len(keys) == 5
    assert task_key(list(group), Options(threads=7)) == task_key(group, Options())


@pytest.mark.parametrize("cluster", ["local", "local:0", "local:many", "local:99999"])
def test_a_mistyped_cluster_is_explained(cluster: str) -> None:
    with pytest.raises(ValueError, match="local:N"), connected(cluster):
        pass


# Dask


@pytest.fixture(scope="module")
def dask() -> Iterator[Any]:
    distributed = pytest.importorskip("distributed", reason="clusters are an extra: pip install 'nalm[dask]'")
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.mark.filterwarnings("ignore")  # Dask's own, when a worker dies
def test_dask_gives_the_same_records_also_after_a_worker_died(dask: Any, tmp_path: Path) -> None:
    planned = runs(("mul", "add", "sub"), steps=1_000)
    here = {record["id"]: record for record in train(planned, options=Options(threads=1))}
    victim = next(iter(dask.run(os.getpid).values()))
    with Store(tmp_path / "runs.db") as store:
        records = train_on(Scheduler(dask, "here"), planned, store, Options(engine="native"))
        first = next(records)
        os.kill(victim, signal.SIGKILL)
        found = [first, *records]
        assert store.missing([run.id for run in planned]) == []
    assert len(found) == len(planned)
    assert all(record["weights"] == here[record["id"]]["weights"] for record in found)
    assert {record["engine"] for record in found} == {"native"}


def test_a_scheduler_that_is_not_there_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed", reason="clusters are an extra: pip install 'nalm[dask]'")
    monkeypatch.setattr("nalm.bench.engine.cluster.CONNECT_SECONDS", 0.5)
    with (
        pytest.raises(ClusterError, match=r"No Dask scheduler answers at tcp://127.0.0.1:9"),
        connected("tcp://127.0.0.1:9"),
    ):
        pass
