"""The SQLite file under a store: lines in and out, and what is done when the file is lost while it is in use."""

from __future__ import annotations

import contextlib
import itertools
import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nalm.bench.results.lines import BATCH, sound
from nalm.bench.results.opening import StoreError, any_text, check, connect, explained
from nalm.bench.results.schema import CHECKS, CREATE, INSERT, STORED, quoted
from nalm.bench.results.writing import OPEN, identity

_LOST: list[sqlite3.Connection] = []
"""Connections to files that are gone. Closing one would remove side files, which may be those of a new file there."""


class Database:
    """An open file of lines.

    Attributes:
        path: the file, another one after a rescue.
        checked: whether its records have checksums.
        say: receives a line when the file is lost.
    """

    def __init__(self, path: Path, readonly: bool, say: Callable[[str], None]) -> None:
        self.path = path
        self.say = say
        with explained(path):
            self._connection = connect(path, readonly)
            try:
                self.checked = check(self._connection, path, readonly)
            except BaseException:
                self._connection.close()
                raise
        self._file = _File.at(path)
        OPEN[self._file.identity] += 1
        self._session: sqlite3.Connection | None = None  # what this process added, should the file be lost

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()
        OPEN[self._file.identity] -= 1
        if self._session is not None:
            self._session.close()

    def query(self, query: str, values: Iterable[Any] = ()) -> Iterator[tuple[Any, ...]]:
        """What is found, line by line."""
        return itertools.chain.from_iterable(self.batches(query, values))

    def batches(self, query: str, values: Iterable[Any] = ()) -> Iterator[list[tuple[Any, ...]]]:
        """The same some lines at a time, which is quicker."""
        with explained(self.path), closing(self._connection.execute(query, tuple(values))) as cursor:
            while batch := cursor.fetchmany(BATCH):
                yield batch

    def read_any_text(self) -> None:
        """From now on text that damage made unreadable is read as it is, and not refused."""
        self._connection.text_factory = any_text

    def change(self, query: str, values: Iterable[Any] = ()) -> int:
        """Execute a statement that changes something; returns of how many lines."""
        with explained(self.path), self._connection:
            return self._connection.execute(query, tuple(values)).rowcount

    def missing(self, ids: Iterable[str]) -> list[str]:
        """Those of the ids that no run has, in the order given."""
        query = "SELECT value FROM json_each(?) WHERE value NOT IN (SELECT id FROM runs) ORDER BY key"
        return [found for (found,) in self.query(query, [json.dumps(list(ids))])]

    def insert(self, lines: Iterable[tuple[Any, ...]]) -> int:
        """Add runs, all or none; returns how many are new."""
        if not self._file.is_still(self.path):
            self._rescue()
        kept = list(lines)
        with explained(self.path), self._connection:
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

    # -- a file that is lost -------------------------------------------------------------------------------------

    def confirm(self) -> None:
        """Rescue what is known if what this process added cannot be read from the file of that name, by anybody."""
        if self._session is not None and (not self._file.is_still(self.path) or self._not_in_file(self._session)):
            self._rescue()

    def _not_in_file(self, session: sqlite3.Connection) -> bool:
        """Whether a second look at the file lacks something of this session."""
        ids = [found for (found,) in session.execute("SELECT id FROM runs")]
        try:
            with closing(Database(self.path, readonly=True, say=self.say)) as again:
                return bool(again.missing(ids))
        except (StoreError, OSError):
            return True

    def _rescue(self) -> None:
        """Write everything that is still known to a new file beside the lost one, and go on there."""
        lost, kept, session = self.path, self._connection, self._session
        names = (lost.with_name(f"{lost.stem}-rescued-{number}{lost.suffix}") for number in itertools.count(1))
        self.path = next(name for name in names if not name.exists())
        fresh = Database(self.path, readonly=False, say=self.say)
        self._connection, self._file, self._session, self.checked = fresh._connection, fresh._file, None, True
        everything = f"SELECT {quoted((*STORED, *CHECKS))}, curve FROM runs"
        for source in filter(None, (session, kept)):
            with contextlib.suppress(sqlite3.Error):  # what of the lost file can still be read
                found = source.execute(everything)
                self.insert(line for line in found if sound(line[: len(STORED)], line[len(STORED) : -1], line[-1:]))
        if session is not None:
            session.close()
        _LOST.append(kept)
        count = next(self.query("SELECT count(*) FROM runs"))[0]
        self.say(
            f"{lost} was deleted, replaced or cut short while it was in use. {count} runs are safe in {self.path}, "
            f"where everything goes from now on; `nalm merge` joins stores."
        )


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
