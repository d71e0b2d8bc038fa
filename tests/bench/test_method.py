"""How a run is trained is one field; names of committed runs stay; a method of one's own is a class and a function."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest

from nalm.bench.engine.options import Options, Progress
from nalm.bench.engine.records import described
from nalm.bench.engine.train import groups, train
from nalm.bench.method import Descent, Method, Rule, Solve
from nalm.bench.results.files import read_table
from nalm.bench.results.store import Store
from nalm.bench.run import Run, single
from nalm.bench.studies import studies
from nalm.bench.task import Task
from nalm.bench.tasks.arithmetic import RANGES, SingleModule
from nalm.core.recipe import Adam, Recipe

RESULTS = Path(__file__).parents[2] / "results"
TASK = SingleModule(*RANGES["U[1,2)"])


def test_every_committed_result_is_still_named_by_a_study() -> None:
    tables = {path: read_table(path) for path in sorted(RESULTS.glob("*.csv.gz"))}
    assert len(tables) >= 8
    seeds = 1 + max(record["seed"] for records in tables.values() for record in records)  # some have more than planned
    longer = [studies()[f"mnist/{name}-small"].for_epochs(8) for name in ("product", "division")]  # shown beside four
    known = {name for study in [*studies().values(), *longer] for cell in study.cells for name in cell.ids(seeds)}
    for table, records in tables.items():
        lost = {record["id"] for record in records} - known
        assert not lost, f"{table.name}: {len(lost)} results belong to no run of any study"


def test_ids_do_not_depend_on_the_study_a_run_is_trained_for() -> None:
    alone = Run(single("NMU", 2), TASK, Rule(500), 0)
    assert Run(single("NMU", 2), TASK, Rule(500), 0, study="mine").id == alone.id
    methods = [Descent(Recipe()), Descent(Recipe(Adam(0.1))), Rule(500), Rule(501), Rule(500, 64), Solve(256), Solve(1)]
    assert len({Run(single("NMU", 2), TASK, method, 0).id for method in methods}) == len(methods)


def test_only_equal_methods_share_a_group_up_to_the_learning_rate() -> None:
    methods = [Descent(Recipe(Adam(0.1))), Descent(Recipe(Adam(0.2))), Rule(50_000), Rule(10), Solve(128)]
    grouped = groups(Run(single("NMU", 2), TASK, method, 0) for method in methods)
    assert [len(group) for group in grouped] == [2, 1, 1, 1]


@pytest.mark.parametrize("method", [Descent(Recipe(steps=20)), Rule(20), Solve(64)])
def test_records_say_study_and_recipe(method: Method, tmp_path: Path) -> None:
    run = Run(single("NMU", 2), TASK, method, 0, every=10, study="my/study")
    with Store(tmp_path / "runs.db") as store:
        list(train([run], store, Options(threads=1)))
        store.export(tmp_path / "runs.csv")
    (line,) = read_table(tmp_path / "runs.csv")
    assert (line["study"], line["recipe"], line["steps"]) == ("my/study", method.way, method.steps)


# A method and a task of one's own: what an engineer adds for networks on images, say.


@dataclass(frozen=True)
class Digits(Task):
    """A task without distributions."""

    pictures: int = 10

    @property
    def in_features(self) -> int:
        return self.pictures

    @property
    def structure(self) -> tuple[object, ...]:
        return ("Digits", self.pictures)

    @property
    def operation(self) -> str:
        return "digits"


@dataclass(frozen=True)
class Epochs(Method):
    """Trains by epochs."""

    epochs: int = 2
    way: ClassVar[str] = "epochs"
    engine: ClassVar[str] = f"{__name__}:train_by_epochs"
    together: ClassVar[int] = 1

    @property
    def steps(self) -> int:
        return self.epochs

    def scaled(self, steps: int) -> Epochs:
        return Epochs(steps)


def train_by_epochs(group: Sequence[Run], store: Store | None, options: Options) -> list[dict[str, Any]]:
    assert store is not None
    (run,) = group
    options.progress(Progress(group, run.method.steps, run.method.steps, 1, "accuracy 0.5"))
    return [described(run, "epochs") | {"solved": True, "accuracy": 0.5}]


def test_a_method_of_ones_own_trains_a_task_of_ones_own(tmp_path: Path) -> None:
    heard: list[Progress] = []
    runs = [Run(single("NMU", 10), Digits(), Epochs(3), seed) for seed in range(2)]
    with Store(tmp_path / "runs.db") as store:
        assert len(list(train(runs, store, Options(progress=heard.append)))) == 2
        assert [(r["accuracy"], r["recipe"], r["operation"]) for r in store.records()] == [
            (0.5, "epochs", "digits")
        ] * 2
    assert [(len(progress.runs), progress.note) for progress in heard] == [(1, "accuracy 0.5")] * 2


def test_a_method_that_draws_inputs_refuses_a_task_that_has_none() -> None:
    run = Run(single("NMU", 10), Digits(), Descent(Recipe(steps=5)), 0)  # type: ignore[abstract]
    with pytest.raises(ValueError, match=r"Descent trains on tasks with drawn inputs.*Digits"):
        list(train([run]))
