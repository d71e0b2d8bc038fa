"""Damage is noticed: flipped bits, lost and cut files; stores of the first version; what spreadsheets execute."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
import warnings
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nalm.bench.method import Descent
from nalm.bench.results.columns import COLUMNS, CURVE_COLUMNS, RecordError
from nalm.bench.results.doctor import examine
from nalm.bench.results.schema import SCHEMA_VERSION, STORED, Depth
from nalm.bench.results.store import Store, StoreError, StoreWarning, merge, read_table, write_table
from nalm.bench.results.writing import WriteRefused
from nalm.bench.run import Run, single
from nalm.bench.tasks.arithmetic import RANGES, SingleModule
from nalm.core.recipe import Recipe
from tests.bench.curves import same_curve
from tests.bench.kept import kept
from tests.bench.results.test_store import result


def exact(seed: int, **changes: Any) -> dict[str, Any]:
    """A record whose id is the hash of its run, as engines make them."""
    run = Run(single("NMU", 2), SingleModule(*RANGES["U[1,2)"]), Descent(Recipe(steps=100)), seed)
    curve = {name: np.linspace(0, seed, 20, dtype=np.float32) for name in CURVE_COLUMNS}
    return result(seed, id=run.id, run=run.json, curve=curve, **changes)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with Store(tmp_path / "runs.db") as store:
        store.add([exact(seed, accuracy=0.5) for seed in range(20)])
    return tmp_path / "runs.db"


def flipped(path: Path, to: Path, bit: int) -> None:
    content = bytearray(path.read_bytes())
    content[bit // 8] ^= 1 << (bit % 8)
    to.write_bytes(content)


def test_no_flipped_bit_changes_a_result_unnoticed(path: Path, tmp_path: Path) -> None:
    with Store(path, readonly=True) as store:
        truth = {record["id"]: record for record in store.records()}
        curves = {name: store.curve(name) for name in truth}
    chosen = random.Random(0).sample(range(8 * path.stat().st_size), 400)
    refused = left_out = 0
    for bit in chosen:
        broken = tmp_path / "broken.db"
        flipped(path, broken, bit)
        said: list[str] = []
        try:
            with Store(broken, readonly=True, say=said.append) as store:
                for depth in Depth:
                    found = store.records(depth=depth)
                    for record in found:
                        assert all(truth[record["id"]][name] == value for name, value in record.items())
                    assert len(found) == len(truth) or said or bit // 8 < 100  # the header may hide everything
                for record in found:
                    try:
                        assert same_curve(store.curve(record["id"]), curves[record["id"]])
                    except (RecordError, KeyError):  # its index may be damaged, too
                        said.append("curve")
                left_out += bool(said)
        except StoreError:
            refused += 1
    assert refused + left_out > 20  # damage was there to be found


def test_damaged_records_are_left_out_not_merged_and_the_rest_is_saved(path: Path, tmp_path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        names = [name for (name,) in connection.execute("SELECT id FROM runs ORDER BY id")]
        connection.execute("UPDATE runs SET solved = 1 - solved WHERE id = ?", [names[0]])
        connection.execute("UPDATE runs SET run = replace(run, 'NMU', 'NAU') WHERE id = ?", [names[1]])
        connection.execute("UPDATE runs SET curve = x'78' WHERE id = ?", [names[2]])
        connection.execute("UPDATE runs SET details = '{' WHERE id = ?", [names[3]])
        connection.execute("UPDATE runs SET task = CAST(x'ff' AS TEXT) WHERE id = ?", [names[4]])
    with Store(path, readonly=True) as store:
        with pytest.warns(StoreWarning, match=r"4 records are damaged.*nalm doctor"):
            assert {record["id"] for record in store.records()} == set(names) - set(names[:2]) - set(names[3:5])
        with pytest.warns(StoreWarning, match="2 records are damaged"):
            store.records(depth=Depth.OUTCOME)
        with pytest.warns(StoreWarning, match="4 records"):
            assert store.export(tmp_path / "all.csv") == 16
    with pytest.warns(StoreWarning, match="5 records"):
        assert merge(tmp_path / "merged.db", path) == 15
    diagnosis = examine(path, tmp_path / "saved.db")
    assert (diagnosis.sound, sorted(diagnosis.damaged), diagnosis.healthy) == (15, names[:5], False)
    assert examine(tmp_path / "saved.db").healthy
    assert len(kept(tmp_path / "saved.db")) == 15
    with pytest.raises(WriteRefused, match="exists"):
        examine(path, tmp_path / "saved.db")


def test_a_store_cut_in_half_gives_back_what_is_left(path: Path, tmp_path: Path) -> None:
    with Store(path) as store:
        store.add([exact(seed) for seed in range(20, 400)])
    size = path.stat().st_size
    os.truncate(path, size // 2)
    with pytest.raises(StoreError, match=f"nalm doctor {path}"):
        kept(path, readonly=False)
    diagnosis = examine(path, tmp_path / "saved.db")
    assert diagnosis.unreadable
    assert 20 < diagnosis.sound < 400
    assert len(kept(tmp_path / "saved.db")) == diagnosis.sound


def test_a_description_of_the_tables_that_cannot_be_read_is_damage(path: Path) -> None:
    whole = path.read_bytes()
    assert b"CREATE TABLE runs (" in whole
    for damaged in (b"CREATE TABL\xcc runs (", b"CREATE TABLE r\xccns ("):
        path.write_bytes(whole.replace(b"CREATE TABLE runs (", damaged))
        with pytest.raises(StoreError, match=r"runs\.db is damaged and was left as it is; `nalm doctor .*runs\.db`"):
            kept(path)
        with pytest.raises(StoreError, match="nothing can be read from it"):
            examine(path)


def test_a_missing_column_is_not_read_as_its_own_name(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("ALTER TABLE runs RENAME COLUMN test_error TO test_eror")
    with pytest.raises(StoreError, match="has no column 'test_error'"):
        Store(path, readonly=True)


# ---------------------------------- stores of the first version


def first_version(path: Path) -> None:
    """As version 0.1 wrote it."""
    kinds = {str: "TEXT", object: "TEXT", int: "INTEGER", bool: "INTEGER", float: "REAL"}
    columns = ", ".join(f'"{name}" {kinds[kind]}' for name, kind in COLUMNS.items())
    with closing(sqlite3.connect(path)) as old, old:
        old.execute(f"CREATE TABLE new ({columns}, details TEXT, curve BLOB, PRIMARY KEY (id))")
        names = ", ".join(f'"{name}"' for name in (*COLUMNS, "details", "curve"))
        old.execute(f"INSERT INTO new ({names}) SELECT {names} FROM runs")
        old.executescript("DROP TABLE runs; ALTER TABLE new RENAME TO runs; DROP TABLE checkpoints;")
        old.execute("CREATE TABLE checkpoints (key TEXT PRIMARY KEY, step INTEGER NOT NULL, state BLOB NOT NULL)")
        old.execute("PRAGMA user_version = 1")


def test_a_store_of_the_first_version_is_read_and_upgraded(path: Path, tmp_path: Path) -> None:
    with Store(path) as store:
        before = store.records()
    first_version(path)
    with Store(path, readonly=True) as store:
        assert store.records() == before
        assert store.records(depth=Depth.OUTCOME)[0]["accuracy"] == 0.5
    assert merge(tmp_path / "merged.db", path) == 20
    with closing(sqlite3.connect(path)) as connection, connection:  # damage that only the id can tell
        connection.execute("UPDATE runs SET run = replace(run, 'NMU', 'NAU') WHERE id = ?", [before[3]["id"]])
    with Store(path) as store:
        with pytest.warns(StoreWarning, match="1 record is damaged"):
            assert store.records() == [*before[:3], *before[4:]]
        store.add([exact(99)])
        store.save_checkpoint("key", 1, b"state", ["a"])
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (SCHEMA_VERSION,)
    with pytest.warns(StoreWarning, match="1 record is damaged"):
        assert len(kept(path)) == 20


# ---------------------------------- a file lost while it is in use


def deleted(path: Path) -> None:
    path.unlink()


def renamed(path: Path) -> None:
    path.rename(path.with_name("elsewhere.db"))


def emptied(path: Path) -> None:
    os.truncate(path, 0)


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def replaced(path: Path) -> None:
    other = path.with_name("other.db")
    with Store(other) as store:
        store.add([result(1234)])
    shutil.move(other, path)


@pytest.mark.parametrize("moment", ["between", "at the end"])
@pytest.mark.parametrize("lose", [deleted, renamed, emptied, cut, replaced])
def test_a_file_lost_while_in_use_is_noticed_and_nothing_is_lost(
    path: Path, tmp_path: Path, lose: Callable[[Path], None], moment: str
) -> None:
    said: list[str] = []
    store = Store(path)
    store.say = said.append  # as the command line does once its progress bar is there
    store.add([exact(seed) for seed in range(100, 160)])
    if moment == "between":
        lose(path)
    store.add([exact(seed) for seed in range(160, 200)])
    if moment == "at the end":
        lose(path)
    store.confirm()
    assert len(said) == 1
    assert "runs-rescued-1.db" in said[0]
    assert store.path == tmp_path / "runs-rescued-1.db"
    wanted = [exact(seed)["id"] for seed in range(100, 200)]
    assert store.missing(wanted) == []
    with Store(store.path, readonly=True) as again:
        assert again.missing(wanted) == []
        found = {record["id"]: record for record in again.records()}
        assert found[wanted[7]]["test_error"] == exact(107)["test_error"]
    store.confirm()
    assert len(said) == 1
    store.close()


def test_a_file_that_stays_is_confirmed_without_a_word(path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with Store(path) as store, Store(path) as other:
            store.add([exact(300)])
            other.add([exact(301)])
            store.confirm()
            other.confirm()
            assert store.path == path


# ---------------------------------- smaller things


@pytest.mark.parametrize("name", ["runs.csv", "runs.csv.gz", "runs.parquet"])
def test_a_store_is_not_named_like_a_table(tmp_path: Path, name: str) -> None:
    with pytest.raises(StoreError, match="has the name of a table"):
        Store(tmp_path / name)
    assert os.listdir(tmp_path) == []


def test_export_never_overwrites_its_store_or_an_old_file(path: Path, tmp_path: Path) -> None:
    hidden = tmp_path / "runs.csv"
    hidden.symlink_to(path)
    (tmp_path / "old.csv").write_text("mine")
    with Store(path, readonly=True) as store:
        for compact in (False, True):
            with pytest.raises(StoreError, match="must end in"):
                store.export(path, compact=compact, force=True)
            with pytest.raises(WriteRefused, match="is what is being read"):
                store.export(hidden, compact=compact, force=True)
            with pytest.raises(WriteRefused, match="exists"):
                store.export(tmp_path / "old.csv", compact=compact)
        assert len(store.records()) == 20
    assert (tmp_path / "old.csv").read_text() == "mine"


def test_compact_tables_are_the_records_in_six_digits(path: Path, tmp_path: Path) -> None:
    with Store(path) as store:
        store.export(tmp_path / "ours.csv.gz", compact=True)
        left_out = {"run", "weights", "created_at", "study", "recipe"}
        records = [{k: v for k, v in record.items() if k not in left_out} for record in store.records()]
    write_table(tmp_path / "theirs.csv.gz", records)
    assert (tmp_path / "ours.csv.gz").read_bytes() == (tmp_path / "theirs.csv.gz").read_bytes()


FORMULAS = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "'=1", "''=1", "'plain", "plain", "−1"]


def test_no_cell_is_a_formula_and_every_text_comes_back(tmp_path: Path) -> None:
    records = [{"id": f"a{i}", "unit": text, "note": text, "seed": -3} for i, text in enumerate(FORMULAS)]
    write_table(tmp_path / "t.csv", records)
    lines = (tmp_path / "t.csv").read_text().splitlines()[1:]
    for line in lines:
        assert not any(cell.strip('"').startswith(("=", "+", "@", "\t")) for cell in line.split(","))
    assert [(back["unit"], back["note"], back["seed"]) for back in read_table(tmp_path / "t.csv")] == [
        (text, text, -3) for text in FORMULAS
    ]


def test_long_cells_are_read_and_bombs_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_table(tmp_path / "t.csv.gz", [{"id": "a", "note": "x" * 200_000}])
    assert len(read_table(tmp_path / "t.csv.gz")[0]["note"]) == 200_000
    monkeypatch.setattr("nalm.bench.results.files.LONGEST", 100_000)
    with pytest.raises(RecordError, match="more than a gigabyte"):
        read_table(tmp_path / "t.csv.gz")


def test_numbers_that_do_not_fit_are_refused_by_name(path: Path) -> None:
    for number in (2**63, 1e300, -1e19):
        with Store(path) as store, pytest.raises(RecordError, match=r"'seed' holds numbers of 64 bits"):
            store.add([result(0, seed=number)])


def test_finished_checkpoints_are_forgotten(path: Path) -> None:
    with Store(path) as store:
        store.add([result(1), result(2)])
        store.save_checkpoint("done", 1, b"x", ["run-1", "run-2"])
        store.save_checkpoint("under way", 1, b"x", ["run-1", "run-3"])
        store.save_checkpoint("unknown", 1, b"x")
        assert store.drop_finished_checkpoints() == 1
        assert store.load_checkpoint("done") is None
        assert store.load_checkpoint("under way") is not None
    assert set(STORED) == {*COLUMNS, "details"}
