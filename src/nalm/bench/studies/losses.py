"""Does another loss help? Division of two of ten inputs (Mistry et al. 2022, division: appendix K; thesis, 6.3)."""

from __future__ import annotations

from dataclasses import replace

from nalm.bench.run import Model, single
from nalm.bench.studies.division import LABELS, RECIPES, THREE, tasks
from nalm.bench.study import Study, cells_over
from nalm.core.recipe import Loss, Recipe, Switch

LOSSES: dict[str, Loss | Switch] = {
    "MSE": "mse",
    "PCC": "pcc",
    "MAPE": "mape",
    "PCC-MSE": Switch("pcc", "mse", 25_000),
}


def rows(unit: str) -> list[tuple[Model, Recipe]]:
    """One unit trained on each loss; everything else as with MSE."""
    recipe = RECIPES[unit, 10]
    return [
        (single(unit, 10, label=f"{LABELS[unit]} {name}"), replace(recipe, loss=loss)) for name, loss in LOSSES.items()
    ]


DIVISION = Study(
    name="losses/division",
    title="Losses: division of two of ten inputs",
    reproduces="Mistry et al. 2022 (division), figures 21 to 23",
    cells=cells_over([line for unit in THREE for line in rows(unit)], tasks(10)),
    notes=(
        "Validation and test errors stay MSE, so that the threshold means the same "
        "for every loss. PCC-MSE switches at step 25,000, the default of the public code; the texts do not state it.",
        "Published: Real NPU modified succeeds on U[-2,2) with PCC and MAPE and not at all with MSE, at the price of "
        "the other negative ranges; losses have little effect on the NRU; the NMRU does well with all, PCC worst, "
        "U[-20,-10) the hardest range.",
    ),
)

STUDIES = (DIVISION,)
