"""How a store looks inside: its tables, the checksums of every record, and what older versions lack.

Each record has three parts, each with its checksum, so that a table of successes can be made and trusted without
reading descriptions or weights: what came out, what was run in words, and the exact run with its weights. Curves are
compressed with a checksum of their own. A checksum finds every single flipped bit, and misses other damage once in
four billion times.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import sqlite3
import zlib
from collections.abc import Callable, Sequence
from enum import IntEnum
from functools import lru_cache
from operator import itemgetter
from typing import Any

from nalm.bench.results.columns import COLUMNS

SCHEMA_VERSION = 2
APPLICATION_ID = int.from_bytes(b"nalm", "big")

DETAILS = "details"  # columns beyond COLUMNS, as JSON
OUTCOME = (
    *("id", "unit", "seed", "solved", "solved_at", "selected_step", "validation_error", "test_error", "sparsity"),
    *("threshold", "reinitialisations", "nonfinite_step", "seconds", DETAILS),
)
EXACT = ("run", "weights")
DESCRIPTION = tuple(name for name in COLUMNS if name not in OUTCOME and name not in EXACT)
PARTS = (OUTCOME, DESCRIPTION, EXACT)
STORED = (*OUTCOME, *DESCRIPTION, *EXACT)
CHECKS = ("outcome_check", "description_check", "exact_check")


class Depth(IntEnum):
    """How many of its parts are read of a record."""

    OUTCOME = 1
    DESCRIPTION = 2
    EXACT = 3

    @property
    def names(self) -> tuple[str, ...]:
        """The columns, in the order they are read."""
        return tuple(name for part in PARTS[:self] for name in part)

    @property
    def checks(self) -> tuple[str, ...]:
        """The columns with their checksums."""
        return CHECKS[:self]


_SQL_TYPES = {str: "TEXT", object: "TEXT", int: "INTEGER", bool: "INTEGER", float: "REAL"}


def quoted(names: Sequence[str]) -> str:
    """Column names for a statement. In brackets: what stands in double quotes and is missing, SQLite reads as text."""
    return ", ".join(f"[{name}]" for name in names)


_CHECKPOINTS = "key TEXT PRIMARY KEY, step INTEGER NOT NULL, state BLOB NOT NULL, runs TEXT"
CREATE = f"""
CREATE TABLE IF NOT EXISTS runs (
  {", ".join(f"[{name}] {_SQL_TYPES[COLUMNS.get(name, str)]}" for name in STORED)},
  {", ".join(f"{name} INTEGER" for name in CHECKS)}, curve BLOB, PRIMARY KEY (id)
);
CREATE TABLE IF NOT EXISTS checkpoints ({_CHECKPOINTS});
"""
INSERT = (
    f"INSERT INTO runs ({quoted((*STORED, *CHECKS))}, curve) "
    f"VALUES ({', '.join('?' * (len(STORED) + len(CHECKS) + 1))}) ON CONFLICT DO NOTHING"
)


def as_read_back(value: Any) -> Any:
    """What SQLite makes of a value: no truth values, no negative zero."""
    if isinstance(value, bool):
        return int(value)
    return value + 0.0 if isinstance(value, float) else value


def names_itself(run_id: str, run: str | None) -> bool:
    """Whether a run's id is the hash of its exact description. Descriptions that are no text of ours are believed."""
    try:
        content = json.loads(run) if run else None
    except ValueError:
        return False
    return not isinstance(content, str) or hashlib.sha256(content.encode()).hexdigest()[:16] == run_id


def create(connection: sqlite3.Connection) -> None:
    """Make the tables if there are none; other processes may be doing the same."""
    head = f"PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {SCHEMA_VERSION};"
    connection.executescript(f"BEGIN IMMEDIATE; {head} {CREATE} COMMIT;")


def upgrade(connection: sqlite3.Connection) -> None:
    """Give the records of a store of version 1 their checksums. Those that do not match their own name get none."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version < SCHEMA_VERSION:
            for name in CHECKS:
                connection.execute(f"ALTER TABLE runs ADD COLUMN {name} INTEGER")
            connection.execute("ALTER TABLE checkpoints ADD COLUMN runs TEXT")
            found = connection.execute(f"SELECT {quoted(STORED)} FROM runs").fetchall()
            checked = [(*_checks(line), line[0]) for line in found]
            settings = ", ".join(f"{name} = ?" for name in CHECKS)
            connection.executemany(f"UPDATE runs SET {settings} WHERE id = ?", checked)
            connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


def _checks(line: Sequence[Any]) -> tuple[int, ...]:
    if not names_itself(line[0], line[STORED.index("run")]):
        return (-1,) * len(CHECKS)  # no checksum is negative
    return checksums(line)


def checksums(line: Sequence[Any]) -> tuple[int, ...]:
    """Of the parts of a record in the order of `STORED`, as many as there are."""
    values, count = tuple(line), len(line)
    return tuple([checksum(values[begin:end]) for checksum, begin, end in _PARTS if end <= count])


def intact(lines: Sequence[tuple[Any, ...]], parts: int) -> bool:
    """Whether all lines have the checksums that stand behind their first so many parts: the quick way to many."""
    width = _ENDS[parts - 1]
    return all(
        list(map(checksum, map(itemgetter(slice(begin, end)), lines))) == [line[width + number] for line in lines]
        for number, (checksum, begin, end) in enumerate(_PARTS[:parts])
    )


def _checksum(values: tuple[Any, ...]) -> int:
    return zlib.crc32(repr(values).encode())


# Descriptions are equal in many records: remembering their checksums makes reading a third faster (100,080 runs).
_ENDS = tuple(itertools.accumulate(len(part) for part in PARTS))
_CHECKSUMS: tuple[Callable[[tuple[Any, ...]], int], ...] = (_checksum, lru_cache(1_000)(_checksum), _checksum)
_PARTS = tuple(zip(_CHECKSUMS, (0, *_ENDS), _ENDS, strict=False))


def with_checks(line: Sequence[Any]) -> tuple[Any, ...]:
    """Values in the order of `STORED`, then their checksums."""
    values = [as_read_back(value) for value in line]
    return (*values, *checksums(values))
