"""`nalm figure`: what came out, as the field's figure."""

from __future__ import annotations

from functools import partial

from nalm.cli.options import FIGURES, Figure, Selection, takes_selection
from nalm.cli.screen import out
from nalm.cli.writing import Force, check_file, write_file


@takes_selection
def figure(selection: Selection, output: Figure, force: Force = False) -> None:
    """Draw the field's figure of a study: success, steps to solve and sparsity error per range."""
    check_file(output, force, FIGURES, [selection.store])
    from nalm.bench.show.figures import save, study_figure

    study = selection.chosen()
    drawn = study_figure(study, selection.entries(study))
    write_file(output, partial(save, drawn), force, FIGURES, [selection.store])
    out.say(f"{output} written.")
