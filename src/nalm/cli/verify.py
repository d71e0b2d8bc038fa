"""`nalm verify`: train a kept run again and compare."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nalm.cli.options import DEFAULT_STORE
from nalm.cli.screen import out


def verify(
    run: Annotated[str, typer.Argument(help="The id of a run, as the column `id` of an export says it.")],
    store: Annotated[Path, typer.Option("--store", "-s", help="The store that keeps it.")] = DEFAULT_STORE,
) -> None:
    """Train a kept run again, with the engine that trained it: identical, within tolerance or different."""
    from nalm.bench.results.store import Store
    from nalm.bench.verify import Outcome, verify

    with Store(store, readonly=True) as kept:
        found = verify(kept, run)
    out.say(f"{run}: {found.outcome.value}.")
    if found.outcome != Outcome.IDENTICAL:
        columns = ", ".join(found.changed) or "none"
        out.say(f"Largest difference of a weight {found.largest:.3g}; columns that differ: {columns}.")
    for name, then in found.kept.items():
        out.say(f"  {name}: {then} then, {found.now[name]} now")
    if found.outcome == Outcome.DIFFERENT:
        raise typer.Exit(1)
