"""Opening the file of a store: what is not ours, newer than we are or damaged is refused and left as it is."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nalm.bench.results.schema import APPLICATION_ID, CHECKS, SCHEMA_VERSION, STORED, create, upgrade
from nalm.bench.results.writing import TABLES

PATIENCE = 60.0  # seconds a writer waits for the others

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
def explained(path: Path) -> Iterator[None]:
    """Turn the database's errors into ours."""
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorname", "")
        remedy = next((text for name, text in _REMEDIES.items() if code.startswith(name)), f"failed: {error}")
        raise StoreError(f"{path} {remedy}".replace("FILE", str(path))) from error
    except UnicodeDecodeError as error:  # the complaint itself quotes damaged text
        raise StoreError(f"{path} {_REMEDIES['SQLITE_CORRUPT']}".replace("FILE", str(path))) from error


def connect(path: Path, readonly: bool) -> sqlite3.Connection:
    """Open the file without changing it; one that is not there is made to be written, not to be read."""
    if path.is_dir():
        raise StoreError(f"the path {str(path)!r} is a folder; name a file in it, such as {path / 'runs.db'}")
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


def any_text(content: bytes) -> str:
    """Text of the database whatever its bytes, for what may be damaged."""
    return content.decode("utf-8", "surrogateescape")


def check(connection: sqlite3.Connection, path: Path, readonly: bool) -> bool:
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
