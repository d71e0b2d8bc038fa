"""The two-layer studies: thresholds against the published ones, targets, every study in miniature."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import torch

from nalm.bench import task as tasks_module
from nalm.bench.distribution import Uniform
from nalm.bench.engine.train import Options, train
from nalm.bench.method import Descent
from nalm.bench.results.summary import summarise
from nalm.bench.run import Layer, Model, Run
from nalm.bench.show.tables import markdown_tables
from nalm.bench.studies import find_study, two_layer, two_layer_sweeps
from nalm.bench.study import Study
from nalm.bench.tasks.arithmetic import OPERATIONS, RANGES
from nalm.bench.tasks.two_layer import FourInputs, TwoLayer
from tests.cli.commands import works

ONE_TWO = RANGES["U[1,2)"]
STUDIES = {study.name: study for module in (two_layer, two_layer_sweeps) for study in module.STUDIES}

# simulated by the papers' authors with a million samples each
PUBLISHED_OPERATIONS = {
    "mul": 0.160010658743333,
    "add": 1.47861742158438e-05,
    "sub": 1.38437045113029e-08,
    "div": 4.93805490041429e-12,
    "sqrt": 8.95525993233274e-09,
    "square": 0.159473806098301,
}
PUBLISHED_RANGES = {
    "U[-20,-10)": 505.384,
    "U[-2,-1)": 0.160019,
    "U[-1.2,-1.1)": 0.111274,
    "U[-0.2,-0.1)": 9.20367e-04,
    "U[-2,2)": 2.30716e-04,
    "U[0.1,0.2)": 9.19984e-04,
    "U[1,2)": 0.160053,
    "U[1.1,1.2)": 0.105269,
    "U[10,20)": 505.342,
}
PUBLISHED_INPUTS = {4: 7.1045e-08, 10: 1.5096e-05, 25: 6.1434e-04, 75: 0.050825, 150: 0.811650, 300: 12.970183}
PUBLISHED_OVERLAPS = {0: 0.160530, 0.1: 0.160452, 0.25: 0.160286, 0.75: 0.159799, 1: 0.159487}
PUBLISHED_SUBSETS = {0.05: 0.0288477, 0.1: 0.0758187, 0.25: 0.160009, 0.5: 0.00222144}


def published(task):
    return replace(task, published=True).threshold()


def test_published_thresholds_are_reproduced():
    ours = {name: published(TwoLayer(*ONE_TWO, name=name)) for name in PUBLISHED_OPERATIONS}
    assert ours == pytest.approx(PUBLISHED_OPERATIONS, rel=0.01)
    ours = {label: published(TwoLayer(*RANGES[label])) for label in PUBLISHED_RANGES}
    assert ours == pytest.approx(PUBLISHED_RANGES, rel=0.01)
    assert published(TwoLayer(Uniform(0, 1), Uniform(1, 5))) == pytest.approx(0.0507586, rel=0.01)
    dataset = two_layer_sweeps.dataset
    assert {n: published(dataset(n)) for n in PUBLISHED_INPUTS} == pytest.approx(PUBLISHED_INPUTS, rel=0.01)
    ours = {o: published(dataset(overlap=o)) for o in PUBLISHED_OVERLAPS}
    assert ours == pytest.approx(PUBLISHED_OVERLAPS, rel=0.01)
    assert {s: published(dataset(subset=s)) for s in PUBLISHED_SUBSETS} == pytest.approx(PUBLISHED_SUBSETS, rel=0.01)
    static = [FourInputs(*ONE_TWO, name=name).threshold() for name in ("mul", "add", "sub")]
    assert static == pytest.approx([2.15698e-06, 2.66721e-08, 2.66449e-08], rel=0.01)


@pytest.mark.parametrize(
    "task",
    [
        *(TwoLayer(*ONE_TWO, name=name) for name in PUBLISHED_OPERATIONS),
        TwoLayer(*RANGES["U[-1.2,-1.1)"]),
        TwoLayer(*ONE_TWO, inputs=20, size=8, overlap=4, count=3),
    ],
    ids=lambda task: f"{task.name}-{task.train}-{task.count}",
)
def test_thresholds_equal_a_simulation(task):
    x = task.test.quantile(torch.rand(task.inputs, 50_000, dtype=torch.float64), task.test.numbers(task.inputs)).numpy()
    chosen = task.selection(0).double().numpy()
    exact, near = chosen @ x, (chosen * (1 - 1e-5) + (1 - chosen) * 1e-5) @ x
    values = [np.prod(s, 0) if task.count > 2 else OPERATIONS[task.name](s[0], s[1]) for s in (near, exact)]
    assert task.threshold() == pytest.approx(np.square(values[0] - values[1]).mean(), rel=0.01)


@pytest.mark.parametrize("name", PUBLISHED_OPERATIONS)
def test_target_equals_formula(name):
    x = torch.rand(100, 3, dtype=torch.float64) + 1
    for task in (TwoLayer(*ONE_TWO, name=name), FourInputs(*ONE_TWO, name=name)):
        inputs = x[: task.in_features]
        target = task.target(inputs, task.selection(4).double())
        expected = [task.formula(inputs[:, k].tolist(), 4)[0] for k in range(3)]
        assert target[0].tolist() == pytest.approx(expected)


def test_operands_are_where_the_papers_put_them():
    assert TwoLayer(*ONE_TWO).members(0) == [range(44, 69), range(57, 82)]
    x = torch.tensor([[1.0], [2.0], [3.0], [4.0]])
    task = FourInputs(*ONE_TWO)
    assert task.target(x, task.selection(7)).item() == (1 + 2) * (1 + 2 + 3 + 4)
    three = TwoLayer(*ONE_TWO, inputs=20, size=4, overlap=2, count=3).members(1)
    assert [later.start - earlier.start for earlier, later in pairwise(three)] == [2, 2]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"size": 60}, "cannot hold 2 subsets of 60"),
        ({"overlap": 26}, "share 26"),
        ({"name": "div", "count": 3}, "div of 3 subsets"),
        ({"name": "multiply"}, "no operation 'multiply'"),
    ],
)
def test_errors_name_the_culprit(options, message):
    with pytest.raises(ValueError, match=message):
        TwoLayer(*ONE_TWO, **options)


def test_runs_with_other_subsets_never_share_a_cohort():
    """The engines share the subsets of a seed, so what decides them decides the cohort."""
    model, recipe = two_layer.published_network("NMU")
    tasks = [two_layer_sweeps.dataset(overlap=o) for o in (0.25, 0.5)]
    assert len({Run(model, task, Descent(recipe), 0).structure for task in tasks}) == 2


def miniature(study: Study) -> Study:
    """Each row and each column of the study at least once, four steps, one seed."""
    rows, columns = study.rows, study.columns
    cells = {}
    for cell in study.cells:
        if rows.index(cell.row) % len(columns) == columns.index(cell.column) % len(rows) or cell.column == columns[0]:
            cells[cell.row, cell.column] = replace(cell, method=cell.method.scaled(4), every=2, retire=False)
    return replace(study, cells=tuple(cells.values()), seeds=1)


@pytest.mark.parametrize("name", [name for name in STUDIES if not name.endswith("-short")])
def test_every_study_runs_and_shows_its_published_numbers(name, monkeypatch):
    monkeypatch.setattr(tasks_module, "SAMPLES", 64)
    study = STUDIES[name]
    assert find_study(name) == study
    grid = {(cell.row, cell.column) for cell in study.cells}
    assert set(study.published) <= grid
    assert study.published or any("figures only" in text for text in (study.reproduces, *study.notes))
    small = miniature(study)
    rows = list(train([run for _, run in small.runs()], None, Options(engine="torch")))
    entries = summarise(small, rows)
    assert {(e.row, e.column) for e in entries} == {(cell.row, cell.column) for cell in small.cells}
    for row in rows:  # products of 300 inputs overflow; the solver makes one step only
        assert len(row["curve"]["step"]) == (2 if row["recipe"] == "solver" else 3) or row["nonfinite_step"]
    page = markdown_tables(small, entries)
    assert all(row in page for row in small.rows)
    shown = [e.published.success for e in entries if e.published]
    assert all(f"({rate:.2f})".replace("(0.", "(.") in page for rate in shown)


def test_a_taste_on_the_command_line(tmp_path):
    def nalm(command, *words):
        store = ("--store", str(tmp_path / "runs.db"))
        return works(command, "two-layer/static", "--quick", "--unit", "NMU", *store, *words)

    assert "5 runs, 0 already kept" in nalm("run")
    assert "5 runs, 5 already kept" in nalm("run")
    assert "5 seeds per cell, 5,000 steps" in nalm("show", "--markdown")
    assert "5 runs, 0 already kept" in nalm("run", "--retire")
    assert "Runs stop once they are solved" in nalm("show", "--markdown", "--retire")


def test_short_studies_keep_early_schedules_and_shorten_late_ones():
    cells = {(cell.row, cell.column): cell for cell in STUDIES["two-layer/operations-short"].cells}
    assert cells["NAU", "+"].method.recipe.penalties["to_grid"].end == 50_000
    assert cells["NMU", "×"].method.recipe.penalties["to_grid"].end == 80_000
    losses = {cell.row: cell for cell in STUDIES["two-layer/losses-short"].cells}
    assert losses["NMU PCC-MSE"].method.recipe.loss.at == 15_000
    assert losses["sNMU PCC-MSE"].method.recipe.loss.at == 37_500
    assert {cell.method.steps for cell in cells.values()} == {200_000}


def test_both_engines_train_the_two_layer_network_alike():
    model = Model("NAU-NMU", (Layer("NAU", 100, 2), Layer("NMU", 2, 1)))
    recipe = replace(two_layer.PULLED, steps=40)
    labels = ("U[1,2)", "U[-2,2)")
    runs = [Run(model, TwoLayer(*RANGES[label]), Descent(recipe), seed, 20) for label in labels for seed in range(2)]
    torch_rows, native_rows = (list(train(runs, None, Options(engine=e, threads=1))) for e in ("torch", "native"))
    for ours, oracle in zip(native_rows, torch_rows, strict=True):
        for name, weight in oracle["weights"].items():
            assert np.allclose(ours["weights"][name], weight, atol=1e-5)
        for name, values in ours["curve"].items():
            assert np.allclose(values, oracle["curve"][name], rtol=1e-3)
