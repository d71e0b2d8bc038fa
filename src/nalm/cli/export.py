"""`nalm export`: all finished runs of a store as one table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nalm.cli.options import DEFAULT_STORE, TABLES
from nalm.cli.screen import out
from nalm.cli.writing import Force, check_file, write_file

BULKY = ("run", "weights", "details", "created_at", "study", "recipe")
ENDINGS = (*TABLES, ".parquet")


def export(
    output: Annotated[Path, typer.Argument(help="The table to write; ends in .csv, .csv.gz or .parquet.")],
    store: Annotated[Path, typer.Option("--store", "-s", help="The store to read.")] = DEFAULT_STORE,
    compact: Annotated[
        bool, typer.Option("--compact", help="Only what tables need: no weights, no exact JSON.")
    ] = False,
    force: Force = False,
) -> None:
    """Write all finished runs of a store to a table."""
    endings = TABLES if compact else ENDINGS
    check_file(output, force, endings, [store])
    from nalm.bench.results.store import Store, write_table

    count = 0

    def write(file: Path) -> None:
        nonlocal count
        if compact:
            records = [{name: cell for name, cell in row.items() if name not in BULKY} for row in kept.records()]
            write_table(file, records)
            count = len(records)
        else:
            count = kept.export(file)

    with Store(store, readonly=True) as kept:
        write_file(output, write, force, endings, [store])
    out.say(f"{count} runs written to {output}.")
