"""Tables as text: any text comes back, and other programs read the same."""

from __future__ import annotations

import csv
import io
import math
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nalm.bench.results.files import as_line, lines_of, read_table, write_csv, write_table, written

TEXT = st.text(st.sampled_from("ab,\"'=+-@ \t\r\nä"), max_size=6)
EXECUTED = tuple("=+-@\t\r")  # by spreadsheets, which is why an apostrophe goes before


@settings(max_examples=200, deadline=None)
@given(st.lists(TEXT, min_size=1, max_size=4))
def test_any_texts_are_one_line_for_every_reader_of_csv(texts: list[str]) -> None:
    line = as_line([written(text, None) for text in texts])
    (cells,) = csv.reader(io.StringIO(line, newline=""), strict=True)
    assert cells == [f"'{text}" if text.lstrip("'").startswith(EXECUTED) else text for text in texts]


@pytest.mark.parametrize("texts", [[""], ["", ""], ["a", ""], ["", "a"], ["a,b", 'say "b"'], ["one\ntwo", "x\ry"]])
def test_a_column_of_texts_comes_back(tmp_path: Path, texts: list[str]) -> None:
    """Also one that is empty throughout: its lines must not look like none."""
    write_table(tmp_path / "t.csv", [{"own": text} for text in texts])
    assert sorted(record["own"] or "" for record in read_table(tmp_path / "t.csv")) == sorted(texts)


def test_columns_give_the_lines_that_cells_give(tmp_path: Path) -> None:
    block = {
        "id": ["a", "=b"],
        "seed": [3, None],
        "solved": [True, None],
        "test_error": [0.123456789, None],
        "own": [1.5, "x,y"],
    }
    lines = [as_line([written(cell, 4) for cell in cells]) for cells in zip(*block.values(), strict=True)]
    assert lines_of(block, 4) == lines == ["a,3,true,0.1235,1.5\n", '\'=b,,,,"x,y"\n']
    assert lines_of(block, None)[0] == "a,3,true,0.123456789,1.5\n"
    assert write_csv(tmp_path / "t.csv", list(block), [lines[:1], [], lines[1:]]) == 2
    assert (tmp_path / "t.csv").read_text() == "id,seed,solved,test_error,own\n" + "".join(lines)
    known = [0.1, math.inf, -1e-300, 123456789.0]  # without gaps they are written in one go
    assert lines_of({"test_error": known}, 6) == [written(value, 6) + "\n" for value in known]
