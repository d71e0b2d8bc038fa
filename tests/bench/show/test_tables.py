"""Tables fit a terminal, and say what their numbers are."""

from __future__ import annotations

from dataclasses import replace

import pytest

from nalm.bench.results.stats import Interval, wilson
from nalm.bench.results.summary import CellSummary, summarise
from nalm.bench.show.tables import PANELS, footnotes, latex_tables, markdown_tables, rich_tables
from nalm.bench.studies import find_study, studies
from nalm.bench.study import Published, Study
from nalm.cli.screen import Screen


def entries(study: Study) -> list[CellSummary]:
    """Every cell, with the widest values there are."""
    return [
        CellSummary(
            cell.row,
            cell.column,
            study.seeds,
            wilson(12, 25),
            Interval(1_234_567.0, 1e6, 2e6),
            Interval(1e-10, 1e-11, 1e-9),
            Published(success=0.04, solved_at=1_234_567, source="a paper"),
        )
        for cell in study.cells
    ]


def shown(study: Study, width: int) -> str:
    screen = Screen()
    screen.width = width
    with screen.capture() as capture:
        for part in rich_tables(study, entries(study), width):
            screen.print(part)
    return capture.get()


@pytest.mark.parametrize("name", studies())
def test_every_study_fits_eighty_columns_and_cuts_no_name(name: str) -> None:
    study = find_study(name)
    text = shown(study, 80)
    assert max(map(len, text.splitlines())) <= 80
    assert "…" not in text
    for unit in study.rows:
        assert text.count(unit) >= len(PANELS), f"{unit} is cut or missing"
    for column in study.columns:
        assert column in text


def test_numbers_and_intervals_are_whole() -> None:
    text = shown(find_study("single-module/mul"), 80)
    for number in ("(1,234,567)", "1,234,567", ".30-.67", "(.04)≠", "1e-10"):
        assert number in text


def test_each_table_says_seeds_steps_and_method() -> None:
    study = find_study("single-module/mul")
    for text in (shown(study, 200), markdown_tables(study, entries(study)), latex_tables(study, entries(study))):
        assert text.count("25 seeds per cell, 1, 500 or 50,000 steps") == len(PANELS)
        assert "95 % Wilson interval" in text.replace("\\%", "%")
        assert "maximum-likelihood mean of a beta distribution" in text


def test_units_without_a_grid_have_no_sparsity() -> None:
    study = replace(find_study("two-layer/operations").only(["Linear", "NAU"]), seeds=2)
    records = [
        {"id": run.id, "solved": True, "solved_at": 1000, "sparsity": 1e-6 * (1 + run.seed)} for _, run in study.runs()
    ]
    by_row = {entry.row: entry.sparsity for entry in summarise(study, records)}
    assert by_row["NAU"] is not None
    assert by_row["Linear"] is None


def test_markdown_keeps_hostile_names_in_their_cell() -> None:
    study = find_study("single-module/mul").only(["NMU"], ["U[1,2)"])
    (cell,) = study.cells
    named = replace(study, cells=(replace(cell, row="a|b<script>"),))
    entry = replace(entries(study)[0], row="a|b<script>")
    head = markdown_tables(named, [entry]).splitlines()[2]
    assert head == "|  | a&#124;b&lt;script> |"


def test_latex_keeps_hostile_names_in_their_cell() -> None:
    study = find_study("single-module/mul").only(["NMU"], ["U[1,2)"])
    (cell,) = study.cells
    row, column = r"a&b_1 \ NAC•", "[1,2) 5 %"
    named = replace(study, cells=(replace(cell, row=row, column=column),), notes=("Said once.",))
    text = latex_tables(named, [replace(entries(study)[0], row=row, column=column)])
    lines = text.splitlines()
    assert "% Said once." in lines
    assert r" & a\&b\_1 \textbackslash{} NAC$\bullet$ \\" in lines
    assert any(line.startswith(r"{[1,2) 5 \%} & \shortstack{{") for line in lines)
    assert text.count(r"\begin{tabular}{lr}") == text.count(r"\end{table}") == len(PANELS)


def test_titles_promise_published_numbers_only_where_there_are_any() -> None:
    study = find_study("single-module/mul")
    told = entries(study)
    success, steps, sparsity = (panel.heading(told) for panel in PANELS)
    assert success == "Success rate, published in brackets"
    assert steps == "Steps to solve, published in brackets"
    assert sparsity == "Sparsity error"
    only_rates = [replace(entry, published=Published(0.0, source="a paper")) for entry in told]  # 0 is a number, too
    assert [panel.heading(only_rates) for panel in PANELS] == [success, "Steps to solve", "Sparsity error"]
    silent = [replace(entry, published=None) for entry in told]
    assert "in brackets" not in markdown_tables(study, silent)


def test_titles_of_further_measures_promise_what_was_published_of_them() -> None:
    study = replace(find_study("single-module/mul"), measured=("train_accuracy", "test_accuracy"))
    told = [replace(entry, published=Published(measures={"test_accuracy": 0.9})) for entry in entries(study)]
    text = markdown_tables(study, told)
    assert "**test accuracy, %, published in brackets**" in text
    assert "**train accuracy, %**" in text


def test_footnotes_name_each_source_of_published_numbers_once_if_there_is_one() -> None:
    study = replace(find_study("single-module/mul"), reproduces="", notes=("a note",))
    told = entries(study)
    assert footnotes(study, told) == ["Published: a paper. ≠ marks intervals that do not overlap.", "a note"]
    assert footnotes(study, [replace(entry, published=None) for entry in told]) == ["a note"]
