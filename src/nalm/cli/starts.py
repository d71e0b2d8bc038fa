"""`nalm starts`: from where training finds the solution."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from nalm.cli.options import FIGURES, Figure
from nalm.cli.screen import out
from nalm.cli.writing import Force, check_file, write_file


def starts(
    output: Figure = Path("starts.png"),
    steps: Annotated[int, typer.Option(min=1, max=1_000_000, help="Steps of SGD from each start.")] = 2_500,
    count: Annotated[int, typer.Option(min=2, max=1_001, help="Starts per axis.")] = 21,
    force: Force = False,
) -> None:
    """Draw from which starts an NMU and an sNMU learn -2 times -1.8."""
    check_file(output, force, FIGURES)
    from nalm.bench.show.drawings import draw_starts
    from nalm.bench.show.figures import save
    from nalm.bench.starts import from_every_start

    results = {
        "NMU": from_every_start(steps=steps, count=count),
        "sNMU": from_every_start((1.0, 5.0), steps=steps, count=count),
    }
    write_file(output, partial(save, draw_starts(results)), force, FIGURES)
    for label, result in results.items():
        out.say(f"{label}: {result.solved.mean():.0%} of {count**2} starts end at (1, 1).")
    out.say(f"{output} written.")
