"""The Arithmetic Dataset Task: which two-layer network learns which operation on which range (Madsen and Johansen
2020; Mistry et al. 2022 for the stochastic NMU)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from nalm.bench.distribution import Uniform
from nalm.bench.method import Descent, Method
from nalm.bench.run import Layer, Model
from nalm.bench.study import Published, Row, Study, cells_over, other_ways
from nalm.bench.task import Task
from nalm.bench.tasks.arithmetic import RANGES
from nalm.bench.tasks.two_layer import FourInputs, TwoLayer
from nalm.core.recipe import Ramp, Recipe, Switch

STEPS = 5_000_000
PLAIN = Recipe(steps=STEPS)
PULLED = Recipe(steps=STEPS, penalties={"to_grid": Ramp(10, 1_000_000, 2_000_000)})
SUMMING = Recipe(steps=STEPS, penalties={"to_grid": Ramp(0.01, 5_000, 50_000)})
STOCHASTIC = replace(PULLED, steps=2_000_000)  # as in the published scripts; the paper says 5,000,000

TABLE_1 = "Madsen and Johansen 2020, table 1"
TABLE_2 = "Madsen and Johansen 2020, tables 2 and 6"
TABLE_5 = "Madsen and Johansen 2020, table 5"
FIGURE_3 = "Madsen and Johansen 2020, figure 3 (vector graphics)"
SNMU_TEXT = "Mistry et al. 2022, section 7"

MODELS: dict[str, tuple[str, str, Recipe]] = {
    "NAC•NMU": ("NAU", "MulNACLinear", PULLED),  # NAU first as in the scripts; the paper's table says NAC+
    "NAC•σ": ("NAC", "MulNACSigmoid", PLAIN),
    "NAC•": ("NAC", "MulNAC", PLAIN),
    "NAC+": ("NAC", "NAC", PLAIN),
    "Gated": ("GatedNAUNMU", "GatedNAUNMU", PULLED),
    "Linear": ("Linear", "Linear", PLAIN),
    "NALU": ("NALU", "NALU", PLAIN),
    "NAU": ("NAU", "NAU", SUMMING),
    "NMU": ("NAU", "NMU", PULLED),
    "sNMU": ("NAU", "SNMU", STOCHASTIC),
    "ReLU": ("ReLU", "Linear", PLAIN),
    "ReLU6": ("ReLU6", "Linear", PLAIN),
}
"""First layer, second layer and recipe of each published network, by its name in the papers' tables."""


def network(label: str, first: str, second: str, inputs: int = 100, hidden: int = 2, **options: Any) -> Model:
    """Two layers, `inputs` to `hidden` to one; options go to the second."""
    return Model(label, (Layer(first, inputs, hidden), Layer(second, hidden, 1, options)))


def published_network(name: str, inputs: int = 100, hidden: int = 2) -> tuple[Model, Recipe]:
    """A network of the papers with its recipe."""
    first, second, recipe = MODELS[name]
    return network(name, first, second, inputs, hidden), recipe


def networks(names: Iterable[str], inputs: int = 100, hidden: int = 2) -> list[tuple[Model, Recipe]]:
    """Several of them."""
    return [published_network(name, inputs, hidden) for name in names]


def other_networks(inputs: int = 100) -> list[Row]:
    """The NMU's network trained by the local Gauss-Newton rule, and by the solver."""
    model, _ = published_network("NMU", inputs)
    return other_ways(model, steps=1_000, samples=1_024)


def rates(
    row: str, columns: Iterable[str], values: Iterable[float], source: str, seeds: int
) -> dict[tuple[str, str], Published]:
    """Published success rates of one row."""
    return {
        (row, column): Published(value, source=source, seeds=seeds)
        for column, value in zip(columns, values, strict=True)
    }


def short(study: Study, steps: int) -> Study:
    """The study in fewer steps: hours become minutes, and what needs longer stays unsolved."""
    longest = max(cell.method.steps for cell in study.cells)
    return replace(
        study,
        name=f"{study.name}-short",
        title=f"{study.title}, shortened",
        cells=tuple(replace(cell, method=_shortened(cell.method, steps)) for cell in study.cells),
        notes=(
            f"At most {steps:,} of up to {longest:,} published steps: fewer runs had time to be solved than in the "
            f"published full runs. Schedules that would end after step {steps // 2:,} are shortened with the steps.",
            *study.notes,
        ),
    )


def _shortened(method: Method, steps: int) -> Method:
    if method.steps <= steps or not isinstance(method, Descent):
        return method
    recipe = method.recipe
    ends = [schedule.end for schedule in recipe.penalties.values() if isinstance(schedule, Ramp)]
    if isinstance(recipe.loss, Switch):
        ends.append(recipe.loss.at)
    if max(ends, default=0) <= steps // 2:
        return Descent(replace(recipe, steps=steps))
    return method.scaled(steps)


ONE_TWO = RANGES["U[1,2)"]
STATIC_STEPS = 200_000
STATIC = Study(
    name="two-layer/static",
    title="(x1 + x2)(x1 + x2 + x3 + x4)",
    reproduces=TABLE_1,
    cells=cells_over(
        [
            *(
                (model, replace(recipe, steps=STATIC_STEPS))
                for model, recipe in networks(("NAC•σ", "NAC•", "NALU", "Gated", "NMU"), inputs=4)
            ),
            *other_networks(inputs=4),
        ],
        {"U[1,2)": FourInputs(*ONE_TWO)},
    ),
    seeds=100,
    published={
        ("NAC•", "U[1,2)"): Published(0.13, 5.9e4, 7.5e-6, 100, TABLE_1),
        ("NALU", "U[1,2)"): Published(0.26, 7.8e4, 9.2e-6, 100, TABLE_1),
        ("NMU", "U[1,2)"): Published(0.94, 1.4e4, 2.6e-8, 100, TABLE_1),
    },
    notes=("The penalty's ramp starts at step 1,000,000, so it is never on, as published.",),
)

OPERATIONS: dict[str, Task] = {
    label: TwoLayer(*ONE_TWO, name=name)
    for label, name in (("×", "mul"), ("/", "div"), ("+", "add"), ("−", "sub"), ("√", "sqrt"), ("square", "square"))
}
TABLES: dict[tuple[str, str], tuple[float, float]] = {
    ("NAC•σ", "×"): (1.0, 2.649e6),
    ("NAC•", "×"): (0.31, 3.007e6),
    ("NALU", "+"): (0.14, 1.611e6),
    ("NMU", "−"): (0.56, 1.0019e6),
    ("NAC•NMU", "√"): (0.03, 1.003e6),
    ("NAC•", "√"): (0.07, 1.48e6),
    ("NAC•", "square"): (0.77, 3.182e6),
}
"""Success and mean step as the tables print them, where the authors' file of single runs gives the same mean."""
OF_FILE: dict[tuple[str, str], tuple[float, float]] = {
    ("NAC•NMU", "×"): (0.93, 1.904e6),
    ("NMU", "×"): (0.98, 1.502e6),
    ("NAC+", "+"): (1.0, 3.016e5),
    ("Linear", "+"): (1.0, 6.209e4),
    ("NAU", "+"): (1.0, 1.896e5),
    ("ReLU", "+"): (0.62, 6.855e4),
    ("NAC+", "−"): (1.0, 3.106e5),
    ("Linear", "−"): (0.07, 3.041e6),
    ("NALU", "−"): (0.14, 2.051e6),
    ("NAU", "−"): (1.0, 5.826e4),
    ("NALU", "√"): (0.02, 2.6445e6),
    ("NAC•NMU", "square"): (1.0, 1.444e6),
    ("NAC•σ", "square"): (1.0, 1.919e6),
    ("NMU", "square"): (1.0, 1.242e6),
}
"""Success as printed; the tables' mean steps differ from this mean of the authors' single runs, which is shown."""


def _operation(row: str, column: str) -> Published:
    """What is known of one network and operation; what neither holds was never solved."""
    if (row, column) in OF_FILE:
        return Published(*OF_FILE[row, column], seeds=100, source=f"{TABLE_2}; steps: mean of the authors' runs")
    success, steps = TABLES.get((row, column), (0.0, None))
    return Published(success, steps, seeds=100, source=TABLE_2)


COMPARED = [name for name in MODELS if name != "sNMU"]
OPERATION_STUDY = Study(
    name="two-layer/operations",
    title="Arithmetic Dataset Task, six operations",
    reproduces=TABLE_2,
    cells=cells_over(networks(COMPARED), OPERATIONS),
    seeds=100,
    published={(row, column): _operation(row, column) for row in COMPARED for column in OPERATIONS},
    notes=(
        f"For {len(OF_FILE)} of {len(OF_FILE) + len(TABLES)} solved cells the published steps are means of the "
        "authors' single runs, which the printed table does not match.",
    ),
)

SEVEN = {
    "U[-2,-1)": (0.92, 1, 0.26, 0, 1),
    "U[-2,2)": (0, 0, 0, 0, 0.78),
    "U[0,1)": (1, 1, 0.64, 0.02, 1),
    "U[0.1,0.2)": (0.58, 1, 0.08, 0, 0.84),
    "U[1,2)": (0.90, 1, 0.245, 0, 1),
    "U[1.1,1.2)": (0, 0, 0, 0, 0),
    "U[10,20)": (0.54, 1, 0.42, 0.02, 1),
}
NMU_STEPS = dict(zip(SEVEN, (1.61e6, 8.5e4, 6.25e5, 1.56e6, 1.52e6, None, 1.73e6), strict=True))
OLDER = ("NAC•NMU", "NAC•σ", "NAC•", "NALU")
SNMU_RATES = {"U[-0.2,-0.1)": 0.90, "U[0.1,0.2)": 0.90, "U[-2,2)": 1.0, "U[1.1,1.2)": 0.0, "U[-1.2,-1.1)": 0.0}
ALL_RANGES = {**RANGES, "U[0,1)": (Uniform(0, 1), Uniform(1, 5))}
RANGE_TASKS: dict[str, Task] = {label: TwoLayer(*ALL_RANGES[label]) for label in sorted(ALL_RANGES)}
RANGE_STUDY = Study(
    name="two-layer/ranges",
    title="Multiplication on ten ranges",
    reproduces="Mistry et al. 2022, figure 7; Madsen and Johansen 2020, figure 3 (bottom)",
    cells=(
        *cells_over([*networks(("NMU", "sNMU")), *other_networks()], RANGE_TASKS),
        *cells_over(networks(OLDER), {label: RANGE_TASKS[label] for label in SEVEN}),
    ),
    seeds=20,
    published={
        **{
            (row, label): Published(SEVEN[label][k], source=FIGURE_3, seeds=50)
            for k, row in enumerate(OLDER)
            for label in SEVEN
        },
        **{
            ("NMU", label): Published(values[-1], NMU_STEPS[label], source=FIGURE_3, seeds=50)
            for label, values in SEVEN.items()
        },
        **rates("NMU", ("U[-0.2,-0.1)", "U[-1.2,-1.1)"), (0.75, 0), SNMU_TEXT, 20),
        **rates("sNMU", SNMU_RATES, SNMU_RATES.values(), SNMU_TEXT, 20),
    },
    notes=(
        "sNMU trains 2,000,000 steps as in the published scripts (the paper says 5,000,000), NMU 5,000,000.",
        "U[0,1), tested on U[1,5), is part of the original seven ranges only.",
    ),
)

GATING = Study(
    name="two-layer/gating",
    title="A gate in the second layer",
    reproduces="Madsen and Johansen 2020, table 5 and figure 9",
    cells=cells_over(
        [
            (network("NALU shared", "NAC", "NALU"), PLAIN),
            (network("NALU separate", "NAC", "NALU", shared=False), PLAIN),
            (network("Gated NAU/NMU", "NAU", "GatedNAUNMU"), PULLED),
        ],
        {label: OPERATIONS[label] for label in ("×", "+")},
    ),
    seeds=100,
    published={
        ("Gated NAU/NMU", "×"): Published(0.62, 1.5e6, 5.0e-5, 100, TABLE_5),
        ("NALU separate", "×"): Published(0.22, 3.3e6, 5.8e-2, 100, TABLE_5),
        ("NALU shared", "×"): Published(0.24, 3.3e6, 1.0e-3, 100, TABLE_5),
        ("Gated NAU/NMU", "+"): Published(0.37, 4.2e5, 1.7e-1, 100, TABLE_5),
        ("NALU separate", "+"): Published(0.51, 2.9e5, 1.8e-1, 100, TABLE_5),
        ("NALU shared", "+"): Published(0.34, 3.1e5, 1.8e-1, 100, TABLE_5),
    },
)

STUDIES = (STATIC, OPERATION_STUDY, short(OPERATION_STUDY, 200_000), RANGE_STUDY, GATING, short(GATING, 500_000))
