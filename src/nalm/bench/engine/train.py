"""`train(runs)`: group runs, let the engine that their method names train each group, keep what is finished."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol, cast

from nalm.bench.engine.checkpoints import group_key
from nalm.bench.engine.options import Options
from nalm.bench.method import Method
from nalm.bench.results.store import Store
from nalm.bench.run import Run
from nalm.core.arguments import checks_arguments


class Engine(Protocol):
    """What `Method.engine` names: a function that trains a group of runs of equal structure.

    It returns one record per run: `described(run, engine)` (see `records.py`) with what came out. If it keeps
    checkpoints, it does so in the store by `Checkpoint`. The records are kept by the caller.
    """

    def __call__(self, group: Sequence[Run], store: Store | None, options: Options) -> list[dict[str, Any]]: ...


def engine_of(method: Method) -> Engine:
    """The engine that a method names."""
    module, _, function = method.engine.partition(":")
    return cast(Engine, getattr(importlib.import_module(module), function))


def groups(runs: Iterable[Run]) -> list[list[Run]]:
    """Runs of equal structure together, at most as many as their method allows, in a fixed order."""
    found: dict[tuple[object, ...], list[Run]] = {}
    known: dict[tuple[object, ...], tuple[Run, tuple[object, ...]]] = {}  # a cell's runs share their parts
    for run in runs:
        parts = (id(run.model), id(run.task), id(run.method), run.every, run.retire)
        if parts not in known:
            known[parts] = (run, run.structure)  # the run keeps its parts alive, and so their ids unique
        found.setdefault(known[parts][1], []).append(run)
    return [g[i : i + g[0].method.together] for g in found.values() for i in range(0, len(g), g[0].method.together)]


@checks_arguments
def train(runs: Iterable[Run], store: Store | None = None, options: Options | None = None) -> Iterator[dict[str, Any]]:
    """Train all runs that the store does not hold yet; yields a record per run as groups finish.

    A killed process loses nothing that was finished; long groups continue from their last checkpoint.

    >>> from nalm.bench import Rule, Run, single
    >>> from nalm.bench.tasks.arithmetic import RANGES, SingleModule
    >>> run = Run(single("NMU", 2), SingleModule(*RANGES["U[1,2)"]), Rule(steps=50), seed=0)
    >>> [record["solved"] for record in train([run])]
    [True]
    """
    options = options or Options()
    wanted = {run.id: run for run in runs}
    missing = set(store.missing(wanted) if store else wanted)
    for group in groups(run for run in wanted.values() if run.id in missing):
        records = engine_of(group[0].method)(group, store, options)
        if store:
            store.add(records)
            store.drop_checkpoint(group_key(group))
        yield from records
    if store:
        store.drop_finished_checkpoints()
        store.confirm()
