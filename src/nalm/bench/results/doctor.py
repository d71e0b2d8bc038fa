"""What can be saved of a damaged store."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
import tempfile
from dataclasses import dataclass
from pathlib import Path

from nalm.bench.results.lines import sound
from nalm.bench.results.opening import StoreError, any_text
from nalm.bench.results.schema import CHECKS, STORED, quoted, with_checks
from nalm.bench.results.store import Store
from nalm.bench.results.writing import DATABASE, OPEN, PathLike, WriteRefused, identity

HEADER = 100  # bytes of SQLite's file header: page size at 16, number of pages at 28
LARGEST = 2**36  # a damaged header may say anything; no store is larger than 64 GiB


@dataclass(frozen=True)
class Diagnosis:
    """What was found in a store.

    Attributes:
        sound: how many records are as they were written.
        damaged: ids of those that are not, as far as they can be read.
        unreadable: whether parts of the file could not be read at all, so that records may be missing unseen.
        saved_to: the new store that holds the sound records, if one was asked for.
    """

    sound: int
    damaged: tuple[str, ...]
    unreadable: bool
    saved_to: Path | None = None

    @property
    def healthy(self) -> bool:
        """Whether everything is as it was written."""
        return not self.damaged and not self.unreadable


def examine(path: PathLike, save_to: PathLike | None = None) -> Diagnosis:
    """Verify every record of a store, reading around what cannot be read; the file itself is never changed.

    Args:
        save_to: a new file for the sound records.
    """
    target = Path(save_to) if save_to is not None else None
    if target is not None and target.exists():
        raise WriteRefused(f"{target} exists; choose a new name for what is saved.")
    if not Path(path).is_file():
        raise StoreError(
            f"{path} is no file; check its name" if Path(path).exists() else f"{path} does not exist; check its name"
        )
    if OPEN[identity(path)] > 0:
        raise StoreError(f"{path} is open in this process; close it first")
    with contextlib.ExitStack() as stack:
        copy = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "copy.db"
        _copy(Path(path), copy)
        reader = stack.enter_context(contextlib.closing(_reader(copy)))
        saved = stack.enter_context(Store(target)) if target else None
        count, damaged, unreadable = 0, [], False
        names = _columns(reader, path)
        numbers, complete = _numbers_of_lines(reader)
        for number in numbers:
            try:
                line = reader.execute(f"SELECT {quoted(names)}, curve FROM runs WHERE rowid = ?", [number]).fetchone()
            except sqlite3.Error:
                line = None
            if line is None:  # named by an index, but not there
                unreadable = True
                continue
            own, sums, curve = line[: len(STORED)], line[len(STORED) : -1], line[-1:]
            if sound(own, sums, curve):
                count += 1
                if saved is not None:
                    saved.insert([(*with_checks(own), *curve)])
            else:
                damaged.append(str(own[0]))
        if reader.execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
            unreadable = True
    return Diagnosis(count, tuple(damaged), unreadable or not complete, target)


def _copy(path: Path, to: Path) -> None:
    """The store with its journal, as long as its header says: SQLite reads nothing from a file that was cut short."""
    for ending in ("", "-wal"):
        if Path(f"{path}{ending}").exists():
            shutil.copyfile(f"{path}{ending}", f"{to}{ending}")
    with to.open("r+b") as file:
        header = file.read(HEADER)
        if len(header) == HEADER and header.startswith(DATABASE):
            page = int.from_bytes(header[16:18], "big")
            length = (65536 if page == 1 else page) * int.from_bytes(header[28:32], "big")
            if to.stat().st_size < length <= LARGEST:
                file.truncate(length)


def _reader(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path)
    connection.text_factory = any_text
    return connection


def _columns(reader: sqlite3.Connection, path: PathLike) -> tuple[str, ...]:
    try:
        there = {name for _, name, *_ in reader.execute("PRAGMA table_info(runs)")}
    except (sqlite3.Error, UnicodeDecodeError) as error:  # a complaint that quotes damaged text cannot be decoded
        raise StoreError(f"{path}: nothing can be read from it ({error})") from error
    if lacking := [name for name in (*STORED, "curve") if name not in there]:
        raise StoreError(f"{path}: nothing can be saved, its records have no column {lacking[0]!r}")
    return (*STORED, *(CHECKS if there.issuperset(CHECKS) else ()))


def _numbers_of_lines(reader: sqlite3.Connection) -> tuple[list[int], bool]:
    """Numbers of all records that can be reached from either end or by their ids, and whether nothing broke off."""
    found: set[int] = set()
    complete = True
    for query in (
        "SELECT rowid FROM runs NOT INDEXED ORDER BY rowid",
        "SELECT rowid FROM runs NOT INDEXED ORDER BY rowid DESC",
        "SELECT rowid FROM runs ORDER BY id",
    ):
        try:
            for (number,) in reader.execute(query):
                found.add(number)
        except sqlite3.Error:
            complete = False
    return sorted(found), complete
