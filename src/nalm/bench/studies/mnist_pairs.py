"""Product, quotient and comparison of two digits side by side (Mistry et al. 2022; Mistry 2023, chapters 4 and 5)."""

from __future__ import annotations

from nalm.bench.studies.image_study import EPOCHS, ImageStudy, Row, grid, rule, small
from nalm.bench.study import Cell, Published
from nalm.bench.tasks.logic import RELATIONS
from nalm.bench.vision.method import NetworkDescent
from nalm.bench.vision.models import head
from nalm.bench.vision.pair_task import DigitPairs
from nalm.bench.vision.task import ImageTask
from nalm.core.recipe import Clip, Ramp, Recipe

SNMU_PAPER = "Mistry et al. 2022, section 8"
THESIS = "Mistry 2023, table 5.5"
PULLED = (30, 40)  # epochs in which the pull to the grid rises
NMU, SNMU = head("NMU"), head("SNMU", "sNMU")
SNMU_BATCH = head("SNMU", "sNMU batch", noise="batch")
MUL, DIV, FC = head("ExactProduct", "MUL"), head("ExactQuotient", "DIV"), head("WeightedProduct", "FC")
PAIRS = "unseen pairs"


def descent(
    task: ImageTask, batch: int, pull: float = 0.0, clip: float | None = None, decay: float = 0.0
) -> NetworkDescent:
    """Adam 1e-3 on the squared error for 1,001 epochs; the pull to the grid rises in epochs 30 to 40."""
    epoch = task.epoch(batch)
    penalties = {"to_grid": Ramp(pull, PULLED[0] * epoch, PULLED[1] * epoch)} if pull else {}
    return NetworkDescent(Recipe(steps=EPOCHS * epoch, batch=batch, penalties=penalties, clip=Clip(norm=clip)), decay)


def product_cells(data: str) -> tuple[Cell, ...]:
    """Pairs side by side."""
    task = DigitPairs(data)
    return grid(pair_rows(task, 128), {PAIRS: task}, every=task.epoch(128))


def pair_rows(task: ImageTask, batch: int) -> list[Row]:
    """The published heads of products, and the NMU by the rule."""
    plain, pulled = descent(task, batch), descent(task, batch, pull=100)
    return [(MUL, plain), (FC, plain), (NMU, pulled), (SNMU, pulled), (SNMU_BATCH, pulled), rule(NMU, pulled)]


def division_cells(data: str) -> tuple[Cell, ...]:
    """The published heads of quotients, and the NRU by the rule."""
    task, batch = DigitPairs(data, name="div"), 128
    pulled = descent(task, batch, pull=2)
    nru = head("NRU")
    rows = [
        (DIV, descent(task, batch)),
        (head("MLP", hidden=(256, 256)), descent(task, batch, decay=1e-3)),
        (head("ModifiedRealNPU", "Real NPU mod."), pulled),
        (nru, pulled),
        (head("NMRU"), descent(task, batch, pull=2, clip=1.0)),
        rule(nru, pulled),
    ]
    return grid(rows, {PAIRS: task}, every=task.epoch(batch))


ACCURACIES = ("result_exact", "result_rounded", "digit_rounded")
PRODUCT = ImageStudy(
    name="mnist/product",
    title="Product of two digits",
    reproduces="Mistry et al. 2022, figure 8a",
    cells=product_cells("digits"),
    on=product_cells,
    seeds=10,
    measured=ACCURACIES,
    published={
        (row, PAIRS): Published(success, seeds=10, source=SNMU_PAPER, measures={"result_exact": accuracy})
        for row, success, accuracy in (("NMU", 0.7, 0.593), ("sNMU", 1.0, 0.966), ("sNMU batch", 1.0, 0.856))
    },
    notes=("Success: the unit is exact, given the true digits.", "A seed is a fold: its test pairs are never trained."),
)
DIVISION = ImageStudy(
    name="mnist/division",
    title="Quotient of two digits",
    reproduces="Mistry 2023, table 5.5",
    cells=division_cells("digits"),
    on=division_cells,
    pattern="NRU",
    seeds=10,
    measured=("result_rounded", "digit_rounded"),
    published={
        (row, PAIRS): Published(seeds=10, source=THESIS, measures={"result_rounded": accuracy})
        for row, accuracy in (
            ("DIV", 0.97497),
            ("MLP", 0.00004),
            ("Real NPU mod.", 0.97147),
            ("NRU", 0.97517),
            ("NMRU", 0.46891),
        )
    },
    notes=(
        "Success: the unit is exact, given the true digits. Results are rounded to five decimals, as published.",
        "We report the last evaluation; the thesis takes the best training accuracy of the last ten.",
    ),
)

# -- comparisons of two digits -------------------------------------------------------------------------------------


def compare_cells(data: str) -> tuple[Cell, ...]:
    """A status register, and a perceptron, above the reader; each relation is a column."""
    columns = {name: DigitPairs(data, name=name) for name in RELATIONS}
    task, batch = next(iter(columns.values())), 128
    plain = descent(task, batch)
    rows: list[Row] = [
        (head("NSR", outputs=2, redundancy=REDUNDANCY), plain),
        (head("MLP", outputs=2, hidden=(256, 256)), plain),
    ]
    return grid(rows, columns, every=task.epoch(batch))


REDUNDANCY = 5  # operand pairs of a register, as in logic/compare
COMPARE = ImageStudy(
    name="mnist/compare",
    title="Comparison of two digits by a status register",
    reproduces="Faber and Wattenhofer 2020, as told in Mistry 2023, section 2.2.7; no numbers are published",
    cells=compare_cells("digits"),
    on=compare_cells,
    pattern="NSR",
    seeds=10,
    measured=("result_rounded", "digit_rounded"),
    notes=(
        "Success: given the true digits, the head decides all 100 pairs right. Adam 1e-3 on the squared error.",
        "A seed is a fold: its test pairs are never trained. Only whether the relation holds is told, never a digit.",
    ),
)

PUBLISHED_SCALE = (PRODUCT, DIVISION, COMPARE)
SMALL = (
    small(PRODUCT, epochs=4, seeds=3),
    small(DIVISION, epochs=4, seeds=3),
    small(COMPARE, epochs=4, seeds=2),
)
STUDIES = (*PUBLISHED_SCALE, *SMALL)
