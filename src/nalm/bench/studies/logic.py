"""Logic: truth functions by neural logic rule layers, comparisons and case distinctions by neural status registers.

No public code of either unit exists, and neither text has numbers to compare with: these are first measurements.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from nalm.bench.method import Descent
from nalm.bench.run import Layer, Model, single
from nalm.bench.study import Cell, Row, Study, cells_over
from nalm.bench.task import Task
from nalm.bench.tasks.logic import FUNCTIONS, RELATIONS, Boolean, Compare, Lattice, Piecewise
from nalm.core.recipe import Adam, Ramp, Recipe

LOGIC = Recipe(Adam(1e-2), steps=6_000, penalties={"to_grid": Ramp(0.1, 3_000, 6_000)})
LEARNED = Descent(LOGIC)
REGISTER = Recipe(Adam(1e-2), steps=2_000)
SELECTING = Recipe(Adam(1e-2), steps=6_000, penalties={"to_grid": Ramp(1.0, 2_000, 4_000)})
CHOICE = Recipe(Adam(1e-2), steps=6_000, penalties={"to_grid": Ramp(0.1, 3_000, 6_000)})
SEEDS = 10
EVERY = 200


def rules(inputs: int, hidden: int, block: str = "both") -> Model:
    """Two rule layers, one on the other."""
    options = {} if block == "both" else {"block": block}
    label = f"{hidden} hidden" if block == "both" else f"{hidden} hidden {block}"
    return Model(label, (Layer("NLRL", inputs, hidden, options), Layer("NLRL", hidden, 1, options)))


def _truth(inputs: int) -> tuple[Cell, ...]:
    few: dict[str, Task] = {name: Boolean(name=name, inputs=inputs) for name in ("and", "xor")}
    models = [single("NLRL", inputs, label="one layer"), rules(inputs, 8)]
    if inputs > 2:
        return cells_over([(model, LOGIC) for model in models], few, EVERY)
    models += [rules(inputs, hidden) for hidden in (2, 4)]
    every: dict[str, Task] = {name: Boolean(name=name) for name in FUNCTIONS}
    blocks = [rules(inputs, 8, block) for block in ("and", "or")]
    return (
        *cells_over([(model, LOGIC) for model in models], every, EVERY),
        *cells_over([(model, LOGIC) for model in blocks], {"xor": few["xor"]}, EVERY),
    )


BOOLEAN = tuple(
    Study(
        name=f"logic/boolean-{inputs}",
        title=f"Truth functions of two among {inputs} truth values, by neural logic rule layers",
        reproduces="Reimann and Schwung 2019, as told in Mistry 2023, section 2.2.6; no numbers are published",
        cells=_truth(inputs),
        seeds=SEEDS,
        notes=(
            "Solved: every line of the truth table is right.",
            "One layer is a conjunction or disjunction of literals: it cannot be xor or equal.",
            "Ours: Adam 1e-2, 6,000 steps, a penalty of 0.1 towards open or closed gates ramped over the second half.",
        ),
    )
    for inputs in (2, 8)
)


SIZES = Study(
    name="logic/boolean-sizes",
    title="Exclusive or of two among 2 to 8 truth values, by two rule layers with 1 to 8 rules between them",
    reproduces=BOOLEAN[0].reproduces,
    cells=tuple(
        Cell(
            f"{hidden} hidden",
            f"{inputs} inputs",
            rules(inputs, hidden),
            Boolean(name="xor", inputs=inputs),
            LEARNED,
            EVERY,
        )
        for inputs in range(2, 9)
        for hidden in range(1, 9)
    ),
    seeds=SEEDS,
    notes=(
        "Solved: every line of the truth table is right. One hidden rule cannot be enough: exclusive or needs two.",
        BOOLEAN[0].notes[-1],
    ),
)


def _registers(inputs: int = 2, **options: object) -> Model:
    label = " ".join(f"{name} {value:g}" for name, value in options.items() if isinstance(value, int | float))
    return single("NSR", inputs, 2, label=label or "NSR", **options)


@dataclass(frozen=True)
class Pairs:
    """What is compared: training and test numbers, how many of them, by which relations."""

    train: Lattice
    test: Lattice
    inputs: int = 2
    relations: tuple[str, ...] = tuple(RELATIONS)

    def tasks(self) -> dict[str, Task]:
        """One task for each relation."""
        return {name: Compare(self.train, self.test, name, self.inputs) for name in self.relations}


def _compare(name: str, title: str, rows: list[Row], pairs: Pairs, *notes: str) -> Study:
    return Study(
        name=f"logic/{name}",
        title=title,
        reproduces="Faber and Wattenhofer 2020, as told in Mistry 2023, section 2.2.7; no numbers are published",
        cells=cells_over(rows, pairs.tasks(), EVERY),
        seeds=SEEDS,
        notes=(
            f"Trained on pairs from {pairs.train}, a quarter of them equal, tested on 10,000 from {pairs.test}.",
            "Solved: none of them wrong.",
            "Ours: Adam 1e-2, 2,000 steps, squared error. The redundancy is the number of operand pairs.",
            *notes,
        ),
    )


WHOLE = Pairs(Lattice(-9, 9), Lattice(-999, 999))
TENTHS = Pairs(Lattice(-0.9, 0.9, 0.1), Lattice(-99.9, 99.9, 0.1))
REDUNDANCY = 5
REDUNDANCIES = (1, 2, REDUNDANCY, 10)
SCALES = (0.01, 0.1, 10.0, 100.0)
COMPARE = (
    _compare(
        "compare",
        "Comparisons of whole numbers by neural status registers",
        [(_registers(redundancy=r), REGISTER) for r in REDUNDANCIES],
        WHOLE,
    ),
    _compare(
        "compare-tenths",
        "Comparisons of multiples of a tenth",
        [(_registers(redundancy=REDUNDANCY, scale=10.0), REGISTER)],
        TENTHS,
    ),
    _compare(
        "compare-among-10",
        "Comparisons of the first two of ten whole numbers",
        [
            (_registers(10, redundancy=REDUNDANCY), REGISTER),
            (replace(_registers(10, redundancy=REDUNDANCY), label="pulled"), SELECTING),
        ],
        replace(WHOLE, inputs=10),
        "Pulled: 6,000 steps, with a penalty of 1 that closes the selectors ramped over steps 2,000 to 4,000.",
    ),
    _compare(
        "scale",
        "How the scale lambda of a neural status register matters",
        [(_registers(scale=scale, redundancy=REDUNDANCY), REGISTER) for scale in SCALES],
        replace(WHOLE, relations=("<", "=")),
    ),
)

LIST = 5


def _choice(unit: str, inputs: int) -> Model:
    return single(unit, inputs, label=unit, redundancy=REDUNDANCY)


PIECES: dict[str, tuple[str, int]] = {
    "difference": ("NSRChoice", 2),
    "smaller": ("NSRChoice", 2),
    "larger": ("NSRChoice", 2),
    "minimum": ("RecurrentNSR", LIST),
    "count": ("NSRCount", LIST + 1),
}
PIECEWISE = Study(
    name="logic/piecewise",
    title="Case distinctions and loops: neural status registers with neural addition units",
    reproduces="Faber and Wattenhofer 2020, as told in Mistry 2023, section 2.2.7; no numbers are published",
    cells=tuple(
        Cell(
            label,
            name,
            _choice(unit, inputs),
            Piecewise(Lattice(-9, 9) if name != "count" else Lattice(0, 4), test, name, inputs),
            Descent(CHOICE),
            EVERY,
        )
        for name, (unit, inputs) in PIECES.items()
        for label, test in (
            ("as trained", Lattice(-9, 9) if name != "count" else Lattice(0, 4)),
            ("larger", Lattice(-99, 99) if name != "count" else Lattice(0, 49)),
        )
    ),
    seeds=SEEDS,
    notes=(
        "Trained on whole numbers from -9 to 9 (to count: 0 to 4), tested on such and on those to 99 (49).",
        "Solved: every answer is right once rounded.",
        f"Lists have {LIST} elements. Redundancy 5. Ours: Adam 1e-2, 6,000 steps.",
    ),
)

# -- where the weights start, which neither text says ----------------------------------------------------------------

Starts = dict[str, dict[str, list[float]]]
"""Ranges that weights start from, by weight, as `Layer` takes them."""


def _from(**bounds: tuple[float, float]) -> Starts:
    return {name: {"start": list(pair)} for name, pair in bounds.items()}


RULE_STARTS: dict[str, Starts] = {
    "as chosen": {},
    "gates ±0.01": _from(n=(-0.01, 0.01), s=(-0.01, 0.01)),
    "gates ±1": _from(n=(-1, 1), s=(-1, 1)),
    "gates ±4": _from(n=(-4, 4), s=(-4, 4)),
    "A in 0-0.1": _from(A=(0, 0.1)),
    "A in 0-1": _from(A=(0, 1)),
    "A in 0.9-1": _from(A=(0.9, 1)),
}
REGISTER_STARTS: dict[str, Starts] = {
    "as chosen": {},
    "selectors ±0.01": _from(V1=(-0.01, 0.01), V2=(-0.01, 0.01)),
    "selectors ±5": _from(V1=(-5, 5), V2=(-5, 5)),
    "w and b ±0.01": _from(w_sign=(-0.01, 0.01), w_zero=(-0.01, 0.01), b=(-0.01, 0.01)),
    "w and b ±3": _from(w_sign=(-3, 3), w_zero=(-3, 3), b=(-3, 3)),
}


def _started(starts: Starts) -> dict[str, Starts]:
    return {"weights": starts} if starts else {}


def _rules_from(label: str, starts: Starts) -> Model:
    options = _started(starts)
    return Model(label, (Layer("NLRL", 2, 8, options), Layer("NLRL", 8, 1, options)))


def _starts(name: str, rows: list[Row], columns: dict[str, Task], chosen: str) -> Study:
    return Study(
        name=f"logic/{name.lower()}-starts",
        title=f"How much the start of {name} matters",
        reproduces="nothing: neither source says how these weights start",
        cells=cells_over(rows, columns, EVERY),
        seeds=SEEDS,
        notes=(f"As chosen: {chosen}. Each row starts some of the weights uniformly elsewhere.",),
    )


STARTS = (
    _starts(
        "NLRL",
        [(_rules_from(label, starts), LOGIC) for label, starts in RULE_STARTS.items()],
        {name: Boolean(name=name) for name in ("xor", "equal")},
        "the gates n and s (before the logistic) from N(0,0.2), A from U[0.25,0.75); two layers, 8 hidden",
    ),
    _starts(
        "NSR",
        [
            (single("NSR", 2, 2, label=label, redundancy=REDUNDANCY, **_started(starts)), REGISTER)
            for label, starts in REGISTER_STARTS.items()
        ],
        replace(WHOLE, relations=("<", "=")).tasks(),
        f"selectors (before the softmax) from N(0,1), w and b from N(0,0.5); redundancy {REDUNDANCY}",
    ),
)

STUDIES = (*BOOLEAN, SIZES, *COMPARE, PIECEWISE, *STARTS)
