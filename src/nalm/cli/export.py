"""`nalm export`: all finished runs of a store as one table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nalm.bench.results.writing import TABLES
from nalm.cli.options import DEFAULT_STORE
from nalm.cli.screen import counted, out
from nalm.cli.writing import Force, check_file, write_file


def export(
    output: Annotated[Path, typer.Argument(help="The table to write; ends in .csv, .csv.gz or .parquet.")],
    store: Annotated[Path, typer.Option("--store", "-s", help="The store to read.")] = DEFAULT_STORE,
    compact: Annotated[
        bool, typer.Option("--compact", help="Only what tables need: no weights, no exact JSON.")
    ] = False,
    force: Force = False,
) -> None:
    """Write all finished runs of a store to a table."""
    check_file(output, force, TABLES, [store])
    from nalm.bench.results.store import Store

    with Store(store, readonly=True) as kept:
        count = write_file(output, lambda file: kept.export(file, compact=compact), force, TABLES, [store])
    out.say(f"{counted(count, 'run')} written to {output}.")
