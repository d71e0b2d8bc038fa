"""Sum and product of sequences of digits by a recurrent unit (Madsen and Johansen 2020; Mistry et al. 2022)."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import mean, median, stdev
from typing import Any

from nalm.bench.studies.image_study import EPOCHS, ImageStudy, Row, grid, rule, small
from nalm.bench.study import Cell, Published, SolvedIn, Study
from nalm.bench.vision.method import NetworkDescent
from nalm.bench.vision.models import LSTMModel, cell, head
from nalm.bench.vision.sequence_task import SUM_LENGTHS, DigitSequences
from nalm.core.recipe import Constant, Ramp, Recipe, Schedule

MADSEN = "Madsen and Johansen 2020, figures 4, 13 to 15"


@dataclass(frozen=True)
class SequenceStudy(ImageStudy):
    """One run is tested on many lengths, its columns. Solved is what reads and accumulates as well as networks whose
    accumulator was solved from the start."""

    quick_epochs: int = 2
    quick_batch: int = 16
    quick_seeds: int = 2  # two references set a threshold
    often: int = 500  # the best evaluation counts, so there are many, but each reads 15,000 images of MNIST

    @property
    def lightened(self) -> str:
        """Sequences and their reader are as published."""
        return ""

    def judged(self, records: Iterable[Mapping[str, Any]]) -> Iterator[tuple[Mapping[str, Any], SolvedIn]]:
        """Solved at a length is what has an error below the threshold that the reference runs set."""
        known = list(records)
        references = [record for record in known if record["unit"] == REFERENCE]
        return ((record, partial(_as_good, record, references)) for record in known)

    def only(self, rows: Sequence[str] = (), columns: Sequence[str] = ()) -> Study:
        """Some rows and columns; the reference always stays, because it sets the thresholds."""
        return super().only([*rows, *([REFERENCE] if rows and REFERENCE not in rows else [])], columns)


REFERENCE = "reference"
STUDENT = 2.896459  # the 99 % quantile of Student's t with 8 degrees of freedom, which the published code always uses
FAILED = 10.0  # times the median error: such a reference did not learn to read; the paper drops three by hand


def _as_good(record: Mapping[str, Any], references: Iterable[Mapping[str, Any]], column: str) -> bool:
    errors = [error_at(reference, column) for reference in references]
    return error_at(record, column) < threshold([error for error in errors if math.isfinite(error)])


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
    quick_batch=4,  # sequences of ten: as many images in a step as the product has
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

STUDIES = (SEQUENCE, SUM, small(SEQUENCE, epochs=5, seeds=3), small(SUM, epochs=5, seeds=2))
