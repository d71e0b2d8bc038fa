"""Studies, tasks and units from files of one's own; recipes changed on the command line; mistakes told in time."""

from __future__ import annotations

from pathlib import Path

import pytest

from nalm.bench.changes import Changes, parse_ranges
from nalm.bench.own import study_from_file
from nalm.bench.studies import find_study
from nalm.cli.options import Selection
from tests.cli.commands import fails, works

UNIT = """
import nalm
import torch
from nalm.core.start import uniform
from nalm.core.weight import Weight


class Twice(nalm.Unit):
    W = Weight("out in", start=uniform(0.25, 0.75), box=(0, 1), grid=(0, 1))

    def compute(self, x):
        w = self.W.unsqueeze(-1)
        return (w * x.unsqueeze(-3) + 1 - w).prod(-2)

"""
TASK = """
from dataclasses import dataclass
from nalm.bench.task import SampledTask
from nalm.bench.distribution import Uniform


@dataclass(frozen=True)
class Square(SampledTask):
    in_features = 2
    operation = "square of a sum"
    structure = ("Square",)

    def target(self, x, selection):
        return x.sum(-2, keepdim=True).square()

    def formula(self, x, seed):
        return [(x[0] + x[1]) ** 2]

    def threshold(self):
        return 1e-5


TASK = Square(Uniform(1, 2), Uniform(2, 6))
"""
STUDY = (
    UNIT
    + """
from nalm.bench.run import single
from nalm.bench.study import Study, cells_over
from nalm.bench.tasks.arithmetic import RANGES, SingleModule

rows = [(single("NMU", 2), nalm.NMU.recipe), (single(__file__ + ":Twice", 2), nalm.NMU.recipe)]
columns = {name: SingleModule(*RANGES[name]) for name in ("U[1,2)", "U[10,20)")}
STUDY = Study("mine", "My study", "nothing", cells_over(rows, columns), seeds=2)
"""
)


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in (("unit.py", UNIT), ("task.py", TASK), ("study.py", STUDY)):
        Path(name).write_text(text)


def test_a_study_of_ones_own_runs_and_shows() -> None:
    assert "8 runs, 0 already kept" in works("run", "study.py:STUDY", "--quick")
    shown = works("show", "study.py:STUDY", "--quick")
    assert "Twice" in shown
    assert "My study" in shown
    assert "4 runs, 4 already kept" in works("run", "study.py:STUDY", "--quick", "--unit", "NMU")


def test_a_unit_of_ones_own_stands_beside_all_others() -> None:
    published = find_study("single-module/mul").rows
    chosen = Selection("single-module/mul", unit=["all,unit.py:Twice"], range=["U[1,2)"]).chosen()
    assert chosen.rows == [*published, "Twice"]
    assert Selection("single-module/mul", unit=["unit.py:Twice"]).chosen().rows == ["Twice"]


def test_a_task_of_ones_own_runs_with_any_units() -> None:
    words = ("task.py:TASK", "--unit", "NAU,unit.py:Twice", "--quick", "--seeds", 1)
    assert "2 runs, 0 already kept" in works("run", *words)
    shown = works("show", *words)
    assert "Twice" in shown
    assert "U[1,2)" in shown
    assert "say which units" in fails("run", "task.py:TASK")
    study = study_from_file("task.py:Square", ["NMU"])
    assert len(study.columns) == 9
    before = study.cells[0].run(0).id
    Path("task.py").write_text(TASK.replace("square()", "sqrt()"))
    assert study_from_file("task.py:Square", ["NMU"]).cells[0].run(0).id != before, "an edited task is a new run"


def test_changes_of_a_recipe_are_said_in_the_header() -> None:
    recipe = ("--steps", 300, "--rate", 0.01, "--batch", 32, "--ranges", "U[3,4):U[4,9)")
    words = ("single-module/mul", "--unit", "NMU", "--seeds", 1, *recipe)
    said = works("run", *words)
    assert "1 run trained" in said
    hint = next(line for line in said.splitlines() if line.startswith("See them"))
    for part in ("--unit NMU", "--steps 300", "--rate 0.01", "--batch 32", "--ranges 'U[3,4):U[4,9)'"):
        assert part in hint
    shown = works("show", *words)
    header = "Multiplication of two inputs (300 steps, rate 0.01, batch 32, ranges U[3,4):U[4,9)): Success rate"
    assert header in " ".join(shown.split())
    assert "U[3,4)" in shown
    assert "Not as published" in works("show", *words, "--markdown")


def test_changes_reach_every_cell_and_leave_the_rest() -> None:
    study = find_study("single-module/mul").only(["NMU", "NAC•"], ["U[1,2)", "U[10,20)"])
    changed = Changes(steps=2_000, rate=0.5, batch=16).applied(study)
    for before, after in zip(study.cells, changed.cells, strict=True):
        assert after.method.steps == 2_000
        assert after.method.recipe.rate == 0.5  # type: ignore[attr-defined]
        assert after.method.recipe.batch == 16  # type: ignore[attr-defined]
        assert after.task == before.task
        assert after.every == 200
    ramp = changed.cells[-1].method.recipe.penalties["to_grid"]  # type: ignore[attr-defined]
    assert (ramp.start, ramp.end) == (800, 1400), "schedules keep their place"
    assert not changed.published
    assert Changes().applied(study) is study


@pytest.mark.parametrize("text", ["", "1,2", "U[1,3)", "U[2,1):U[2,6)", "U[a,b):U[2,6)", "U[0,inf):U[1,2)"])
def test_ranges_that_are_not_understood(text: str) -> None:
    assert str(parse_ranges("U[1,2)")[1]) == "U[2,6)"  # one of the nine stands alone
    with pytest.raises(ValueError, match=r"write it as|needs low < high"):
        parse_ranges(text)


UNDECLARED = """
import torch
from nalm import Unit

class Twice(Unit):
    def assemble(self, weights):
        self.lin = torch.nn.Linear(self.in_features, self.out_features)

    def compute(self, x):
        return self.lin(x.mT).mT
"""


def broken(body: str) -> str:
    """The unit with another `compute`."""
    return UNIT.replace("return (w * x.unsqueeze(-3) + 1 - w).prod(-2)", body)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (broken("return (w * x.unsqueeze(-3)).prod(-1)"), "it must be (1, 8), that is (*runs, out, samples)"),
        (broken("return x"), "compute returned the shape (2, 8)"),
        (broken("return None"), "compute returned a NoneType"),
        (broken("return x > 1"), "compute returned a tensor of torch.bool"),
        (broken("return x[..., :1, :] * 1.0"), "depends on no weight"),
        (broken("return undefined"), "NameError: name 'undefined' is not defined"),
        (broken("return self.W @ x[0]"), "Twice"),
        (broken("return (w * x.unsqueeze(-3) + 1 - w).prod(-2) / x.shape[0]"), "compute mixes runs"),
        (UNDECLARED, "the parameter lin.weight has the shape (1, 2) for 3 runs, so they would share it"),
        (UNIT.replace('"out in"', '"out inn"'), "such as `2*in`. It is made as Twice(2, 1)"),
        (UNIT.replace("def compute", "def __init__(self): pass\n    def compute"), "Twice cannot be used"),
        (UNIT.replace("Twice", "Thrice"), "Did you mean Thrice?"),
        (UNIT.replace("Twice", "Xyz"), "Valid names: Xyz."),
        ("import sys; sys.exit()", "failed with SystemExit in line 1, without a word"),
        ("import sys; sys.exit(0)", "failed with SystemExit in line 1: 0"),
        ("1 / 0", "failed with ZeroDivisionError in line 1"),
        ("def broken(:", "failed with SyntaxError in line 1"),
        ("import nothing_like_this", "No module named 'nothing_like_this'"),
        ("Twice = 3", "is not a class derived from nalm.Unit or torch.nn.Module"),
        ("", "It is empty."),
        ("\0", "failed with"),
    ],
)
def test_mistakes_in_a_unit_are_one_sentence_before_training(text: str, message: str) -> None:
    Path("unit.py").write_text(text)
    said = fails("run", "single-module/mul", "--unit", "unit.py:Twice", "--quick")
    assert message in said
    assert "unit.py" in said or "Twice" in said
    assert not Path("runs.db").exists(), "nothing was begun"


def test_a_unit_without_finite_numbers_is_told() -> None:
    Path("unit.py").write_text(broken("return (w * x.unsqueeze(-3) + 1 - w).prod(-2) * float('nan')"))
    said = works("run", "single-module/mul", "--unit", "unit.py:Twice", "--range", "U[1,2)", "--quick", "--threads", 1)
    assert "5 runs trained, 0 solved, 5 stopped at weights that are not finite, kept in runs.db." in said


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("run", "study.py:STUDI"), "Did you mean STUDY?"),
        (("run", "study.py:columns"), "it must be a Study, a Task, or a class derived from SampledTask"),
        (("run", "nothing.py:STUDY"), "there is no file 'nothing.py'"),
        (("run", "task.py:SampledTask", "--unit", "NMU"), "cannot be made from a range"),
        (("run", "task.py:TASK", "--unit", "NMUU"), "Did you mean NMU"),
        (("run", "single-module/mul", "--rate", "0.1"), "add --recipe published"),
        (("run", "single-module/mul", "--unit", "NMU", "--rate", "nan"), "positive number"),
        (("run", "single-module/mul", "--unit", "NMU", "--steps", "0"), "greater than or equal to 1"),
    ],
)
def test_mistakes_in_studies_tasks_and_changes(words: tuple[str, ...], message: str) -> None:
    assert message in fails(*words)
    assert not Path("runs.db").exists()
