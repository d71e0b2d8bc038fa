"""No file is overwritten that should not be, and none is left half written."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from nalm.bench.results.store import Store, write_table
from nalm.bench.results.writing import WriteRefused, write_safely


def hello(path: Path) -> None:
    path.write_text("hello")


def test_a_new_file_is_written_and_an_old_one_only_by_force(tmp_path: Path) -> None:
    target = tmp_path / "out.txt"
    write_safely(target, hello)
    target.write_text("mine")
    with pytest.raises(WriteRefused, match=r"out\.txt exists.*--force"):
        write_safely(target, hello)
    assert target.read_text() == "mine"
    write_safely(target, hello, force=True)
    assert target.read_text() == "hello"
    assert os.listdir(tmp_path) == ["out.txt"]


@pytest.mark.parametrize("force", [False, True])
def test_a_store_is_never_replaced(tmp_path: Path, force: bool) -> None:
    path = tmp_path / "runs.csv.db"
    with Store(path) as store:
        store.add([{"id": "a"}])
        for write in (
            lambda: write_safely(path, hello, force=force),
            lambda: write_table(path, [], force=force),
            lambda: write_safely(tmp_path / "link", hello, force=force),
        ):
            (tmp_path / "link").unlink(missing_ok=True)
            (tmp_path / "link").symlink_to(path)
            with pytest.raises(WriteRefused, match="is a database"):
                write()
        assert [record["id"] for record in store.records()] == ["a"]


@pytest.mark.parametrize("force", [False, True])
def test_folders_devices_pipes_and_inputs_are_never_replaced(tmp_path: Path, force: bool) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "device").symlink_to(os.devnull)
    (tmp_path / "data.csv").write_text("x,y\n")
    cases = {
        "folder": "is a folder",
        "pipe": "not an ordinary file",
        "device": "not an ordinary file",
        "data.csv": "is what is being read",
        "nowhere/out": "there is no folder",
    }
    for name, message in cases.items():
        with pytest.raises(WriteRefused, match=message):
            write_safely(tmp_path / name, hello, force=force, inputs=[tmp_path / "data.csv", tmp_path / "gone"])
    assert sorted(os.listdir(tmp_path)) == ["data.csv", "device", "folder", "pipe"]


def test_a_writer_that_fails_leaves_what_was_there(tmp_path: Path) -> None:
    target = tmp_path / "out.txt"
    target.write_text("mine")

    def half(path: Path) -> None:
        path.write_text("hal")
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        write_safely(target, half, force=True)
    assert target.read_text() == "mine"
    assert os.listdir(tmp_path) == ["out.txt"]


def test_a_file_that_appears_meanwhile_is_kept(tmp_path: Path) -> None:
    target = tmp_path / "out.txt"

    def slow(path: Path) -> None:
        path.write_text("ours")
        target.write_text("theirs")

    with pytest.raises(WriteRefused, match="exists"):
        write_safely(target, slow)
    assert target.read_text() == "theirs"
