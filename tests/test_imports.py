"""The reading order of the library: every module imports from rungs below its own, and importing it costs little."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import nalm

ROOT = Path(nalm.__file__).parent
LADDER = [
    "start scalar layout recipe uniforms find stats rows native",  # no internal imports
    "weight distribution store",
    "form task",
    "unit",  # with task, the two concepts
    "stack",
    "units",  # the catalogue
    "tasks",
    "expression guide rule run",  # reading, training in your own loop, what is to be run
    "solver",  # two ways to a trained unit
    "engine",
    "study",
    "studies",  # published figures and tables as data
    "figures",
    "summary",
    "present report speed",  # seeing
    "regressor distributed",  # thin shells
    "cli",
    "vision",
]
CATALOGUES = {"nalm.units", "nalm.tasks", "nalm.studies"}  # `import nalm.tasks` names a folder to look through
RUNG = {name: height for height, names in enumerate(LADDER) for name in names.split()}


def rung(name: str) -> float:
    """A module without a place of its own stands right below the shells."""
    return RUNG.get(name, RUNG["regressor"] - 0.5)


def modules() -> Iterator[tuple[str, Path]]:
    """Name of the top-level module or package below nalm, and file."""
    for path in sorted(ROOT.rglob("*.py")):
        name = path.relative_to(ROOT).with_suffix("").parts[0]
        if name != "__init__":
            yield name, path


def imported(path: Path) -> set[str]:
    """Top-level modules of nalm that a file imports, at its top or inside a function."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module == "nalm":
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("nalm."):
            found.add(str(node.module).split(".")[1])
        elif isinstance(node, ast.Import):
            names = {alias.name for alias in node.names if alias.name.startswith("nalm.")}
            found |= {name.split(".")[1] for name in names - CATALOGUES}
    return found


@pytest.mark.parametrize(
    ("name", "path"), list(modules()), ids=lambda value: value if isinstance(value, str) else value.stem
)
def test_imports_go_down_the_ladder(name: str, path: Path) -> None:
    others = imported(path) - {name}
    up = {other for other in others if rung(other) > rung(name) or (rung(other) == rung(name) and other in RUNG)}
    assert not up, f"{path.relative_to(ROOT)} imports {up}, which do not stand below {name} on this test's ladder"


def test_no_two_modules_import_each_other_by_any_way_round() -> None:
    graph: dict[str, set[str]] = {}
    for name, path in modules():
        graph.setdefault(name, set()).update(imported(path) - {name})
    assert set(TopologicalSorter(graph).static_order()) >= set(graph)  # raises CycleError


def test_importing_nalm_imports_nothing_heavy_that_torch_does_not() -> None:
    script = (
        "import sys, json, torch; before = set(sys.modules); import nalm; "
        "print(json.dumps(sorted({m.split('.')[0] for m in set(sys.modules) - before})))"
    )
    output = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    added = set(json.loads(output))
    heavy = {"sympy", "sklearn", "matplotlib", "plotly", "dask", "distributed", "llvmlite", "pandas", "scipy", "typer"}
    assert "nalm" in added
    assert not added & heavy
