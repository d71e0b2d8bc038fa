"""The logger writes what is there: distances, shares and formulas of every part, in a file or on a board."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
import torch
from torch import nn

import nalm
from tests.units.by_hand import put


def product_of_sums() -> nn.Sequential:
    """(x0 + x1) x2, one weight of eight off its grid."""
    return nn.Sequential(put(nalm.NAU(3, 2), W=[[1, 1, 0], [0, 0, 1]]), put(nalm.NMU(2, 1), W=[1, 0.75]))


class Price(nn.Module):
    """An encoder below a unit, and another beside."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Linear(4, 2)
        self.head = put(nalm.NMU(2, 1), W=[1, 1])
        self.tail = put(nalm.NAU(2, 1), W=[1, 0.5])


class Board:
    """What a SummaryWriter was told."""

    def __init__(self) -> None:
        self.numbers: list[tuple[str, float, int]] = []
        self.texts: list[tuple[str, str, int]] = []

    def add_scalar(self, tag: str, scalar_value: float, global_step: int) -> None:
        self.numbers.append((tag, scalar_value, global_step))

    def add_text(self, tag: str, text_string: str, global_step: int) -> None:
        self.texts.append((tag, text_string, global_step))


def lines(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_a_file_gets_a_line_every_so_many_steps(tmp_path: Path) -> None:
    model, path = product_of_sums(), tmp_path / "run.csv"
    log = nalm.UnitLogger(model, path, every=5)
    for step in range(11):
        log(step, loss=torch.tensor(step / 2, requires_grad=True))
        if step == 7:
            put(model[1], W=[1, 1])
    written = lines(path)
    assert [line["step"] for line in written] == ["0", "5", "10"]
    assert [line["loss"] for line in written] == ["0.0", "2.5", "5.0"]
    assert [float(line["distance"]) for line in written] == [0.25, 0.25, 0.0]
    assert [float(line["on_grid"]) for line in written] == [7 / 8, 7 / 8, 1.0]
    assert written[0]["formula"] == "(x0 + x1)*(0.75*x2 + 0.25)"
    assert written[2]["formula"] == "x2*(x0 + x1)"


def test_parts_of_a_network_are_told_apart(tmp_path: Path) -> None:
    log = nalm.UnitLogger(Price(), str(tmp_path / "run.csv"))
    assert log.standing() == {
        "head.distance": 0.0,
        "head.on_grid": 1.0,
        "head.formula": "x0*x1",
        "tail.distance": 0.5,
        "tail.on_grid": 0.5,
        "tail.formula": "x0 + 0.5*x1",
    }


def test_a_weight_near_its_grid_counts_as_arrived(tmp_path: Path) -> None:
    unit = put(nalm.NMU(2, 1), W=[1, 0.999])
    assert nalm.UnitLogger(unit, tmp_path / "a.csv").standing()["on_grid"] == 0.5
    near = nalm.UnitLogger(unit, tmp_path / "b.csv", within=0.01).standing()
    assert near["on_grid"] == 1.0
    assert near["formula"] == "x0*x1"
    assert near["distance"] == pytest.approx(0.001, rel=1e-3)


def test_tensorboard_gets_curves_and_a_formula_each_time_it_changes() -> None:
    unit, board = put(nalm.NMU(2, 1), W=[1, 1]), Board()
    log = nalm.UnitLogger(nn.ModuleDict({"head": unit}), board, every=1)
    log(0, loss=3.0)
    log(1, loss=2.0)
    put(unit, W=[1, 0])
    log(2, loss=1.0)
    assert board.numbers[:3] == [("loss", 3.0, 0), ("head/distance", 0.0, 0), ("head/on_grid", 1.0, 0)]
    assert len(board.numbers) == 9
    assert board.texts == [("head/formula", "    x0*x1", 0), ("head/formula", "    x0", 2)]


def test_a_real_tensorboard_reads_what_was_written(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard", reason="tensorboard is not installed: pip install tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from torch.utils.tensorboard import SummaryWriter

    with SummaryWriter(str(tmp_path)) as writer:
        nalm.UnitLogger(put(nalm.NMU(2, 1), W=[1, 0.75]), writer, every=1)(0, loss=3.0)
    read = EventAccumulator(str(tmp_path))
    read.Reload()
    assert read.Tags()["scalars"] == ["loss", "distance", "on_grid"]
    assert [event.value for event in read.Scalars("distance")] == [0.25]
    assert read.Tags()["tensors"] == ["formula/text_summary"]


def test_a_file_is_not_replaced_and_can_be_gone_on_with(tmp_path: Path) -> None:
    model, path = product_of_sums(), tmp_path / "run.csv"
    nalm.UnitLogger(model, path)(0)
    with pytest.raises(FileExistsError, match="append=True"):
        nalm.UnitLogger(model, path)
    nalm.UnitLogger(model, path, append=True)(100)
    assert [line["step"] for line in lines(path)] == ["0", "100"]
    with pytest.raises(ValueError, match=r"has the columns step, distance.*this step has step, loss"):
        nalm.UnitLogger(model, path, append=True)(200, loss=1.0)
    assert len(lines(path)) == 2


def test_append_begins_a_file_that_is_not_there_yet(tmp_path: Path) -> None:
    nalm.UnitLogger(product_of_sums(), tmp_path / "new.csv", append=True)(0)
    assert [line["step"] for line in lines(tmp_path / "new.csv")] == ["0"]


def test_what_has_no_formula_leaves_the_cell_empty(tmp_path: Path) -> None:
    for number, unit in enumerate((nalm.NMU(2, 1, runs=(3,)), nalm.NMU(13, 1), put(nalm.NMU(1, 1), W=[float("nan")]))):
        assert nalm.UnitLogger(unit, tmp_path / f"{number}.csv").standing()["formula"] == ""
    assert nalm.UnitLogger(nalm.NMU(12, 1), tmp_path / "12.csv").standing()["formula"] != ""


def test_a_unit_without_a_grid_has_only_a_formula(tmp_path: Path) -> None:
    assert set(nalm.UnitLogger(nalm.baselines.Linear(2, 1), tmp_path / "run.csv").standing()) == {"formula"}


def test_bad_use_is_told(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="Linear contains no nalm unit"):
        nalm.UnitLogger(nn.Linear(2, 1), tmp_path / "run.csv")
    with pytest.raises(ValueError, match="every is 0; it needs a whole number of at least 1"):
        nalm.UnitLogger(nalm.NMU(2, 1), tmp_path / "run.csv", every=0)
    with pytest.raises(ValueError, match="to is 3; it needs text or a path or a SummaryWriter"):
        nalm.UnitLogger(nalm.NMU(2, 1), 3)  # type: ignore[arg-type]


def test_a_line_that_a_crash_has_cut_does_not_spoil_the_next(tmp_path: Path) -> None:
    path = tmp_path / "run.csv"
    log = nalm.UnitLogger(nalm.NMU(2, 1, seed=0), path, every=1)
    log(0)
    log(1)
    path.write_bytes(path.read_bytes()[:-9])
    nalm.UnitLogger(nalm.NMU(2, 1, seed=0), path, every=1, append=True)(2)
    assert [line["step"] for line in lines(path)] == ["0", "1", "2"]
    assert lines(path)[2]["distance"] == lines(path)[0]["distance"]
