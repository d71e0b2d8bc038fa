"""The file that keeps finished runs: SQLite, one row per run, safe against `kill -9` and many writers.

A run's id is its content hash, so a row never changes: adding a run that is there is not an error and does nothing. The
database is in write-ahead mode: readers never wait, writers queue up, and what was committed survives the process.
That mode needs shared memory: on a network file system give each machine its own store and `merge` them afterwards.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from nalm.bench.results import columns, files
from nalm.bench.results.columns import COLUMNS, Curve, Record, RecordError, decode, encode
from nalm.bench.results.files import read_table as read_table
from nalm.bench.results.files import write_table as write_table
from nalm.bench.results.writing import PathLike

SCHEMA_VERSION = 1
APPLICATION_ID = int.from_bytes(b"nalm", "big")
PATIENCE = 60.0  # seconds a writer waits for the others

_SQL_TYPES = {str: "TEXT", object: "TEXT", int: "INTEGER", bool: "INTEGER", float: "REAL"}
_NAMES = ", ".join(f'"{name}"' for name in (*COLUMNS, "details"))  # details: columns beyond COLUMNS, as JSON
_SCHEMA = f"""
BEGIN IMMEDIATE;
PRAGMA application_id = {APPLICATION_ID};
PRAGMA user_version = {SCHEMA_VERSION};
CREATE TABLE IF NOT EXISTS runs (
  {", ".join(f'"{name}" {_SQL_TYPES[kind]}' for name, kind in COLUMNS.items())},
  details TEXT, curve BLOB, PRIMARY KEY (id)
);
CREATE TABLE IF NOT EXISTS checkpoints (key TEXT PRIMARY KEY, step INTEGER NOT NULL, state BLOB NOT NULL);
COMMIT;
"""
_INSERT = f"INSERT INTO runs ({_NAMES}, curve) VALUES ({', '.join('?' * (len(COLUMNS) + 2))}) ON CONFLICT DO NOTHING"
_REMEDIES = {
    "SQLITE_NOTADB": "is not a store; it was left as it is, choose another file",
    "SQLITE_CORRUPT": "is damaged; it was left as it is: try `sqlite3 FILE .recover` on a copy, or choose another file",
    "SQLITE_READONLY": "cannot be written; check its permissions or choose another file",
    "SQLITE_CANTOPEN": "cannot be opened; check that its folder exists and may be written",
    "SQLITE_BUSY": "is locked by another process; wait for it, or use one store per process and merge them",
    "SQLITE_FULL": "cannot grow: the disk is full; what was added before is kept",
}


class StoreError(RuntimeError):
    """A store that cannot be used as asked. The message names the file and the way out; the file is left as it was."""


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Turn the database's errors into ours."""
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorname", "")
        remedy = next((text for name, text in _REMEDIES.items() if code.startswith(name)), f"failed: {error}")
        raise StoreError(f"{path} {remedy}") from error


class Store:
    """A file of finished runs, their evaluation curves, and the checkpoints of long runs under way.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, Store(f"{folder}/runs.db") as store:
    ...     store.add([{"id": "a", "unit": "NMU", "seed": 0, "solved": True}])
    ...     store.missing(["a", "b"]), store.records(unit="NMU")[0]["solved"]
    1
    (['b'], True)
    """

    def __init__(self, path: PathLike, readonly: bool = False) -> None:
        """Open the store, or make it if there is no file and `readonly` is false."""
        self.path = Path(path)
        with _explained(self.path):
            self._connection = _connect(self.path, readonly)
            try:
                blank = _check(self._connection, self.path, readonly)
                if not readonly:
                    _prepare(self._connection, blank)
            except BaseException:
                self._connection.close()
                raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._connection.close()

    def add(self, records: Iterable[Mapping[str, Any]]) -> int:
        """Keep finished runs, all or none; returns how many are new.

        A record has an `id`, any of `COLUMNS`, further numbers by name, and may have a `curve`: at least the arrays
        `CURVE_COLUMNS`. The versions of the library and of torch and the time are filled in.
        """
        defaults = {
            "library_version": importlib.metadata.version("nalm"),
            "torch_version": importlib.metadata.version("torch"),
            "created_at": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        return self._insert([_encoded({**defaults, **record}) for record in records])

    def missing(self, ids: Iterable[str]) -> list[str]:
        """Those of the ids that are not kept yet, in the order given."""
        query = "SELECT value FROM json_each(?) WHERE value NOT IN (SELECT id FROM runs) ORDER BY key"
        return [found for (found,) in self._query(query, [json.dumps(list(ids))])]

    def records(self, **equals: Any) -> list[Record]:
        """The runs whose columns equal the given values, in a fixed order; a list stands for any of its values.

        Use `records(id=[...])` for the runs of a study: other studies may share them.
        """
        where, values = _conditions(equals)
        order = "study, unit, task, operation, inputs, range, recipe, seed, id"
        found = self._query(f"SELECT {_NAMES} FROM runs WHERE {where} ORDER BY {order}", values)
        return [_decoded(line) for line in found]

    def curve(self, run_id: str) -> Curve:
        """Evaluations of one run by name, see `CURVE_COLUMNS`; empty arrays if none were kept."""
        found = list(self._query("SELECT curve FROM runs WHERE id = ?", [run_id]))
        if not found:
            raise KeyError(f"{self.path} has no run {run_id!r}")
        return columns.unpack_curve(found[0][0])

    def save_checkpoint(self, key: str, step: int, state: bytes) -> None:
        """Keep the state of a run under way in place of its earlier one. The bytes are the caller's own format."""
        with _explained(self.path), self._connection:
            self._connection.execute("INSERT OR REPLACE INTO checkpoints VALUES (?, ?, ?)", (key, step, state))

    def load_checkpoint(self, key: str) -> tuple[int, bytes] | None:
        """The step and state last saved under this key, if any."""
        return next(self._query("SELECT step, state FROM checkpoints WHERE key = ?", [key]), None)

    def drop_checkpoint(self, key: str) -> None:
        """Forget a checkpoint, and those whose keys begin with this one, for runs that are finished."""
        with _explained(self.path), self._connection:
            self._connection.execute("DELETE FROM checkpoints WHERE substr(key, 1, length(?1)) = ?1", (key,))

    def export(self, path: PathLike, *, force: bool = False, **equals: Any) -> int:
        """Write the matching runs, without curves, to `.csv`, `.csv.gz` or `.parquet`; returns their number."""
        records, name = self.records(**equals), str(path)
        if name.endswith((".csv", ".csv.gz")):
            write_table(path, records, digits=None, force=force)
        elif name.endswith(".parquet"):
            files.write_parquet(path, records, force=force)
        else:
            raise StoreError(f"cannot export to {name}: the name must end in .csv, .csv.gz or .parquet")
        return len(records)

    def _insert(self, lines: Iterable[tuple[Any, ...]]) -> int:
        with _explained(self.path), self._connection:
            before = self._connection.total_changes
            self._connection.executemany(_INSERT, lines)
            return self._connection.total_changes - before

    def _query(self, query: str, values: Iterable[Any] = ()) -> Iterator[tuple[Any, ...]]:
        with _explained(self.path), closing(self._connection.execute(query, tuple(values))) as cursor:
            yield from cursor


def merge(target: PathLike, *sources: PathLike) -> int:
    """Add the finished runs of other stores to one; returns how many were new to it. Of equal ids the first is kept.

    All sources are checked before the target is touched; checkpoints stay with the store that trains them.
    """
    with ExitStack() as stack:
        opened = [stack.enter_context(Store(source, readonly=True)) for source in sources]
        store = stack.enter_context(Store(target))
        return sum(store._insert(source._query(f"SELECT {_NAMES}, curve FROM runs")) for source in opened)


def _connect(path: Path, readonly: bool) -> sqlite3.Connection:
    """Open the file without changing it; one that is not there is made to be written, not to be read."""
    if path.is_dir():
        raise StoreError(f"{path} is a folder; name a file in it, such as {path / 'runs.db'}")
    if readonly and not path.exists():
        raise StoreError(f"{path} does not exist; check its name, or run a study to make it")
    uri, mode = path.absolute().as_uri(), "rw" if readonly else "rwc"
    if readonly and not os.access(path.absolute().parent, os.W_OK) and not Path(f"{path}-wal").exists():
        mode = "ro&immutable=1"  # nobody can write there, and the files that coordinate writers cannot be made
    connection = sqlite3.connect(f"{uri}?mode={mode}", uri=True, timeout=PATIENCE)
    connection.execute(f"PRAGMA query_only = {int(readonly)}")
    return connection


def _check(connection: sqlite3.Connection, path: Path, readonly: bool) -> bool:
    """Refuse what is not ours, is newer than we are, or is damaged; returns whether the file is still blank."""
    # One statement sees one moment: another process may be creating the tables.
    query = "SELECT * FROM pragma_application_id, pragma_user_version, (SELECT count(*) FROM sqlite_master)"
    application, version, tables = connection.execute(query).fetchone()
    if readonly and not tables:
        raise StoreError(f"{path} is empty; run a study to fill it")
    if application != APPLICATION_ID and (application or version or tables):
        raise StoreError(f"{path} is the database of another program; it was left as it is, choose another file")
    if version > SCHEMA_VERSION:
        raise StoreError(f"{path} was written by a newer version of nalm; upgrade nalm or choose another file")
    if connection.execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
        raise StoreError(f"{path} {_REMEDIES['SQLITE_CORRUPT']}")
    return not tables


def _prepare(connection: sqlite3.Connection, blank: bool) -> None:
    """Make the tables if there are none, and be ready to write; other processes may be doing the same."""
    if blank:
        connection.executescript(_SCHEMA)
    connection.execute("PRAGMA synchronous = NORMAL")
    deadline = time.monotonic() + PATIENCE
    while True:  # the switch, unlike everything else, does not wait for others by itself
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorname != "SQLITE_BUSY" or time.monotonic() > deadline:
                raise
            time.sleep(0.01)


def _encoded(record: Mapping[str, Any]) -> tuple[Any, ...]:
    if not record.get("id"):
        raise RecordError("a record needs an id")
    more = columns.further(record)
    details = json.dumps(more, sort_keys=True, separators=(",", ":")) if more else None
    return (*(encode(name, record.get(name)) for name in COLUMNS), details, columns.pack_curve(record.get("curve")))


def _decoded(line: tuple[Any, ...]) -> Record:
    *values, details = line
    known: Record = {name: decode(name, value) for name, value in zip(COLUMNS, values, strict=True)}
    known.update(json.loads(details or "{}"))
    return known


def _conditions(equals: Mapping[str, Any]) -> tuple[str, list[Any]]:
    terms, values = ["1"], []
    for name, wanted in equals.items():
        if name not in COLUMNS:
            raise RecordError(columns.unknown_column(name))
        several = isinstance(wanted, list | tuple | set | frozenset)
        terms.append(f'"{name}" IN (SELECT value FROM json_each(?))' if several else f'"{name}" IS ?')
        values.append(json.dumps([encode(name, choice) for choice in wanted]) if several else encode(name, wanted))
    return " AND ".join(terms), values
