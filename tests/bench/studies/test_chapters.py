"""Every study of these chapters trains, counts, shows and draws; one of each kind runs through the command line."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from nalm.bench.engine.train import Options, train
from nalm.bench.results.summary import summarise
from nalm.bench.show.figures import save, study_figure
from nalm.bench.show.tables import markdown_tables
from nalm.bench.studies import find_study, studies
from nalm.bench.study import Study
from nalm.bench.tasks.arithmetic import RANGES
from nalm.units.scaling import ScaledNMU
from tests.cli.commands import works

CHAPTERS = ("division", "hillspace", "intro", "logic", "losses", "motivation", "multiplication", "scaling")
NAMES = [name for name in studies() if name.partition("/")[0] in CHAPTERS]


def test_all_chapters_are_there() -> None:
    assert {name.partition("/")[0] for name in NAMES} == set(CHAPTERS)
    assert len(NAMES) >= 25


def shortened(study: Study) -> Study:
    """The last column of each row, one seed, three steps: just whether everything fits together."""
    last = {cell.row: cell for cell in study.cells}
    cells = [replace(cell, method=cell.method.scaled(3), every=3) for cell in last.values()]
    return replace(study, cells=tuple(cells), seeds=1)


@pytest.mark.parametrize("name", NAMES)
def test_every_row_trains_and_is_shown(name: str, tmp_path: Path) -> None:
    study = shortened(find_study(name))
    rows = list(train((run for _, run in study.runs()), options=Options(engine="torch")))
    entries = summarise(study, rows)
    assert [entry.row for entry in entries] == study.rows
    text = markdown_tables(study, entries)
    assert all(row in text for row in study.rows)
    assert study.reproduces in text
    path = tmp_path / "figure.svg"
    save(study_figure(study, entries), path)
    assert path.stat().st_size > 1000


@pytest.mark.parametrize("name", NAMES)
def test_every_row_and_column_can_be_chosen_by_name(name: str) -> None:
    """Commas separate rows on the command line, "),", columns."""
    study = find_study(name)
    assert not any("," in row for row in study.rows)
    assert not any(")," in column or "|" in column for column in study.columns)
    assert all(study.only([row]).rows == [row] for row in study.rows)


@pytest.mark.parametrize("name", NAMES)
def test_published_numbers_stand_in_cells_that_exist(name: str) -> None:
    study = find_study(name)
    cells = {(cell.row, cell.column) for cell in study.cells}
    assert set(study.published) <= cells
    assert all(number.source for number in study.published.values())


@pytest.mark.parametrize(
    ("name", "unit", "column"),
    [
        ("division/uniform", "NMRU", "U[1,2)"),  # descent of one unit, on the engine of most studies
        ("motivation/mlp", "MLP (4)", "+"),  # a network without a grid
        ("logic/nsr-starts", "w and b ±3", "="),  # two outputs, names that a shell might change
        ("hillspace/starts", "start 1e-08", "cos(t+u)"),  # a task and a start of its own
    ],
)
def test_the_command_line_runs_shows_and_draws(name: str, unit: str, column: str, tmp_path: Path) -> None:
    store, picture = tmp_path / "runs.db", tmp_path / "figure.svg"
    chosen = ("--unit", unit, "--range", column, "--quick", "--seeds", 1, "--store", store)
    assert "1 run trained" in works("run", name, *chosen, "--threads", 1)
    shown = works("show", name, *chosen, "--markdown")
    assert unit in shown
    assert column in shown
    works("figure", name, *chosen, "--output", picture)
    assert picture.exists()


# -- feature scaling -----------------------------------------------------------------------------------------------

TABLE_6_1 = {  # weights of the thesis: scale, mean, w_in, b_in per input, NMU weights, half range of y, w_out
    "fixed": ((0.784557, 0.669749), (1.09510, 0.994739), (1.0, 1.0), 0.939748),
    "learnt": ((1.46126, 2.13898), (0.631827, 0.765059), (0.415312, 0.293096), 1.29786),
}


@pytest.mark.parametrize("case", TABLE_6_1)
def test_published_scaled_weights_multiply_although_the_nmu_inside_does_not(case: str) -> None:
    w_in, b_in, nmu, w_out = TABLE_6_1[case]
    unit = ScaledNMU(2, 1, after=(0, 11.9184), learn=True).eval()
    slopes = [2 * w * s / 2 for w, s in zip(w_in, (0.649115, 0.261765), strict=True)]
    shifts = [b - a * m for a, b, m in zip(slopes, b_in, (2.15035, 5.67394), strict=True)]
    values = {"a_in": slopes, "b_in": shifts, "W": [nmu], "a_out": [w_out], "b_out": [0.0]}
    with torch.no_grad():
        for name, value in values.items():
            dict(unit.named_parameters())[name].copy_(torch.tensor(value))
        x = torch.rand(100, 2) * torch.tensor([3.0, 7.0]) + 0.5
        assert torch.allclose(unit(x)[:, 0], x.prod(-1), rtol=1e-4)


@pytest.mark.parametrize("column", RANGES)
def test_scaling_statistics_are_those_of_the_range(column: str) -> None:
    study = find_study("scaling/multiplication")
    cells = {cell.row: cell for cell in study.cells if cell.column == column}
    train = cells["z-score"].task.train
    x = train.quantile(torch.rand(2, 200_000, dtype=torch.float64), train.numbers(2))
    y = x.prod(0)
    before, after = (cells["z-score"].model.layers[0].options[name] for name in ("before", "after"))
    assert before == pytest.approx([float(x.mean()), float(x.std())], rel=0.01, abs=0.01)
    assert after == pytest.approx([float(y.mean()), float(y.std())], rel=0.02, abs=0.02)
    before, after = (cells["min-max"].model.layers[0].options[name] for name in ("before", "after"))
    assert before == pytest.approx([float(x.mean()), float((x.max() - x.min()) / 2)], rel=0.01, abs=0.01)
    assert after == pytest.approx([0, float((y.max() - y.min()) / 2)], rel=0.01)


def test_a_scale_without_spread_is_refused() -> None:
    with pytest.raises(ValueError, match=r"before is \(1, 0\); it needs .* spread > 0"):
        ScaledNMU(2, 1, before=(1, 0))


def test_a_perceptron_without_biases_keeps_none() -> None:
    cells = [cell for cell in find_study("motivation/mlp").cells if cell.row == "MLP (4) no bias"]
    (record,) = train([replace(cells[0], method=cells[0].method.scaled(50)).run(0)])
    weights = record["weights"]
    assert len(cells) == 4
    assert all(not np.any(value) for name, value in weights.items() if name.endswith("b"))
    assert sum(name.endswith("b") for name in weights) == 2
