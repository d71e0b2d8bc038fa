"""A kept run can be rebuilt from its description and trained again."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from nalm.bench.engine.options import Options
from nalm.bench.engine.train import train
from nalm.bench.method import Descent, Method, Rule, Solve
from nalm.bench.rebuild import CannotRebuild, rebuilt
from nalm.bench.results.schema import STORED, quoted, with_checks
from nalm.bench.results.store import Store
from nalm.bench.run import Model, Run, single
from nalm.bench.studies import studies
from nalm.bench.tasks.arithmetic import RANGES, SingleModule
from nalm.bench.tasks.table import Rows, Table
from nalm.bench.verify import Outcome, verify
from nalm.core.recipe import Recipe

TASK = SingleModule(*RANGES["U[1,2)"])


def test_every_row_and_column_of_every_study_is_rebuilt_from_its_description() -> None:
    for study in studies().values():
        rows = {cell.row: cell for cell in study.cells}  # each row and each column once: what differs between cells
        columns = {cell.column: cell for cell in study.cells}
        for cell in (*rows.values(), *columns.values(), study.cells[0].quick()):
            run = cell.run(3)
            if type(cell.model) is not Model:  # the readers of images
                with pytest.raises(CannotRebuild, match="not a stack of layers"):
                    rebuilt(run.json)
                continue
            again = rebuilt(run.json, run.model.label)
            assert (again.id, again.structure) == (run.id, run.structure), f"{study.name} {cell.row} {cell.column}"


def test_what_a_description_leaves_out_is_said(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text("import nalm\nclass Own(nalm.NMU):\n    pass\n")
    own = Run(single(f"{tmp_path / 'own.py'}:Own", 2), TASK, Rule(10), 0)
    with pytest.raises(CannotRebuild, match="Own is a unit from a file of yours"):
        rebuilt(own.json)
    rows = Rows.of([[1.0, 2.0]], [2.0])
    with pytest.raises(CannotRebuild):
        rebuilt(Run(single("NMU", 2), Table(rows, rows), Rule(10), 0).json)
    plain = Run(single("NMU", 2), TASK, Rule(10), 0)
    with pytest.raises(CannotRebuild, match="no 'Nothing' in this version"):
        rebuilt(plain.json.replace("SingleModule", "Nothing"))


@pytest.mark.parametrize("method", [Descent(Recipe(steps=200)), Rule(20), Solve(64)])
def test_a_run_is_verified_and_a_changed_one_found_out(tmp_path: Path, method: Method) -> None:
    run = Run(single("NMU", 2), TASK, method, 0, every=100)
    path = tmp_path / "runs.db"
    with Store(path) as store:
        list(train([run], store, Options(threads=1)))
        found = verify(store, run.id, Options(threads=1))
        assert (found.outcome, found.largest, found.changed) == (Outcome.IDENTICAL, 0.0, ())
        assert found.kept == found.now
    for change, outcome in ((1e-6, Outcome.WITHIN_TOLERANCE), (0.5, Outcome.DIFFERENT)):
        tamper(path, change)
        with Store(path, readonly=True) as store:
            found = verify(store, run.id, Options(threads=1))
        assert found.outcome == outcome
        assert found.largest == pytest.approx(change, rel=0.1)


def test_the_engine_that_trained_a_run_trains_it_again(tmp_path: Path) -> None:
    run = Run(single("NMU", 2), TASK, Descent(Recipe(steps=20)), 0, every=10)
    given = Options(threads=1)
    with Store(tmp_path / "runs.db") as store:
        (record,) = train([run], store, Options(engine="torch", threads=1))
        found = verify(store, run.id, given)
    assert found.now["engine"] == record["engine"]
    assert found.outcome == Outcome.IDENTICAL
    assert given.engine == "auto"  # what is handed in stays as it was


def test_a_wrong_id_is_answered_by_those_like_it_and_by_how_to_list_all(tmp_path: Path) -> None:
    known = [f"{number:02}{'ab' * 7}" for number in range(30)]
    with Store(tmp_path / "runs.db") as store:
        store.add([{"id": name, "unit": "NMU", "seed": 0, "solved": True} for name in known])
        told = {}
        for wrong in (known[3][:-1] + "c", "nothing"):
            with pytest.raises(ValueError, match=f"has no sound run '{wrong}'") as caught:
                verify(store, wrong)
            told[wrong] = str(caught.value)
    near, far = told.values()
    assert f"Did you mean {known[3]}?" in near
    for said, suggested in ((near, 1), (far, 0)):
        assert sum(name in said for name in known) == suggested
        assert f"`nalm export runs.csv --compact --store {tmp_path / 'runs.db'}` lists all 30." in said


def tamper(path: Path, change: float) -> None:
    """Another weight under valid checksums, as another machine might have found."""
    with Store(path) as store:
        (record,) = store.records()
        record["weights"]["W"][0][0] += change
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("DELETE FROM runs")
        store.add([record])
        (again,) = store.lines()
        assert len(with_checks(again)) == len(STORED) + 3
        assert quoted(["a", "b"]) == "[a], [b]"
