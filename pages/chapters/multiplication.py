"""What the multiplication page shows beside its tables."""

from __future__ import annotations

import numpy as np

from nalm.bench.landscape import LANDSCAPES
from nalm.bench.results.summary import CellSummary
from nalm.bench.show.drawings import draw_landscapes, draw_starts, figure_of
from nalm.bench.show.figures import COLOURS
from nalm.bench.starts import from_every_start
from nalm.bench.studies import find_study
from pages.committed import cells_of
from pages.markdown import markdown_table, picture


def starts() -> str:
    """From which starts the NMU and the sNMU learn one product, and the NMU's error surface."""
    results = {"NMU": from_every_start(), "sNMU U[1,5]": from_every_start((1.0, 5.0))}
    surface = draw_landscapes([LANDSCAPES["nmu-pair"]], count=151)
    return "\n\n".join(
        [
            picture(surface, "nmu-pair.png", "Error of the NMU on -2 times -1.8"),
            picture(draw_starts(results), "nmu-starts.svg", "Starts from which training finds the product"),
            " ".join(f"{label}: {result.solved.mean():.0%} of 441 starts." for label, result in results.items()),
        ]
    )


BEST = (
    ("stochastic", "NMU"),
    ("stochastic", "sNMU 1-5"),
    ("gates", "λ 0.01"),
    ("gradient-noise", "η 0.01"),
)
"""The plain unit, and of each kind of noise the row with the most successes here, the fastest of them."""


def three_noises() -> str:
    """Success and mean steps of the NMU and of each kind of noise at its best."""
    columns = find_study("multiplication/stochastic").columns
    kinds = {(study, row): cells_of(f"multiplication/{study}") for study, row in BEST}
    lines = []
    for column in columns:
        entries = [cells[row, column] for (_, row), cells in kinds.items()]
        lines.append([column, *(f"{e.success.estimate:.2f}, {_steps(e)}" for e in entries)])
    return markdown_table(["success, mean steps", *(_name(study, row) for study, row in kinds)], lines)


def _name(study: str, row: str) -> str:
    return row if study == "stochastic" else f"{study.replace('-', ' ')}, {row}"


def _steps(entry: CellSummary) -> str:
    return "-" if entry.solved_at is None else f"{entry.solved_at.estimate:,.0f}"


def noise_bounds() -> str:
    """The upper bound of batch noise over the deviation of a batch: 1 + 1 / deviation."""
    deviation = np.geomspace(0.02, 20, 200)
    with figure_of(1, 1, 2.0) as (figure, (axes,)):
        axes.loglog(deviation, 1 + 1 / deviation, color=COLOURS[0])
        axes.set(xlabel="standard deviation of a batch's inputs", ylabel="largest noise")
    return picture(figure, "noise-bounds.svg", "Upper bound of batch noise")
