"""Why arithmetic units at all: perceptrons interpolate but do not extrapolate (Mistry et al. 2022, table 1)."""

from __future__ import annotations

from nalm.bench.method import Descent
from nalm.bench.run import Layer, Model, single
from nalm.bench.study import Cell, Published, Study
from nalm.bench.tasks.arithmetic import RANGES, SingleModule
from nalm.core.recipe import Recipe
from nalm.units.nau import NAU, NMU

PAPER = "Mistry et al. 2022, table 1"
SIGNS = {"+": "add", "−": "sub", "×": "mul", "÷": "div"}
LONG = 100_000
PUBLISHED_STEPS = 2_000_000


def mlp(width: int) -> Model:
    """One hidden layer of rectifiers, with biases."""
    return single("MLP", 2, label=f"MLP ({width})", hidden=[width])


NO_BIAS = {"weights": {"b": {"box": [0, 0], "start": [0, 0]}}}


def without_biases(width: int) -> Model:
    """The same network with its biases held at zero."""
    hidden = Layer("Dense", 2, width, {"activation": "relu", **NO_BIAS})
    return Model(f"MLP ({width}) no bias", (hidden, Layer("Linear", width, 1, NO_BIAS)))


ROWS: tuple[tuple[Model, Recipe], ...] = (
    (mlp(1), Recipe()),
    (mlp(4), Recipe()),
    (without_biases(4), Recipe()),
    (mlp(100), Recipe(steps=LONG)),
    (single("NAU", 2), NAU.recipe),
    (single("NMU", 2), NMU.recipe),
)
MLP_STUDY = Study(
    name="motivation/mlp",
    title="Perceptrons against arithmetic units",
    reproduces="Mistry et al. 2022, table 1 and figure 1; Mistry 2023, figures 1.3 and 1.6",
    cells=tuple(
        Cell(model.label, sign, model, SingleModule(*RANGES["U[1,2)"], name=name, criterion="flat"), Descent(recipe))
        for model, recipe in ROWS
        for sign, name in SIGNS.items()
    ),
    published={
        **{(f"MLP ({width})", "×"): Published(0.0, source=PAPER) for width in (1, 100)},
        ("NMU", "×"): Published(1.0, solved_at=10_000, source=PAPER),
    },
    notes=(
        "Trained on U[1,2), tested on U[2,6); solved is a test error below 1e-5.",
        f"MLP (100) trains for {LONG:,} steps here; motivation/mlp-long has the published {PUBLISHED_STEPS:,}. The "
        "published network of width 4 has no biases; it is shown with and without.",
        "The published step of the NMU is that of the best validation error, ours the first test error below the "
        "threshold.",
    ),
)

LONG_STUDY = Study(
    name="motivation/mlp-long",
    title="A wide perceptron, trained as long as published",
    reproduces=PAPER,
    cells=tuple(
        Cell(
            "MLP (100)",
            sign,
            mlp(100),
            SingleModule(*RANGES["U[1,2)"], name=name, criterion="flat"),
            Descent(Recipe(steps=PUBLISHED_STEPS)),
            every=20_000,
        )
        for sign, name in SIGNS.items()
    ),
    seeds=3,
    published={("MLP (100)", "×"): Published(0.0, source=PAPER)},
    notes=("Fewer seeds than the published 25.",),
)

STUDIES = (MLP_STUDY, LONG_STUDY)
