"""Files that commands write: see `nalm.bench.results.writing` for what is refused; here is what a command adds."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from nalm.bench.results.writing import WriteRefused, check_target, write_safely

T = TypeVar("T")
Force = Annotated[bool, typer.Option("--force", help="Replace the file if it exists; a store is never replaced.")]


def check_file(path: Path, force: bool, endings: Sequence[str], sources: Sequence[Path] = ()) -> None:
    """Refuse a place that must not be written; commands ask before they begin to work.

    Args:
        endings: what the name must end in.
        sources: what the command reads; it is never written over.
    """
    if not path.name.endswith(tuple(endings)):
        raise WriteRefused(f"cannot write {path}: the name must end in {' or '.join(endings)}")
    check_target(path, force=force, inputs=sources)


def write_file(
    path: Path, write: Callable[[Path], T], force: bool, endings: Sequence[str], sources: Sequence[Path] = ()
) -> T:
    """Let `write` fill a temporary file beside `path`, which takes its place when it is complete."""
    check_file(path, force, endings, sources)
    with _interruptible():
        return write_safely(path, write, force=force, inputs=sources)


@contextmanager
def _interruptible() -> Iterator[None]:
    """Let Ctrl-C raise KeyboardInterrupt, so that the temporary file is removed."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
