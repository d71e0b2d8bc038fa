"""The store keeps what it was given, whoever writes, whatever is killed, and never touches a file not its own."""

from __future__ import annotations

import builtins
import csv
import doctest
import gzip
import json
import os
import sqlite3
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nalm.bench.results import columns as columns_module
from nalm.bench.results import store as store_module
from nalm.bench.results.columns import COLUMNS, CURVE_COLUMNS, RecordError
from nalm.bench.results.schema import APPLICATION_ID, SCHEMA_VERSION
from nalm.bench.results.store import Store, StoreError, merge, read_table, write_table
from nalm.bench.results.writing import WriteRefused
from tests.bench.curves import same_curve
from tests.bench.kept import kept


def result(seed: int, /, **changes: Any) -> dict[str, Any]:
    """A row as a finished run makes it."""
    return {
        "id": f"run-{seed}",
        "study": "single-module/mul",
        "unit": "NMU",
        "task": "SingleModule",
        "operation": "mul",
        "inputs": 2,
        "range": "U[1,2)",
        "seed": seed,
        "steps": 50_000,
        "solved": seed % 2 == 0,
        "solved_at": 2000 if seed % 2 == 0 else None,
        "selected_step": 49_000,
        "test_error": (seed + 1) / 8,
        "run": {"unit": "NMU", "learning_rate": 0.001},
        "weights": {"W": [[1.0, 0.5]]},
        **changes,
    }


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "runs.db"


def damage(path: Path, where: slice, content: bytes) -> bytes:
    data = bytearray(path.read_bytes())
    data[where] = content
    path.write_bytes(data)
    return bytes(data)


@pytest.mark.parametrize("module", [store_module, columns_module])
def test_documentation_examples_hold(module: Any) -> None:
    assert doctest.testmod(module).failed == 0


# ------------------------------------------------------------------------------------------------ keeping and finding


def test_rows_come_back_as_they_went_in(path: Path) -> None:
    with Store(path) as store:
        assert store.add([result(0), result(1)]) == 2
    with Store(path, readonly=True) as store:
        first, second = store.records()
    given = result(0)
    assert {name: first[name] for name in given} == given
    assert list(first) == list(COLUMNS)
    assert second["solved"] is False
    assert second["solved_at"] is None
    assert first["torch_version"][0].isdigit()
    assert first["library_version"]
    assert first["created_at"].endswith("+00:00")


def test_the_first_row_of_an_id_is_kept(path: Path) -> None:
    with Store(path) as store:
        store.add([result(0)])
        assert store.add([result(0, test_error=9.0), result(1)]) == 1
        assert store.records(seed=0)[0]["test_error"] == result(0)["test_error"]


def test_missing_names_what_is_left_to_do_in_order(path: Path) -> None:
    with Store(path) as store:
        store.add([result(1), result(3)])
        assert store.missing([f"run-{seed}" for seed in (4, 3, 2, 1, 0)]) == ["run-4", "run-2", "run-0"]
        assert store.missing(f"run-{seed}" for seed in range(100_000))[:2] == ["run-0", "run-2"]
        assert store.missing([]) == []


def test_rows_are_chosen_by_value_by_list_and_by_none(path: Path) -> None:
    with Store(path) as store:
        store.add([result(seed, unit="NMU" if seed < 3 else "NAU") for seed in (4, 3, 2, 1, 0)])
        assert [row["seed"] for row in store.records()] == [3, 4, 0, 1, 2]
        assert [row["seed"] for row in store.records(unit="NMU", solved=True)] == [0, 2]
        assert [row["seed"] for row in store.records(id=["run-4", "run-0", "run-77"])] == [4, 0]
        assert [row["seed"] for row in store.records(solved_at=None)] == [3, 1]
        assert store.records(id=[]) == []
        with pytest.raises(RecordError, match="did you mean 'seed'"):
            store.records(seeds=3)


def test_numpy_values_are_unpacked_and_nan_is_unknown(path: Path) -> None:
    numbers = {
        "seed": np.int64(7),
        "solved": np.bool_(True),
        "test_error": np.float32(0.1),
        "validation_error": np.nan,
        "sparsity": np.inf,
        "weights": {"W": np.ones((1, 2)), "broken": float("nan")},
    }
    with Store(path) as store:
        store.add([result(0, **numbers)])
        row = store.records()[0]
    assert (row["seed"], row["solved"], row["validation_error"], row["sparsity"]) == (7, True, None, np.inf)
    assert row["test_error"] == float(np.float32(0.1))
    assert row["weights"]["W"] == [[1.0, 1.0]]
    assert np.isnan(row["weights"]["broken"])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"test_erorr": 1}, "no column 'test_erorr': did you mean 'test_error'"),
        ({"id": None}, "needs an id"),
        ({"id": ""}, "needs an id"),
        ({"id": 5}, "needs an id"),
        ({"seed": "three"}, "column 'seed' holds int, got 'three'"),
        ({"seed": 2.5}, "column 'seed' holds int, got 2.5"),
        ({"unit": 3}, "column 'unit' holds str, got 3"),
        ({"curve": {"step": [0, 1], "test_error": [1.0, 0.5]}}, "a curve has step, validation_error"),
        ({"curve": {name: [1.0] for name in CURVE_COLUMNS} | {"step": [0, 1]}}, "as many values of each"),
    ],
)
def test_a_wrong_row_is_refused_by_name_and_nothing_is_added(path: Path, changes: dict[str, Any], message: str) -> None:
    with Store(path) as store:
        with pytest.raises(RecordError, match=message):
            store.add([result(0), result(1, **changes)])
        assert store.records() == []


def test_further_named_columns_travel_with_a_record(path: Path, tmp_path: Path) -> None:
    table = tmp_path / "runs.csv"
    with Store(path) as store:
        store.add([result(0, accuracy=np.float32(0.5), epochs=3, note="a"), result(1)])
        first, second = store.records()
        assert (first["accuracy"], first["epochs"], first["note"]) == (0.5, 3, "a")
        assert "accuracy" not in second
        store.export(table)
    assert [line["accuracy"] for line in read_table(table)] == [0.5, None]
    merge(tmp_path / "other.db", path)
    assert kept(tmp_path / "other.db")[0]["epochs"] == 3


def test_curves_come_back_bit_for_bit(path: Path) -> None:
    values = np.random.default_rng(0).lognormal(size=(4, 51)).astype(np.float32)
    values[1:, 3] = np.nan, np.inf, 0
    curve = dict(zip(CURVE_COLUMNS, values, strict=True))
    more = curve | {"accuracy": np.linspace(0, 1, 51, dtype=np.float32)}
    with Store(path) as store:
        store.add([result(0, curve=curve), result(1), result(3, curve=more)])
        assert same_curve(store.curve("run-0"), curve)
        assert same_curve(store.curve("run-3"), more)
        assert {name: len(found) for name, found in store.curve("run-1").items()} == dict.fromkeys(CURVE_COLUMNS, 0)
        with pytest.raises(KeyError, match="no run 'run-2'"):
            store.curve("run-2")


def test_checkpoints_are_replaced_and_dropped(path: Path) -> None:
    with Store(path) as store:
        assert store.load_checkpoint("cohort") is None
        store.save_checkpoint("cohort", 1000, b"one")
        store.save_checkpoint("cohort", 2000, b"\0two")
        store.save_checkpoint("other", 5, b"")
    with Store(path) as store:
        assert store.load_checkpoint("cohort") == (2000, b"\0two")
        store.drop_checkpoint("cohort")
        assert store.load_checkpoint("cohort") is None
        assert store.load_checkpoint("other") == (5, b"")


# ----------------------------------------------------------------------------------------------- other people's files


def foreign_text(path: Path) -> None:
    path.write_text("precious notes\n")


def foreign_database(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE runs (id TEXT)")


def newer_store(path: Path) -> None:
    Store(path).close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")


def truncated_store(path: Path) -> None:
    with Store(path) as store:
        store.add(result(seed) for seed in range(200))
    path.write_bytes(path.read_bytes()[:-8192])


def scribbled_store(path: Path) -> None:
    with Store(path) as store:
        store.add(result(seed) for seed in range(200))
    damage(path, slice(8192, 16384), b"\xff" * 8192)


@pytest.mark.parametrize("readonly", [False, True])
@pytest.mark.parametrize(
    ("make", "message"),
    [
        (foreign_text, "is not a store.*choose another file"),
        (foreign_database, "another program.*choose another file"),
        (newer_store, "newer version of nalm; upgrade"),
        (truncated_store, "is damaged.*nalm doctor"),
        (scribbled_store, "is damaged.*nalm doctor"),
    ],
)
def test_a_file_that_is_no_sound_store_is_refused_and_left_alone(
    path: Path, make: Any, message: str, readonly: bool
) -> None:
    make(path)
    before = path.read_bytes()
    with pytest.raises(StoreError, match=f"runs.db {message}|runs.db is .*{message}|runs.db was .*{message}"):
        kept(path, readonly)
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == ["runs.db"]


def test_what_is_not_there_is_not_made_by_looking(path: Path) -> None:
    with pytest.raises(StoreError, match=r"runs\.db does not exist"):
        Store(path, readonly=True)
    assert not path.exists()
    path.touch()
    with pytest.raises(StoreError, match="is empty"):
        Store(path, readonly=True)
    Store(path).close()  # an empty file may be filled
    assert kept(path) == []


def test_a_folder_and_a_file_in_no_folder_are_refused(path: Path) -> None:
    with pytest.raises(StoreError, match=r"is a folder; name a file in it, such as .*runs\.db"):
        Store(path.parent)
    with pytest.raises(StoreError, match="check that its folder exists"):
        Store(path.parent / "nowhere" / "runs.db")


def test_a_readonly_store_reads_but_does_not_write(path: Path) -> None:
    with Store(path) as store:
        store.add([result(0)])
    with Store(path, readonly=True) as store:
        assert len(store.records()) == 1
        with pytest.raises(StoreError, match="cannot be written; check its permissions"):
            store.add([result(1)])
        with pytest.raises(StoreError, match="cannot be written"):
            store.save_checkpoint("a", 1, b"")


@pytest.fixture
def protected_folder() -> Iterator[Path]:
    """A store in a folder nobody may write, seen by a user who is not root."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with Store(folder / "runs.db") as store:
            store.add([result(0)])
        (folder / "runs.db").chmod(stat.S_IREAD | stat.S_IRGRP | stat.S_IROTH)
        folder.chmod(0o555)
        root = os.geteuid() == 0
        if root:
            os.setresuid(65534, 65534, 0)
        try:
            yield folder
        finally:
            if root:
                os.setresuid(0, 0, 0)
            folder.chmod(0o755)


def test_a_protected_file_can_be_read_and_says_why_it_cannot_be_written(protected_folder: Path) -> None:
    with Store(protected_folder / "runs.db", readonly=True) as store:
        assert store.records()[0]["id"] == "run-0"
    with (
        pytest.raises(StoreError, match=r"runs\.db cannot be (written|opened); check"),
        Store(protected_folder / "runs.db") as store,
    ):
        store.add([result(1)])
    with pytest.raises(StoreError, match=r"new\.db cannot be opened"):
        Store(protected_folder / "new.db")


def test_the_file_says_whose_it_is_and_is_in_write_ahead_mode(path: Path) -> None:
    Store(path).close()
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,)
        assert connection.execute("PRAGMA user_version").fetchone() == (SCHEMA_VERSION,)
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_a_writer_that_never_lets_go_is_named(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Store(path).close()
    monkeypatch.setattr("nalm.bench.results.opening.PATIENCE", 0.1)
    with closing(sqlite3.connect(path)) as hog, Store(path) as store:
        hog.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="is locked by another process"):
            store.add([result(0)])
        assert store.records() == [], "a reader never waits"


# ------------------------------------------------------------------------------------------------------------ merging


def test_merge_joins_shards_and_keeps_the_first_of_equal_ids(path: Path, tmp_path: Path) -> None:
    curve = {name: np.ones(2, dtype=np.float32) for name in CURVE_COLUMNS}
    shards = [tmp_path / f"shard-{number}.db" for number in range(3)]
    for number, shard in enumerate(shards):
        with Store(shard) as store:
            store.add(result(seed, test_error=float(number), curve=curve) for seed in (number, number + 1))
            store.save_checkpoint("cohort", 1, b"stays")
    with Store(path) as store:
        store.add([result(0, test_error=100.0, created_at="long ago")])
    assert merge(path, *shards) == 3
    assert merge(path, *shards, path) == 0
    with Store(path) as store:
        assert [row["test_error"] for row in store.records()] == [100.0, 0.0, 1.0, 2.0]
        assert store.records(seed=0)[0]["created_at"] == "long ago"
        assert same_curve(store.curve("run-3"), curve)
        assert store.load_checkpoint("cohort") is None


def test_merge_checks_every_source_before_it_touches_the_target(path: Path, tmp_path: Path) -> None:
    good, bad = tmp_path / "good.db", tmp_path / "bad.db"
    with Store(good) as store:
        store.add([result(0)])
    foreign_text(bad)
    with pytest.raises(StoreError, match=r"bad\.db is not a store"):
        merge(path, good, bad)
    assert not path.exists()


# ---------------------------------------------------------------------------------------------- many writers, kill -9

# The store without the rest of the library: five imports of torch would take longer than the test.
WRITER = f"""
import sys, time, types
sys.modules["nalm"] = package = types.ModuleType("nalm")
package.__path__ = [{str(Path(store_module.__file__).parents[2])!r}]
from nalm.bench.results.store import Store
path, first, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
print("ready", flush=True)
sys.stdin.readline()
with Store(path) as store:
    for id in store.missing(["run-" + str(seed) for seed in range(first, first + count)]):
        store.add([dict(id=id, seed=int(id[4:]), unit="x" * 500)])
        print(id, flush=True)  # only what was committed is claimed
        time.sleep(0.001)
"""


def start_writer(path: Path, first: int, count: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WRITER, str(path), str(first), str(count)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def go(writer: subprocess.Popen[str]) -> None:
    assert writer.stdin is not None
    writer.stdin.write("\n")
    writer.stdin.flush()


def test_four_writers_and_a_kill_lose_nothing_and_resume_finishes(path: Path) -> None:
    count = 150
    writers = [start_writer(path, first, count) for first in range(0, 4 * count, count)]
    claimed: list[str] = []
    for writer in writers:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:  # all at once, on a file that does not exist yet
        go(writer)
    victim = writers[2]
    assert victim.stdout is not None
    while len(claimed) < 10:
        claimed.append(victim.stdout.readline().strip())
    victim.kill()
    for writer in writers:
        claimed += writer.communicate()[0].split()
    assert [writer.returncode for writer in writers] == [0, 0, -9, 0]
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    everything = [f"run-{seed}" for seed in range(4 * count)]
    with Store(path) as store:
        left = store.missing(everything)
        assert store.missing(claimed) == []
        assert 0 < len(left) < count
    again = start_writer(path, 2 * count, count)
    output, _ = again.communicate("\n")
    assert output.split()[1:] == left, "a second start does what was left and nothing else"
    with Store(path) as store:
        assert store.missing(everything) == []


def test_a_process_that_comes_and_goes_does_not_take_the_journal_away(path: Path, tmp_path: Path) -> None:
    """Opening the file in any other way than by SQLite would release its locks."""
    with Store(path) as store:
        store.add([result(100_000)])
        with pytest.raises(WriteRefused, match="is a database"):
            write_table(path, [], force=True)
        writer = start_writer(path, 0, 3)
        writer.communicate("go\n")
        assert writer.returncode == 0
        store.add([result(seed) for seed in range(200_000, 200_010)])
        store.confirm()
        writer = start_writer(path, 10, 3)
        writer.communicate("go\n")
    with Store(path, readonly=True) as store:
        assert len(store.records()) == 17
    assert [file.name for file in tmp_path.iterdir()] == ["runs.db"]  # nothing had to be rescued


def test_readers_see_whole_batches_while_a_writer_writes(path: Path) -> None:
    with Store(path) as writer, Store(path, readonly=True) as reader:
        for batch in range(5):
            writer.add(result(seed) for seed in range(10 * batch, 10 * batch + 10))
            assert len(reader.records()) == 10 * (batch + 1)


# --------------------------------- tables and exports


@pytest.mark.parametrize("name", ["table.csv", "table.csv.gz"])
def test_a_table_comes_back_typed_and_equal_rows_give_equal_bytes(tmp_path: Path, name: str) -> None:
    rows = [result(seed, note='a,b\n"c"', published=0.68, kept=seed > 0) for seed in range(3)]
    write_table(tmp_path / name, rows)
    back = read_table(tmp_path / name)
    assert back == [{column: row[column] for column in back[0]} for row in rows]
    assert list(back[0])[:3] == ["id", "study", "unit"]
    assert list(back[0])[-3:] == ["kept", "note", "published"]
    assert isinstance(back[0]["test_error"], float)
    first = (tmp_path / name).read_bytes()
    time.sleep(0.01)
    write_table(tmp_path / name, [dict(reversed(row.items())) for row in reversed(back)], force=True)
    assert (tmp_path / name).read_bytes() == first
    assert [file.name for file in tmp_path.iterdir()] == [name], "no half-written file stays behind"


def test_tables_have_compact_floats_unless_every_bit_is_asked_for(tmp_path: Path) -> None:
    rows = [{"id": "a", "test_error": 1 / 3, "threshold": 1e-5, "validation_error": None, "sparsity": float("inf")}]
    write_table(tmp_path / "t.csv", rows)
    assert (tmp_path / "t.csv").read_text().splitlines() == [
        "id,validation_error,test_error,sparsity,threshold",
        "a,,0.333333,inf,1e-05",
    ]
    write_table(tmp_path / "t.csv", rows, digits=None, force=True)
    assert read_table(tmp_path / "t.csv")[0]["test_error"] == 1 / 3


def test_an_empty_table_is_a_table(tmp_path: Path) -> None:
    write_table(tmp_path / "t.csv", [])
    assert read_table(tmp_path / "t.csv") == []


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"id,seed\na,1\nb,two\n", "column 'seed' holds int, got 'two'"),
        (b"id,solved\na,yes\n", "column 'solved' holds bool, got 'yes'"),
        (b"id,seed\na\n", "line 2: 1 cells under 2 column names"),
        (b"\xff\xfe\x00", "is not a readable table"),
        (b'id\n"a\n', "is not a readable table"),
    ],
)
def test_a_damaged_table_says_where(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "t.csv").write_bytes(content)
    with pytest.raises(RecordError, match=message):
        read_table(tmp_path / "t.csv")
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(content)[:-9])
    with pytest.raises(RecordError, match=r"t\.csv\.gz is not a readable table"):
        read_table(tmp_path / "t.csv.gz")


def test_export_writes_every_bit_as_csv_and_parquet(path: Path, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    with Store(path) as store:
        store.add(result(seed) for seed in range(4))
        rows = store.records()
        assert store.export(tmp_path / "all.csv") == 4
        assert store.export(tmp_path / "some.csv.gz", solved=True) == 2
        assert store.export(tmp_path / "all.parquet") == 4
        with pytest.raises(StoreError, match=r"must end in \.csv, \.csv\.gz or \.parquet"):
            store.export(tmp_path / "all.xlsx")
    assert read_table(tmp_path / "all.csv") == rows
    assert len(read_table(tmp_path / "some.csv.gz")) == 2
    with (tmp_path / "all.csv").open(newline="") as file:
        assert json.loads(next(csv.DictReader(file))["run"]) == result(0)["run"]
    exported = parquet.read_table(tmp_path / "all.parquet").to_pylist()
    assert [row["test_error"] for row in exported] == [row["test_error"] for row in rows]
    assert exported[1]["solved"] is False
    assert exported[1]["solved_at"] is None


def test_parquet_without_pyarrow_says_what_to_install(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real_import = builtins.__import__

    def without_pyarrow(name: str, *rest: Any) -> Any:
        if name.startswith("pyarrow"):
            raise ImportError(name)
        return real_import(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without_pyarrow)
    with Store(path) as store, pytest.raises(ImportError, match=r"nalm\[parquet\].*or export to \.csv"):
        store.export(path.with_suffix(".parquet"))


# -- what tables of successes are made of ---------------------------------------------------------------------------


def test_outcomes_come_one_at_a_time_and_are_verified(path: Path) -> None:
    said: list[str] = []
    with Store(path, say=said.append) as store:
        store.add(result(seed) for seed in range(5))
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE runs SET test_error = 7 WHERE id = 'run-3'")
    with Store(path, readonly=True, say=said.append) as store:
        found = store.outcomes(["run-4", "run-3", "run-0", "run-77"])
        assert next(found)["id"] in ("run-0", "run-4")
        assert len(list(found)) == 1
        assert ["1 record is damaged" in line for line in said] == [True]
        (few,) = store.outcomes(["run-2"])  # looked up, not read among all
        assert few == {name: store.records(id="run-2")[0][name] for name in few}
        assert {"id", "unit", "seed", "solved", "solved_at", "sparsity"} <= few.keys()
        assert not few.keys() & {"run", "weights", "steps"}
