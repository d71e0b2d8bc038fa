"""`nalm show`: what came out, as tables."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from nalm.cli.options import Selection, takes_selection
from nalm.cli.screen import out


@takes_selection
def show(
    selection: Selection,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Print Markdown tables, as on the results pages.")
    ] = False,
    latex: Annotated[
        bool, typer.Option("--latex", help="Print LaTeX tables for a paper; they need the package booktabs.")
    ] = False,
) -> None:
    """Show a study: success with its 95 % interval, steps to solve and sparsity error, published values beside."""
    from nalm.bench.show.tables import footnotes, latex_tables, markdown_tables, rich_tables

    study = selection.chosen()
    entries = selection.entries(study)
    begun = {entry.row for entry in entries}
    waiting = [row for row in study.rows if row not in begun]
    study = replace(study, cells=tuple(cell for cell in study.cells if cell.row in begun))
    if markdown and latex:
        raise ValueError("--markdown and --latex are two forms of the same tables; choose one")
    if latex:
        out.say(latex_tables(study, entries))
        return
    if markdown:
        out.say(markdown_tables(study, entries))
        return
    notes = [f"No runs yet: {', '.join(waiting)}."] if waiting else []
    out.page(*rich_tables(study, entries, out.width), "\n".join([*notes, *footnotes(study, entries)]))
