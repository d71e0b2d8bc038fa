"""What is shown: plain text, JSON that is JSON, a bar that counts, a stop that waits for the evaluation."""

from __future__ import annotations

import io
import json
import math
import os
import pydoc
import signal
import sys
from types import SimpleNamespace
from typing import Any

import pytest
import typer

from nalm.bench.results.opening import StoreError
from nalm.bench.studies import studies
from nalm.cli import app, screen
from nalm.cli.list import _runs as runs_of
from nalm.cli.options import Selection
from nalm.cli.options import _names as split_names
from nalm.cli.progress import Bar, Stop
from tests.cli.commands import fails


def test_control_characters_are_written_out_and_lines_stay_lines() -> None:
    assert screen.visible("a\tb\nc\x07 ü") == "a\\tb\nc\\x07 ü"


def test_json_has_null_for_what_it_does_not_know(capsys: pytest.CaptureFixture[str]) -> None:
    screen.print_json({"a": [math.nan, math.inf, 1.5, "text"], 2: (None, True), "b": {"c": -math.inf}})
    assert json.loads(capsys.readouterr().out) == {"a": [None, None, 1.5, "text"], "2": [None, True], "b": {"c": None}}


@pytest.mark.parametrize(("lines", "interactive", "paged"), [(9, True, False), (10, True, True), (10, False, False)])
def test_only_what_is_longer_than_the_window_of_a_person_is_paged(
    lines: int, interactive: bool, paged: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[str] = []
    monkeypatch.setattr(pydoc, "pager", shown.append)
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(isatty=lambda: interactive))
    console = screen.Screen()
    console.file, console._force_terminal, console._height, console._width = io.StringIO(), True, 10, 80
    console.page("\n".join(["line"] * lines))
    assert bool(shown) == paged
    assert ("line" in console.file.getvalue()) != paged


def fake(name: str, steps: int) -> Any:
    return SimpleNamespace(
        id=name,
        method=SimpleNamespace(steps=steps),
        model=SimpleNamespace(label="NMU"),
        task=SimpleNamespace(operation="mul"),
    )


def test_the_bar_counts_runs_by_the_share_of_their_steps() -> None:
    todo = [fake("a", 100), fake("b", 100), fake("c", 1_000_000 - 200), fake("d", 0)]
    bar = Bar(todo, screen.Screen())
    task = bar.progress.tasks[0]
    task.start_time, task._get_time = 0.0, lambda: 0.5
    bar.moved(SimpleNamespace(runs=todo[:2], advanced=50, note="", solved=1))  # type: ignore[arg-type]
    assert (task.total, task.completed, task.description) == (4, 0, "NMU mul")
    assert task.fields["solved"] == "1"
    bar.finished({"id": "a", "solved": True})
    bar.finished({"id": "b", "solved": False})
    bar.finished({"id": "c", "unit": "NAU", "operation": "add", "solved": True}, alone=True)
    assert (bar.done, task.completed, task.description) == (999_900, 3, "NAU add")
    assert (task.fields["speed"], task.fields["solved"]) == ("2.00 M steps/s", "2")


def test_nothing_to_do_is_no_division_by_zero() -> None:
    bar = Bar([fake("a", 0)], screen.Screen())
    bar.moved(SimpleNamespace(runs=[fake("a", 0)], advanced=0, note="late", solved=0))  # type: ignore[arg-type]
    assert bar.progress.tasks[0].description == "NMU mul late"


def test_the_first_control_c_asks_and_the_second_is_the_usual_one(capfd: pytest.CaptureFixture[str]) -> None:
    before = signal.getsignal(signal.SIGINT)
    with Stop() as stop:
        stop.check()
        signal.raise_signal(signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) is before
        with pytest.raises(KeyboardInterrupt):
            stop.check()
    assert "Stopping after this evaluation" in capfd.readouterr().err
    assert signal.getsignal(signal.SIGINT) is before


def test_names_are_split_between_and_not_inside() -> None:
    assert split_names("--range", ["U[1,2), U[-2,2)", "U[0,1),"]) == ["U[1,2)", "U[-2,2)", "U[0,1)"]
    assert split_names("--unit", ["sNMU [1,2],NMU", "sNMU [5,10]"]) == ["sNMU [1,2]", "NMU", "sNMU [5,10]"]
    assert split_names("--unit", None) == []


def test_a_selection_says_itself_as_a_command_line() -> None:
    plain = Selection("single-module/mul")
    assert plain.words("run") == "run single-module/mul"
    chosen = Selection("single-module/mul", unit=["NMU,NAU", "NAC"], seeds=3, quick=True, rate=0.01)
    assert chosen.words("show") == ("show single-module/mul --unit NMU,NAU --unit NAC --seeds 3 --quick --rate 0.01")
    assert chosen.units == ["NMU", "NAU", "NAC"]
    assert str(plain.nothing()) == "runs.db holds no run of these yet; start with: nalm run single-module/mul"


def test_a_study_is_listed_with_its_distinct_runs() -> None:
    study = studies()["single-module/mul"]
    assert runs_of(study) == len(set(study.ids()))


@pytest.mark.parametrize(("option", "most"), [("--seeds", 10_000), ("--threads", 1_024), ("--batch", 10**6)])
def test_more_than_any_machine_can_do_is_refused(option: str, most: int) -> None:
    assert f"less than or equal to {most}" in fails("run", "single-module/mul", option, most + 1)


@pytest.mark.parametrize(
    ("error", "code", "sentence"),
    [
        (ValueError("mend me"), 2, "mend me"),
        (ValueError(), 2, "ValueError, without a further word"),
        (StoreError("a store"), 2, "a store"),
        (typer.Abort(), 130, "Stopped."),
        (ZeroDivisionError("ours"), 1, "unexpected ZeroDivisionError: ours. This is a fault in nalm"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_an_error_ends_in_a_code_and_a_sentence(error: Exception, code: int, sentence: str) -> None:
    found, said = app._explained(error)
    assert found == code
    assert said.startswith(sentence)


@pytest.mark.parametrize(("raised", "code"), [(KeyboardInterrupt, 130), (ValueError, 2), (ZeroDivisionError, 1)])
def test_what_a_command_raises_decides_how_the_program_ends(
    raised: type[BaseException], code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def main(*_: object, **__: object) -> None:
        raise raised("word")

    monkeypatch.setattr(app, "_command", lambda: SimpleNamespace(main=main))
    assert app.command_line(["list", "--json"]) == code
    said = capsys.readouterr().out
    assert ("word" in json.loads(said)["error"]) if code < 130 else not said


def test_a_selection_changes_the_study_in_every_way_it_can() -> None:
    study = Selection("single-module/mul", unit=["NMU"], range=["U[1,2)"], retire=True, seeds=7, steps=99).chosen()
    assert (study.rows, study.columns, study.seeds) == (["NMU"], ["U[1,2)"], 7)
    assert all(run.retire and run.method.steps == 99 for _, run in study.runs())
    plain = Selection("single-module/mul", unit=["NMU"], range=["U[1,2)"]).chosen()
    assert not any(run.retire for _, run in plain.runs())
    quick = Selection("single-module/mul", unit=["NMU"], range=["U[1,2)"], quick=True).chosen()
    assert (quick.seeds, {run.method.steps for _, run in quick.runs()}) == (5, {5_000})


@pytest.mark.parametrize("own", [None, "-FX"])
def test_the_pager_obeys_styles_instead_of_showing_their_codes(
    own: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if own is None:
        monkeypatch.delenv("LESS", raising=False)
    else:
        monkeypatch.setenv("LESS", own)
    told: list[str | None] = []
    monkeypatch.setattr(pydoc, "pager", lambda _text: told.append(os.environ.get("LESS")))
    screen._through_the_pager("\x1b[1mbold\x1b[0m")
    assert told == ["-R" if own is None else "-FX -R"]
    assert os.environ.get("LESS") == own
