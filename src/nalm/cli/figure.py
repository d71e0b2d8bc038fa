"""`nalm figure`: what came out, as the field's figure."""

from __future__ import annotations

from nalm.cli.options import FIGURES, Figure, Selection, takes_selection
from nalm.cli.screen import out
from nalm.cli.writing import Force, check_new_file, new_file


@takes_selection
def figure(selection: Selection, output: Figure, force: Force = False) -> None:
    """Draw the field's figure of a study: success, steps to solve and sparsity error per range."""
    check_new_file(output, force, FIGURES, [selection.store])
    from nalm.bench.show.figures import points, save, three_panel

    study = selection.chosen()
    entries = selection.entries(study)
    drawn = three_panel(points(entries), study.columns, study.rows, title=study.title)
    with new_file(output, force, FIGURES, [selection.store]) as file:
        save(drawn, file)
    out.say(f"{output} written.")
