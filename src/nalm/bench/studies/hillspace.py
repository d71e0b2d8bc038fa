"""Hill Space (DuJardin 2025): its table beside iNALU, its starts, and its units on the field's task and thresholds."""

from __future__ import annotations

from nalm.bench.distribution import Distribution, TruncatedNormal, Uniform
from nalm.bench.method import Descent, Method, Rule, Solve
from nalm.bench.run import Layer, Model, single
from nalm.bench.study import Cell, Published, Row, Study, cells_over
from nalm.bench.tasks.arithmetic import RANGES, SingleModule
from nalm.bench.tasks.hillspace import OPERATIONS, Exponential, HillSpace, NormalTail
from nalm.core.recipe import Adam, Recipe
from nalm.units.division import NMRU, NRU
from nalm.units.hillspace import HILL_RECIPE
from nalm.units.inalu import INALU
from nalm.units.nau import NAU, NMU
from nalm.units.npu import RealNPU

PAPER = "DuJardin 2025, table 4.3"
SETS: dict[str, tuple[Distribution, Distribution]] = {
    "U(-5,5)": (Uniform(-5, 5), Uniform(-10, -5)),
    "N(-3,3)": (TruncatedNormal(0, 1, -3, 3), NormalTail(8, 10)),
    "E(0.8,0.5)": (Exponential(0.8, 0.5), Exponential(0.8, 0.5)),
}
GOLDILOCKS = Uniform(1e-8, 10)
EXTREME = Uniform(-1e4, 1e4)
ARITHMETIC = {"a+b": "HillSum", "a-b": "HillSum", "a*b": "HillPower", "a/b": "HillPower"}
SOLVED = {
    ("Hill matched", "a*b U(-5,5)"): 0.0,
    ("Hill matched", "a/b U(-5,5)"): 0.0,
    ("Hill matched", "a*b N(-3,3)"): 0.8,
    ("Hill matched", "a/b N(-3,3)"): 0.7,
    **{("iNALU", f"a/b {column}"): None for column in SETS},
}
"""Cells of table 4.3 with a mean of the squared error above 1e-2, and which share of the ten published seeds stays
below; of iNALU only means are given. All other cells are at most 2e-11."""
THESIS: dict[str, tuple[str, Recipe]] = {
    "a+b": ("NAU", NAU.recipe),
    "a-b": ("NAU", NAU.recipe),
    "a*b": ("NMU", NMU.recipe),
    "a/b": ("NMRU", NMRU.recipe),
}
RULED = {"a+b": "NAU", "a-b": "NAU", "a*b": "NMU", "a/b": "NRU"}


def _cell(row: str, operation: str, column: str, unit: str, task: HillSpace, method: Method) -> Cell:
    model = single(unit, 2, label=row)
    short = method.way != "published"
    every = max(1, method.steps // 40) if short else 500
    return Cell(row, f"{operation} {column}", model, task, method, every, retire=short)


def _table() -> tuple[Cell, ...]:
    cells = []
    for operation, hill in ARITHMETIC.items():
        for column, (train, test) in SETS.items():
            own, universal = HillSpace(train, test, operation), HillSpace(GOLDILOCKS, test, operation)
            thesis, recipe = THESIS[operation]
            cells += [
                _cell("iNALU", operation, column, "INALU", own, Descent(INALU.recipe)),
                _cell("Hill matched", operation, column, hill, own, Descent(HILL_RECIPE)),
                _cell("Hill universal", operation, column, hill, universal, Descent(HILL_RECIPE)),
                _cell("NAU NMU NMRU", operation, column, thesis, own, Descent(recipe)),
                _cell("NAU NMU NRU lgn", operation, column, RULED[operation], own, Rule()),
                _cell("NAU NMU NRU solver", operation, column, RULED[operation], own, Solve()),
            ]
    return tuple(cells)


def _published() -> dict[tuple[str, str], Published]:
    columns = [f"{operation} {column}" for operation in ARITHMETIC for column in SETS]
    cells = [(row, column) for row in ("iNALU", "Hill matched", "Hill universal") for column in columns]
    return {cell: Published(SOLVED.get(cell, 1.0), seeds=10, source=PAPER) for cell in cells}


TABLE = Study(
    name="hillspace/inalu",
    title="Hill Space against iNALU, and the units, the rule and the solver of this library on its data",
    reproduces=PAPER,
    cells=_table(),
    seeds=10,
    published=_published(),
    notes=(
        "Solved: a squared error below 4e-10 of the target's mean square (weights off by 1e-5). Published rates "
        "count seeds with a mean squared error of at most 1e-2, the paper's own bound.",
        "Universal training is on U(1e-8,10) for all rows; here each operation has weights of its own, in the paper "
        "+ and * share theirs, and so do - and /.",
        "The paper trains in float64 on 64,000 fixed samples for at most ten epochs and stops early; these runs have "
        "float32, fresh samples and 10,000 steps of 64.",
    ),
)


def _of(operation: str, spread: float) -> Model:
    units = {"cos t": "HillCircle", "sin t": "HillCircle", "-a": "HillSum", **ARITHMETIC}
    unit = units.get(operation, "HillAngles" if "t" in operation else "HillPower")
    layer = Layer(unit, OPERATIONS[operation].inputs, 1, {"spread": spread} if spread else {})
    return Model(f"start {spread:g}", (layer,))


SPREADS = (0.0, 1e-8, 0.02, 1.0, 3.0, 10.0)
STARTS = Study(
    name="hillspace/starts",
    title="How far from zero the weights of Hill Space may start",
    reproduces="DuJardin 2025, table 4.5",
    cells=tuple(
        Cell(
            f"start {spread:g}",
            operation,
            _of(operation, spread),
            HillSpace(GOLDILOCKS, EXTREME, operation),
            Descent(HILL_RECIPE),
            every=500,
        )
        for spread in SPREADS
        for operation in OPERATIONS
    ),
    seeds=10,
    notes=(
        "Trained on U(1e-8,10), tested on U(-10000,10000); solved as in hillspace/inalu.",
        "The paper: fine up to a standard deviation of 1, sin fails at 3, everything at 10. It trains without warm-up "
        "and has weights that operations share.",
    ),
)

FIELD = Recipe(Adam(1e-3))
FAST = Recipe(Adam(0.3), steps=10_000, batch=64)


def _hill_rows(unit: str) -> list[Row]:
    return [
        (single(unit, 2, label="Hill its recipe"), HILL_RECIPE),
        (single(unit, 2, label="Hill Adam 0.3"), FAST),
        (single(unit, 2, label="Hill Adam 1e-3"), FIELD),
    ]


def _field(operation: str, title: str, unit: str, others: list[Row]) -> Study:
    columns = {label: SingleModule(*pair, name=operation) for label, pair in RANGES.items()}
    universal = {label: SingleModule(GOLDILOCKS, test, name=operation) for label, (_, test) in RANGES.items()}
    return Study(
        name=f"hillspace/{operation}",
        title=title,
        reproduces="the Single Module Task of Mistry 2023, chapter 3; no source has these units on it",
        cells=(
            *cells_over([*_hill_rows(unit), *others], columns),
            *cells_over([(single(unit, 2, label="Hill universal"), HILL_RECIPE)], universal),
        ),
        seeds=10,
        notes=(
            "Solved by the field's threshold: the test error of a unit whose weights are all off by 1e-5.",
            "Universal: trained on U(1e-8,10) whatever the range, as the paper advises; all other rows train on the "
            "column's range. Adam 0.3 is the paper's own division example, Adam 1e-3 the field's usual rate.",
        ),
    )


def _by_rule(unit: str) -> Row:
    return single(unit, 2, label=f"{unit} lgn"), Rule()


STUDIES = (
    TABLE,
    STARTS,
    *(
        _field(
            name, f"Hill Space on the field's {word} task", "HillSum", [(single("NAU", 2), NAU.recipe), _by_rule("NAU")]
        )
        for name, word in (("add", "addition"), ("sub", "subtraction"))
    ),
    _field(
        "mul",
        "Hill Space on the field's multiplication task",
        "HillPower",
        [(single("NMU", 2), NMU.recipe), _by_rule("NMU")],
    ),
    _field(
        "div",
        "Hill Space on the field's division task",
        "HillPower",
        [
            (single("RealNPU", 2, label="Real NPU"), RealNPU.recipe),
            (single("NRU", 2), NRU.recipe),
            (single("NMRU", 2), NMRU.recipe),
            _by_rule("NRU"),
        ],
    ),
)
