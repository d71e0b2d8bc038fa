"""`nalm solve`, and what it writes: no header of a table becomes code."""

from __future__ import annotations

import importlib.util
import io
import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nalm.core.expression import Expression
from nalm.solver import solve
from nalm.solver.show import identifiers, python_function
from tests.cli.commands import fails, works

X = np.random.default_rng(0).uniform(1, 2, (50, 3))
NAMES = ["mass (kg)", "lambda", "t"]


def written(folder: Path) -> Path:
    table = np.column_stack([X, X[:, 0] * X[:, 1] / X[:, 2] ** 2])
    lines = [",".join([*NAMES, "y"]), *(",".join(map(repr, map(float, row))) for row in table)]
    file = folder / "data.csv"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


def test_prints_formula_evidence_and_table(tmp_path: Path) -> None:
    function = tmp_path / "f.py"
    output = works("solve", written(tmp_path), "--target", "y", "--export", function)
    assert "y = lambda*mass (kg)/t**2" in output
    assert "exact: the rows prove this formula" in output
    assert "backward error" in output
    assert math.isclose(imported(function)(2.0, 3.0, 0.5), 24.0)


def test_as_json(tmp_path: Path) -> None:
    record = json.loads(works("solve", written(tmp_path), "--target", "y", "--json"))
    assert record["status"] == "exact"
    assert record["formula"] == "lambda*mass (kg)/t**2"
    assert record["candidates"][-1]["chosen"]


def test_names_the_error(tmp_path: Path) -> None:
    assert "no column 'z'" in fails("solve", written(tmp_path), "--target", "z")
    words = fails("solve", written(tmp_path)).split()  # as lines are folded
    assert " ".join(words).endswith("name one of the columns of data.csv: mass (kg), lambda, t, y")


def test_units_and_columns(tmp_path: Path) -> None:
    pytest.importorskip("pint")
    units = "mass (kg)=kg,lambda=m,t=s,y=newton"
    output = works("solve", written(tmp_path), "--target", "y", "--units", units, "--effort", "quick")
    assert "exact" in output
    assert "name=unit" in fails("solve", written(tmp_path), "--target", "y", "--units", "t")
    assert "no column 'z'" in fails("solve", written(tmp_path), "--target", "y", "--drop", "z")


def test_four_rows_get_a_sentence(tmp_path: Path) -> None:
    file = tmp_path / "balmer.csv"
    file.write_text("n,wavelength\n3,656.3\n4,486.1\n5,434.0\n6,410.2\n", encoding="utf-8")
    assert "4 rows are too few" in fails("solve", file, "--target", "wavelength")


def test_reads_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = io.TextIOWrapper(io.BytesIO(written(tmp_path).read_bytes()))
    monkeypatch.setattr("sys.stdin", text)
    assert "y = lambda*mass (kg)/t**2" in works("solve", "-", "--target", "y")


def test_a_cell_longer_than_any_number_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "long.csv").write_text(f"a,b,y\n{'1' * 140_000},2,3\n")
    assert "not a table of numbers: field larger than field limit" in fails(
        "solve", tmp_path / "long.csv", "--target", "y"
    )


def test_writes_onnx(tmp_path: Path) -> None:
    runtime = pytest.importorskip("onnxruntime")
    file = tmp_path / "f.onnx"
    works("solve", written(tmp_path), "--target", "y", "--onnx", file)
    session = runtime.InferenceSession(str(file))
    (name,) = (entry.name for entry in session.get_inputs())
    (out,) = session.run(None, {name: np.array([[2, 3, 0.5], [1, 1, 1], [4, 2, 2]], dtype=np.float32)})
    np.testing.assert_allclose(out[:, 0], [24, 1, 2], rtol=1e-6)


# -- hostile headers -----------------------------------------------------------------------------------------------

HOSTILE = [
    '"""\nimport os\nos.environ["OWNED"] = "1"\n"""',
    "'; raise SystemExit; '",
    "a\nb",
    "a\\",
    "\\n",
    "a\0b",
    "lambda",
    "None",
    "__debug__",
    "abs",
    "print",
    "math",
    "sqrt",
    "f",
    "ﬁ",
    "fi",
    "µ",
    "μ",
    "x²",
    "2nd",
    "_",
    "\ud800",
    "\u202e",
    "😀",
    "about",
    "a'b\"c",
    "{0}",
    "%s",
]


def imported(file: Path) -> Any:
    spec = importlib.util.spec_from_file_location("exported", file)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.f


def check_export(names: list[str], folder: Path) -> None:
    """A root, a sum and a product of three columns: compiles, imports, evaluates, and does nothing else."""
    target = np.sqrt(X[:, 0] ** 2 + X[:, 1] ** 2) / X[:, 2]
    solution = solve(X, target, names=names, effort="quick")
    file = folder / "f.py"
    file.write_text(python_function(solution), encoding="utf-8")
    assert imported(file)(3.0, 4.0, 2.0) == pytest.approx(2.5)
    assert "OWNED" not in os.environ
    np.testing.assert_allclose(solution.expression.numpy()(np.array([3.0, 4.0, 2.0])), [2.5])


@pytest.mark.parametrize("name", HOSTILE, ids=ascii)
def test_hostile_headers_never_become_code(name: str, tmp_path: Path) -> None:
    check_export([name, "plain", "t"], tmp_path)


@pytest.mark.parametrize(
    "pair", [("ﬁ", "fi"), ("µ", "μ"), ("a b", "a_b"), ("\u212b", "\u00c5"), ("x²", "x2")], ids=ascii
)
def test_names_that_python_takes_for_one_are_told_apart(pair: tuple[str, str], tmp_path: Path) -> None:
    assert len(set(identifiers(pair))) == 2
    check_export([*pair, "t"], tmp_path)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.text(min_size=1, max_size=12), min_size=1, max_size=5))
def test_identifiers_are_names_that_compile(names: list[str]) -> None:
    made = identifiers(names)
    assert len(set(made)) == len(names)
    exec(compile(f"def f({', '.join(made)}):\n    return {' + '.join(made)}", "exported", "exec"), {})


@pytest.mark.parametrize("name", ["sqrt", "exp", "lambda", "numpy", "abs", "a b", "x0", "_Dummy_1", "select"])
def test_an_expression_over_any_symbol_becomes_a_function(name: str) -> None:
    import sympy
    import torch

    symbols = (sympy.Symbol(name, real=True), sympy.Symbol("x1", real=True))
    expression = Expression((sympy.sqrt(symbols[0]) + sympy.Abs(symbols[1]),), symbols)
    np.testing.assert_allclose(expression.numpy()([[4.0, -1.0]]), [[3.0]])
    np.testing.assert_allclose(expression.torch()(torch.tensor([[4.0, -1.0]])), [[3.0]])


def test_a_header_with_statements_does_nothing_when_the_export_is_imported(tmp_path: Path) -> None:
    header = '"""\nimport pathlib\npathlib.Path("owned").touch()\n"""'
    quoted = '"' + header.replace('"', '""') + '"'
    lines = [f"{quoted},b,y", *(f"{a!r},{b!r},{a * b!r}" for a, b in X[:, :2].tolist())]
    (tmp_path / "data.csv").write_text("\n".join(lines))
    works("solve", tmp_path / "data.csv", "--target", "y", "--export", tmp_path / "exported.py")
    subprocess.run([sys.executable, "-c", "import exported; assert exported.f(2, 3) == 6"], cwd=tmp_path, check=True)
    assert not (tmp_path / "owned").exists()
