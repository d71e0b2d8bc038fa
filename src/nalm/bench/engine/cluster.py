"""Many processes and many machines: groups of runs as tasks. The driver is the only writer of the store.

Tasks are pure and return records: one whose worker dies is started again elsewhere, one that ran twice adds nothing,
and a killed driver continues from the store. On this machine workers are plain processes that talk through pipes;
beyond it they are Dask's, and `distributed`'s own configuration says how they prove who they are (TLS).
"""

from __future__ import annotations

import hashlib
import importlib.metadata
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any, Protocol

from nalm.bench.engine.options import EngineName, Options
from nalm.bench.engine.settings import Settings
from nalm.bench.engine.train import groups, train
from nalm.bench.results.store import Store
from nalm.bench.run import Run

if TYPE_CHECKING:
    from distributed import Client

CONNECT_SECONDS = 10  # a scheduler on the same network answers within one


class ClusterError(RuntimeError):
    """Workers or a scheduler that are gone for good. The message says what is kept and how to go on."""


class Workers(Protocol):
    """Where groups are trained: gives their records in any order."""

    def results(self, todo: list[list[Run]], options: Options) -> Iterator[list[dict[str, Any]]]:
        """The records of the runs, list by list, as they are finished."""


def train_on(
    workers: Workers, runs: Iterable[Run], store: Store, options: Options | None = None
) -> Iterator[dict[str, Any]]:
    """As `nalm.bench.engine.train.train`, one task per group; records are kept as tasks finish."""
    options = options or Options()
    wanted = {run.id: run for run in runs}
    missing = set(store.missing(wanted))
    todo = groups(run for run in wanted.values() if run.id in missing)
    for records in workers.results(todo, options):
        store.add(records)
        yield from records
    store.confirm()


@contextmanager
def connected(cluster: str) -> Iterator[Workers]:
    """Workers: `local:N` starts N processes here, anything else is the address of a Dask scheduler.

    On a batch system start a scheduler with `dask scheduler` and workers with `dask worker` in the job script and give
    the scheduler's address: docs/cluster.md.
    """
    kind, _, number = cluster.partition(":")
    if kind == "local":
        if not number.isdigit() or not 1 <= int(number) <= 1024:
            raise ValueError(f"--cluster {cluster}: write local:N with N worker processes, for example local:2.")
        yield Processes(int(number))
        return
    try:
        from distributed import Client
    except ImportError as error:
        raise ImportError("Clusters need Dask: pip install 'nalm[dask]'") from error
    try:
        client = Client(cluster, timeout=f"{CONNECT_SECONDS}s")
    except Exception as error:  # Dask raises whatever its transport raises
        raise ClusterError(f"No Dask scheduler answers at {cluster} ({error}). Check its address.") from error
    with client:
        yield Scheduler(client, cluster)


class Processes:
    """Worker processes on this machine."""

    def __init__(self, count: int) -> None:
        self.count = count

    def results(self, todo: list[list[Run]], options: Options) -> Iterator[list[dict[str, Any]]]:
        """Train every group. When a worker dies, what it was at is started again, each group a few times at most."""
        deaths = 0
        waiting = list(todo)
        while waiting:
            with ProcessPoolExecutor(self.count, get_context("spawn")) as pool:
                futures = {
                    pool.submit(train_group, group, options.engine, options.device, options.settings): group
                    for group in waiting
                }
                waiting = []
                try:
                    yield from _finished(futures, waiting)
                except BaseException:
                    pool.shutdown(wait=False, cancel_futures=True)
                    raise
            deaths += bool(waiting)
            if deaths > options.settings.retries * max(1, len(todo)):
                label = waiting[0][0].model.label
                raise ClusterError(f"Workers keep dying while they train {label}; is there enough memory?")
            if waiting:
                options.say(f"A worker process died; {len(waiting)} groups of runs are started again.")


def _finished(
    futures: dict[Future[list[dict[str, Any]]], list[Run]], lost: list[list[Run]]
) -> Iterator[list[dict[str, Any]]]:
    """Records as groups finish; groups whose worker died are added to `lost`."""
    pending = set(futures)
    while pending:
        done, pending = wait(pending, return_when=FIRST_COMPLETED)
        for future in done:
            try:
                records = future.result()
            except BrokenProcessPool:
                lost.append(futures[future])
            else:
                yield records


class Scheduler:
    """Workers of a Dask scheduler."""

    def __init__(self, client: Client, address: str) -> None:
        self.client = client
        self.address = address

    def results(self, todo: list[list[Run]], options: Options) -> Iterator[list[dict[str, Any]]]:
        """Train every group; a task whose worker died is retried by Dask, then by us."""
        from distributed import KilledWorker, as_completed

        waiting, attempts = list(todo), 0
        while waiting:
            try:
                futures = [self._submit(group, options, attempts) for group in waiting]
                by_key = {future.key: group for future, group in zip(futures, waiting, strict=True)}
                waiting = []
                for future in as_completed(futures, raise_errors=False):
                    if future.status == "finished":
                        yield future.result()
                    elif isinstance(error := future.exception(), KilledWorker):
                        waiting.append(by_key[future.key])
                    elif future.status == "error":
                        raise error
                    else:  # lost: the connection to the scheduler is gone
                        raise ClusterError(self._gone("it does not answer any more"))
                    future.release()
            except (OSError, TimeoutError) as error:
                raise ClusterError(self._gone(str(error))) from error
            attempts += 1
            if waiting and attempts > options.settings.retries:
                raise ClusterError(
                    f"Workers of {self.address} keep dying; is there enough memory? What is finished is kept."
                )

    def _submit(self, group: list[Run], options: Options, attempt: int) -> Any:
        work = (group, options.engine, options.device, options.settings)
        key = task_key(group, options, attempt)
        return self.client.submit(train_group, *work, key=key, retries=options.settings.retries)

    def _gone(self, reason: str) -> str:
        return (
            f"The scheduler at {self.address} is gone ({reason}). What is finished is kept; the same command goes on."
        )


def task_key(group: list[Run], options: Options, attempt: int = 0) -> str:
    """A name that only equal work has: two drivers on one scheduler share tasks of equal names, and their results."""
    content = [run.id for run in group] + [run.model.label + (run.study or "") for run in group[:1]]
    versions = [importlib.metadata.version(name) for name in ("nalm", "torch")]
    parts = [*content, *versions, options.engine, options.device, str(attempt)]
    return f"nalm-{hashlib.sha256(chr(0).join(parts).encode()).hexdigest()[:32]}"


def train_group(group: list[Run], engine: EngineName, device: str, settings: Settings) -> list[dict[str, Any]]:
    """What a worker does, on one thread: nothing is written."""
    return list(train(group, options=Options(engine=engine, device=device, threads=1, settings=settings)))
