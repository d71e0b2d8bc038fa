"""`nalm export`, `merge`: move finished runs between files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from nalm.cli.common import DEFAULT_STORE, StorePath

console = Console(highlight=False)
BULKY = ("run", "weights", "details", "created_at", "study", "recipe")


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    for command in (export, merge):
        app.command()(command)


def export(
    output: Annotated[Path, typer.Argument(help="Ends in .csv, .csv.gz or .parquet.")],
    store: StorePath = DEFAULT_STORE,
    compact: Annotated[
        bool, typer.Option("--compact", help="Only what tables need: no weights, no exact JSON.")
    ] = False,
) -> None:
    """Write all finished runs of a store to a table."""
    from nalm.bench.results.store import Store, write_table

    with Store(store, readonly=True) as kept:
        if compact:
            rows = [{k: v for k, v in row.items() if k not in BULKY} for row in kept.records()]
            write_table(output, rows)
            console.print(f"{len(rows)} runs written to {output}.")
        else:
            console.print(f"{kept.export(output)} runs written to {output}.")


def merge(
    target: Annotated[Path, typer.Argument(help="The store to add to; it is made if it does not exist.")],
    sources: Annotated[list[Path], typer.Argument(help="Stores to take runs from; they are not changed.")],
) -> None:
    """Join stores, for example the shards of a cluster. Of equal runs the first is kept."""
    from nalm.bench.results.store import merge as join

    console.print(f"{join(target, *sources)} new runs in {target}.")
