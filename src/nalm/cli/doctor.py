"""`nalm doctor`: is everything in a store as it was written, and what can be saved if not."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nalm.cli.options import DEFAULT_STORE
from nalm.cli.screen import out


def doctor(
    store: Annotated[Path, typer.Argument(help="The store to examine; it is not changed.")] = DEFAULT_STORE,
    save: Annotated[
        Path | None, typer.Option("--save", help="A new store for the sound runs, such as saved.db.")
    ] = None,
) -> None:
    """Verify every run of a store by its checksums, list damaged ones, and save the rest with --save."""
    from nalm.bench.results.doctor import examine

    found = examine(store, save)
    out.say(f"Runs as they were written: {found.sound}. Damaged: {len(found.damaged)}.")
    for name in found.damaged:
        out.say(f"  damaged: {name}", "yellow")
    if found.unreadable:
        out.say("Parts of the file cannot be read at all, so that further runs may be missing.", "yellow")
    if found.saved_to is not None:
        out.say(f"Saved to {found.saved_to}: {found.sound}.")
    if not found.healthy:
        if found.saved_to is None:
            out.say(f"Save what is sound: nalm doctor {store} --save saved.db", "cyan")
        raise typer.Exit(2)
