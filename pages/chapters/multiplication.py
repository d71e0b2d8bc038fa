"""What the multiplication page shows beside its tables."""

from __future__ import annotations

from nalm.bench.landscape import LANDSCAPES, from_every_start
from nalm.bench.show.drawings import draw_landscapes, draw_starts
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
