"""Writing a file so that nothing is lost: complete or not at all, and never over a store or what is no file."""

from __future__ import annotations

import os
import secrets
import stat
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeAlias, TypeVar

T = TypeVar("T")
PathLike: TypeAlias = str | os.PathLike[str]
OPEN: Counter[tuple[int, int]] = Counter()
"""Stores this process has open. Such a file must not be opened in another way: closing it again would release SQLite's
locks on it, and another process might then remove the journal that we write to."""
DATABASE = b"SQLite format 3\0"  # how every SQLite file begins
READABLE_TABLES = (".csv", ".csv.gz")
TABLES = (*READABLE_TABLES, ".parquet")  # which other programs read


def identity(path: PathLike) -> tuple[int, int]:
    """Device and number of a file, whatever its name."""
    status = Path(path).stat()
    return status.st_dev, status.st_ino


class WriteRefused(ValueError):
    """A file that will not be written. The message names it and the way out; nothing was touched."""


def write_safely(
    path: PathLike, write: Callable[[Path], T], *, force: bool = False, inputs: Iterable[PathLike] = ()
) -> T:
    """Let `write` fill a new file beside `path`, then put it in place at once: a reader never meets half a file.

    Returns what `write` did.

    Args:
        write: receives the temporary path to write to.
        force: replace an ordinary file that is there. A store, a folder, a device is never replaced, nor an input.
        inputs: files the content comes from.
    """
    target = Path(path)
    check_target(target, force=force, inputs=inputs)
    target = target.resolve()  # a link stays a link: what it points to is replaced
    # it ends alike, because the ending decides the format
    temporary = target.with_name(f".{os.getpid()}.{secrets.token_hex(4)}.{target.name}")
    try:
        result = write(temporary)
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        check_target(target, force=force, inputs=inputs)  # it may have appeared meanwhile
        temporary.replace(target)
        return result
    finally:
        temporary.unlink(missing_ok=True)


def check_target(path: PathLike, *, force: bool = False, inputs: Iterable[PathLike] = ()) -> None:
    """Refuse now what `write_safely` would refuse after the work is done."""
    target = Path(path)
    folder = target.resolve().parent
    if not folder.is_dir():
        raise WriteRefused(f"{target} cannot be written: there is no folder {folder}.")
    try:
        status = target.stat()  # follows links
    except FileNotFoundError:
        return
    if stat.S_ISDIR(status.st_mode):
        raise WriteRefused(f"{target} is a folder; name a file in it.")
    if not stat.S_ISREG(status.st_mode):
        raise WriteRefused(f"{target} is not an ordinary file; choose another name.")
    if any(Path(source).exists() and target.samefile(source) for source in inputs):
        raise WriteRefused(f"{target} is what is being read; choose another name for the output.")
    if is_database(target):
        raise WriteRefused(f"{target} is a database (a store of runs?) and is never replaced; choose another name.")
    if not force and status.st_size:
        raise WriteRefused(f"{target} exists; choose another name, or replace it with --force.")


def is_database(path: PathLike) -> bool:
    """Whether a file begins as SQLite files do."""
    if OPEN[identity(path)] > 0:
        return True
    with Path(path).open("rb") as file:
        return file.read(len(DATABASE)) == DATABASE
