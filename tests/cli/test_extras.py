"""What is missing says how to get it; and nothing in the package needs one system or one place."""

from __future__ import annotations

import ast
import json
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
# In a process that has loaded nothing but what all programs need, each program runs in a copy of that process.
ALL = """
import json, os, sys
import nalm.bench.results.store, nalm.cli.app
library = ""
class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == library:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Hidden())
with nalm.bench.results.store.Store("runs.db") as store:
    store.add([{"id": "a"}])
for number, (library, program) in enumerate(json.load(sys.stdin)):
    assert library not in sys.modules
    child = os.fork()
    if not child:
        os.dup2(os.open(f"{number}.txt", os.O_WRONLY | os.O_CREAT), 2)
        exec(program)
        sys.exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[int, str]]:
    """How each program ended, and what it complained of."""
    folder = tmp_path_factory.mktemp("extras")
    table = "a,b,y\n" + "\n".join(f"{a},{b},{a * b}" for a in (1, 2, 3) for b in (2, 5, 7))
    (folder / "x.csv").write_text(table)
    (folder / "x.parquet").write_bytes(b"PAR1")
    given = json.dumps(list(NEEDS.values()))
    done = subprocess.run([sys.executable, "-c", ALL], cwd=folder, input=given, stdout=-1, text=True, check=True)
    codes = [int(line) for line in done.stdout.splitlines() if line.lstrip("-").isdigit()]
    texts = [(folder / f"{number}.txt").read_text() for number in range(len(NEEDS))]
    return dict(zip(NEEDS, zip(codes, texts, strict=True), strict=True))


@pytest.mark.parametrize("need", NEEDS)
def test_a_missing_extra_says_how_to_get_it(need: str, said: dict[str, tuple[int, str]]) -> None:
    program = NEEDS[need][1]
    code, complaint = said[need]
    extra = need.split(",")[0]
    assert code != 0
    assert f"pip install 'nalm[{extra}]'" in complaint.strip().splitlines()[-1], complaint
    if "command_line" in program:
        assert complaint.startswith("nalm: ")
        assert complaint.count("\n") == 1, complaint


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
