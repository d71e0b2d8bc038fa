"""Arithmetic on images of digits (Mistry et al. 2022; Mistry 2023, chapters 4 and 5; Madsen and Johansen 2020)."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import mean, median, stdev
from typing import Any

from nalm.bench.run import Model
from nalm.bench.study import Cell, Published, Study
from nalm.bench.tasks.logic import RELATIONS
from nalm.bench.vision.colour_task import ColourPairs
from nalm.bench.vision.method import NetworkDescent, NetworkMethod, NetworkRule
from nalm.bench.vision.models import LSTMModel, cell, head
from nalm.bench.vision.pair_task import DigitPairs
from nalm.bench.vision.sequence_task import SUM_LENGTHS, DigitSequences
from nalm.bench.vision.task import SMALL_SAMPLES, ImageTask
from nalm.core.recipe import Clip, Constant, Ramp, Recipe, Schedule

SNMU_PAPER = "Mistry et al. 2022, section 8"
THESIS = "Mistry 2023, table 5.5"
MADSEN = "Madsen and Johansen 2020, figures 4, 13 to 15"
EPOCHS = 1_001  # the published loops count from 0 to 1,000
PULLED = (30, 40)  # epochs in which the pull to the grid rises
Row = tuple[Model, NetworkMethod]


@dataclass(frozen=True)
class ImageStudy(Study):
    """A study on images. Its data and its length can be chosen.

    Args:
        on: the cells of the published scale on a source of digits.
        pattern: the row whose training a unit of your own gets.
        quick_epochs, quick_batch, quick_seeds: what a taste is made of.
        often: most steps between two evaluations of a short run.
    """

    on: Callable[[str], tuple[Cell, ...]] = field(default=lambda _: (), compare=False, repr=False)
    pattern: str = "NMU"
    quick_epochs: int = 4
    quick_batch: int = 32
    quick_seeds: int = 2
    often: int = 1_000

    @property
    def hint(self) -> str:
        bundled = any(_task(c).data == "digits" for c in self.cells)
        return "Digits: the 1,797 of scikit-learn; for MNIST (11 MB to load): --data mnist" if bundled else ""

    def of_data(self, data: str) -> ImageStudy:
        """The published scale on other digits, all rows and columns."""
        return replace(self, cells=self.on(data))

    def for_epochs(self, epochs: int) -> ImageStudy:
        """The same for another number of epochs; see `NetworkDescent.scaled` for what becomes of ramps."""
        return replace(self, cells=tuple(self._shortened(c, epochs) for c in self.cells))

    def quick(self) -> ImageStudy:
        """A taste: few epochs of few samples in smaller batches, a lighter reader, two folds."""
        small = [replace(c, task=_task(c).small(), method=_method(c).with_batch(self.quick_batch)) for c in self.cells]
        cells = tuple(self._shortened(c, self.quick_epochs) for c in small)
        return replace(self, cells=cells, seeds=min(self.seeds, self.quick_seeds))

    def retiring(self) -> Study:
        """Networks read better and better: there is no step at which they are done."""
        raise ValueError(f"{self.name} trains networks, which are never done; leave out --retire.")

    def _with_unit(self, reference: str) -> Study:
        alike = [c for c in self.cells if c.row == self.pattern]
        model = head(reference, reference.rpartition(":")[2], outputs=alike[0].model.layers[-1].outputs)
        own = [replace(c, row=model.label, model=model) for c in alike]
        return replace(self, cells=(*self.cells, *own))

    def _shortened(self, c: Cell, epochs: int) -> Cell:
        steps = epochs * _task(c).epoch(_method(c).batch)
        every = min(c.every, self.often, -(-steps // EVALUATIONS))
        return replace(c, method=c.method.scaled(steps), every=every)


EVALUATIONS = 8  # at least, on the way of a short run


def _task(c: Cell) -> ImageTask:
    assert isinstance(c.task, ImageTask)
    return c.task


def _method(c: Cell) -> NetworkMethod:
    assert isinstance(c.method, NetworkMethod)
    return c.method


@dataclass(frozen=True)
class SequenceStudy(ImageStudy):
    """One run is tested on many lengths, its columns. Solved is what reads and accumulates as well as networks whose
    accumulator was solved from the start."""

    quick_epochs: int = 2
    quick_batch: int = 64
    often: int = 50  # the best evaluation counts, so there are many

    def solved(self, record: Mapping[str, Any], column: str, records: Iterable[Mapping[str, Any]]) -> bool:
        """Whether the error at this length is below the threshold that the reference runs set."""
        references = [error_at(r, column) for r in records if r["unit"] == REFERENCE]
        return error_at(record, column) < threshold([e for e in references if math.isfinite(e)])

    def only(self, rows: Sequence[str] = (), columns: Sequence[str] = ()) -> Study:
        """Some rows and columns; the reference always stays, because it sets the thresholds."""
        return super().only([*rows, *([REFERENCE] if rows and REFERENCE not in rows else [])], columns)


REFERENCE = "reference"
STUDENT = 2.896459  # the 99 % quantile of Student's t with 8 degrees of freedom, which the published code always uses
FAILED = 10.0  # times the median error: such a reference did not learn to read; the paper drops three by hand


def error_at(record: Mapping[str, Any], length: str) -> float:
    """The test error of a run at a length; infinite where it is not known."""
    return float(json.loads(record.get("errors") or "{}").get(length, math.inf))


def threshold(errors: Sequence[float]) -> float:
    """The published threshold: mean + t sd / sqrt(n) of the reference's errors, without references that failed.

    >>> round(threshold([1.0, 2.0, 3.0, 500.0]), 3)
    3.672
    """
    if not errors:
        return -math.inf
    kept = [e for e in errors if e <= FAILED * median(errors)]
    spread = STUDENT * stdev(kept) / math.sqrt(len(kept)) if len(kept) > 1 else 0.0
    return mean(kept) + spread


def grid(rows: Iterable[Row], columns: Mapping[str, ImageTask], every: int) -> tuple[Cell, ...]:
    """The full grid."""
    return tuple(
        Cell(model.label, column, model, task, method, every)
        for model, method in rows
        for column, task in columns.items()
    )


def rule(model: Model, method: NetworkMethod) -> Row:
    """The same model by the training rule, for as many steps on the same batches."""
    return replace(model, label=f"{model.label} lgn"), NetworkRule(method.steps, method.batch)


def small(study: ImageStudy, epochs: int, seeds: int) -> Study:
    """What one core can bear on real MNIST in less than half an hour, and what the results page shows."""
    size = "" if isinstance(study, SequenceStudy) else f", {SMALL_SAMPLES} samples per pair, a lighter reader"
    note = f"Far smaller than published: {epochs} epochs{size}."
    taste = replace(study.of_data("mnist"), quick_epochs=epochs, quick_seeds=seeds).quick()
    return replace(taste, name=f"{study.name}-small", title=f"{study.title}, small", notes=(note, *study.notes))


# -- products and quotients of isolated digits ---------------------------------------------------------------------

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


def colour_cells(data: str) -> tuple[Cell, ...]:
    """Moved digits as colours."""
    task = ColourPairs(data)
    starts: dict[str, ImageTask] = {"identity start": task, "published start": replace(task, identity=False)}
    return grid(pair_rows(task, 256), starts, every=task.epoch(256))


def pair_rows(task: ImageTask, batch: int) -> list[Row]:
    """The published heads of products, and the NMU by the rule."""
    plain, pulled = descent(task, batch), descent(task, batch, pull=100)
    return [(MUL, plain), (FC, plain), (NMU, pulled), (SNMU, pulled), (SNMU_BATCH, pulled), rule(NMU, pulled)]


def division_cells(data: str) -> tuple[Cell, ...]:
    """The published heads of quotients, and the NRU by the rule."""
    task, batch = DigitPairs(data, "div"), 128
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
    columns = {name: DigitPairs(data, name) for name in RELATIONS}
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

# -- two colours, with a spatial transformer -----------------------------------------------------------------------

COLOUR = ImageStudy(
    name="mnist/colour",
    title="Product of two moved digits in two colours",
    reproduces="Mistry et al. 2022, figure 8b",
    cells=colour_cells("digits"),
    on=colour_cells,
    seeds=3,
    measured=("result_rounded", "first_digit", "second_digit"),
    published={
        (row, "published start"): Published(success, seeds=3, source=SNMU_PAPER, measures=measures)
        for row, success, measures in (
            ("MUL", None, {"result_rounded": 0.689}),
            ("NMU", 2 / 3, {}),
            ("sNMU", 1.0, {}),
            ("sNMU batch", 1.0, {"result_rounded": 0.679}),
        )
    },
    notes=(
        "Success: the unit is exact, given the true digits.",
        "The published code sets the transformers to the identity and then resets them.",
    ),
)

# -- sequences -----------------------------------------------------------------------------------------------------


def sequence_descent(task: DigitSequences, pull: float = 10.0, idle: float = 0.0) -> NetworkDescent:
    """Adam 1e-3 on the squared error of all results on the way, batches of 64; the pull rises in steps 10,000 to
    100,000 of MNIST (later half of the run on fewer digits), the input penalty R_z (`idle`) is constant."""
    penalties: dict[str, Schedule] = {"to_grid": Ramp(pull, 10_000, 100_000)} if pull else {}
    if idle:
        penalties["input"] = Constant(idle)
    steps = EPOCHS * task.epoch(64)
    return NetworkDescent(Recipe(steps=steps, batch=64, penalties=penalties)).scaled(steps)


def sequence_cells(rows: Iterable[Row], task: DigitSequences) -> tuple[Cell, ...]:
    """A column for each length; the cells of a row share their runs."""
    return grid(rows, {str(length): task for length in task.lengths}, every=5 * task.epoch(64))


def sequence_product_cells(data: str) -> tuple[Cell, ...]:
    """Products; cells of NALU and LSTM start at 0, as published, with which no product can be right at first."""
    task = DigitSequences(data)
    plain, penalised = sequence_descent(task), sequence_descent(task, idle=1.0)
    none = sequence_descent(task, pull=0.0)
    rows: list[Row] = [
        (cell("ExactProduct", 1.0, REFERENCE), none),
        (cell("NMU", 1.0), penalised),
        (cell("NMU", 1.0, "NMU no Rz"), plain),
        (cell("SNMU", 1.0, "sNMU"), penalised),
        (cell("SNMU", 1.0, "sNMU batch", noise="batch"), penalised),
        (cell("MulNACLinear", 1.0, "NAC•NMU"), penalised),
        (cell("MulNACLinear", 1.0, "NAC•NMU no Rz"), plain),
        (cell("MulNACSigmoid", 1.0, "NAC•σ"), none),
        (cell("MulNAC", 1.0, "NAC•"), none),
        (cell("NALU", 0.0), none),
        (LSTMModel("LSTM", head("NMU").layers, 0.0), none),
        rule(cell("NMU", 1.0), penalised),
    ]
    return sequence_cells(rows, task)


def sequence_sum_cells(data: str) -> tuple[Cell, ...]:
    """Sums."""
    task = DigitSequences(data, "add", length=10, lengths=SUM_LENGTHS)
    plain, penalised = sequence_descent(task), sequence_descent(task, idle=1.0)
    none, only_penalised = sequence_descent(task, pull=0.0), sequence_descent(task, pull=0.0, idle=1.0)
    rows: list[Row] = [
        (cell("ExactSum", 0.0, REFERENCE), none),
        (cell("NAU", 0.0), penalised),
        (cell("NAU", 0.0, "NAU no Rz"), plain),
        (cell("NAC", 0.0, "NAC+ Rz"), only_penalised),
        (cell("NAC", 0.0, "NAC+"), none),
        (cell("NALU", 0.0), none),
        (LSTMModel("LSTM", head("NAU").layers, 0.0), none),
        rule(cell("NAU", 0.0), penalised),
    ]
    return sequence_cells(rows, task)


def tenths(rates: str) -> list[float]:
    """Success rates of ten seeds, one character each; X stands for all ten.

    >>> tenths("9X0")
    [0.9, 1.0, 0.0]
    """
    return [1.0 if rate == "X" else int(rate) / 10 for rate in rates]


def by_length(rates: Mapping[str, str], lengths: Iterable[int]) -> dict[tuple[str, str], Published]:
    """Published success rates of ten seeds."""
    columns = [str(length) for length in lengths]
    return {
        (row, column): Published(rate, seeds=10, source=MADSEN)
        for row, text in rates.items()
        for column, rate in zip(columns, tenths(text), strict=True)
    }


SEQUENCE_NOTES = (
    "Columns are lengths of test sequences. Success: the error is below that of networks with a solved accumulator,",
    "mean + t sd / sqrt(n). Evaluated in eval mode; the published code leaves the noise of stochastic units on.",
)
SEQUENCE = SequenceStudy(
    name="mnist/sequence",
    title="Product of sequences of digits",
    reproduces="Madsen and Johansen 2020, figures 4 and 14; Mistry et al. 2022, figure 9",
    cells=sequence_product_cells("digits"),
    on=sequence_product_cells,
    seeds=10,
    published=by_length(
        {
            "NMU": "9XXXX8XX99X7XX9X7988",
            "NMU no Rz": "999X788XX8997XX899X8",
            "NAC•NMU": "X9898788978758867696",
            "NAC•NMU no Rz": "4577868896X96XX57895",
            "NAC•σ": "66676465305304300000",
            "NAC•": "55666364414314200010",
            "NALU": "0" * 20,
            "LSTM": "0" * 20,
        },
        range(1, 21),
    ),
    notes=SEQUENCE_NOTES,
)
SUM = SequenceStudy(
    name="mnist/sum",
    title="Sum of sequences of digits",
    reproduces="Madsen and Johansen 2020, figures 4, 13 and 15",
    cells=sequence_sum_cells("digits"),
    on=sequence_sum_cells,
    pattern="NAU",
    seeds=10,
    published=by_length(
        {
            "NAU": "787777777778",
            "NAU no Rz": "012233445444",
            "NAC+ Rz": "123466675676",
            "NAC+": "110000000000",
            "NALU": "0" * 12,
            "LSTM": "0" * 12,
        },
        SUM_LENGTHS,
    ),
    notes=SEQUENCE_NOTES,
)

PUBLISHED_SCALE = (PRODUCT, DIVISION, COMPARE, COLOUR, SEQUENCE, SUM)
SMALL = (
    small(PRODUCT, epochs=4, seeds=3),
    small(DIVISION, epochs=4, seeds=3),
    small(COMPARE, epochs=4, seeds=2),
    small(COLOUR, epochs=20, seeds=1),
    small(SEQUENCE, epochs=2, seeds=3),
    small(SUM, epochs=2, seeds=2),
)
STUDIES: tuple[Study, ...] = (*PUBLISHED_SCALE, *SMALL)
