"""Feature scaling does not help the NMU (Mistry's thesis, section 6.1)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from nalm.bench.distribution import Uniform
from nalm.bench.method import Descent
from nalm.bench.run import Model, single
from nalm.bench.studies.single_module import FINDINGS, NMU_SUCCESS, ORDER
from nalm.bench.study import Cell, Published, Study
from nalm.bench.tasks.arithmetic import RANGES, SingleModule
from nalm.core.recipe import Recipe
from nalm.units.nau import NMU

THESIS = "Mistry 2023, section 6.1"
ON = NMU.recipe
OFF = replace(ON, penalties={})


def min_max(train: Uniform) -> Model:
    """Feyn's scaling of x1 x2 for inputs from a range: its mean and half its length, half the targets' length."""
    products = [a * b for a in (train.low, train.high) for b in (train.low, train.high)]  # extremes are at corners
    mean, half = (train.low + train.high) / 2, (train.high - train.low) / 2
    span = (max(products) - min(products)) / 2
    return single("ScaledNMU", 2, before=[mean, half], after=[0, span], learn=True)


def z_score(train: Uniform) -> Model:
    """Means and standard deviations of inputs and targets, from the range itself."""
    mean, variance = (train.low + train.high) / 2, (train.high - train.low) ** 2 / 12
    deviation = math.sqrt((variance + mean**2) ** 2 - mean**4)
    return single("ScaledNMU", 2, before=[mean, math.sqrt(variance)], after=[mean**2, deviation])


def _cells() -> list[Cell]:
    kinds: dict[str, Callable[[Uniform], Model]] = {
        "NMU": lambda _: single("NMU", 2),
        "min-max": min_max,
        "z-score": z_score,
    }
    recipes: dict[str, Recipe] = {"": ON, " no penalty": OFF}
    return [
        Cell(kind + words, label, replace(make(train), label=kind + words), SingleModule(train, test), Descent(recipe))
        for kind, make in kinds.items()
        for words, recipe in recipes.items()
        for label, (train, test) in RANGES.items()
    ]


MULTIPLICATION = Study(
    name="scaling/multiplication",
    title="Multiplication with scaled features",
    reproduces="Mistry 2023, figure 6.1",
    cells=tuple(_cells()),
    published={
        **{
            (f"{kind}{words}", r): Published(0.0, source=THESIS)
            for kind in ("min-max", "z-score")
            for words in ("", " no penalty")
            for r in RANGES
        },
        **{("NMU", r): Published(rate, source=FINDINGS) for r, rate in zip(ORDER, NMU_SUCCESS, strict=True)},
    },
    notes=("Centres and spreads are those of the training range itself, not of a sample.",),
)

STUDIES = (MULTIPLICATION,)
