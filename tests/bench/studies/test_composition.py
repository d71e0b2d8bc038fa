"""Composition: the sixteen expressions, the published networks, the solver in full, our layer on quick cases."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

from nalm.bench.engine.options import Options
from nalm.bench.engine.train import train
from nalm.bench.method import Descent, Discover, Search
from nalm.bench.run import Run, single
from nalm.bench.studies import find_study
from nalm.bench.studies.composition import ARCHITECTURES, OURS, RECIPE, STUDIES, TWO_STEP, Architecture
from nalm.bench.task import SampledTask
from nalm.bench.tasks.arithmetic import RANGES
from nalm.bench.tasks.composition import EXPRESSIONS, LONGER, Composition

ONE_TWO = RANGES["U[1,2)"]


def trained(runs: list[Run], engine: str = "auto") -> list[dict[str, Any]]:
    """The records of some runs, in their order."""
    found = {record["id"]: record for record in train(runs, options=Options(threads=1, engine=engine))}
    return [found[run.id] for run in runs]


def test_the_sixteen_expressions_are_those_of_the_thesis() -> None:
    a, b, c = 3.0, 5.0, 7.0
    expected = {
        "add-add": a + b + c, "add-sub": -a - b - c, "add-mul": (a + b) * c, "add-div": 1 / ((a + b) * c),
        "sub-add": -a - b + c, "sub-sub": a + b - c, "sub-mul": (-a - b) * c, "sub-div": 1 / ((-a - b) * c),
        "mul-add": a * b + c, "mul-sub": -a * b - c, "mul-mul": a * b * c, "mul-div": 1 / (a * b * c),
        "div-add": 1 / (a * b) + c, "div-sub": -1 / (a * b) - c, "div-mul": c / (a * b), "div-div": a * b / c,
    }  # fmt: skip
    assert list(expected) == list(EXPRESSIONS)
    for steps, value in expected.items():
        (got,) = Composition(*ONE_TWO, steps=steps).formula([a, b, c, 11.0], seed=0)
        assert got == pytest.approx(value), steps


@pytest.mark.parametrize("inputs", [4, 8])
def test_targets_are_the_formula(inputs: int) -> None:
    x = torch.rand(inputs, 20, dtype=torch.float64) * 4 - 2
    for steps in (*EXPRESSIONS, *LONGER):
        task = Composition(*RANGES["U[-2,2)"], steps=steps, inputs=inputs)
        target = task.target(x, task.selection(0).double())
        expected = [task.formula(column, 0) for column in x.mT.tolist()]
        torch.testing.assert_close(target.mT, torch.tensor(expected, dtype=torch.float64))


def test_zeros_are_never_divided_by() -> None:
    task = Composition(*RANGES["U[-2,2)"], steps="add-div")
    u = torch.tensor([0.5, 0.25, 0.5, 0.5]).unsqueeze(-1)  # the inputs 0, -1, 0, 0
    x, t = task.sample(u, task.train.numbers(4).float(), task.selection(0), task.train)
    assert bool((x != 0).all())
    assert bool(t.isfinite().all())


def test_the_threshold_adds_up_the_errors_of_all_operands() -> None:
    m2 = (6**3 - 2**3) / 12  # of U[2,6)
    product = Composition(*ONE_TWO, steps="mul-mul").threshold()
    assert product == pytest.approx(16e-10 * m2**3, rel=0.02)  # four operands off by 1e-5
    total = Composition(*ONE_TWO, steps="add-sub").threshold()
    # a and b are counted twice, as operands and in their sum; means 4: E (2a + 2b + c)^2
    assert total == pytest.approx(1e-10 * (9 * (m2 - 16) + 20**2), rel=0.02)
    quotient = Composition(*ONE_TWO, steps="div-mul").threshold()
    assert quotient > 1e-11  # errors of numerator and denominator do not cancel


def test_a_task_refuses_what_is_not_defined() -> None:
    with pytest.raises(ValueError, match="no operation 'pow'"):
        Composition(*ONE_TWO, steps="add-pow")
    with pytest.raises(ValueError, match="at least 3 inputs, not 2"):
        Composition(*ONE_TWO, steps="add-mul", inputs=2)


def test_all_expressions_and_ranges_share_a_program() -> None:
    structures = {cell.run(0).structure for cell in TWO_STEP.cells if cell.row == "Recurrent frozen"}
    assert len(structures) == 1


def test_the_study_has_the_published_table() -> None:
    assert TWO_STEP is find_study("composition/two-step")
    assert len(TWO_STEP.rows) == 13
    assert TWO_STEP.columns == list(EXPRESSIONS)
    assert TWO_STEP.seeds >= 5
    assert [line.correct for line in ARCHITECTURES] == [0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 3, 5, 7]
    assert len(OURS) == 9


@pytest.mark.parametrize("line", ARCHITECTURES, ids=lambda line: line.model.label)
def test_every_published_network_trains(line: Architecture) -> None:
    """A few steps of two expressions at once: finite or not, the weights have moved."""
    method = Descent(replace(RECIPE.scaled(60), penalties={}))
    runs = [Run(line.model, Composition(*ONE_TWO, steps=s), method, 1, every=20) for s in ("add-add", "mul-mul")]
    for record in trained(runs, "torch"):
        assert record["engine"] == "torch"
        errors = record["curve"]["validation_error"]
        assert len(errors) == 4
        assert errors[0] != errors[-1]
        assert record["solved"] is False


def test_native_and_torch_train_a_selector_alike() -> None:
    method = Descent(RECIPE.scaled(40))
    tasks = [Composition(*ONE_TWO, steps=s) for s in ("add-add", "sub-mul", "div-add")]
    runs = [Run(single("NMUSelector", 4), task, method, 3, every=40) for task in tasks]
    native, by_torch = trained(runs, "native"), trained(runs, "torch")
    for one, other in zip(native, by_torch, strict=True):
        assert one["engine"] == "native"
        assert one["test_error"] == pytest.approx(other["test_error"], rel=1e-3)
    assert len({record["test_error"] for record in native}) == 3  # one seed, but each run has its own expression


@pytest.mark.parametrize(("name", "inputs"), [*((name, 4) for name in RANGES), ("U[-2,2)", 7), ("U[1.1,1.2)", 7)])
def test_the_solver_finds_all_sixteen(name: str, inputs: int) -> None:
    tasks: list[SampledTask] = [Composition(*RANGES[name], steps=s, inputs=inputs) for s in EXPRESSIONS]
    runs = [Run(single("FormulaLayer", inputs, label="solver"), task, Discover(), seed=0) for task in tasks]
    missed = [(r["operation"], r["formula"]) for r in trained(runs) if not r["solved"]]
    assert not missed


def test_tables_say_why_the_solver_has_no_steps() -> None:
    ours = [s for s in STUDIES if "solver" in s.rows]
    assert len(ours) == len(RANGES) + 2
    assert all(any(note.startswith("solver: no training") for note in s.notes) for s in ours)


def test_our_layer_learns_an_expression_of_each_family() -> None:
    names = ("sub-sub", "add-div", "mul-sub", "div-div")
    runs = [
        Run(single("FormulaLayer", 4), Composition(*ONE_TWO, steps=s), Search(300), 0, every=100, retire=True)
        for s in names
    ]
    records = trained(runs)
    assert [record["solved"] for record in records] == [True] * 4
    assert all(record["sparsity"] == 0 for record in records)
