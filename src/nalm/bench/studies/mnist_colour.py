"""Product of two moved digits, the colours of one image, found by spatial transformers (Mistry et al. 2022)."""

from __future__ import annotations

from dataclasses import replace

from nalm.bench.studies.image_study import ImageStudy, grid, small
from nalm.bench.studies.mnist_pairs import SNMU_PAPER, pair_rows
from nalm.bench.study import Cell, Published
from nalm.bench.vision.colour_task import ColourPairs
from nalm.bench.vision.task import ImageTask


def colour_cells(data: str) -> tuple[Cell, ...]:
    """Moved digits as colours: with both starts of the transformers, and upright digits, which are easier."""
    task = ColourPairs(data)
    columns: dict[str, ImageTask] = {
        "identity start": task,
        "published start": replace(task, identity=False),
        UPRIGHT: replace(task, upright=True),
    }
    return grid(pair_rows(task, 256), columns, every=task.epoch(256))


UPRIGHT = "upright digits"


COLOUR = ImageStudy(
    name="mnist/colour",
    title="Product of two moved digits in two colours",
    reproduces="Mistry et al. 2022, figure 8b",
    cells=colour_cells("digits"),
    on=colour_cells,
    seeds=3,
    measured=("result_rounded", "first_digit", "second_digit"),
    published={
        (row, "published start"): Published(success, seeds=3, source=SNMU_PAPER, measures=measures)
        for row, success, measures in (
            ("MUL", None, {"result_rounded": 0.689}),
            ("NMU", 2 / 3, {}),
            ("sNMU", 1.0, {}),
            ("sNMU batch", 1.0, {"result_rounded": 0.679}),
        )
    },
    notes=(
        "Success: the unit is exact, given the true digits.",
        "The published code sets the transformers to the identity and then resets them. Upright digits are only moved,",
        "neither turned nor scaled; their transformers start with the identity.",
    ),
)

STUDIES = (COLOUR, small(COLOUR, epochs=16, seeds=1))
