"""The file that keeps finished runs: SQLite, one record per run, safe against `kill -9` and many writers.

A run's id is its content hash, so a record never changes: adding a run that is there is not an error and does nothing.
The database is in write-ahead mode: readers never wait, writers queue up, and what was committed survives the process.
That mode needs shared memory: on a network file system give each machine its own store and `merge` them afterwards.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import itertools
import json
import os
import sqlite3
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from nalm.bench.results import columns, files
from nalm.bench.results.columns import COLUMNS, Curve, Record, RecordError, decode, encode
from nalm.bench.results.files import read_table as read_table
from nalm.bench.results.files import write_table as write_table
from nalm.bench.results.schema import (
    APPLICATION_ID,
    CHECKS,
    CREATE,
    DETAILS,
    INSERT,
    SCHEMA_VERSION,
    STORED,
    Depth,
    checksums,
    create,
    names_itself,
    quoted,
    upgrade,
    with_checks,
)
from nalm.bench.results.writing import OPEN, PathLike, check_target, identity
from nalm.core.arguments import Index, checks_arguments, shown
from nalm.core.notebook import paragraph, table

BATCH = 1_000  # records moved at once
SCAN_SHARE = 3  # looking up a third of all records by id takes as long as reading all (100,080 runs, warm)
PATIENCE = 60.0  # seconds a writer waits for the others
TABLES = (".csv", ".csv.gz", ".parquet")
UNTABLED = ("created_at", "study", "recipe")  # what compact tables leave out beside HEAVY
SEVERAL = (list, tuple, set, frozenset)  # what stands for any of its values
ORDER = ("study", "unit", "task", "operation", "inputs", "range", "recipe", "seed", "id")

_REMEDIES = {
    "SQLITE_NOTADB": "is not a store; it was left as it is, choose another file",
    "SQLITE_CORRUPT": "is damaged and was left as it is; `nalm doctor FILE` saves what can be read",
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
        raise StoreError(f"{path} {remedy}".replace("FILE", str(path))) from error


class StoreWarning(UserWarning):
    """Something about a store that its user should know."""


def _warn(line: str) -> None:
    warnings.warn(line, StoreWarning, stacklevel=3)


class Store:
    """A file of finished runs, their evaluation curves, and the checkpoints of long runs under way.

    Args:
        readonly: open what is there, and change nothing.
        say: receives a line when records are damaged or the file is lost; by default a warning.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, Store(f"{folder}/runs.db") as store:
    ...     store.add([{"id": "a", "unit": "NMU", "seed": 0, "solved": True}])
    ...     store.missing(["a", "b"]), store.records(unit="NMU")[0]["solved"]
    1
    (['b'], True)
    """

    @checks_arguments
    def __init__(self, path: PathLike, readonly: bool = False, say: Callable[[str], None] = _warn) -> None:
        """Open the store, or make it if there is no file and `readonly` is false."""
        self.path = Path(path)
        self.say = say
        with _explained(self.path):
            self._connection = _connect(self.path, readonly)
            try:
                self._checked = _check(self._connection, self.path, readonly)
            except BaseException:
                self._connection.close()
                raise
        self._file = _File.at(self.path)
        OPEN[self._file.identity] += 1
        self._session: sqlite3.Connection | None = None  # what this process added, should the file be lost

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file; what was added is in it."""
        self._connection.close()
        OPEN[self._file.identity] -= 1
        if self._session is not None:
            self._session.close()

    def _repr_html_(self) -> str:
        """In a notebook: how many runs of which study and unit there are, and how many of them are solved."""
        query = "SELECT study, unit, count(*), sum(solved) FROM runs GROUP BY study, unit ORDER BY study, unit"
        lines = [tuple("" if cell is None else str(cell) for cell in line) for line in self._query(query)]
        return paragraph(str(self.path)) + table(("study", "unit", "runs", "solved"), lines)

    # -- finished runs -------------------------------------------------------------------------------------------

    @checks_arguments
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
        return self.insert([_encoded(record, defaults) for record in records])

    @checks_arguments
    def missing(self, ids: Iterable[str]) -> list[str]:
        """Those of the ids that are not kept yet, in the order given."""
        query = "SELECT value FROM json_each(?) WHERE value NOT IN (SELECT id FROM runs) ORDER BY key"
        return [found for (found,) in self._query(query, [json.dumps(list(ids))])]

    @checks_arguments
    def records(self, *, depth: Depth = Depth.EXACT, **equals: Any) -> list[Record]:
        """The runs whose columns equal the given values, in a fixed order; a list stands for any of its values.

        Use `records(id=[...])` for the runs of a study: other studies may share them. `Depth.OUTCOME` reads only what
        came out, by id, which is what tables of successes need, and quick. Damaged records are left out, and said.
        """
        if depth == Depth.OUTCOME:  # as they lie in the file, and sorted here: the file is read once, not to and fro
            lines = sorted(self.lines(depth, order=("rowid",), **equals))
        else:
            lines = list(self.lines(depth, order=ORDER, **equals))
        return list(_decoded(depth.names, lines))

    def lines(
        self, depth: Depth = Depth.EXACT, *, order: Sequence[str] = ("id",), curves: bool = False, **equals: Any
    ) -> Iterator[tuple[Any, ...]]:
        """Records as they are stored, each verified: the columns `depth.names`, then the packed curve if wanted."""
        wanted = self._most_of_all(equals)
        where, values = _conditions(
            equals if wanted is None else {name: v for name, v in equals.items() if name != "id"}
        )
        checks = depth.checks if self._checked else ()
        chosen = quoted((*depth.names, *checks, *(("curve",) if curves else ())))
        begin, end, damaged = len(depth.names), len(depth.names) + len(checks), 0
        for line in self._readable(f"SELECT {chosen} FROM runs WHERE {where} ORDER BY {quoted(order)}", values):
            if wanted is not None and line[0] not in wanted:
                continue
            own = line[:begin]
            if sound(own, line[begin:end], line[end:]):
                yield own + line[end:]
            else:
                damaged += 1
        if damaged:
            what = "1 record is" if damaged == 1 else f"{damaged} records are"
            self.say(f"{self.path}: {what} damaged and left out; `nalm doctor {self.path}` tells more.")

    def _most_of_all(self, equals: Mapping[str, Any]) -> set[str] | None:
        """The ids asked for, if they are so many that reading all records is quicker than looking each of them up."""
        ids = equals.get("id")
        if not isinstance(ids, SEVERAL):
            return None
        count = next(self._query("SELECT count(*) FROM runs"))[0]
        return set(ids) if len(ids) > count / SCAN_SHARE else None

    def _readable(self, query: str, values: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
        """As `_query`. Text that damage made unreadable must not end the reading: its record will not match."""
        count = 0
        try:
            for line in self._query(query, values):
                yield line
                count += 1
        except StoreError as error:
            if "decode to UTF-8" not in str(error):
                raise
            self._connection.text_factory = _text
            yield from self._query(f"{query} LIMIT -1 OFFSET {count}", values)

    @checks_arguments
    def curve(self, run_id: str) -> Curve:
        """Evaluations of one run by name, see `CURVE_COLUMNS`; empty arrays if none were kept."""
        found = list(self._query("SELECT curve FROM runs WHERE id = ?", [run_id]))
        if not found:
            raise KeyError(f"{self.path} has no run {run_id!r}")
        return columns.unpack_curve(found[0][0])

    @checks_arguments
    def export(self, path: PathLike, *, compact: bool = False, force: bool = False, **equals: Any) -> int:
        """Write the matching runs, without curves, to `.csv`, `.csv.gz` or `.parquet`; returns their number.

        Args:
            compact: only what tables need: no weights, no exact JSON, six digits.
            force: replace a file that is there; never a store.
        """
        name = str(path)
        if not name.endswith(TABLES):
            raise StoreError(f"cannot export to {name}: the name must end in .csv, .csv.gz or .parquet")
        check_target(path, force=force, inputs=[self.path])
        depth = Depth.DESCRIPTION if compact else Depth.EXACT
        lines = self.lines(depth, **equals)
        if name.endswith(".parquet"):
            records = list(_decoded(depth.names, lines))
            files.write_parquet(path, records, force=force)
            return len(records)
        names = [name for name in COLUMNS if name in depth.names and not (compact and name in UNTABLED)]
        further = "SELECT DISTINCT key FROM (SELECT details FROM runs WHERE json_valid(details)), json_each(details)"
        more = sorted(key for (key,) in self._query(further))
        blocks = _blocks(lines, depth.names, names, more)
        return files.write_csv(path, [*names, *more], files.cells(blocks, 6 if compact else None), force=force)

    # -- runs under way ------------------------------------------------------------------------------------------

    @checks_arguments
    def save_checkpoint(self, key: str, step: Index, state: bytes, runs: Sequence[str] = ()) -> None:
        """Keep the state of runs under way in place of their earlier one. The bytes are the caller's own format."""
        with _explained(self.path), self._connection:
            values = (key, step, state, json.dumps(list(runs)))
            self._connection.execute(
                "INSERT OR REPLACE INTO checkpoints (key, step, state, runs) VALUES (?, ?, ?, ?)", values
            )

    @checks_arguments
    def load_checkpoint(self, key: str) -> tuple[int, bytes] | None:
        """The step and state last saved under this key, if any."""
        return next(self._query("SELECT step, state FROM checkpoints WHERE key = ?", [key]), None)

    @checks_arguments
    def has_checkpoint(self, key: str) -> bool:
        """Whether there is one whose key begins like this."""
        query = "SELECT 1 FROM checkpoints WHERE substr(key, 1, length(?1)) = ?1"
        return next(self._query(query, [key]), None) is not None

    @checks_arguments
    def drop_checkpoint(self, key: str) -> None:
        """Forget a checkpoint, and those whose keys begin with this one, for runs that are finished."""
        with _explained(self.path), self._connection:
            self._connection.execute("DELETE FROM checkpoints WHERE substr(key, 1, length(?1)) = ?1", (key,))

    def drop_finished_checkpoints(self) -> int:
        """Forget the checkpoints all of whose runs are kept by now; returns their number."""
        unfinished = "SELECT 1 FROM json_each(runs) WHERE value NOT IN (SELECT id FROM runs)"
        query = f"DELETE FROM checkpoints WHERE json_array_length(runs) > 0 AND NOT EXISTS ({unfinished})"
        with _explained(self.path), self._connection:
            return self._connection.execute(query).rowcount

    # -- a file that is lost -------------------------------------------------------------------------------------

    def confirm(self) -> None:
        """Make sure that what this process added can be read from the file of that name, by anybody.

        If the file was deleted, renamed, replaced or cut short meanwhile, everything that is still known is written
        to a new store beside it, which takes its place here, and that is said.
        """
        if self._session is None:
            return
        if not self._file.is_still(self.path) or self._not_in_file():
            self._rescue()

    def _not_in_file(self) -> bool:
        assert self._session is not None
        ids = [found for (found,) in self._session.execute("SELECT id FROM runs")]
        try:
            with Store(self.path, readonly=True, say=self.say) as again:
                return bool(again.missing(ids))
        except (StoreError, OSError):
            return True

    def _rescue(self) -> None:
        lost, kept, session = self.path, self._connection, self._session
        names = (lost.with_name(f"{lost.stem}-rescued-{number}{lost.suffix}") for number in itertools.count(1))
        self.path = next(name for name in names if not name.exists())
        fresh = Store(self.path, say=self.say)
        self._connection, self._file, self._session, self._checked = fresh._connection, fresh._file, None, True
        everything = f"SELECT {quoted((*STORED, *CHECKS))}, curve FROM runs"
        for source in filter(None, (session, kept)):
            with contextlib.suppress(sqlite3.Error):  # what of the lost file can still be read
                found = source.execute(everything)
                self.insert(line for line in found if sound(line[: len(STORED)], line[len(STORED) : -1], line[-1:]))
        _LOST.append(kept)  # closing it now would remove side files that may belong to another store of that name
        count = next(self._query("SELECT count(*) FROM runs"))[0]
        self.say(
            f"{lost} was deleted, replaced or cut short while it was in use. {count} runs are safe in {self.path}, "
            f"where everything goes from now on; `nalm merge` joins stores."
        )

    # -- the database --------------------------------------------------------------------------------------------

    def insert(self, lines: Iterable[tuple[Any, ...]]) -> int:
        """Add lines as `with_checks` makes them, each with its packed curve; all or none."""
        if not self._file.is_still(self.path):
            self._rescue()
        kept = list(lines)
        with _explained(self.path), self._connection:
            before = self._connection.total_changes
            self._connection.executemany(INSERT, kept)
            added = self._connection.total_changes - before
        if self._session is None:
            self._session = sqlite3.connect("")  # a temporary file that nobody can see or delete
            self._session.execute("PRAGMA synchronous = OFF")
            self._session.executescript(CREATE)
        with self._session:
            self._session.executemany(INSERT, kept)
        if self._file.is_still(self.path):
            self._file = _File.at(self.path)
        return added

    def _query(self, query: str, values: Iterable[Any] = ()) -> Iterator[tuple[Any, ...]]:
        with _explained(self.path), closing(self._connection.execute(query, tuple(values))) as cursor:
            yield from cursor


_LOST: list[sqlite3.Connection] = []


@dataclass(frozen=True)
class _File:
    """Which file a name stood for, and how long it was: it never shrinks while it is a store."""

    identity: tuple[int, int]
    size: int

    @classmethod
    def at(cls, path: Path) -> _File:
        return cls(identity(path), path.stat().st_size)

    def is_still(self, path: Path) -> bool:
        """Whether the name stands for the same file, which has not become shorter. It is not opened: see `OPEN`."""
        try:
            now = _File.at(path)
        except OSError:
            return False
        return now.identity == self.identity and now.size >= self.size


def merge(target: PathLike, *sources: PathLike) -> int:
    """Add the finished runs of other stores to one; returns how many were new to it. Of equal ids the first is kept.

    All sources are checked before the target is touched; damaged records stay behind, and so do checkpoints.
    """
    with ExitStack() as stack:
        opened = [stack.enter_context(Store(source, readonly=True)) for source in sources]
        store = stack.enter_context(Store(target))
        added = 0
        for source in opened:
            lines = source.lines(curves=True)
            while batch := [(*with_checks(line[:-1]), line[-1]) for line in itertools.islice(lines, BATCH)]:
                added += store.insert(batch)
        store.confirm()
        return added


def _connect(path: Path, readonly: bool) -> sqlite3.Connection:
    """Open the file without changing it; one that is not there is made to be written, not to be read."""
    if path.is_dir():
        raise StoreError(f"{path} is a folder; name a file in it, such as {path / 'runs.db'}")
    if path.name.endswith(TABLES) and not readonly:
        raise StoreError(f"{path} has the name of a table; a store is a database, name it for example runs.db")
    if readonly and not path.exists():
        raise StoreError(f"{path} does not exist; check its name, or run a study to make it")
    uri, mode = path.absolute().as_uri(), "rw" if readonly else "rwc"
    if readonly and not os.access(path.absolute().parent, os.W_OK) and not Path(f"{path}-wal").exists():
        mode = "ro&immutable=1"  # nobody can write there, and the files that coordinate writers cannot be made
    connection = sqlite3.connect(f"{uri}?mode={mode}", uri=True, timeout=PATIENCE)
    connection.execute(f"PRAGMA query_only = {int(readonly)}")
    return connection


def _check(connection: sqlite3.Connection, path: Path, readonly: bool) -> bool:
    """Refuse what is not ours, is newer than we are, or is damaged; make what is not there yet, upgrade what is old.

    Returns whether the records have checksums.
    """
    # One statement sees one moment: another process may be creating the tables.
    query = "SELECT * FROM pragma_application_id, pragma_user_version, (SELECT count(*) FROM sqlite_master)"
    application, version, tables = connection.execute(query).fetchone()
    if readonly and not tables:
        raise StoreError(f"{path} is empty; run a study to fill it")
    if application != APPLICATION_ID and (application or version or tables):
        raise StoreError(f"{path} is the database of another program; it was left as it is, choose another file")
    if version > SCHEMA_VERSION:
        raise StoreError(f"{path} was written by a newer version of nalm; upgrade nalm or choose another file")
    if tables and connection.execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
        raise StoreError(f"{path} {_REMEDIES['SQLITE_CORRUPT']}".replace("FILE", str(path)))
    if not readonly:
        _prepare(connection, blank=not tables)
        if 0 < version < SCHEMA_VERSION:
            upgrade(connection)
        version = SCHEMA_VERSION
    there = {name for _, name, *_ in connection.execute("PRAGMA table_info(runs)")}
    checked = version >= SCHEMA_VERSION
    for name in (*STORED, *(CHECKS if checked else ()), "curve"):
        if name not in there:
            raise StoreError(f"{path} has no column {name!r}: it was changed or damaged; choose another file")
    return bool(checked)


def _text(content: bytes) -> str:
    """Any bytes as text."""
    return content.decode("utf-8", "surrogateescape")


def _prepare(connection: sqlite3.Connection, blank: bool) -> None:
    """Be ready to write, and find out now if that is impossible; other processes may be doing the same."""
    if blank:
        create(connection)
    connection.execute("PRAGMA synchronous = NORMAL")
    deadline = time.monotonic() + PATIENCE
    while True:  # the switch, unlike everything else, does not wait for others by itself
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            break
        except sqlite3.OperationalError as error:
            if error.sqlite_errorname != "SQLITE_BUSY" or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
    try:
        connection.execute("BEGIN IMMEDIATE")  # a file that cannot be written says so before hours of training
        connection.execute("ROLLBACK")
    except sqlite3.OperationalError as error:
        if error.sqlite_errorname != "SQLITE_BUSY":  # another writer is at it, so it can be written
            raise


def sound(own: Sequence[Any], sums: Sequence[Any], curve: Sequence[bytes | None]) -> bool:
    """Whether a record is what was written: columns by their checksums, the curve by its own.

    Without checksums (a store of version 1, or written to by that version) the run must be what its id says.
    """
    if sums and sums[0] is not None:
        if checksums(own) != sums:
            return False
    elif len(own) == len(STORED):
        run = own[STORED.index("run")]
        if not names_itself(own[0], run) or not str(own[0]).isprintable() or (sums and not run):
            return False
    if not curve:
        return True
    try:
        return all(columns.unpack_curve(packed) is not None for packed in curve)
    except RecordError:
        return False


def _blocks(
    lines: Iterator[tuple[Any, ...]], stored: Sequence[str], names: Sequence[str], more: Sequence[str]
) -> Iterator[dict[str, Sequence[Any]]]:
    """Columns of a thousand records at a time: those of `names`, and further ones."""
    while batch := list(itertools.islice(lines, BATCH)):
        found = dict(zip(stored, zip(*batch, strict=True), strict=True))
        found["solved"] = tuple(None if value is None else bool(value) for value in found["solved"])
        block: dict[str, Sequence[Any]] = {name: found[name] for name in names}
        if more:
            further = [json.loads(details or "{}") for details in found[DETAILS]]
            block |= {name: [own.get(name) for own in further] for name in more}
        yield block


def _encoded(given: Mapping[str, Any], defaults: Mapping[str, Any]) -> tuple[Any, ...]:
    if not isinstance(given, Mapping):
        raise RecordError(f"a record is a dict, got {shown(given)}")
    record = {**defaults, **given}
    if not isinstance(record.get("id"), str) or not record["id"]:
        raise RecordError(f"a record needs an id, some text; got {shown(record.get('id'))}")
    more = columns.further(record)
    details = json.dumps(more, sort_keys=True, separators=(",", ":")) if more else None
    values = [details if name == DETAILS else encode(name, record.get(name)) for name in STORED]
    return (*with_checks(values), columns.pack_curve(record.get("curve")))


def _decoded(names: Sequence[str], lines: Iterable[Sequence[Any]]) -> Iterator[Record]:
    changed = [name for name in names if COLUMNS.get(name) in (bool, object)]
    places = [(name, names.index(name)) for name in COLUMNS if name in names]
    more = names.index(DETAILS)
    for line in lines:
        record: Record = {name: line[place] for name, place in places}
        for name in changed:
            record[name] = decode(name, record[name])
        if line[more]:
            record.update(json.loads(line[more]))
        yield record


def _conditions(equals: Mapping[str, Any]) -> tuple[str, list[Any]]:
    terms, values = ["1"], []
    for name, wanted in equals.items():
        if name not in COLUMNS:
            raise RecordError(columns.unknown_column(name))
        several = isinstance(wanted, SEVERAL)
        terms.append(f"[{name}] IN (SELECT value FROM json_each(?))" if several else f"[{name}] IS ?")
        values.append(json.dumps([encode(name, choice) for choice in wanted]) if several else encode(name, wanted))
    return " AND ".join(terms), values
