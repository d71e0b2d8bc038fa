"""The Single Module Task: which unit learns which operation on which range (Mistry's thesis, chapter 3)."""

from __future__ import annotations

from dataclasses import replace

from nalm.bench.run import single
from nalm.bench.study import Published, Row, Study, cells_over, other_ways
from nalm.bench.tasks.arithmetic import RANGES, SingleModule
from nalm.core.recipe import Adam, Ramp, Recipe, Staircase
from nalm.units.inalu import INALU
from nalm.units.nau import NAU, NMU
from nalm.units.snmu import SNMU

PLAIN = Recipe()
THESIS = "Mistry 2023, section 3.3"
FINDINGS = "re-run of the benchmark's authors, vector graphics"
ORDER = (
    *("U[-0.2,-0.1)", "U[-1.2,-1.1)", "U[-2,-1)", "U[-2,2)", "U[-20,-10)"),
    *("U[0.1,0.2)", "U[1,2)", "U[1.1,1.2)", "U[10,20)"),
)
HARD = ("U[-1.2,-1.1)", "U[1.1,1.2)")


def power_recipe(first: float, last: float) -> Recipe:
    """NPU and Real NPU: Adam 5e-3 and the stepped L1 strength."""
    return Recipe(Adam(5e-3), penalties={"l1": Staircase(first, last)})


def tasks(operation: str, inputs: int = 2) -> dict[str, SingleModule]:
    """The task on each of the nine ranges."""
    return {label: SingleModule(*pair, name=operation, inputs=inputs) for label, pair in RANGES.items()}


def everywhere(label: str, source: str, success: float, but: tuple[str, ...] = ()) -> dict[tuple[str, str], Published]:
    """The same published rate on all ranges, except some."""
    return {(label, r): Published(success, source=source) for r in RANGES if r not in but}


LABELS = {
    "MulNAC": "NAC•",
    "NAC": "NAC+",
    "GNALU": "G-NALU",
    "INALU": "iNALU",
    "SNMU": "sNMU",
    "RealNPU": "Real NPU",
}
M = {name: single(name, 2, label=LABELS.get(name, name)) for name in (*LABELS, "NALU", "NAU", "NMU", "NMRU", "NPU")}


def _study(operation: str, title: str, rows: list[Row], **published: object) -> Study:
    return Study(
        name=f"single-module/{operation}",
        title=title,
        reproduces=f"Mistry 2023, figures 3.2 to 3.5 ({operation})",
        cells=cells_over(rows, tasks(operation)),
        **published,  # type: ignore[arg-type]
    )


SUM_ROWS = [
    (M["NAC"], PLAIN),
    (M["NALU"], PLAIN),
    (M["GNALU"], PLAIN),
    (M["INALU"], INALU.recipe),
    (M["NAU"], NAU.recipe),
    *other_ways(M["NAU"]),
]
NMU_SUCCESS = (1, 0.68, 0.80, 1, 1, 1, 1, 1, 1)
NMU_SOLVED = (21_000, 2_000, 2_000, 2_320, 2_400, 5_480, 2_800, 3_000, 2_560)

ADD = _study(
    "add",
    "Addition of two inputs",
    SUM_ROWS,
    published={
        **everywhere("iNALU", THESIS, 1.0),
        **{("NAU", r): Published(1.0, solved_at=4_200 if r == "U[-2,2)" else 5_040, source=FINDINGS) for r in RANGES},
    },
    notes=("G-NALU is published as non-zero on 4 of 9 ranges.",),
)
SUB = _study(
    "sub",
    "Subtraction of two inputs",
    SUM_ROWS,
    published={**everywhere("NAU", THESIS, 1.0), **everywhere("iNALU", THESIS, 1.0, but=HARD)},
    notes=(
        "iNALU is published as full except on U[-1.2,-1.1) and U[1.1,1.2), where it keeps at least 0.40; "
        "the other units are near 0 there. NAC+ beats NALU on 4 of 9 ranges.",
    ),
)
MUL = _study(
    "mul",
    "Multiplication of two inputs",
    [
        (M["MulNAC"], PLAIN),
        (M["NALU"], PLAIN),
        (M["GNALU"], PLAIN),
        (M["INALU"], INALU.recipe),
        (M["NMU"], NMU.recipe),
        (M["SNMU"], SNMU.recipe),
        (M["NPU"], power_recipe(1e-7, 1e-5)),
        (M["RealNPU"], power_recipe(1e-7, 1e-5)),
        *other_ways(M["NMU"]),
    ],
    published={
        **{
            ("NMU", r): Published(s, solved_at=at, source=FINDINGS)
            for r, s, at in zip(ORDER, NMU_SUCCESS, NMU_SOLVED, strict=True)
        },
        **{(u, "U[1,2)"): Published(1.0, source=THESIS) for u in ("iNALU", "NPU", "Real NPU")},
        **everywhere("sNMU", "Mistry et al. 2022, figure 10 (flat threshold 1e-5)", 1.0),
    },
    notes=(
        "NAC• is published as non-zero on 2 ranges only; iNALU as beating NALU on 7 and full on 5; "
        "NPU as 0.32 above Real NPU on U[-2,2) and equal elsewhere.",
    ),
)
DIV = _study(
    "div",
    "Division of two inputs",
    [
        (M["MulNAC"], PLAIN),
        (M["NALU"], PLAIN),
        (M["GNALU"], PLAIN),
        (M["INALU"], INALU.recipe),
        (M["NPU"], power_recipe(1e-9, 1e-7)),
        (M["RealNPU"], power_recipe(1e-9, 1e-7)),
        *other_ways(M["NMRU"]),
    ],
    published={
        **{(u, "U[1,2)"): Published(1.0, source=THESIS) for u in ("NPU", "Real NPU")},
        **everywhere("NALU", THESIS, 0.0),
        **everywhere("G-NALU", THESIS, 0.0),
    },
    notes=("No unit is published as full on all ranges; iNALU as full on 3 of 9; NAC• as non-zero on 4.",),
)

LONG = Recipe(steps=100_000, penalties={"to_grid": Ramp(0.01, 50_000, 75_000)})


def _redundant(operation: str, inputs: int, rows: list[Row], **rest: object) -> Study:
    words = {"add": "Addition", "sub": "Subtraction"}
    return Study(
        name=f"single-module/{operation}-{inputs}",
        title=f"{words[operation]} of two of {inputs} inputs",
        reproduces="Mistry 2023, figures 3.6 to 3.8",
        cells=cells_over(rows, tasks(operation, inputs)),
        **rest,  # type: ignore[arg-type]
    )


NAU_10, NAU_100, INALU_10 = single("NAU", 10), single("NAU", 100), single("INALU", 10, label="iNALU")
ADD_10 = _redundant(
    "add",
    10,
    [(NAU_10, LONG), (INALU_10, INALU.recipe), *other_ways(NAU_10)],
    notes=("NAU is published as failing on U[-1.2,-1.1) and U[1.1,1.2); iNALU as good only on large ranges.",),
)
SUB_10 = _redundant("sub", 10, [(NAU_10, LONG), *other_ways(NAU_10)], published=everywhere("NAU", THESIS, 1.0))
SUB_100 = _redundant(
    "sub",
    100,
    [(NAU_100, LONG), *other_ways(NAU_100)],
    notes=("NAU is published as failing on U[-1.2,-1.1) and U[1.1,1.2).",),
)
ADD_100 = replace(
    _redundant("add", 100, [(NAU_100, LONG), *other_ways(NAU_100)]),
    reproduces="not published; completes the grid of section 3.3",
)

STUDIES = (ADD, SUB, MUL, DIV, ADD_10, SUB_10, ADD_100, SUB_100)
