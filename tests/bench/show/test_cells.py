"""What stands in a cell of a table, to the character, and how units are split over the width of a terminal."""

from __future__ import annotations

from dataclasses import replace

import pytest

from nalm.bench.results.stats import Interval
from nalm.bench.results.summary import CellSummary
from nalm.bench.show import tables
from nalm.bench.studies import studies
from nalm.bench.study import Published

CELL = CellSummary(
    row="NMU",
    column="U[1,2)",
    runs=25,
    success=Interval(0.88, 0.7, 0.9951),
    solved_at=Interval(1234.4, 1000, 2000),
    sparsity=Interval(3.2e-5, 1e-5, 1e-4),
    published=None,
    measures={"accuracy": Interval(0.9, 0.85, 0.95)},
)
SAID = Published(success=0.995, solved_at=1200.6, sparsity=None, seeds=25, measures={"accuracy": 0.875})


@pytest.mark.parametrize(
    ("rate", "text"), [(0.0, ".00"), (0.004, ".00"), (0.88, ".88"), (0.9949, ".99"), (0.995, "1.00")]
)
def test_a_rate_takes_at_most_four_characters(rate: float, text: str) -> None:
    assert tables._short(rate) == text


def test_cells_of_every_panel() -> None:
    assert tables._success(CELL) == [".88", ".70-1.00"]
    assert tables._steps(CELL) == ["1,234"]
    assert tables._sparsity(CELL) == ["3e-05"]
    assert tables._measure("accuracy", CELL) == ["90.0", "±5.0"]
    assert tables._measure("accuracy", replace(CELL, runs=1)) == ["90.0"]
    assert tables._measure("other", CELL) == ["-"]
    empty = replace(CELL, solved_at=None, sparsity=None)
    assert (tables._steps(empty), tables._sparsity(empty)) == (["-"], ["-"])


def test_published_numbers_stand_in_brackets_and_disagreement_is_marked() -> None:
    said = replace(CELL, published=SAID)
    assert said.disagrees is False
    assert tables._success(said) == [".88", ".70-1.00", "(1.00)"]
    assert tables._steps(said) == ["1,234", "(1,201)"]
    assert tables._measure("accuracy", said) == ["90.0", "±5.0", "(87.5)"]
    worse = replace(said, success=Interval(0.1, 0.02, 0.3))
    assert tables._success(worse) == [".10", ".02-.30", "(1.00)≠"]
    silent = replace(said, published=replace(SAID, success=None, solved_at=None))
    assert tables._success(silent) == [".88", ".70-1.00"]
    assert tables._steps(silent) == ["1,234"]


def test_as_many_units_as_fit_stand_beside_each_other() -> None:
    lines = [[["U[1,2)"], ["1.00", "12345678"], ["-"], ["-"]]]  # six characters, then eight, three and four
    units = ["A", "Two", "Four"]
    assert tables._columns_that_fit(units, lines, 6 + 9 + 4 + 5) == [[0, 1, 2]]
    assert tables._columns_that_fit(units, lines, 6 + 9 + 4 + 4) == [[0, 1], [2]]
    assert tables._columns_that_fit(units, lines, 6 + 9) == [[0], [1, 2]]
    assert tables._columns_that_fit(units, lines, 1) == [[0], [1], [2]]


def test_what_every_number_stands_on() -> None:
    study = studies()["single-module/mul"]
    first, second = study.cells[0], study.cells[1]
    entries = [replace(CELL, row=cell.row, column=cell.column) for cell in (first, second)]
    steps = f"{first.method.steps:,} steps"
    assert tables.basis(study, entries) == f"25 seeds per cell, {steps}"
    assert tables.basis(study, [entries[0], replace(entries[1], runs=7)]) == f"7 to 25 seeds per cell, {steps}"
    assert tables.basis(study, [replace(entries[0], runs=1)]) == f"1 seed per cell, {steps}"
