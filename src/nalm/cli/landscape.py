"""`nalm landscape`: published loss surfaces."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from nalm.cli.options import FIGURES, Figure
from nalm.cli.screen import out
from nalm.cli.writing import Force, check_file, write_file


def landscape(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            help="nac-1e-07, nac-0.1, nac-1, nmu, real-npu, nru, nmru (two layers, one sample) or nmu-pair (the NMU's "
            "local optimum); all by default."
        ),
    ] = None,
    output: Figure = Path("landscape.png"),
    force: Force = False,
) -> None:
    """Draw published loss surfaces: the squared error over two weights."""
    check_file(output, force, FIGURES)
    from nalm.bench.landscape import LANDSCAPES, find_landscape
    from nalm.bench.show.drawings import draw_landscapes
    from nalm.bench.show.figures import save

    drawn = draw_landscapes([find_landscape(name) for name in names or LANDSCAPES])
    write_file(output, partial(save, drawn), force, FIGURES)
    out.say(f"{output} written.")
