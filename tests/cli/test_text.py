"""Text from users is text: whatever is in a name, a header or a path is shown as it is, and obeyed by nobody."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stdout
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from nalm.bench.results.stats import wilson
from nalm.bench.results.summary import CellSummary
from nalm.bench.show.tables import rich_tables
from nalm.bench.studies import find_study
from nalm.cli.app import command_line
from nalm.cli.screen import Screen, visible
from tests.cli.commands import fails, nalm, works

# Markup that closes nothing, markup that opens, an emoji's name, a link, and what a terminal obeys.
HOSTILE = ["t [/h]", "Länge [m]", ":x:", "[red]", "[link=file:x]y[/link]", "\x1b[2Jgone", "a\x07b", "\u202ereversed"]


def table_of(folder: Path, names: list[str]) -> Path:
    X = np.random.default_rng(0).uniform(1, 9, (30, 2))
    lines = [",".join(f'"{name}"' for name in names)]
    lines += [f"{a!r},{b!r},{a * b!r}" for a, b in X.tolist()]
    path = folder / "table.csv"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


@pytest.mark.parametrize("name", HOSTILE, ids=ascii)
def test_columns_of_a_table(name: str, tmp_path: Path) -> None:
    path = table_of(tmp_path, [name, "b", f"{name} out"])
    output = works("solve", path, "--target", f"{name} out")
    assert visible(name) in output.replace("\n", "")
    assert "\x1b[2J" not in output
    assert "\u202e" not in output
    record = json.loads(works("solve", path, "--target", f"{name} out", "--json"))
    assert record["target"] == f"{name} out"
    assert visible(name) in fails("solve", path, "--target", "nothing").replace("\n", "")


@pytest.mark.parametrize("name", HOSTILE, ids=ascii)
@pytest.mark.parametrize(
    "words",
    [
        ("run", "NAME"),
        ("run", "single-module/mul", "--unit", "NAME"),
        ("run", "single-module/mul", "--unit", "NAME.py:NAME"),
        ("run", "single-module/mul", "--range", "NAME"),
        ("run", "single-module/mul", "--recipe", "NAME"),
        ("run", "single-module/mul", "--device", "NAME"),
        ("show", "NAME"),
        ("show", "single-module/mul", "--store", "NAME"),
        ("compare", "single-module/mul", "--unit", "NAME", "--unit", "NMU"),
        ("figure", "NAME", "--output", "x.png"),
        ("figure", "single-module/mul", "--output", "NAME"),
        ("landscape", "NAME", "--output", "x.png"),
        ("starts", "--output", "NAME"),
        ("weights", "NAME", "--output", "x.png"),
        ("speed", "--unit", "NAME"),
        ("solve", "NAME", "--target", "y"),
        ("export", "NAME"),
        ("export", "x.csv", "--store", "NAME"),
        ("merge", "x.db", "NAME"),
        ("NAME",),
    ],
    ids=" ".join,
)
def test_names_on_the_command_line(
    words: tuple[str, ...], name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    said = fails(*(word.replace("NAME", name) for word in words))
    shown = (visible(name), visible(repr(name).strip("'\"")))
    assert any(text in said for text in shown), said
    assert "\x1b" not in said


def test_paths_that_are_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    name = " ".join(HOSTILE).replace("/", "|")
    assert visible(name) in works("landscape", "nmu-pair", "--output", f"{name}.svg")
    run = ("single-module/mul", "--unit", "NMU", "--range", "U[1,2)", "--seeds", 1, "--quick", "--store", f"{name}.db")
    assert visible(name) in works("run", *run)
    assert "1.00" in works("show", *run)
    assert visible(name) in works("export", f"{name}.csv", "--store", f"{name}.db")


def test_a_unit_with_a_hostile_name_in_tables() -> None:
    study = find_study("single-module/mul").only(["NMU"], ["U[1,2)"])
    (cell,) = study.cells
    named = replace(study, title="[/b]", cells=(replace(cell, row="u [/x] :x:", column="[m] \x1b[2J"),))
    entry = CellSummary("u [/x] :x:", "[m] \x1b[2J", 5, wilson(5, 5), None, None, None)
    screen = Screen()
    with screen.capture() as shown:
        for part in rich_tables(named, [entry], 80):
            screen.print(part)
    for text in ("[/b]", "u [/x] :x:", r"[m] \x1b[2J"):
        assert text in shown.get()


def test_a_terminal_without_unicode(tmp_path: Path) -> None:
    path = table_of(tmp_path, ["λ", "b", "y"])
    terminal = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    with redirect_stdout(terminal):
        code = command_line(["solve", str(path), "--target", "y"])
    assert code == 0
    terminal.seek(0)
    assert r"\u03bb" in terminal.read()


def test_json_is_always_json(tmp_path: Path) -> None:
    assert json.loads(nalm("solve", tmp_path / "none.csv", "--target", "y", "--json").output)["error"]
    assert json.loads(nalm("solve", "--json").output)["error"]
    (tmp_path / "huge.csv").write_text("a,b,y\n" + "\n".join(f"{i}e200,{i},{i}e250" for i in range(1, 30)))
    json.loads(nalm("solve", tmp_path / "huge.csv", "--target", "y", "--json").output, parse_constant=pytest.fail)
