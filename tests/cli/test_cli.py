"""The commands as a user types them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from nalm.bench.starts import Starts
from nalm.bench.studies import studies
from nalm.bench.study import Study
from nalm.units import catalogue
from tests.cli.commands import fails, works

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


@pytest.fixture(autouse=True)
def _wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cli")


def quick(command: str, folder: Path, *words: object) -> str:
    return works(command, "single-module/mul", "--quick", "--seeds", 2, "--store", folder / "runs.db", *words)


def test_list_names_everything() -> None:
    output = works("list")
    for name in ("NMU", "ModifiedRealNPU", "SingleModule", "single-module/mul"):
        assert name in output
    assert not [word for word in output.split() if word.startswith("_")], "what is not meant to be used"
    first = [line.split()[0] for line in output.splitlines() if line.strip()]
    assert not {"NamedTask", "WideTask", "AnsweredTask"} & set(first), "what tasks are derived from"
    assert first.count("Boolean") == 1


def test_list_keeps_lines_that_have_all_words_whatever_their_case() -> None:
    output = works("list", "THESIS", "table 7.3")
    assert [line.split()[0] for line in output.splitlines() if line.startswith("composition/")] == [
        "composition/two-step",
        "composition/U[1,2)",
    ]
    assert "Units" not in output
    assert "Tasks" not in output
    assert output.startswith("Studies")
    assert output.splitlines()[-1].strip()


def test_list_of_nothing_suggests_a_name() -> None:
    assert "Did you mean Division?" in fails("list", "divsion")
    assert "No line has 'xyzzy'. Without words, nalm list shows all." in fails("list", "xyzzy")


def test_list_fits_eighty_columns_and_cuts_no_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    output = works("list")
    assert max(map(len, output.splitlines())) <= 80
    assert "…" not in output
    words = set(output.split())
    assert set(studies()) | set(catalogue()) <= words


def test_run_show_figure_compare(folder: Path) -> None:
    options = ("--unit", "NMU,sNMU", "--range", "U[1,2),U[-2,2)")
    assert "8 runs, 0 already kept" in quick("run", folder, *options)
    assert "8 runs, 8 already kept" in quick("run", folder, *options)
    shown = quick("show", folder, *options)
    assert "1.00" in shown
    assert "U[-2,2)" in shown
    assert "No runs yet" not in shown
    everything = quick("show", folder)  # rows that were not run are named, not shown as empty columns
    assert "No runs yet: NAC•, NALU," in everything
    assert "NALU" not in everything.replace(everything[everything.index("No runs yet") :], "")
    assert "| U[1,2) |" in quick("show", folder, *options, "--markdown")
    assert r"{U[1,2)} & \shortstack{{1.00}" in quick("show", folder, *options, "--latex")
    quick("figure", folder, *options, "--output", folder / "figure.svg")
    assert (folder / "figure.svg").read_text().startswith("<?xml")
    assert "+0.00" in quick("compare", folder, "--unit", "NMU", "--unit", "sNMU")


@pytest.mark.parametrize(("way", "ranges"), [("lgn", "U[-2,2),U[1,2)"), ("solver", "U[-2,2),U[1,2),U[10,20)")])
def test_other_ways_of_training_solve(folder: Path, way: str, ranges: str) -> None:
    words = ("run", "single-module/div", "--recipe", way, "--quick", "--seeds", 1, "--range", ranges)
    output = works(*words, "--store", folder / "ways.db")
    count = ranges.count("U")
    assert f"{count} runs trained, {count} solved" in output


def test_one_run_is_told_as_one(tmp_path: Path) -> None:
    store = ("--store", tmp_path / "runs.db")
    said = works("run", "single-module/mul", "--quick", "--seeds", 1, "--unit", "NMU", "--range", "U[1,2)", *store)
    assert "1 run, 0 already kept." in said
    assert "1 run trained, 1 solved, kept in" in said
    assert "1 run written" in works("export", tmp_path / "runs.csv", *store)
    assert "1 new run in" in works("merge", tmp_path / "all.db", tmp_path / "runs.db")


def test_a_study_with_a_hint_gives_it_first(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ("single-module/mul", "--recipe", "solver", "--range", "U[1,2)", "--seeds", 1, "--store", folder / "h.db")
    monkeypatch.setattr(Study, "hint", "This will take a while.")
    assert works("run", *words).splitlines()[1] == "This will take a while."


def test_starts_and_weights_are_drawn_and_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []

    def solved_from_everywhere(noise: object = None, *, steps: int, count: int) -> Starts:
        asked.append((noise, steps, count))
        return Starts(np.zeros((count, count, 2)), np.ones((count, count, 2)))

    monkeypatch.setattr("nalm.bench.starts.from_every_start", solved_from_everywhere)
    said = works("starts", "--steps", 7, "--count", 3, "--output", folder / "starts.svg").splitlines()
    assert asked == [(None, 7, 3), ((1.0, 5.0), 7, 3)]
    assert said[:2] == [f"{unit}: 100% of 9 starts end at (1, 1)." for unit in ("NMU", "sNMU")]
    words = ("single-module/mul", "--unit", "NMU", "--range", "U[1,2)", "--steps", 3, "--seed", 2)
    assert "weights.svg written." in works("weights", *words, "--output", folder / "weights.svg")
    for name in ("starts.svg", "weights.svg"):
        assert (folder / name).read_text().startswith("<?xml")


def test_solve_a_file(folder: Path) -> None:
    levels = (2, 3, 5, 7, 9)  # fewer different values would leave exponents open, and the verdict ambiguous
    rows = [f"{m},{M},{r},{m * M / r**2}" for m in levels for M in levels for r in levels]
    (folder / "law.csv").write_text("m,M,r,F\n" + "\n".join(rows))
    output = works("solve", folder / "law.csv", "--target", "F")
    assert "F = M*m/r**2" in output
    assert "exact" in output


def test_export_and_merge(folder: Path) -> None:
    quick("run", folder, "--unit", "NMU", "--range", "U[1,2)")
    assert "runs written" in works("export", folder / "runs.csv", "--store", folder / "runs.db")
    works("export", folder / "compact.csv.gz", "--store", folder / "runs.db", "--compact")
    table = works(
        "show", "single-module/mul", "--quick", "--seeds", 2, "--unit", "NMU", "--store", folder / "compact.csv.gz"
    )
    assert "1.00" in table
    assert "new runs" in works("merge", folder / "joined.db", folder / "runs.db")


def test_a_unit_in_a_file_of_your_own(folder: Path) -> None:
    path = folder / "mine.py"
    path.write_text(MY_UNIT)
    options = ("--unit", f"{path}:Twice", "--range", "U[1,2)")
    said = quick("run", folder, *options)
    assert "Twice" in quick("show", folder, *options)
    hint = next(line for line in said.splitlines() if line.startswith("See them: nalm show "))
    for word in ("--unit", f"{path}:Twice", "--range", "U[1,2)", "--quick", "--seeds 2", "runs.db"):
        assert word in hint, "what was typed to run them shows them"
    path.write_text(MY_UNIT + "\n# edited\n")  # an edited unit is a new run
    assert "2 runs, 0 already kept" in quick("run", folder, *options)


def test_any_module_can_be_benchmarked(folder: Path) -> None:
    path = folder / "mine.py"
    path.write_text(MY_UNIT)
    options = ("--unit", f"{path}:Plain", "--range", "U[1,2)")
    assert "2 runs trained" in quick("run", folder, *options)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("help",), "No such command 'help'; see nalm --help"),
        (("rnu",), "No such command 'rnu'. Did you mean 'run'? See nalm --help"),
        (("speed", "NMU"), "Invalid value for 'what': 'NMU' is not one of 'units', 'mnist'; see nalm speed --help"),
        (("run", "mul"), "There is no study 'mul'. Did you mean hillspace/mul or single-module/mul?"),
        (("run",), "Missing argument 'study'; see nalm run --help"),
        (("solve", "table.csv", "--target"), "see nalm --help"),
        (("run", "my_study.py"), "my_study.py is a file; say which name in it is meant: my_study.py:NAME"),
        (("run", "single-module/mul", "--unit", "mine.py"), "mine.py:NAME"),
        (("show", "single-module/mul", "--store", "nothing.csv"), "nothing.csv does not exist"),
        (("run", "single-module/mull"), "Did you mean single-module/mul"),
        (("run", "single-module/mul", "--unit", "NMUU"), "Did you mean NMU"),
        (("run", "single-module/mul", "--range", "U[1,3)"), "Did you mean U[1,2"),
        (("run", "single-module/mul", "--engine", "fast"), "'auto', 'native', 'torch'"),
        (("run", "single-module/mul", "--device", "cuda"), "Leave it out to train on the CPU"),
        (("run", "single-module/mul", "--device", "toaster"), "--device toaster cannot be used here"),
        (("run", "single-module/mul", "--threads", "100000000"), "less than or equal to 1024"),
        (("run", "single-module/mul", "--seeds", "99999999999999999999"), "less than or equal to 10000"),
        (("run", "single-module/mul", "--store", "runs.csv"), "has the name of a table"),
        (("run", "single-module/mul", "--unit", "nowhere.py:Unit"), "no file"),
        (("show", "single-module/mul", "--store", "nothing.db"), "does not exist"),
        (("compare", "single-module/mul", "--unit", "NMU"), "two units"),
        (("compare", "single-module/mul", "--unit", "NMU", "--unit", "nmu"), "got NMU twice"),
        (("run", "single-module/mul", "--unit", ""), "--unit is empty"),  # a variable that is not set
        (("run", "single-module/mul", "--unit", "NMU", "--range", ","), "--range is empty"),
        (("run", "single-module/mul", "--rate", "0"), "--rate is 0; it needs a positive number"),
        (("run", "single-module"), "single-module/mul or"),
        (("weights", "single-module/mul", "--seed", "4294967296"), "less than or equal to 4294967295"),
        (("doctor", "."), "is no file"),
        (("weights", "single-module/mul", "--unit", "NMU"), "one --range"),
    ],
)
def test_errors_suggest(words: tuple[str, ...], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert message in fails(*words)
    assert not list(tmp_path.iterdir()), "nothing is left behind by a command that was refused"


def test_compare_without_data_says_so(folder: Path) -> None:
    quick("run", folder, "--unit", "NMU", "--range", "U[1,2)")
    words = ("compare", "single-module/mul", "--unit", "iNALU", "--unit", "NALU", "--store", folder / "runs.db")
    assert "start with: nalm run single-module/mul --unit iNALU --unit NALU" in fails(*words)
