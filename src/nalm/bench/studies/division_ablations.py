"""What makes division learnable, one change at a time (Mistry et al. 2022, division: section 5, appendices E to J)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from nalm.bench.run import Model, single
from nalm.bench.studies.division import L1, RECIPES, row, tasks
from nalm.bench.study import Study, cells_over
from nalm.core.recipe import SGD, Adam, Clip, Ramp, Recipe, Staircase

Weights = Mapping[str, Mapping[str, Any]]
Row = tuple[Model, Recipe]
PAPER = "Mistry et al. 2022 (division)"


def study(name: str, title: str, reproduces: str, rows: list[Row], inputs: int, *notes: str) -> Study:
    """A grid of variants and the nine ranges."""
    return Study(f"division/{name}", title, reproduces, cells_over(rows, tasks(inputs)), notes=notes)


def rated(unit: str, inputs: int, rates: tuple[float, ...]) -> list[Row]:
    """A unit at several learning rates."""
    recipe = RECIPES[unit, inputs]
    return [(single(unit, inputs, label=f"rate {rate:g}"), replace(recipe, optimiser=Adam(rate))) for rate in rates]


# -- Real NPU ------------------------------------------------------------------------------------------------------

BASE = RECIPES["RealNPU", 2]
DISCRETE = replace(BASE, penalties={"l1": L1, "to_grid": Ramp(1, 40_000, 50_000)})
CLIP_G: Weights = {"g": {"keep": "both"}}
CLIP_W: Weights = {"W": {"box": [-1, 1]}}
CLIP_GW: Weights = {**CLIP_G, **CLIP_W}
SIGNED: Weights = {**CLIP_G, "W": {"box": [-1, 1], "grid": [-1, 1]}}


def real_npu(label: str, recipe: Recipe = BASE, weights: Weights | None = None) -> Row:
    """The Real NPU with some of its weights' declarations changed."""
    options: dict[str, Any] = {"weights": weights} if weights else {}
    return single("RealNPU", 2, label=label, **options), recipe


NORMS = study(
    "real-npu-l1",
    "Real NPU: which penalty on its size",
    f"{PAPER}, figures 1a and 14",
    [
        real_npu("none", replace(BASE, penalties={})),
        real_npu("L1"),
        real_npu(
            "L2",
            replace(BASE, penalties={"l2": Staircase(1e-7, 1e-5)}),
            {"W": {"pulls": ["l2"]}, "g": {"pulls": ["l2"]}},
        ),
    ],
    2,
    "Published: without L1 worse on five of nine ranges and a little better on U[-1.2,-1.1) and U[1.1,1.2); L2 below "
    "L1 on five ranges and equal on four. L2 is a sum of norms, 1e-7 growing to 1e-5, L1 1e-9 growing to 1e-7.",
)
BETAS = ((1e-11, 1e-9), (1e-9, 1e-7), (1e-8, 1e-6), (1e-7, 1e-5), (1e-5, 1e-3), (1e-3, 1e-1), (1e-1, 10.0))
BETA = study(
    "real-npu-beta",
    "Real NPU: strength of L1, from first to last",
    f"{PAPER}, figure 1b",
    [real_npu(f"{a:g} to {b:g}", replace(BASE, penalties={"l1": Staircase(a, b)})) for a, b in BETAS],
    2,
    "Published: 1e-9 to 1e-7 is best over all ranges, larger values are worse. The published script sweeps seven "
    "pairs, the text says six.",
)
CLIPPING = study(
    "real-npu-clipping",
    "Real NPU: which weights are projected after each step",
    f"{PAPER}, figure 2a",
    [
        real_npu("none"),
        real_npu("gate", weights=CLIP_G),
        real_npu("W", weights=CLIP_W),
        real_npu("gate and W", weights=CLIP_GW),
    ],
    2,
    "Published: projecting W, or both, improves on the baseline on all ranges except U[1,2), where it is full already.",
)
DISCRETISATION = study(
    "real-npu-discretisation",
    "Real NPU, gate and W projected: what is pulled to its grid",
    f"{PAPER}, figure 2b",
    [
        real_npu("nothing", weights=CLIP_GW),
        real_npu("gate", DISCRETE, {**CLIP_G, "W": {"box": [-1, 1], "pulls": ["l1"]}}),
        real_npu("gate and W", DISCRETE, SIGNED),
    ],
    2,
    "Published: pulling the gate helps, pulling W too helps more, U[-0.2,-0.1) most; on U[10,20) nothing is better by "
    "two seeds.",
)
INITIALISATION = study(
    "real-npu-initialisation",
    "Real NPU, projected and pulled: how W starts",
    f"{PAPER}, figure 2c",
    [real_npu("Xavier", DISCRETE, SIGNED), row("ModifiedRealNPU", 2, "at most 0.5")],
    2,
    "Published: the start at most 0.5 from zero improves several ranges. It is the last change of the modified unit.",
)
REAL_RATES = study(
    "real-npu-rates",
    "Real NPU modified: learning rate",
    "Mistry 2023, appendix G",
    rated("ModifiedRealNPU", 2, (5e-4, 5e-3, 5e-2, 5e-1)),
    2,
)
WITH_ZERO: Weights = {"W": {"grid": [-1, 0, 1]}}
GRID = study(
    "real-npu-grid",
    "Real NPU modified, ten inputs: W pulled to -1, 1 or to -1, 0, 1",
    f"{PAPER}, figure 16",
    [
        row("ModifiedRealNPU", 10, "-1 or 1"),
        (single("ModifiedRealNPU", 10, label="-1 or 0 or 1", weights=WITH_ZERO), RECIPES["ModifiedRealNPU", 10]),
    ],
    10,
    "Published: sparing 0 does not change success.",
)
MODIFIED_W: Weights = {"W": {"box": [-1, 1], "grid": [-1, 1], "start": [-0.5, 0.5]}, **CLIP_G}
FREE_IMAGINARY: Weights = {**MODIFIED_W, "W_im": {"pulls": ["l1"]}}
# the published penalty on W_im is a sum over its ten elements, to_grid their mean: ten times it
BOUND_IMAGINARY: Weights = {**MODIFIED_W, "W_im": {"box": [-1, 1], "pulls": ["l1", *["to_grid"] * 10]}}
COMPLEX = study(
    "npu",
    "NPU with all modifications, ten inputs: imaginary weights",
    f"{PAPER}, figure 15",
    [
        row("ModifiedRealNPU", 10),
        (single("NPU", 10, label="NPU free", weights=FREE_IMAGINARY), RECIPES["ModifiedRealNPU", 10]),
        (single("NPU", 10, label="NPU W_im to 0", weights=BOUND_IMAGINARY), RECIPES["ModifiedRealNPU", 10]),
    ],
    10,
    "Published: complex weights hinder success and speed on negative ranges; projecting and pulling them to 0 gives no "
    "significant improvement over the Real NPU.",
)

# -- NRU -----------------------------------------------------------------------------------------------------------

NRU_RATES = study(
    "nru-rates",
    "NRU: learning rate",
    f"{PAPER}, figure 10",
    rated("NRU", 2, (1e-3, 1e-2, 1e-1, 1.0)),
    2,
    "Published: rate 1 is full on all ranges, smaller rates are worse.",
)
NRU_SCALE = study(
    "nru-scale",
    "NRU: the scale inside tanh",
    "Mistry 2023, figure G.1",
    [
        *((single("NRU", 2, label=f"scale {s:g}", scale=s), RECIPES["NRU", 2]) for s in (1.0, 10.0, 100.0)),
        row("NRU", 2, "scale 1000"),
    ],
    2,
    "Published: larger is better, 1000 best; the other values of the figure are not stated, ours are powers of ten.",
)
NRU_SIGN = study(
    "nru-sign",
    "NRU, ten inputs: sign inside or apart",
    f"{PAPER}, figure 20",
    [
        row("NRU", 10, "inside"),
        (single("SeparateSignNRU", 10, label="apart"), RECIPES["NRU", 10]),
    ],
    10,
    "Published: no difference.",
)

# -- NMRU ----------------------------------------------------------------------------------------------------------

NMRU_10 = RECIPES["NMRU", 10]
UNCLIPPED = replace(NMRU_10, clip=Clip())
NMRU_PARTS = study(
    "nmru-parts",
    "NMRU, ten inputs: its parts",
    f"{PAPER}, figure 17",
    [
        (single("NMRU", 10, label="vanilla", sign=False), UNCLIPPED),
        (single("NMRU", 10, label="+ clip", sign=False), NMRU_10),
        (single("NMRU", 10, label="+ sign"), UNCLIPPED),
        (single("NMRU", 10, label="+ clip + sign"), NMRU_10),
        (single("NMRU", 10, label="+ clip + sign + gate", gate=True), NMRU_10),
    ],
    10,
    "Published: vanilla is poor on most ranges; clipping alone fails on negative ranges but is full on U[-2,2); the "
    "sign alone succeeds on negative ranges and suffers on U[-2,2); both are best; a gate hinders.",
)
NMRU_RATES = study(
    "nmru-rates",
    "NMRU, ten inputs: learning rate",
    f"{PAPER}, figure 18",
    rated("NMRU", 10, (1e-3, 1e-2, 1e-1)),
    10,
    "Published: too low a rate struggles on U[-2,2), too high a rate has no success on several ranges.",
)
NMRU_OPTIMISER = study(
    "nmru-optimiser",
    "NMRU, ten inputs: Adam or SGD",
    f"{PAPER}, figure 19",
    [
        (single("NMRU", 10, label="Adam"), NMRU_10),
        (single("NMRU", 10, label="SGD"), replace(NMRU_10, optimiser=SGD(1e-2))),
    ],
    10,
    "Published: Adam is better on all ranges except two, where both are equal.",
)

STUDIES = (
    *(NORMS, BETA, CLIPPING, DISCRETISATION, INITIALISATION, REAL_RATES, GRID, COMPLEX),
    *(NRU_RATES, NRU_SCALE, NRU_SIGN, NMRU_PARTS, NMRU_RATES, NMRU_OPTIMISER),
)
