"""First lessons: perceptrons on the identity, NAC and NALU on several operands, functions against random networks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from nalm.bench.distribution import Uniform
from nalm.bench.method import Descent
from nalm.bench.run import Layer, Model, single
from nalm.bench.study import Cell, Published, Row, Study, cells_over
from nalm.bench.task import Task
from nalm.bench.tasks.lessons import Identity, Name, Operands, SumsOfFive
from nalm.core.optimiser import SGD, RMSprop
from nalm.core.recipe import Recipe, Restart
from nalm.units.activations import ACTIVATIONS
from nalm.units.nau import NAU

SEEDS = 10
EVERY = 1_000
REPORT = "a student report on NAC and NALU"
TOLERANCE = "Right is an answer within 1 % of the target (0.01 near zero), our tolerance: no source states one."


def _perceptrons(names: Iterable[str], hidden: Sequence[int], recipe: Recipe) -> list[Row]:
    return [(single("MLP", 1, label=name, hidden=list(hidden), activation=name), recipe) for name in names]


FEW_STEPS = Recipe(RMSprop(0.01), steps=3_000, batch=64)
IDENTITY = Study(
    name="intro/identity",
    title="Perceptrons learn y = x, and only where they were shown it",
    reproduces=f"{REPORT} and Trask et al. 2018, figure 1",
    cells=cells_over(
        [*_perceptrons((*ACTIVATIONS, "prelu"), (8, 8, 8), FEW_STEPS), (single("NAC", 1), FEW_STEPS)],
        {"(-5,5)": Identity(Uniform(-5, 5), Uniform(-20, 20))},
        EVERY,
    ),
    seeds=SEEDS,
    notes=(
        "Three hidden layers of 8, trained on (-5,5), tested on (-20,20); solved: every answer is right.",
        TOLERANCE,
        "RMSprop 0.01 as in the public code; ours are 3,000 steps of 64 fresh samples (there 10,000 on eleven whole "
        "numbers) and 10 seeds (there 100).",
    ),
)

NINE = ("relu", "sigmoid", "tanh", "relu6", "leaky relu", "elu", "selu", "prelu", "swish")
BY_SGD = Recipe(SGD(1e-3), steps=10_000, batch=64)
IDENTITY_SGD = Study(
    name="intro/identity-sgd",
    title="Perceptrons learn y = x by plain gradient descent",
    reproduces=f"{REPORT}, section 2",
    cells=cells_over(
        [*_perceptrons(NINE, (8, 8), BY_SGD), (single("NAC", 1), BY_SGD)],
        {"(-10,10)": Identity(Uniform(-10, 10), Uniform(-10, 20))},
        EVERY,
    ),
    seeds=SEEDS,
    notes=(
        "Two hidden layers of 8, trained on (-10,10), tested on (-10,20); solved: every answer is right.",
        TOLERANCE,
        "The report gives neither rate nor length: ours are SGD 1e-3 and 10,000 steps of 64 fresh samples.",
    ),
)

SLOW = Recipe(RMSprop(1e-2, decay=0.9), steps=10_000, loss="huber")
RANGE = (Uniform(20, 40), Uniform(0, 60))


def _restarted(recipe: Recipe) -> Recipe:
    """Every 100 steps the weights are drawn anew if 2,000 notes of the loss show no progress above an error of 1 %."""
    return replace(recipe, restart=Restart(check=100, memory=2_000, error=0.01, validate=500))


SUMS: dict[str, Task] = {
    **{f"sum of {n}": Operands(*RANGE, "sum", n) for n in range(1, 11)},
    **{f"difference of {n}": Operands(*RANGE, "alternating", n) for n in range(1, 11)},
}
WORDS: dict[Name, str] = {
    "sum": "sum",
    "alternating": "difference",
    "product": "product",
    "quotient": "quotient",
    "first root": "root",
    "first square": "square",
}
NALU_RIGHT = {
    2: {"sum": 0.998, "difference": 0.873, "product": 0.923, "quotient": 0.986, "root": 0.991, "square": 0.916},
    5: {"sum": 1.0, "difference": 0.989, "product": 0.939, "quotient": 0.187},
}
"""The share of right answers in the report, by the number of operands; its tolerance is not stated."""
NALU_TASKS: dict[str, Task] = {
    f"{word} of {n}": Operands(*RANGE, name, n) for name, word in WORDS.items() for n in (2, 5) if word in NALU_RIGHT[n]
}


def _told() -> dict[tuple[str, str], Published]:
    """What the report says: all NAC rows but the sum of ten are there."""
    right = {("NALU", f"{word} of {n}"): share for n, words in NALU_RIGHT.items() for word, share in words.items()}
    right |= {("NAC", column): 1.0 for column in SUMS if column != "sum of 10"}
    return {cell: Published(seeds=1, source=REPORT, measures={"right": share}) for cell, share in right.items()}


def _over(unit: str, recipe: Recipe, tasks: dict[str, Task], label: str) -> list[Cell]:
    """A row of one unit, whose number of inputs differs between the columns."""
    return [
        Cell(label, column, single(unit, task.in_features, label=label), task, Descent(recipe), EVERY)
        for column, task in tasks.items()
    ]


OPERANDS = Study(
    name="intro/operands",
    title="NAC and NALU on sums, differences, products, quotients, roots and squares of several operands",
    reproduces=REPORT,
    cells=(
        *_over("NAC", SLOW, SUMS, "NAC"),
        *_over("NALU", SLOW, NALU_TASKS, "NALU"),
        *_over("NALU", _restarted(SLOW), {c: t for c, t in NALU_TASKS.items() if c.endswith("of 2")}, "NALU redrawn"),
    ),
    seeds=SEEDS,
    measured=("right",),
    published=_told(),
    notes=(
        "Trained on (20,40), tested on (0,60), smooth L1, RMSprop with decay 0.9; solved: every answer is right.",
        TOLERANCE,
        "Ours: rate 1e-2, 10,000 steps of 128. Redrawn: weights are drawn anew every 2,000 steps without progress.",
        "Root and square are those of the first of two operands. A NALU's weights end at 1, so that it cannot square.",
    ),
)


SIGNED = Study(
    name="intro/signed",
    title="A signed sum of eight terms: a + b - c + d - e + f - g - h",
    reproduces=f"{REPORT}, section 3.3",
    cells=cells_over(
        [(single("NAC", 8), SLOW), (single("NAU", 8), NAU.recipe)], {"(20,40)": Operands(*RANGE, "signed", 8)}, EVERY
    ),
    seeds=SEEDS,
    measured=("right",),
    published={("NAC", "(20,40)"): Published(seeds=1, source=REPORT, measures={"right": 1.0})},
    notes=("Trained on (20,40), tested on (0,60). The NAC as in intro/operands, the NAU by its own recipe.", TOLERANCE),
)


def _two_layers(first: str, second: str, label: str) -> Model:
    return Model(label, (Layer(first, 2, 2), Layer(second, 2, 1)))


FUNCTIONS = Study(
    name="intro/functions",
    title="Function learning, normalised by what untrained networks reach",
    reproduces=f"{REPORT} and Trask et al. 2018, table 1 (static)",
    cells=cells_over(
        [
            (model, Recipe(RMSprop(0.01), steps=5_000))
            for model in (
                _two_layers("ReLU6", "Linear", "ReLU6"),
                _two_layers("Linear", "Linear", "linear"),
                _two_layers("NAC", "NAC", "NAC"),
                _two_layers("NALU", "NALU", "NALU"),
            )
        ],
        {
            "a+b": Operands(SumsOfFive(5, 10), SumsOfFive(5, 10), "sum"),
            "a-b": Operands(SumsOfFive(5, 10), SumsOfFive(5, 10), "alternating"),
            "a*b": Operands(SumsOfFive(5, 10), SumsOfFive(5, 10), "product"),
            "a/b": Operands(SumsOfFive(5, 10), SumsOfFive(5, 10), "quotient"),
            "a^2": Operands(SumsOfFive(5, 10), SumsOfFive(5, 10), "first square"),
            "sqrt a": Operands(SumsOfFive(5, 10), SumsOfFive(5, 10), "first root"),
        },
        EVERY,
    ),
    seeds=SEEDS,
    notes=(
        "Two layers, two hidden units, RMSprop 0.01; ours are 5,000 steps (there 100,000) and fresh samples.",
        TOLERANCE,
    ),
)

STUDIES = (IDENTITY, IDENTITY_SGD, OPERANDS, SIGNED, FUNCTIONS)
