"""Files in, functions and tables out."""

import numpy as np
import pytest

from nalm.solver import solve
from nalm.solver.data.files import read_table
from nalm.solver.show import candidate_text, identifiers, python_function

X = np.random.default_rng(0).uniform(1, 2, (50, 3))
NAMES = ["mass (kg)", "lambda", "t"]


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
