"""`nalm speed`: what is timed, and how the numbers are shown."""

from __future__ import annotations

from typing import Any

import pytest

from nalm.bench import speed
from nalm.bench.vision import speed as images
from tests.cli.commands import fails, works

asked: list[tuple[str, str, float]] = []


@pytest.fixture(autouse=True)
def _timed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is trained: every case makes two and a half million run-steps a second, plain torch five hundred."""

    def measure(case: Any, engine: str, seconds: float) -> speed.Timing:
        asked.append((case.model.label, engine, seconds))
        return speed.Timing(case.model.label, 10, 225, plain=500.0, engine=2.5e6, build_seconds=1.25)

    asked.clear()
    monkeypatch.setattr(speed, "measure", measure)
    monkeypatch.setenv("COLUMNS", "160")


def test_the_unit_asked_for_is_timed_and_shown_in_millions_and_thousands() -> None:
    lines = works("speed", "--unit", "nmu", "--engine", "torch", "--seconds", 0.25, "--markdown").splitlines()
    assert set(asked) == {("NMU", "torch", 0.25)}
    assert lines[-len(asked) :] == ["| NMU | 10 | 225 | 2.50 | 0.50 | 5,000x | 1.25 |"] * len(asked)
    head = next(line for line in lines if line.startswith("| unit"))
    assert head.count("|") == lines[lines.index(head) + 1].count("|") == lines[-1].count("|")


def test_all_units_are_timed_by_default_and_an_unknown_one_is_told() -> None:
    assert "5,000x" in works("speed")
    assert {label for label, *_ in asked} == {case.model.label for case in speed.cases()}
    assert "There is no case 'NMUU'. Valid names: " in fails("speed", "--unit", "NMUU")


def test_images_per_second_of_a_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(images, "measure", lambda: images.Rates(ours=2_400.0, plain=1_200.0))
    shown = works("speed", "mnist")
    for text in ("1,200", "2,400", "2.0x"):
        assert text in shown
    assert not asked
