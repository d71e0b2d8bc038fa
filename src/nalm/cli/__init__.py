"""The command line: thin shells around the library. Heavy imports happen inside commands, so that `--help` is quick."""

from __future__ import annotations

import sys

import typer
from rich.console import Console
from rich.markup import escape

from nalm.cli import keep, landscape, look, solve, speed, train

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    help="Neural arithmetic that extrapolates: run the field's experiments, see them beside the published numbers, "
    "solve a table of numbers for its exact formula.",
    epilog="Start with `nalm list`, then try `nalm run single-module/mul --quick` and `nalm show` with the same words.",
)
for module in (look, train, keep, speed, landscape, solve):
    module.register(app)


def main() -> None:
    """Entry point: errors the user can mend are one red line, not a traceback."""
    from nalm.bench.results.columns import RecordError
    from nalm.bench.results.store import StoreError

    try:
        app()
    except (ValueError, RecordError, StoreError, ImportError, OSError) as error:
        Console(stderr=True, highlight=False).print(f"[bold red]nalm:[/] {escape(str(error))}")
        sys.exit(2)
