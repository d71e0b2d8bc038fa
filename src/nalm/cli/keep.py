"""`nalm export`, `merge`: move finished runs between files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from nalm.cli.common import DEFAULT_STORE, StorePath

console = Console(highlight=False)


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    for command in (export, merge):
        app.command()(command)


def export(
    output: Annotated[Path, typer.Argument(help="Ends in .csv, .csv.gz or .parquet.")],
    store: StorePath = DEFAULT_STORE,
) -> None:
    """Write all finished runs of a store to a table."""
    from nalm.store import Store

    with Store(store, readonly=True) as kept:
        console.print(f"{kept.export(output)} runs written to {output}.")


def merge(
    target: Annotated[Path, typer.Argument(help="The store to add to; it is made if it does not exist.")],
    sources: Annotated[list[Path], typer.Argument(help="Stores to take runs from; they are not changed.")],
) -> None:
    """Join stores, for example the shards of a cluster. Of equal runs the first is kept."""
    from nalm.store import merge as join

    console.print(f"{join(target, *sources)} new runs in {target}.")
