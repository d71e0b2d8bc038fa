"""`nalm doctor` and `nalm verify` on a sound and on a damaged store."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from nalm.bench.engine.options import Options
from nalm.bench.engine.train import train
from nalm.bench.method import Descent
from nalm.bench.results.store import Store
from nalm.bench.run import Run, single
from nalm.bench.tasks.arithmetic import RANGES, SingleModule
from nalm.bench.verify import Outcome, Verification
from nalm.cli.app import command_line
from nalm.core.recipe import Recipe
from tests.bench.kept import kept

RUN = Run(single("NMU", 2), SingleModule(*RANGES["U[1,2)"]), Descent(Recipe(steps=50)), 0, every=50)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with Store(tmp_path / "runs.db") as store:
        list(train([RUN], store, Options(threads=1)))
    return tmp_path / "runs.db"


def test_doctor_says_what_is_sound_and_saves_it(path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command_line(["doctor", str(path)]) == 0
    assert "Runs as they were written: 1. Damaged: 0." in capsys.readouterr().out
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE runs SET solved = 1 - solved")
    assert command_line(["doctor", str(path)]) == 2
    assert f"nalm doctor {path} --save saved.db" in capsys.readouterr().out
    assert command_line(["doctor", str(path), "--save", str(tmp_path / "saved.db")]) == 2
    said = capsys.readouterr().out
    assert f"damaged: {RUN.id}" in said
    assert "Saved to" in said
    assert said.rstrip().splitlines()[-1].endswith(": 0.")
    assert "Save what is sound" not in said
    assert "cannot be read at all" not in said
    assert kept(tmp_path / "saved.db") == []


def test_verify_trains_again_and_says_the_versions(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command_line(["verify", RUN.id, "--store", str(path)]) == 0
    said = capsys.readouterr().out
    assert f"{RUN.id}: identical." in said
    assert "torch: " in said
    assert "Largest difference" not in said
    assert command_line(["verify", "nothing", "--store", str(path)]) == 2
    assert "has no sound run 'nothing'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("outcome", "changed", "code", "columns"),
    [(Outcome.WITHIN_TOLERANCE, (), 0, "none"), (Outcome.DIFFERENT, ("solved", "solved_at"), 1, "solved, solved_at")],
)
def test_verify_says_what_differs_and_ends_with_one_if_it_is_too_much(
    outcome: Outcome,
    changed: tuple[str, ...],
    code: int,
    columns: str,
    path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = Verification(outcome, 0.01234, changed, {"torch": "2.1"}, {"torch": "2.2"})
    monkeypatch.setattr("nalm.bench.verify.verify", lambda *_: found)
    assert command_line(["verify", RUN.id, "--store", str(path)]) == code
    assert capsys.readouterr().out.splitlines() == [
        f"{RUN.id}: {outcome.value}.",
        f"Largest difference of a weight 0.0123; columns that differ: {columns}.",
        "  torch: 2.1 then, 2.2 now",
    ]
