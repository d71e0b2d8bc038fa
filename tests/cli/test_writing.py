"""What commands write: never over a store, their own input or anything but a file, and complete or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from nalm.bench.results.store import Store
from tests.cli.commands import fails, works

TABLE = "a,b,y\n" + "\n".join(f"{a},{b},{a * b}" for a in range(1, 7) for b in range(2, 7))


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store, a table, and a current directory to write to."""
    monkeypatch.chdir(tmp_path)
    with Store("runs.db") as store:
        store.add([{"id": "a", "unit": "NMU", "seed": 0, "solved": True}])
    Path("table.csv").write_text(TABLE)
    return tmp_path


WRITERS = {
    "export": (("export", "FILE"), ".csv"),
    "compact": (("export", "FILE", "--compact"), ".csv"),
    "compressed": (("export", "FILE", "--compact"), ".csv.gz"),
    "parquet": (("export", "FILE"), ".parquet"),
    "python": (("solve", "table.csv", "--target", "y", "--export", "FILE"), ".py"),
    "onnx": (("solve", "table.csv", "--target", "y", "--onnx", "FILE"), ".onnx"),
    "landscape": (("landscape", "nmu-pair", "--output", "FILE"), ".svg"),
}


def command(writer: str, name: str, *more: str) -> list[str]:
    words, ending = WRITERS[writer]
    return [word.replace("FILE", name + ending) for word in words] + list(more)


@pytest.mark.parametrize("writer", WRITERS)
def test_an_existing_file_is_replaced_only_by_force(writer: str, folder: Path) -> None:
    file = folder / f"out{WRITERS[writer][1]}"
    works(*command(writer, "out"))
    written = file.read_bytes()
    file.write_text("precious")
    assert "--force" in fails(*command(writer, "out"))
    assert file.read_text() == "precious"
    works(*command(writer, "out", "--force"))
    assert len(file.read_bytes()) == len(written)
    assert not [name for name in os.listdir(folder) if name.startswith(".")], "no temporary file is left"


@pytest.mark.parametrize("writer", WRITERS)
def test_a_store_is_never_replaced(writer: str) -> None:
    ending = WRITERS[writer][1]
    for name in ("kept", "link"):
        if name == "kept":
            Path("runs.db").rename(f"kept{ending}")
        else:
            os.symlink(f"kept{ending}", f"link{ending}")
        before = Path(f"kept{ending}").read_bytes()
        assert "never replaced" in fails(*command(writer, name, "--force"))
        assert Path(f"kept{ending}").read_bytes() == before


@pytest.mark.parametrize("name", ["runs.db", "runs", "out.txt", "/dev/null"])
def test_the_ending_is_checked_always(name: str) -> None:
    before = Path("runs.db").read_bytes()
    for more in ((), ("--compact",), ("--compact", "--force")):
        assert "must end in" in fails("export", name, *more)
    assert Path("runs.db").read_bytes() == before


def test_the_own_input_is_never_replaced() -> None:
    os.link("table.csv", "same.py")
    said = fails("solve", "table.csv", "--target", "y", "--export", "same.py", "--force")
    assert "what is being read" in said
    assert Path("table.csv").read_text() == TABLE


@pytest.mark.parametrize("writer", WRITERS)
def test_only_regular_files_are_replaced(writer: str) -> None:
    ending = WRITERS[writer][1]
    Path(f"folder{ending}").mkdir()
    assert "is a folder" in fails(*command(writer, "folder", "--force"))
    os.mkfifo(f"pipe{ending}")
    assert "not an ordinary file" in fails(*command(writer, "pipe", "--force"))
    os.symlink(os.devnull, f"device{ending}")
    assert "not an ordinary file" in fails(*command(writer, "device", "--force"))
    assert "no folder" in fails(*command(writer, "nowhere/out"))


def test_a_link_keeps_leading_to_its_file() -> None:
    Path("real.csv").write_text("old")
    os.symlink("real.csv", "link.csv")
    works("export", "link.csv", "--force")
    assert Path("link.csv").is_symlink()
    assert "NMU" in Path("real.csv").read_text()
