"""Sweeps on the Arithmetic Dataset Task: hidden size, shape of the data, ablation, penalty, losses, noise."""

from __future__ import annotations

from dataclasses import replace

from nalm.bench.method import Descent
from nalm.bench.run import Layer, Model
from nalm.bench.studies.two_layer import (
    FIGURE_3,
    ONE_TWO,
    OPERATIONS,
    PLAIN,
    PULLED,
    STOCHASTIC,
    SUMMING,
    network,
    networks,
    published_network,
    rates,
    short,
)
from nalm.bench.study import Cell, Published, Study, cells_over
from nalm.bench.task import Task
from nalm.bench.tasks.arithmetic import RANGES
from nalm.bench.tasks.two_layer import TwoLayer
from nalm.core.recipe import Constant, Loss, Ramp, Recipe, Switch

GRAPHICS = "Madsen and Johansen 2020, figure {} (vector graphics)"
FIGURE_7, FIGURE_8, FIGURE_10 = GRAPHICS.format(7), GRAPHICS.format(8), GRAPHICS.format("10 to 12")
MUL = OPERATIONS["×"]
NINE: dict[str, Task] = {label: TwoLayer(*pair) for label, pair in RANGES.items()}
SIZES = {str(hidden): hidden for hidden in range(2, 11)}

HIDDEN = Study(
    name="two-layer/hidden",
    title="Multiplication with a hidden layer of 2 to 10",
    reproduces="Madsen and Johansen 2020, figure 3 (top)",
    cells=tuple(
        Cell(model.label, column, model, MUL, Descent(recipe))
        for column, hidden in SIZES.items()
        for model, recipe in networks(("NAC•NMU", "NAC•σ", "NAC•", "NALU", "NMU"), hidden=hidden)
    ),
    seeds=50,
    published={
        **rates("NAC•NMU", SIZES, (0.895, 0.545, 0.306, 0.056, 0, 0, 0, 0, 0), FIGURE_3, 50),
        **rates("NAC•σ", SIZES, (1, 0, 0, 0, 0, 0, 0, 0, 0), FIGURE_3, 50),
        **rates("NAC•", SIZES, (0.226, 0.219, 0.097, 0, 0, 0, 0, 0, 0), FIGURE_3, 50),
        **rates("NALU", SIZES, (0,) * 9, FIGURE_3, 50),
        **rates("NMU", SIZES, (1, 0.879, 0.917, 0.968, 0.722, 0.767, 0.735, 0.588, 0.632), FIGURE_3, 50),
    },
    notes=("The published number of seeds differs between points and is 50 at most.",),
)

UNPROJECTED = {"weights": {"W": {"keep": "clamp"}}}


def _ablated(label: str, hidden: int, projected: bool, recipe: Recipe) -> tuple[Model, Recipe]:
    options = {} if projected else UNPROJECTED
    layers = (Layer("NAU", 100, hidden, options), Layer("NMU", hidden, 1, options))
    return Model(label, layers), recipe


ABLATION = Study(
    name="two-layer/ablation",
    title="NMU without its penalty, without its projection, without both",
    reproduces="Madsen and Johansen 2020, figure 7",
    cells=tuple(
        Cell(model.label, column, model, MUL, Descent(recipe))
        for column, hidden in SIZES.items()
        for model, recipe in (
            _ablated("NMU", hidden, True, PULLED),
            _ablated("no penalty", hidden, True, PLAIN),
            _ablated("neither", hidden, False, PLAIN),
            _ablated("no projection", hidden, False, PULLED),
        )
    ),
    seeds=50,
    published={
        **rates("NMU", SIZES, (1, 0.92, 0.90, 0.86, 0.74, 0.82, 0.72, 0.58, 0.58), FIGURE_7, 50),
        **rates("no penalty", SIZES, (1, 0, 0, 0, 0, 0, 0, 0, 0), FIGURE_7, 50),
        **rates("neither", SIZES, (1, 1, 0.80, 0.76, 0.68, 0.82, 0.70, 0.56, 0.58), FIGURE_7, 50),
        **rates("no projection", SIZES, (1, 0.98, 0.90, 0.88, 0.76, 0.82, 0.72, 0.60, 0.58), FIGURE_7, 50),
    },
    notes=("Without projection the forward pass still clamps, as in the published code.",),
)


def dataset(inputs: int = 100, subset: float = 0.25, overlap: float = 0.5) -> TwoLayer:
    """The task from ratios, rounded down as published."""
    size = int(subset * inputs)
    return TwoLayer(*ONE_TWO, inputs=inputs, size=size, overlap=int(overlap * size))


def _dataset_steps(inputs: int) -> int:
    return 5_000_000 * (1 + (inputs > 100) + (inputs > 200))


INPUTS = {f"{n} inputs": dataset(n) for n in (4, 10, 25, 50, 75, *range(100, 325, 25))}
OVERLAPS = {f"overlap {o:g}": dataset(overlap=o) for o in (0, 0.1, 0.25, 0.5, 0.75, 1)}
SUBSETS = {f"subset {s:g}": dataset(subset=s) for s in (0.05, 0.1, 0.25, 0.5)}
DATASETS = {**INPUTS, **OVERLAPS, **SUBSETS}
DATASET = Study(
    name="two-layer/dataset",
    title="Multiplication: number of inputs, overlap and size of the subsets",
    reproduces="Madsen and Johansen 2020, figure 8",
    cells=tuple(
        Cell(model.label, column, model, task, Descent(replace(recipe, steps=_dataset_steps(task.inputs))))
        for column, task in DATASETS.items()
        for model, recipe in networks(("NAC•NMU", "NAC•σ", "NAC•", "Gated", "NALU", "NMU"), inputs=task.inputs)
    ),
    seeds=50,
    published={
        **rates(
            "NAC•NMU", INPUTS, (1, 0.98, 0.943, 0.98, 0.98, 0.90, 0.98, 0.431, 0.098, 0.02, 0, 0, 0, 0), FIGURE_8, 50
        ),
        **rates("NAC•σ", INPUTS, (0.882, 0.98, 0.98, 1, 1, 1, 1, 0.962, 1, 0.962, 0.98, 1, 0.98, 1), FIGURE_8, 50),
        **rates(
            "NAC•",
            INPUTS,
            (0.255, 0.471, 0.667, 0.585, 0.442, 0.24, 0.58, 0.461, 0.51, 0.294, 0.549, 0.569, 0.569, 0.392),
            FIGURE_8,
            50,
        ),
        **rates("Gated", INPUTS, (0.88, 0.04, 0.08, *(0,) * 11), FIGURE_8, 50),
        **rates("NALU", INPUTS, (0.569, 0.08, 0.098, 0.02, 0.02, *(0,) * 9), FIGURE_8, 50),
        **rates(
            "NMU",
            INPUTS,
            (0.961, 0.98, 0.943, 1, 0.962, 0.98, 1, 0.98, 0.961, 0.902, 1, 0.98, 0.922, 0.78),
            FIGURE_8,
            50,
        ),
        **rates("NAC•NMU", OVERLAPS, (1, 1, 1, 0.90, 0.44, 1), FIGURE_8, 50),
        **rates("NAC•σ", OVERLAPS, (1,) * 6, FIGURE_8, 50),
        **rates("NAC•", OVERLAPS, (0.24, 0.22, 0.26, 0.24, 0.36, 0.72), FIGURE_8, 50),
        **rates("Gated", OVERLAPS, (0,) * 6, FIGURE_8, 50),
        **rates("NALU", OVERLAPS, (0,) * 6, FIGURE_8, 50),
        **rates("NMU", OVERLAPS, (1, 1, 1, 1, 0.72, 1), FIGURE_8, 50),
        **rates("NAC•NMU", SUBSETS, (1, 1, 0.90, 0), FIGURE_8, 50),
        **rates("NAC•σ", SUBSETS, (1, 1, 1, 0), FIGURE_8, 50),
        **rates("NAC•", SUBSETS, (0.60, 0.60, 0.24, 0), FIGURE_8, 50),
        **rates("Gated", SUBSETS, (0,) * 4, FIGURE_8, 50),
        **rates("NALU", SUBSETS, (0.08, 0.04, 0, 0), FIGURE_8, 50),
        **rates("NMU", SUBSETS, (1, 1, 1, 0.84), FIGURE_8, 50),
    },
)

LAMBDAS = {f"λ = {strength:g}": strength for strength in (0, 0.01, 0.1, 1, 10, 100)}


def _pulled(recipe: Recipe, strength: float) -> Recipe:
    ramp = recipe.penalties["to_grid"]
    assert isinstance(ramp, Ramp)
    return replace(recipe, penalties={"to_grid": replace(ramp, to=strength)} if strength else {})


PENALTY = Study(
    name="two-layer/penalty",
    title="How strongly weights are pulled to the grid",
    reproduces="Madsen and Johansen 2020, figures 10 to 12",
    cells=tuple(
        Cell(
            f"{name} {sign}",
            column,
            network(f"{name} {sign}", "NAU", name),
            OPERATIONS[sign],
            Descent(_pulled(recipe, strength)),
        )
        for name, sign, recipe in (("NAU", "+", SUMMING), ("NAU", "−", SUMMING), ("NMU", "×", PULLED))
        for column, strength in LAMBDAS.items()
    ),
    seeds=50,
    published={
        **rates("NAU +", LAMBDAS, (1, 0.943, 1, 0.84, 0.44, 0), FIGURE_10, 50),
        **rates("NAU −", LAMBDAS, (0.98, 0.98, 1, 1, 1, 1), FIGURE_10, 50),
        **{
            ("NMU ×", column): Published(success, solved_at, source=FIGURE_10, seeds=50)
            for column, success, solved_at in zip(
                LAMBDAS, (0.926, 1, 1, 1, 1, 0.784), (1.88e6, 1.88e6, 1.83e6, 1.68e6, 1.42e6, 1.17e6), strict=True
            )
        },
    },
)

SWITCH = 750_000
THESIS = "Mistry 2023, section 6.3.1"
LOSS_NAMES: dict[str, Loss | Switch] = {
    "MSE": "mse",
    "PCC": "pcc",
    "MAPE": "mape",
    "PCC-MSE": Switch("pcc", "mse", SWITCH),
}
LOSSES = Study(
    name="two-layer/losses",
    title="Multiplication with other losses",
    reproduces="Mistry 2023, section 6.3.1 (figures only)",
    cells=cells_over(
        [
            (replace(model, label=f"{model.label} {label}"), replace(recipe, loss=loss))
            for model, recipe in networks(("NMU", "sNMU"))
            for label, loss in LOSS_NAMES.items()
        ],
        NINE,
    ),
    seeds=20,
    published={
        **rates("NMU MAPE", NINE, (0,) * 9, THESIS, 20),
        **rates("sNMU MAPE", NINE, (0,) * 9, THESIS, 20),
    },
    notes=(
        "PCC-MSE switches from one minus the correlation to the squared error at step 750,000; it is published as the "
        "only loss with successes on every tested range for the NMU. The released code cannot run these losses.",
    ),
)

NOISES = ((0.01, 0.05), (0.1, 0.5), (1, 2), (1, 5), (5, 10), (10, 20))
GRADIENT_NOISE = 1.0
OPEN_GATES = 0.05


def _noisy_networks() -> list[tuple[Model, Recipe]]:
    ranged = [
        (network(f"sNMU [{low:g},{high:g}]", "NAU", "SNMU", noise=[low, high]), STOCHASTIC) for low, high in NOISES
    ]
    ranged[NOISES.index((1, 5))] = published_network("sNMU")  # the default, under the name of its own runs
    batch = (network("sNMU batch", "NAU", "SNMU", noise="batch"), STOCHASTIC)
    gates = replace(PULLED, penalties={**PULLED.penalties, "open_gates": Constant(OPEN_GATES)})
    stochastic_gate = (network("stgNMU", "NAU", "StochasticGateNMU"), gates)
    gradient = (network("gradient noise", "NAU", "NMU"), replace(PULLED, gradient_noise=GRADIENT_NOISE))
    return [published_network("NMU"), *ranged, batch, stochastic_gate, gradient]


NOISE = Study(
    name="two-layer/noise",
    title="Multiplication with noise: on the inputs, in the gates, on the gradient",
    reproduces="Mistry et al. 2022, figures 5 and 26; Mistry 2023, figures 4.7 and 4.8 (figures only)",
    cells=cells_over(_noisy_networks(), NINE),
    seeds=25,
    notes=(
        "sNMU alone has noise in [1,5], the best of the paper; batch noise follows the spread of the inputs.",
        f"Strengths that the paper does not print: penalty {OPEN_GATES} of the stochastic gate (the released code's), "
        f"gradient noise {GRADIENT_NOISE:g}.",
    ),
)

STUDIES = (
    *(HIDDEN, DATASET, ABLATION, PENALTY, LOSSES, NOISE),
    *(short(study, 200_000) for study in (DATASET, PENALTY)),
    *(short(study, 100_000) for study in (HIDDEN, ABLATION, LOSSES, NOISE)),
)
