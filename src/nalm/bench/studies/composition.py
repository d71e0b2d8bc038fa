"""Composition (Mistry's thesis 2023, chapter 7): which network learns which of sixteen two-step expressions."""

from __future__ import annotations

from dataclasses import dataclass, replace

from nalm.bench.distribution import Distribution
from nalm.bench.method import Discover, Search
from nalm.bench.run import Layer, Model, single
from nalm.bench.study import Row, Study, cells_over
from nalm.bench.task import Task
from nalm.bench.tasks.arithmetic import RANGES
from nalm.bench.tasks.composition import EXPRESSIONS, LONGER, Composition
from nalm.units.composition import COMPOSITION_RECIPE

INPUTS, HIDDEN = 4, 5
TABLE = "Mistry, thesis 2023, table 7.3"


@dataclass(frozen=True)
class Architecture:
    """A line of the thesis' table 7.3.

    Attributes:
        model: the network.
        correct: expressions learned, of sixteen.
        possible: expressions it can represent.
        interpolation, extrapolation: mean squared errors, averaged over expressions.
    """

    model: Model
    correct: int
    interpolation: float
    extrapolation: float
    possible: int = 16


def stacked(label: str, *kinds: str) -> Model:
    """Layers on top of each other, `INPUTS` to `HIDDEN` ... to one."""
    widths = [INPUTS, *[HIDDEN] * (len(kinds) - 1), 1]
    return Model(label, tuple(Layer(kind, widths[i], widths[i + 1]) for i, kind in enumerate(kinds)))


def quadratic(label: str, hidden: int) -> Model:
    """Two quadratic layers that start like `torch.nn.Linear`; no source says how, and Xavier's start diverges."""
    layers = []
    for inputs, outputs in ((INPUTS, hidden), (hidden, 1)):
        bound = inputs**-0.5
        start = {"start": [-bound, bound]}
        layers.append(Layer("Quadratic", inputs, outputs, {"weights": dict.fromkeys(("W1", "W2", "W3"), start)}))
    return Model(label, tuple(layers))


ARCHITECTURES = (
    Architecture(single("MLP", INPUTS, label="MLP 6x16", hidden=(16,) * 6), 0, 0.002, 233.012),
    Architecture(quadratic("Quadratic 2L 5", HIDDEN), 0, 0.001, 724.276, possible=9),
    Architecture(quadratic("Quadratic 2L 2", 2), 0, 0.001, 558.707, possible=9),
    Architecture(stacked("4L iNAC iMNAC", "INAC", "IMNAC", "INAC", "IMNAC"), 0, 4.071, 140.695),
    Architecture(stacked("2L gated iNAC;iMNAC", "INALU", "INALU"), 0, 0.148, 832.505),
    Architecture(
        stacked("4L NAU Real NPU", "NAU", "CompositionRealNPU", "NAU", "CompositionRealNPU"), 0, 0.39, 2320.03
    ),
    Architecture(stacked("2L gated NAU;Real NPU", "MixedNAURealNPU", "MixedNAURealNPU"), 0, 0.031, 189.576),
    Architecture(stacked("4L NAU NMU", "NAU", "NMU", "NAU", "NMU"), 0, 2.815, 574.419, possible=9),
    Architecture(stacked("2L gated NAU;NMU", "MixedNAUNMU", "MixedNAUNMU"), 4, 0.067, 32.491, possible=9),
    Architecture(single("INALUSelector", INPUTS, label="Recurrent iNAC iMNAC"), 0, 4.071, 416.987),
    Architecture(single("NPUSelector", INPUTS, label="Recurrent NAU Real NPU"), 3, 3.891, 396.292),
    Architecture(single("NMUSelector", INPUTS, label="Recurrent NAU NAU NMU"), 5, 0.196, 136.472, possible=9),
    Architecture(single("FrozenSelector", INPUTS, label="Recurrent frozen"), 7, 0.891, 99.76),
)
"""The networks of table 7.3 with the published numbers."""

ONE_TWO = RANGES["U[1,2)"]
EVALUATIONS = 20
RECIPE = COMPOSITION_RECIPE

TWO_STEP = Study(
    name="composition/two-step",
    title="op2(op1(a, b), c) among four inputs, U[1,2) to U[2,6)",
    reproduces=TABLE,
    cells=cells_over(
        [(a.model, RECIPE) for a in ARCHITECTURES],
        {steps: Composition(*ONE_TWO, steps=steps) for steps in EXPRESSIONS},
        every=RECIPE.steps // EVALUATIONS,
    ),
    seeds=5,
    notes=(
        "The thesis states neither the number of seeds nor what counts as solved: here 5 seeds, and a test error below "
        "that of a chain whose operands are all off by 1e-5.",
    ),
)

SEARCH = Search(steps=1_000)
ONE_LOOK = "solver: no training but one look at 256 samples, so no step at which it was solved, and no weights."


def other_ways(inputs: int) -> list[Row]:
    """Our layer, the same for every expression, trained by gradients alone; and the solver's formula of one batch."""
    layer = single("FormulaLayer", inputs)
    return [(layer, SEARCH), (replace(layer, label="solver"), Discover())]


def expressions(ranges: tuple[Distribution, Distribution], inputs: int = INPUTS) -> dict[str, Task]:
    """All sixteen on one range."""
    return {steps: Composition(*ranges, steps=steps, inputs=inputs) for steps in EXPRESSIONS}


NEW = "nothing published: the thesis has U[1,2) only"
OURS = tuple(
    Study(
        name=f"composition/{name}",
        title=f"op2(op1(a, b), c) among {INPUTS} inputs, {name}",
        reproduces=TABLE if name == "U[1,2)" else NEW,
        cells=cells_over(other_ways(INPUTS), expressions(ranges)),
        seeds=10 if name == "U[1,2)" else 5,
        notes=(ONE_LOOK,),
    )
    for name, ranges in RANGES.items()
)
"""Our layer and the solver on each of the nine ranges; "composition/U[1,2)" is the published task."""

REDUNDANT = Study(
    name="composition/redundant",
    title="op2(op1(a, b), c) among seven inputs, four of them redundant, U[1,2)",
    reproduces=NEW,
    cells=cells_over(other_ways(7), expressions(ONE_TWO, inputs=7)),
    seeds=5,
    notes=(ONE_LOOK,),
)
THREE_STEP = Study(
    name="composition/three-step",
    title="op3(op2(op1(a, b), c), d) among four inputs, U[1,2)",
    reproduces="nothing published: a harder variant of ours",
    cells=cells_over(other_ways(INPUTS), {steps: Composition(*ONE_TWO, steps=steps) for steps in LONGER}),
    seeds=3,
    notes=(ONE_LOOK,),
)
STUDIES = (TWO_STEP, *OURS, REDUNDANT, THREE_STEP)
