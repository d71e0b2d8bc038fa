"""What is missing says how to get it; and nothing in the package needs one system or one place."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import nalm

ROOT = Path(nalm.__file__).parent

# For each extra the library that is taken away, and a program that cannot do without it.
SOLVE = "from nalm.cli.app import command_line; import sys; sys.exit(command_line({words}))"
NEEDS = {
    "sklearn": ("sklearn", "import nalm; nalm.ArithmeticRegressor"),
    "figures": ("matplotlib", SOLVE.format(words=["landscape", "nmu-pair", "--output", "x.png"])),
    "parquet": ("pyarrow", SOLVE.format(words=["solve", "x.parquet", "--target", "y"])),
    "parquet, written": ("pyarrow", SOLVE.format(words=["export", "x2.parquet"])),
    "onnx": ("onnx", SOLVE.format(words=["solve", "x.csv", "--target", "y", "--onnx", "x.onnx"])),
    "dask": (
        "distributed",
        SOLVE.format(words=["run", "single-module/mul", "--unit", "NMU", "--quick", "--cluster", "tcp://127.0.0.1:1"]),
    ),
}
HIDE = """
import sys
class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == {library!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Hidden())
"""


@pytest.mark.parametrize("need", NEEDS)
def test_a_missing_extra_says_how_to_get_it(need: str, tmp_path: Path) -> None:
    library, program = NEEDS[need]
    extra = need.split(",")[0]
    (tmp_path / "x.csv").write_text("a,b,y\n" + "\n".join(f"{a},{b},{a * b}" for a in (1, 2, 3) for b in (2, 5, 7)))
    (tmp_path / "x.parquet").write_bytes(b"PAR1")
    prepare = "from nalm.bench.results.store import Store; Store('runs.db').add([{'id': 'a'}])"
    code = "\n".join([HIDE.format(library=library), prepare, program])
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode != 0
    last = done.stderr.strip().splitlines()[-1]
    assert f"pip install 'nalm[{extra}]'" in last, done.stderr
    if "command_line" in program:
        assert done.stderr.startswith("nalm: ")
        assert done.stderr.count("\n") == 1, done.stderr


def test_every_extra_is_on_the_first_page_of_the_documentation() -> None:
    root = ROOT.parent.parent
    extras = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    listed = re.findall(r"^\| `(\w+)` \|", (root / "docs" / "index.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert set(listed) == set(extras)


@pytest.mark.parametrize("path", sorted(ROOT.rglob("*.py")), ids=lambda path: str(path.relative_to(ROOT)))
def test_nothing_is_for_one_system_only(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    imported = {
        name.split(".")[0]
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in ([alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""])
    }
    assert not imported & {"resource", "fcntl", "pwd", "grp", "termios"}, "not on Windows"
    assert ".venv" not in text
