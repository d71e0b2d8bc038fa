"""`nalm merge`: several stores become one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nalm.cli.screen import counted, out


def merge(
    target: Annotated[Path, typer.Argument(help="The store to add to; it is made if it does not exist.")],
    sources: Annotated[list[Path], typer.Argument(help="Stores to take runs from; they are not changed.")],
) -> None:
    """Join stores, for example the shards of a cluster. Of equal runs the first is kept."""
    from nalm.bench.results.store import merge as join

    out.say(f"{counted(join(target, *sources), 'new run')} in {target}.")
