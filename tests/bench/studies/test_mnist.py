"""The studies on images as grids: what is published, what a taste is, thresholds of sequences, the command line."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import pytest
from typer.testing import CliRunner

from nalm.bench.changes import Changes
from nalm.bench.results.store import Store
from nalm.bench.results.summary import summarise
from nalm.bench.studies import find_study
from nalm.bench.studies.mnist_sequences import FAILED, REFERENCE, SEQUENCE, SequenceStudy, threshold
from nalm.bench.study import Study
from nalm.bench.vision.colour_task import ColourPairs
from nalm.bench.vision.method import NetworkDescent, NetworkRule
from nalm.bench.vision.pair_task import DigitPairs
from nalm.bench.vision.sequence_task import DigitSequences
from nalm.cli.app import app
from nalm.core.recipe import Constant, Ramp

NAMES = ("product", "division", "compare", "colour", "sequence", "sum")
RULED = tuple(name for name in NAMES if name != "compare")  # the rule knows no registers


def cell_of(study: Study, row: str) -> Any:
    return next(c for c in study.cells if c.row == row)


def test_the_published_scale() -> None:
    product = cell_of(find_study("mnist/product"), "NMU")
    assert product.method.recipe.steps == 1001 * 704  # 90,000 pairs in batches of 128, the last one smaller
    assert product.method.recipe.penalties["to_grid"] == Ramp(100, 30 * 704, 40 * 704)
    division = {c.row: c.method for c in find_study("mnist/division").cells}
    assert division["NRU"].recipe.penalties["to_grid"].to == 2
    assert division["NMRU"].recipe.clip.norm == 1
    assert division["NRU"].recipe.clip.norm is None
    assert division["MLP"].decay == 1e-3
    colour = cell_of(find_study("mnist/colour"), "MUL")
    assert colour.method.recipe.steps == 1001 * math.ceil(61_710 / 256)
    assert colour.method.recipe.batch == 256
    sequence = cell_of(find_study("mnist/sequence").of_data("mnist"), "NMU")
    assert sequence.method.recipe.penalties == {"to_grid": Ramp(10, 10_000, 100_000), "input": Constant(1)}
    starts = {c.row: c.model.start for c in find_study("mnist/sequence").cells}
    assert {row for row, start in starts.items() if start == 0} == {"NALU", "LSTM"}
    assert [find_study(f"mnist/{name}").seeds for name in NAMES] == [10, 10, 10, 3, 10, 10]


def test_both_starts_of_the_transformer_can_be_chosen() -> None:
    starts = {c.column: c.task for c in find_study("mnist/colour").cells}
    assert starts == {
        "identity start": ColourPairs(),
        "published start": ColourPairs(identity=False),
        "upright digits": ColourPairs(upright=True),
    }


@pytest.mark.parametrize("name", RULED)
def test_the_rule_has_as_many_steps_and_the_same_batches_as_adam(name: str) -> None:
    for study in (find_study(f"mnist/{name}"), find_study(f"mnist/{name}-small")):
        ruled = [c for c in study.cells if isinstance(c.method, NetworkRule)]
        assert ruled
        for c in ruled:
            row = c.row.removesuffix(" lgn")
            adam = next(a for a in study.cells if (a.row, a.column) == (row, c.column))
            assert (c.method.steps, c.method.batch, c.task) == (adam.method.steps, adam.method.batch, adam.task)


@pytest.mark.parametrize("name", NAMES)
def test_the_small_study_is_a_taste_on_mnist_and_says_its_size(name: str) -> None:
    taste, small = find_study(f"mnist/{name}").of_data("mnist").quick(), find_study(f"mnist/{name}-small")
    assert (small.rows, small.columns) == (taste.rows, taste.columns)
    assert [(c.task, c.method.batch) for c in small.cells] == [(c.task, c.method.batch) for c in taste.cells]  # type: ignore[attr-defined]
    (epochs,) = {c.method.steps // c.task.epoch(c.method.batch) for c in small.cells}  # type: ignore[attr-defined]
    assert f"{epochs} epochs" in small.notes[0]
    assert ("samples per pair" in small.notes[0]) == (name not in ("sequence", "sum"))
    assert all(c.task.range == "mnist" for c in small.cells)
    assert small.published == find_study(f"mnist/{name}").published


def test_rates_and_batches_can_be_changed_where_there_is_a_recipe() -> None:
    study = find_study("mnist/product").quick()
    changed = Changes(rate=0.01, batch=16).applied(study.trained("published"))
    recipes = {(c.method.recipe.rate, c.method.batch) for c in changed.cells}  # type: ignore[attr-defined]
    assert recipes == {(0.01, 16)}
    with pytest.raises(ValueError, match="NMU lgn is not trained by one; add --recipe published"):
        Changes(rate=0.01).applied(study)


def test_epochs_scale_steps_and_leave_ramps_in_their_place_if_they_can() -> None:
    study = find_study("mnist/product")
    long, short = (cell_of(study.for_epochs(epochs), "NMU").method.recipe for epochs in (100, 10))
    assert (long.steps, short.steps) == (100 * 704, 10 * 704)
    assert long.penalties["to_grid"] == Ramp(100, 30 * 704, 40 * 704)
    assert short.penalties["to_grid"] == Ramp(100, 5 * 704, 5280)
    assert cell_of(study.for_epochs(10), "NMU").every == 704
    assert cell_of(find_study("mnist/sequence").quick(), "NMU").every == 10  # 76 steps, eight evaluations


def test_other_studies_have_neither_data_nor_epochs() -> None:
    study = find_study("single-module/mul")
    with pytest.raises(ValueError, match="--data"):
        study.of_data("mnist")
    with pytest.raises(ValueError, match="--epochs"):
        study.for_epochs(3)


def test_networks_do_not_retire() -> None:
    with pytest.raises(ValueError, match="--retire"):
        find_study("mnist/product").retiring()


def test_data_can_be_chosen_and_is_checked() -> None:
    study = find_study("mnist/division")
    assert {c.task for c in study.of_data("mnist").cells} == {DigitPairs("mnist", name="div")}
    steps = [cell_of(find_study("mnist/sequence").of_data(d), "NMU").method.steps for d in ("digits", "mnist")]
    assert steps == [1001 * 10, 1001 * 388]  # 593 and 24,783 pairs in batches of 64
    with pytest.raises(ValueError, match="mnist"):
        study.of_data("mnits")
    assert "--data mnist" in study.hint
    assert not study.of_data("mnist").hint


def test_the_threshold_is_the_published_bound() -> None:
    errors = [1.0, 1.5, 2.5, 1.2]
    expected = mean(errors) + 2.896459 * stdev(errors) / 2
    assert threshold(errors) == pytest.approx(expected)
    assert threshold([*errors, 1.6 * FAILED]) == pytest.approx(expected)  # a reference that cannot read does not count
    assert threshold([4.0]) == 4.0
    assert threshold([]) == -math.inf


def test_sequences_are_judged_by_length_against_the_reference() -> None:
    study = find_study("mnist/sequence").quick()
    assert isinstance(study, SequenceStudy)
    records = []
    for row, errors in ((REFERENCE, (1.0, 10.0)), ("NMU", (0.9, 11.0))):
        for seed in range(2):
            run = cell_of(study, row).run(seed)
            lengths = {"1": errors[0] + 0.01 * seed, "2": errors[1] + 0.01 * seed}
            records.append({"id": run.id, "unit": row, "solved": False, "solved_at": None, "sparsity": None,
                            "errors": json.dumps(lengths)})  # fmt: skip
    entries = {(e.row, e.column): e for e in summarise(study, records)}
    assert entries["NMU", "1"].success.estimate == 1
    assert entries["NMU", "2"].success.estimate == 0
    assert entries["NMU", "3"].success.estimate == 0  # nothing is known of this length
    assert entries["NMU", "1"].published.success == 0.9  # type: ignore[union-attr]


def test_the_reference_stays_when_rows_are_chosen() -> None:
    study = find_study("mnist/sequence").only(["NMU"], ["2"])
    assert study.rows == [REFERENCE, "NMU"] or set(study.rows) == {REFERENCE, "NMU"}
    assert study.columns == ["2"]


def test_cells_of_a_row_share_their_run() -> None:
    study = find_study("mnist/sequence")
    assert len({c.run(0).id for c in study.cells if c.row == "NMU"}) == 1
    assert len({c.run(0).id for c in study.cells}) == len(study.rows)


def test_measured_accuracies_are_shown_as_means_beside_the_published() -> None:
    study = replace(find_study("mnist/product"), seeds=2)
    cell = cell_of(study, "sNMU")
    records = [
        {"id": cell.run(seed).id, "unit": "sNMU", "solved": True, "solved_at": 5, "sparsity": 0.0,
         "result_exact": 0.8 + 0.1 * seed, "result_rounded": None, "digit_rounded": 0.5}
        for seed in range(2)
    ]  # fmt: skip
    (entry,) = summarise(study, records)
    exact = entry.measures["result_exact"]
    assert exact.estimate == pytest.approx(0.85)
    assert exact.high - exact.estimate == pytest.approx(0.05)
    assert math.isnan(entry.measures["result_rounded"].estimate)
    from nalm.bench.show.tables import markdown_tables

    page = markdown_tables(study, [entry])
    assert "85.0<br>±5.0<br>(96.6)" in page


def test_the_command_line_from_run_to_compare(tmp_path: Path) -> None:
    """A one-epoch taste of sequences: trained once, shown by length, drawn and compared."""
    store = str(tmp_path / "runs.db")
    options = ["mnist/sequence", "--quick", "--epochs", "1", "--seeds", "1", "--store", store]
    rows = ["--unit", "reference", "--unit", "NMU", "--range", "1", "--range", "3"]
    runner = CliRunner()
    ran = runner.invoke(app, ["run", *options, *rows, "--threads", "1"])
    assert ran.exit_code == 0, ran.output
    assert "2 runs, 0 already kept" in ran.output
    assert ran.output.count("--data mnist") == 1
    with Store(store, readonly=True) as kept:
        assert {r["unit"] for r in kept.records()} == {REFERENCE, "NMU"}
        assert all(r["steps"] == DigitSequences().epoch(SEQUENCE.quick_batch) for r in kept.records())
    again = runner.invoke(app, ["run", *options, *rows])
    assert "2 already kept" in again.output
    shown = runner.invoke(app, ["show", *options, *rows, "--markdown"])
    assert shown.exit_code == 0, shown.output
    assert "| 3 |" in shown.output
    drawn = runner.invoke(app, ["figure", *options, *rows, "--output", str(tmp_path / "figure.svg")])
    assert drawn.exit_code == 0, drawn.output
    compared = runner.invoke(app, ["compare", *options, *rows])
    assert compared.exit_code == 0, compared.output


def test_a_unit_of_ones_own_stands_in_every_column(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("from nalm.units.nau import NMU\n\n\nclass Mine(NMU):\n    pass\n")
    for name, like in (("product", "NMU"), ("division", "NRU"), ("sum", "NAU")):
        study = find_study(f"mnist/{name}").only([f"{file}:Mine"])
        own = [c for c in study.cells if c.row == "Mine"]
        assert [c.method for c in own] == [c.method for c in find_study(f"mnist/{name}").cells if c.row == like]
        assert type(own[0].model.build()).__name__ == "Mine"


def test_descent_refuses_nothing_it_was_asked_for() -> None:
    for name in NAMES:
        for c in find_study(f"mnist/{name}").cells:
            assert isinstance(c.method, NetworkDescent | NetworkRule)
            assert c.method.scaled(10).steps == 10
