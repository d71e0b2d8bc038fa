"""Beyond one machine: cohorts as Dask tasks. The driver is the only writer, so a killed worker loses nothing finished.

Tasks are pure and named by their runs: a task whose worker dies is retried elsewhere, one that ran twice adds nothing,
and a killed driver continues from the store.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from nalm.bench.engine.options import Options
from nalm.bench.engine.train import groups, train
from nalm.bench.results.store import Store
from nalm.bench.run import Run

if TYPE_CHECKING:
    from distributed import Client


@contextmanager
def connected(cluster: str) -> Iterator[Client]:
    """A Dask client: `local:N` starts N worker processes here, anything else is the address of a scheduler.

    On a batch system start a scheduler with dask-jobqueue (or `dask scheduler` and `dask worker` in the job script) and
    give its address.
    """
    try:
        from distributed import Client, LocalCluster
    except ImportError as error:
        raise ImportError("Clusters need Dask: pip install 'nalm[dask]'") from error
    kind, _, number = cluster.partition(":")
    if kind == "local":
        if not number.isdigit() or int(number) < 1:
            raise ValueError(f"--cluster {cluster}: write local:N with N worker processes, for example local:2.")
        with (
            LocalCluster(n_workers=int(number), threads_per_worker=1, dashboard_address=None) as here,
            Client(here) as client,
        ):
            yield client
    else:
        with Client(cluster, timeout="10s") as client:
            yield client


def train_on(
    client: Client, runs: Iterable[Run], store: Store, options: Options | None = None
) -> Iterator[dict[str, Any]]:
    """As `nalm.bench.engine.train.train`, one task per cohort; records are kept as tasks finish."""
    from distributed import as_completed

    options = options or Options()
    wanted = {run.id: run for run in runs}
    missing = set(store.missing(wanted))
    futures = [
        client.submit(
            _train_cohort,
            group,
            options.engine,
            key=f"nalm-{group[0].id}-{len(group)}",
            retries=options.settings.retries,
        )
        for group in groups(run for run in wanted.values() if run.id in missing)
    ]
    for future, records in as_completed(futures, with_results=True):
        store.add(records)
        future.release()
        yield from records


def _train_cohort(group: list[Run], engine: Any) -> list[dict[str, Any]]:
    """What a worker does: one thread, nothing written."""
    return list(train(group, options=Options(engine=engine, threads=1)))
