"""The reading order of the library: every module imports from rungs below its own, and importing it costs little.

One ladder stands between the packages and one inside each. Every module has a place, every place a module.
"""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import nalm

ROOT = Path(nalm.__file__).parent

# For each package its modules and packages, from the bottom up; those of one line do not import each other.
# A package's own `__init__` stands above all of them.
LADDERS = {
    "nalm": [
        "core",
        "native units",
        "training",
        "solver",
        "bench",
        "cli",
        "__main__",
    ],
    "nalm.bench": [
        "distribution find plain threads",
        "method task",
        "run tasks",
        "study vision",
        "changes own rebuild results studies",
        "engine report",
        "landscape speed verify weight_path",
        "starts",
        "show",
    ],
    "nalm.bench.engine": [
        "losses unit_on_task records restart settings",
        "backend evaluation options descent_step",
        "checkpoints native_backend plain_backend torch_backend",
        "cohort",
        "descent discover formula network rule solve",
        "train",
        "cluster",
    ],
    "nalm.bench.report": [
        "content",
        "page",
    ],
    "nalm.bench.results": [
        "columns stats writing",
        "files schema summary",
        "lines opening",
        "database",
        "store",
        "doctor",
    ],
    "nalm.bench.show": [
        "tables",
        "figures",
        "drawings",
    ],
    "nalm.bench.studies": [
        "composition division hillspace image_study lessons logic motivation single_module two_layer",
        "division_ablations losses mnist_pairs mnist_sequences multiplication scaling two_layer_sweeps",
        "mnist_colour",
    ],
    "nalm.bench.tasks": [
        "answers named table",
        "arithmetic hillspace lessons logic",
        "composition division two_layer",
    ],
    "nalm.bench.vision": [
        "heads idx operations readers",
        "mnist splines",
        "digits",
        "distortion pairs sequences",
        "networks",
        "learners measures models task",
        "colour_task method pair_task sequence_task",
        "training",
        "speed",
    ],
    "nalm.cli": [
        "options screen writing",
        "compare doctor export figure landscape list merge progress report show solve starts verify weights",
        "run",
        "speed",
        "app",
    ],
    "nalm.core": [
        "arguments denormals notebook parity scalar start uniforms",
        "layout optimiser option",
        "expression recipe",
        "semantics weight",
        "form weighted",
        "portrait",
        "unit",
        "containers reading",
    ],
    "nalm.native": [
        "errors text",
        "angle machine philox trace values vector",
        "bounds maths",
        "algebra printer",
        "affine",
        "lowering",
        "rules",
        "lower",
        "fuse schedule",
        "layout",
        "code",
        "contract features rows",
        "emit",
        "kernel",
        "examples",
    ],
    "nalm.native.rules": [
        "pointwise views",
        "sums",
    ],
    "nalm.solver": [
        "clock settings",
        "formula",
        "data",
        "shapes",
        "verdict",
        "search solution",
        "outliers show units",
        "solve",
        "alone regressor",
    ],
    "nalm.solver.data": [
        "digits dimensions files",
        "problem",
        "columns rows",
    ],
    "nalm.solver.formula": [
        "functions",
        "algebra",
        "calculus notation onnx_graph recognised",
        "bounds",
    ],
    "nalm.solver.settings": [
        "arithmetic claims errors functions tables",
    ],
    "nalm.solver.shapes": [
        "derived linear marquardt null_vector power screen",
        "approximation combine flexible shape",
        "beam factored forms marks products sums trees",
        "beside monomials polynomials power_laws quadratic",
        "composite functions",
        "catalogue",
    ],
    "nalm.solver.shapes.functions": [
        "around changing features line profile",
        "inside product sum wave",
        "curves of_curve",
    ],
    "nalm.solver.shapes.trees": [
        "forest",
        "meet peel",
        "split",
        "search",
    ],
    "nalm.solver.units": [
        "wiring",
        "fill stack",
    ],
    "nalm.solver.verdict": [
        "candidate edits information refine structure",
        "certainty learning",
        "choice front judge",
        "print twins",
        "everywhere noise",
    ],
    "nalm.training": [
        "guide logger rule",
        "formula",
    ],
    "nalm.training.formula": [
        "angle settings shape",
        "start",
        "attempts",
        "learner",
    ],
    "nalm.training.rule": [
        "correlation curvature looks settings state watch",
        "batch graph progress refusals ruled",
        "feedback route rows",
        "line parity regression",
        "evidence joint mode",
        "at_output between factors",
        "base report stack",
        "gated",
        "placing",
        "optimiser",
    ],
    "nalm.units": [
        "activations nac straight_through",
        "nau",
        "classic formula_layer gated inalu nlrl npu nsr scaling snmu",
        "baselines division hillspace",
        "composition",
        "selector",
    ],
}

Name = tuple[str, ...]


def modules() -> dict[Name, Path]:
    """Dotted name, as a tuple, and file; a package is called by its `__init__`."""
    return {("nalm", *path.relative_to(ROOT).with_suffix("").parts): path for path in sorted(ROOT.rglob("*.py"))}


MODULES = modules()
PACKAGES = {name[:-1] for name in MODULES if name[-1] == "__init__"}


def imported(path: Path) -> Iterator[Name]:
    """Every module of nalm that a file imports, at its top or inside a function."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path.relative_to(ROOT)} has a relative import; write it from nalm on"
            base = tuple(str(node.module).split("."))
            for alias in node.names:
                name = (*base, alias.name)
                yield name if name in MODULES or name in PACKAGES else base
        elif isinstance(node, ast.Import):
            yield from (tuple(alias.name.split(".")) for alias in node.names)


def rung(package: Name, child: str) -> int:
    ladder = LADDERS.get(".".join(package), [])
    if child == "__init__":
        return len(ladder)
    return next(height for height, names in enumerate(ladder) if child in names.split())


@pytest.mark.parametrize("name", MODULES, ids=".".join)
def test_imports_go_down_the_ladder(name: Name) -> None:
    for other in imported(MODULES[name]):
        if other[0] != "nalm" or other == ("nalm",):
            continue
        depth = next(i for i, (a, b) in enumerate(zip(name, (*other, ""), strict=False)) if a != b)
        if depth >= len(other):  # a package that imports its own __init__
            pytest.fail(f"{'.'.join(name)} imports its own package {'.'.join(other)}; name the module")
        here, there = rung(name[:depth], name[depth]), rung(name[:depth], other[depth])
        assert there < here, f"{'.'.join(name)} imports {'.'.join(other)}, which does not stand below it on this ladder"


@pytest.mark.parametrize("package", sorted(PACKAGES), ids=".".join)
def test_every_module_has_one_place_and_every_place_a_module(package: Name) -> None:
    depth = len(package)
    present = {name[depth] for name in MODULES if name[:depth] == package} - {"__init__"}
    listed = [child for names in LADDERS.get(".".join(package), []) for child in names.split()]
    if len(present) > 1 or listed:
        assert sorted(listed) == sorted(present)


def test_every_ladder_belongs_to_a_package() -> None:
    assert {tuple(package.split(".")) for package in LADDERS} <= PACKAGES


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


def test_completion_shows_every_public_name_also_those_imported_on_first_use() -> None:
    assert {"NMU", "guide", "read", "solve", "LocalGaussNewton", "ArithmeticRegressor", "Chain"} <= set(dir(nalm))
    assert set(nalm.__all__) <= set(dir(nalm))
    assert all(getattr(nalm, name) is not None for name in nalm.__all__)
    assert "importlib" not in dir(nalm)
