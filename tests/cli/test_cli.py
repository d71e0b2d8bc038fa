"""The commands as a user types them."""

import pytest
from typer.testing import CliRunner

from nalm.cli import app

MY_UNIT = """
import nalm
from nalm.core.weight import Weight
from nalm.core.start import uniform


class Twice(nalm.Unit):
    paper = "mine"
    W = Weight("out in", start=uniform(0.25, 0.75), box=(0, 1), grid=(0, 1))

    def compute(self, x):
        w = self.W.unsqueeze(-1)
        return (w * x.unsqueeze(-3) + 1 - w).prod(-2)


class Plain(nalm.baselines.torch.nn.Linear):
    pass
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("cli")


def nalm(*words, code=0):
    result = CliRunner().invoke(app, [str(word) for word in words], env={"COLUMNS": "200"})
    if code == 0 and result.exception:
        raise result.exception
    assert result.exit_code == code or result.exception
    return result


def quick(command, folder, *words):
    return nalm(command, "single-module/mul", "--quick", "--seeds", 2, "--store", folder / "runs.db", *words)


def test_list_names_everything():
    output = nalm("list").output
    for name in ("NMU", "ModifiedRealNPU", "SingleModule", "single-module/mul"):
        assert name in output


def test_run_show_figure_compare(folder):
    options = ("--unit", "NMU,sNMU", "--range", "U[1,2),U[-2,2)")
    assert "8 runs, 0 already kept" in quick("run", folder, *options).output
    assert "8 runs, 8 already kept" in quick("run", folder, *options).output
    shown = quick("show", folder, *options).output
    assert "1.00" in shown
    assert "U[-2,2)" in shown
    assert "| U[1,2) |" in quick("show", folder, *options, "--markdown").output
    quick("figure", folder, *options, "--output", folder / "figure.svg")
    assert (folder / "figure.svg").read_text().startswith("<?xml")
    compared = quick("compare", folder, "--unit", "NMU", "--unit", "sNMU")
    assert "+0.00" in compared.output


@pytest.mark.parametrize("way", ["lgn", "solver"])
def test_other_ways_of_training_solve_every_range(folder, way):
    output = nalm(
        "run", "single-module/div", "--recipe", way, "--quick", "--seeds", 1, "--store", folder / "ways.db"
    ).output
    assert "9 runs trained, 9 solved" in output


def test_solve_a_file(folder):
    rows = [f"{m},{M},{r},{m * M / r**2}" for m in (1, 2, 5) for M in (3, 4, 7) for r in (2, 5, 9)]
    (folder / "law.csv").write_text("m,M,r,F\n" + "\n".join(rows))
    output = nalm("solve", folder / "law.csv", "--target", "F").output
    assert "F = M*m/r**2" in output
    assert "exact" in output


def test_export_and_merge(folder):
    quick("run", folder, "--unit", "NMU", "--range", "U[1,2)")
    assert "runs written" in nalm("export", folder / "runs.csv", "--store", folder / "runs.db").output
    nalm("export", folder / "compact.csv.gz", "--store", folder / "runs.db", "--compact")
    table = nalm(
        "show", "single-module/mul", "--quick", "--seeds", 2, "--unit", "NMU", "--store", folder / "compact.csv.gz"
    )
    assert "1.00" in table.output
    assert "new runs" in nalm("merge", folder / "joined.db", folder / "runs.db").output


def test_a_unit_in_a_file_of_your_own(folder):
    path = folder / "mine.py"
    path.write_text(MY_UNIT)
    options = ("--unit", f"{path}:Twice", "--range", "U[1,2)")
    quick("run", folder, *options)
    assert "Twice" in quick("show", folder, *options).output
    path.write_text(MY_UNIT + "\n# edited\n")  # an edited unit is a new run
    assert "2 runs, 0 already kept" in quick("run", folder, *options).output


def test_any_module_can_be_benchmarked(folder):
    path = folder / "mine.py"
    path.write_text(MY_UNIT)
    options = ("--unit", f"{path}:Plain", "--range", "U[1,2)")
    assert "2 runs trained" in quick("run", folder, *options).output


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("run", "single-module/mull"), "Did you mean single-module/mul"),
        (("run", "single-module/mul", "--unit", "NMUU"), "Did you mean NMU"),
        (("run", "single-module/mul", "--range", "U[1,3)"), "Did you mean U\\[1,2"),
        (("run", "single-module/mul", "--engine", "fast"), "Valid names: auto, native, torch"),
        (("run", "single-module/mul", "--unit", "nowhere.py:Unit"), "no file"),
        (("show", "single-module/mul", "--store", "nothing.db"), "does not exist"),
        (("compare", "single-module/mul", "--unit", "NMU"), "two units"),
    ],
)
def test_errors_suggest(words, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(Exception, match=message):
        nalm(*words)
