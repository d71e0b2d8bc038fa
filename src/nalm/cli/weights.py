"""`nalm weights`: the path of one run's weights."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from nalm.cli.options import FIGURES, Figure, Selection, takes_selection
from nalm.cli.screen import out
from nalm.cli.writing import Force, check_file, write_file

LARGEST_SEED = 2**32 - 1  # of numpy's generator, which the published tasks draw operands with


@takes_selection
def weights(
    selection: Selection,
    seed: Annotated[int, typer.Option(min=0, max=LARGEST_SEED, help="Which run of the cell.")] = 0,
    output: Figure = Path("weights.png"),
    force: Force = False,
) -> None:
    """Train one run of a study again, --unit A --range 'U[1,2)', and draw the path of its weights."""
    check_file(output, force, FIGURES)
    from nalm.bench.show.drawings import draw_path
    from nalm.bench.show.figures import save
    from nalm.bench.weight_path import weight_path

    study = selection.chosen()
    if len(study.cells) != 1:
        raise ValueError(f"weights draws one run, these words mean {len(study.cells)}: give one --unit and one --range")
    (cell,) = study.cells
    steps, values = weight_path(cell.run(seed))
    drawn = draw_path(steps, values, f"{cell.row}, {cell.column}, seed {seed}")
    write_file(output, partial(save, drawn), force, FIGURES)
    out.say(f"{output} written.")
