"""Files in, functions and tables out, and the command."""

import json
import math

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from nalm.cli import main
from nalm.cli.solve import solve_command
from nalm.solver import solve
from nalm.solver.data.files import read_table
from nalm.solver.show import candidate_text, identifiers, python_function

X = np.random.default_rng(0).uniform(1, 2, (50, 3))
NAMES = ["mass (kg)", "lambda", "t"]


def command(*words):
    app = typer.Typer()
    app.command()(solve_command)
    return CliRunner().invoke(app, [str(word) for word in words])


def written(folder, suffix=".csv", target=None):
    y = X[:, 0] * X[:, 1] / X[:, 2] ** 2 if target is None else target
    file = folder / f"data{suffix}"
    if suffix == ".parquet":
        import pandas as pd

        pd.DataFrame(np.column_stack([X, y]), columns=[*NAMES, "y"]).to_parquet(file)
        return file
    mark = "," if suffix == ".csv" else "\t"
    lines = [mark.join([*NAMES, "y"]), *(mark.join(map(repr, map(float, row))) for row in np.column_stack([X, y]))]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet"])
def test_tables_are_read_back(tmp_path, suffix):
    table, y, names = read_table(written(tmp_path, suffix), "y")
    np.testing.assert_array_equal(table, X)
    np.testing.assert_array_equal(y, X[:, 0] * X[:, 1] / X[:, 2] ** 2)
    assert names == NAMES


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,y\n1,2\n3,x\n", "line 3, column 'y': 'x' is not a number"),
        ("a,y\n1,2,3\n", "line 2: 3 entries for 2 columns"),
        ("a,b\n1,2\n", "no column 'y'"),
        ("y\n1\n", "no column besides"),
        ("a,y\n", "at least one line"),
    ],
)
def test_bad_files_say_where(tmp_path, text, message):
    file = tmp_path / "bad.csv"
    file.write_text(text)
    with pytest.raises(ValueError, match=message):
        read_table(file, "y")


def test_unknown_files_are_refused(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_table(tmp_path / "none.csv", "y")
    (tmp_path / "data.xls").write_text("")
    with pytest.raises(ValueError, match="only"):
        read_table(tmp_path / "data.xls", "y")


def test_the_python_function_needs_nothing_else():
    solution = solve(X, np.sqrt(X[:, 0] ** 2 + X[:, 1] ** 2) / X[:, 2], names=NAMES)
    scope = {}
    exec(python_function(solution), scope)
    assert scope["f"](3.0, 4.0, 2.0) == pytest.approx(2.5)
    assert scope["f"].__code__.co_varnames == tuple(identifiers(NAMES))


def test_the_candidate_table_marks_the_chosen_one():
    lines = candidate_text(solve(X, X[:, 0] * X[:, 1] + X[:, 2])).splitlines()
    assert sum(line.startswith(">") for line in lines) == 1
    assert any("x0*x1 + x2" in line for line in lines if line.startswith(">"))


def test_command_prints_formula_evidence_and_table(tmp_path):
    function = tmp_path / "f.py"
    result = command(written(tmp_path), "--target", "y", "--export", function)
    assert result.exit_code == 0, result.output
    assert "y = lambda*mass (kg)/t**2" in result.output
    assert "exact; backward error" in result.output
    scope = {}
    exec(function.read_text(), scope)
    assert math.isclose(scope["f"](2.0, 3.0, 0.5), 24.0)


def test_command_as_json(tmp_path):
    result = command(written(tmp_path), "--target", "y", "--json")
    record = json.loads(result.stdout)
    assert record["status"] == "exact"
    assert record["formula"] == "lambda*mass (kg)/t**2"
    assert record["candidates"][-1]["chosen"]


def test_command_names_the_error(tmp_path):
    result = command(written(tmp_path), "--target", "z")
    assert isinstance(result.exception, ValueError)
    assert "no column 'z'" in str(result.exception)


def test_errors_are_one_line(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["nalm", "solve", str(tmp_path / "[red]none.csv"), "--target", "y"])
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 2
    line = "".join(capsys.readouterr().err.split())
    assert line.startswith("nalm:")
    assert "[red]none.csv" in line


def test_command_writes_onnx(tmp_path):
    runtime = pytest.importorskip("onnxruntime")
    file = tmp_path / "f.onnx"
    result = command(written(tmp_path), "--target", "y", "--onnx", file)
    assert result.exit_code == 0, result.output
    session = runtime.InferenceSession(str(file))
    (name,) = (entry.name for entry in session.get_inputs())
    (out,) = session.run(None, {name: np.array([[2, 3, 0.5], [1, 1, 1], [4, 2, 2]], dtype=np.float32)})
    np.testing.assert_allclose(out[:, 0], [24, 1, 2], rtol=1e-6)
