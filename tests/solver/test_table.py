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
    table = read_table(written(tmp_path, suffix), "y")
    np.testing.assert_array_equal(table.X, X)
    np.testing.assert_array_equal(table.y, X[:, 0] * X[:, 1] / X[:, 2] ** 2)
    assert table.names == NAMES
    assert not table.notes


def given(folder, text, name="t.csv", encoding="utf-8"):
    file = folder / name
    file.write_bytes(text.encode(encoding))
    return file


def test_unicode_text_of_a_spreadsheet_is_read(tmp_path):
    table = read_table(given(tmp_path, "größe\ty\n1,5\t3\n-4\t6\n", "t.txt", "utf-16"), "y")
    assert table.names == ["größe"]
    np.testing.assert_array_equal(table.X, [[1.5], [-4]])


@pytest.mark.parametrize(
    "text",
    [
        "a,b,y\n1.5,2,3\n-4,5e1,6\n",
        "a;b;y\n1,5;2;3\n-4;5e1;6\n",
        "a\tb\ty\n1,5\t2\t3\n-4\t50\t6\n",
        "a|b|y\n1.5|2|3\n-4|50|6\n",
        "  a   b  y\n 1.5  2  3\n-4    50 6\n",
        "# a remark\na,b,y\n\n1.5,2,3\n-4,50,6\n",
        ",a,b,y\n0,1.5,2,3\n1,-4,50,6\n",
        "a b y\nfirst 1.5 2 3\nsecond -4 50 6\n",
        '"a","b","y"\n"1.5","2","3"\n"-4","50","6"\n',
        "\ufeffa,b,y\r\n1.5,2,3\r\n-4,50,6\r\n",
    ],
)
def test_separators_decimal_commas_and_row_names_are_recognised(tmp_path, text):
    table = read_table(given(tmp_path, text), "y")
    assert table.names == ["a", "b"]
    np.testing.assert_array_equal(table.X, [[1.5, 2], [-4, 50]])
    np.testing.assert_array_equal(table.y, [3, 6])


def test_thousands_in_quotes_are_no_decimals(tmp_path):
    thousands = read_table(given(tmp_path, 'a,y\n"1,250","12,500.5"\n"-2,000",7\n'), "y")
    np.testing.assert_array_equal(np.column_stack([thousands.X, thousands.y]), [[1250, 12500.5], [-2000, 7]])
    decimals = read_table(given(tmp_path, 'a,y\n"1,250","0,5"\n"2,000",7\n'), "y")  # 0,5 is no thousand
    np.testing.assert_array_equal(np.column_stack([decimals.X, decimals.y]), [[1.25, 0.5], [2, 7]])
    decimals = read_table(given(tmp_path, "a;y\n1,250;3\n2,000;4\n"), "y")  # not between commas
    np.testing.assert_array_equal(decimals.X, [[1.25], [2]])


def test_a_file_that_unpacks_without_end_is_refused_and_a_broken_one_too(tmp_path, monkeypatch):
    import gzip

    file = tmp_path / "t.csv.gz"
    whole = gzip.compress(b"a,y\n" + b"1,2\n" * 50_000)
    file.write_bytes(whole)
    monkeypatch.setattr("nalm.solver.data.files.LARGEST", 100_000)
    with pytest.raises(ValueError, match=r"t\.csv\.gz holds more than 100,000 bytes of text"):
        read_table(file, "y")
    for broken in (whole[:40], whole[:20] + b"\xff" * 20 + whole[40:], b"a,y\n1,2\n"):
        file.write_bytes(broken)
        with pytest.raises(ValueError, match=r"t\.csv\.gz is not a whole \.gz file"):
            read_table(file, "y")


def test_compressed_files_and_spreadsheets(tmp_path):
    import gzip

    file = tmp_path / "t.csv.gz"
    file.write_bytes(gzip.compress(b"a,y\n1,2\n3,4\n"))
    np.testing.assert_array_equal(read_table(file, "y").X, [[1], [3]])
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (["a", "who", "y"], [1, "x", 2.5], [3, "y", None], [5, "z", 7]):
        book.active.append(row)
    book.save(tmp_path / "t.xlsx")
    table = read_table(tmp_path / "t.xlsx", "y")
    np.testing.assert_array_equal(np.column_stack([table.X, table.y]), [[1, 2.5], [5, 7]])
    assert "column who holds text ('x')" in table.notes[0]
    assert "1 of 3 rows were left out" in table.notes[1]


def test_gaps_and_text_are_left_out_and_said(tmp_path):
    file = given(tmp_path, "a,name,b,y\n1,u,2,3\n4,v,,6\n7,w,8,oops\n9,x,10,11\n")
    table = read_table(file, "y")
    assert table.names == ["a", "b"]
    np.testing.assert_array_equal(table.y, [3, 11])
    assert "'u'" in table.notes[0]
    assert "2 of 4 rows" in table.notes[1]
    assert "line 4, column 'y': 'oops'" in table.notes[1]
    with pytest.raises(ValueError, match="'oops' is not a number"):
        read_table(file, "y", dropna=False)


def test_columns_are_chosen_by_name(tmp_path):
    file = given(tmp_path, "a,b,c,y\n1,2,3,4\n5,6,7,8\n")
    assert read_table(file, "y", columns=["c", "a"]).names == ["a", "c"]
    assert read_table(file, "y", drop=["b"]).names == ["a", "c"]
    with pytest.raises(ValueError, match="no column 'z'"):
        read_table(file, "y", drop=["z"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,y\n1,x\n3,x\n", "line 2, column 'y': 'x' is not a number"),
        ("a,y\n1,2\n1,2\n1,2,3\n", "line 4: 3 entries for 2 columns"),
        ("a,b\n1,2\n", "no column 'y'"),
        ("y\n1\n", "no column of numbers besides"),
        ("a,y\n", "at least one line"),
        ("1,2\n3,4\n", "must name the columns"),
        ("", "at least one line"),
    ],
)
def test_bad_files_say_where(tmp_path, text, message):
    with pytest.raises(ValueError, match=message):
        read_table(given(tmp_path, text), "y")


def test_unknown_files_are_refused(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_table(tmp_path / "none.csv", "y")
    pytest.importorskip("openpyxl")
    with pytest.raises(ValueError, match=r"x\.xlsx is not an Excel file"):
        read_table(given(tmp_path, "a,y\n1,2\n", "x.xlsx"), "y")
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


def test_a_folder_is_no_table(tmp_path):
    with pytest.raises(FileNotFoundError, match="is a folder"):
        read_table(tmp_path, target="y")
