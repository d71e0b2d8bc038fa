"""Train a kept run again and say whether the same comes out."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, cast

import numpy as np

from nalm.bench.engine.options import EngineName, Options
from nalm.bench.engine.train import train
from nalm.bench.find import meant
from nalm.bench.rebuild import CannotRebuild, rebuilt
from nalm.bench.results.schema import Depth
from nalm.bench.results.store import Store
from nalm.bench.run import Run
from nalm.bench.studies import studies

TOLERANCE = 1e-4  # of weights: engines differ in the order of float32 sums, which many steps make visible
ENGINES = {"native": "native", "torch": "torch", "torch-compiled": "torch"}


class Outcome(StrEnum):
    """How a run compares with what is kept of it."""

    IDENTICAL = "identical"
    WITHIN_TOLERANCE = "within tolerance"
    DIFFERENT = "different"


@dataclass(frozen=True)
class Verification:
    """What came out of a second training.

    Attributes:
        largest: the largest difference of a weight; NaN if the weights are of different shapes.
        changed: columns that differ, such as `solved`.
        kept, now: versions and engine, then and now.
    """

    outcome: Outcome
    largest: float
    changed: tuple[str, ...]
    kept: Mapping[str, str]
    now: Mapping[str, str]


def verify(store: Store, run_id: str, options: Options | None = None) -> Verification:
    """Train the run of that id again, with the engine that trained it, and compare weights and results.

    Identical is every bit; within tolerance, that it is solved as before and no weight is further than 1e-4 off.
    """
    found = store.records(id=run_id)
    if not found:
        known = [record["id"] for record in store.records(depth=Depth.OUTCOME)]
        said = f"{store.path} has no sound run {run_id!r}. {meant(run_id, known)}".rstrip()
        listing = f"`nalm export runs.csv --compact --store {store.path}`"
        raise ValueError(f"{said} The column `id` of {listing} lists all {len(known):,}.")
    (record,) = found
    run = _run_of(record)
    engine = cast(EngineName, ENGINES.get(record["engine"], "auto"))
    (again,) = train([run], options=replace(options or Options(), engine=engine))
    versions = {"nalm": importlib.metadata.version("nalm"), "torch": importlib.metadata.version("torch")}
    compared = ("solved", "solved_at", "selected_step", "validation_error", "test_error", "sparsity", "nonfinite_step")
    changed = tuple(name for name in compared if not _same(record.get(name), again.get(name)))
    largest = _largest(record["weights"] or {}, again["weights"])
    if largest == 0 and not changed:
        outcome = Outcome.IDENTICAL
    else:
        close = largest <= TOLERANCE and record["solved"] == again["solved"]
        outcome = Outcome.WITHIN_TOLERANCE if close else Outcome.DIFFERENT
    then = {"nalm": record["library_version"], "torch": record["torch_version"], "engine": record["engine"]}
    return Verification(outcome, largest, changed, then, {**versions, "engine": again["engine"]})


def _run_of(record: Mapping[str, Any]) -> Run:
    """From its description, or as a run of the study it was trained for."""
    try:
        return rebuilt(record["run"], record["unit"] or "", record["study"] or "")
    except CannotRebuild as reason:
        study = studies().get(record["study"] or "")
        for chosen in (study, study.quick(), study.retiring()) if study else ():
            for cell in chosen.cells:
                if (run := cell.run(record["seed"], chosen.name)).id == record["id"]:
                    return run
        raise CannotRebuild(f"{record['id']} cannot be trained again: {reason}.") from reason


def _same(kept: Any, again: Any) -> bool:
    """A number that is not one is kept as nothing."""
    if isinstance(again, float) and np.isnan(again):
        again = None
    return bool(kept == again)


def _largest(kept: Mapping[str, Any], again: Mapping[str, Any]) -> float:
    if kept.keys() != again.keys():
        return float("nan")
    largest = 0.0
    for name, values in kept.items():
        one, two = np.asarray(values, float), np.asarray(again[name], float)
        if one.shape != two.shape:
            return float("nan")
        same = (one == two) | (np.isnan(one) & np.isnan(two))
        difference = np.where(same, 0.0, np.abs(one - two))
        largest = max(largest, float(np.max(np.where(np.isnan(difference), np.inf, difference), initial=0.0)))
    return largest
