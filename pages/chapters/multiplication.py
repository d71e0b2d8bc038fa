"""What the multiplication page shows beside its tables."""

from __future__ import annotations

import numpy as np

from nalm.bench.landscape import LANDSCAPES, from_every_start
from nalm.bench.show.drawings import draw_landscapes, draw_starts, figure_of
from nalm.bench.show.figures import COLOURS
from pages.markdown import picture


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


def noise_bounds() -> str:
    """The upper bound of batch noise over the deviation of a batch: 1 + 1 / deviation."""
    deviation = np.geomspace(0.02, 20, 200)
    with figure_of(1, 1, 2.0) as (figure, (axes,)):
        axes.loglog(deviation, 1 + 1 / deviation, color=COLOURS[0])
        axes.set(xlabel="standard deviation of a batch's inputs", ylabel="largest noise")
    return picture(figure, "noise-bounds.svg", "Upper bound of batch noise")
