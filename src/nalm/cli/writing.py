"""Files that commands write: complete or not at all, and never over something that was not to be lost."""

from __future__ import annotations

import os
import signal
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated

import typer

Force = Annotated[bool, typer.Option("--force", help="Replace the file if it exists; a store is never replaced.")]
DATABASE = b"SQLite format 3\0"  # how every store begins


@contextmanager
def new_file(path: Path, force: bool, endings: Sequence[str], sources: Sequence[Path] = ()) -> Iterator[Path]:
    """A temporary file beside `path` to write to; it takes its place once the block has ended without an error.

    Args:
        endings: what the name must end in.
        sources: what the command reads; it is never written over.
    """
    check_new_file(path, force, endings, sources)
    target = Path(os.path.realpath(path))  # the file a link leads to, not the link
    temporary = target.with_name(f".{os.getpid()}-{target.name[-200:]}")  # ends alike: the ending decides the format
    try:
        with _interruptible():
            yield temporary
        check_new_file(path, force, endings, sources)  # it may have appeared meanwhile
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def check_new_file(path: Path, force: bool, endings: Sequence[str], sources: Sequence[Path] = ()) -> None:
    """Refuse a place that must not be written; commands ask before they begin to work."""
    if not path.name.endswith(tuple(endings)):
        raise ValueError(f"cannot write {path}: the name must end in {' or '.join(endings)}")
    try:
        found = path.stat()
    except FileNotFoundError:
        if not Path(os.path.realpath(path)).parent.is_dir():
            raise ValueError(f"cannot write {path}: there is no folder {path.parent}; make it first") from None
        return
    if not stat.S_ISREG(found.st_mode):
        raise ValueError(f"{path} is not a regular file; choose another name")
    for source in sources:
        with suppress(OSError):
            if os.path.samestat(found, source.stat()):
                raise ValueError(f"{path} is what this command reads; choose another name")
    with path.open("rb") as stream:
        if stream.read(len(DATABASE)) == DATABASE:
            raise ValueError(f"{path} is a store, which is never replaced; choose another name")
    if not force:
        raise ValueError(f"{path} exists; choose another name, or add --force to replace it")


@contextmanager
def _interruptible() -> Iterator[None]:
    """Let Ctrl-C raise KeyboardInterrupt, so that the temporary file is removed."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
