"""Tables of numbers from files as they come: any separator, decimal commas, gaps, text, row numbers.

What is not a number is left out and said; nothing is guessed in its place.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
import sys
import zipfile
import zlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from nalm.solver.formula.calculus import Array
from nalm.solver.settings import SETTINGS

SEPARATORS = (",", ";", "\t", "|", " ")
TEXT_FILES = (".csv", ".tsv", ".tab", ".txt", ".dat")
MISSING = {"", "na", "n/a", "nan", "null", "none", "-", "?", "."}
GROUPED = re.compile(r"[+-]?\d{1,3}(?:[ '\u00a0\u202f\u2019]\d{3})+(?:[.,]\d+)?")
FORTRAN = re.compile(r"([+-]?\d+\.?\d*)[dD]([+-]?\d+)")
TRUTH = {"true": 1.0, "false": 0.0}
THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d+)?")
DECIMAL_COMMA = re.compile(r"[+-]?(\d{1,3}(\.\d{3})+|\d+),\d+([eE][+-]?\d+)?")
LARGEST = 2**31  # bytes of text: 20 million rows of ten columns, beyond what a search for a formula needs
STANDARD_INPUT = "-"


@dataclass(frozen=True, eq=False)
class LoadedTable:
    """Inputs `X` `(rows, columns)`, target `y` `(rows,)`, the names of the inputs, and notes on what was left out."""

    X: Array
    y: Array
    names: list[str]
    notes: list[str]


@dataclass(frozen=True, eq=False)
class Column:
    """A named column: NaN where there is no number; of entries that are text, how many, and the first with its line.

    `doubtful` is its first number with a comma, if that could mark thousands in all of them.
    """

    name: str
    values: Array
    texts: int = 0
    first_text: str = ""
    first_line: int = 0
    doubtful: str = ""


def read_table(
    path: str | Path,
    target: str | None,
    columns: Collection[str] = (),
    drop: Collection[str] = (),
    dropna: bool = True,
) -> LoadedTable:
    """A table from a text file (also .gz), an Excel or Parquet file, or from standard input for "-".

    Args:
        path: the first line of a text file or sheet names the columns. Separators and decimal commas are recognised.
        target: the column to explain; without one, an error names all columns.
        columns: the columns to explain it with; all others that hold numbers if none are named.
        drop: columns not to use.
        dropna: leave out rows with a cell that is empty or no number, and say so; else such a cell is an error.
    """
    name, found = _read(path)
    present = [column.name for column in found]
    if target is None:
        raise ValueError(f"no target is given; name one of the columns of {name}: {', '.join(present)}")
    for asked in (target, *columns, *drop):
        if asked not in present:
            raise ValueError(f"{name} has no column {asked!r}; its columns are {', '.join(present)}")
    notes: list[str] = []
    inputs = []
    for column in found:
        if column.name == target or column.name in drop or (columns and column.name not in columns):
            continue
        why = None if column.name in columns else _useless(column)
        if why:
            notes.append(f"{_called(column)} {why}, so it was left out")
        else:
            inputs.append(column)
    if not inputs:
        left_out = "".join(f"; {note}" for note in notes)
        raise ValueError(f"{name} has no column of numbers besides {target!r} to explain it with{left_out}")
    used = [*inputs, found[present.index(target)]]
    for column in used:
        if column.doubtful:
            read = _number(column.doubtful, comma=True)
            notes.append(f"{_called(column)}: {column.doubtful} was read with a decimal comma, as {read:g}")
    values = np.stack([column.values for column in used], axis=1)
    gaps = np.isnan(values).any(axis=1)
    if gaps.all() or (gaps.any() and not dropna):
        raise ValueError(_first_gap(name, used))
    if gaps.any():
        notes.append(f"{int(gaps.sum())} of {len(values)} rows were left out: {_first_gap(name, used)}")
    kept = values[~gaps]
    if len(kept) < SETTINGS.fewest_rows < len(values):
        raise ValueError(f"{_first_gap(name, used)}; only {len(kept)} of {len(values)} rows hold numbers")
    return LoadedTable(
        np.ascontiguousarray(kept[:, :-1]), kept[:, -1].copy(), [column.name for column in inputs], notes
    )


def _read(path: str | Path) -> tuple[str, list[Column]]:
    if str(path) == STANDARD_INPUT:
        return "standard input", _from_cells("standard input", _cells(sys.stdin.buffer.read()))
    file = Path(path)
    if file.is_dir():
        raise FileNotFoundError(f"{file} is a folder; name a table in it")
    if not file.is_file():
        raise FileNotFoundError(f"there is no file {file}")
    ending = file.with_suffix("").suffix if file.suffix == ".gz" else file.suffix
    if ending.lower() in TEXT_FILES:
        return file.name, _from_cells(file.name, _cells(_content(file)))
    if ending.lower() == ".xlsx":
        return file.name, _from_cells(file.name, _excel_cells(file))
    if ending.lower() in (".parquet", ".pq"):
        return file.name, _from_parquet(file)
    raise ValueError(f"{file.name}: only {', '.join(TEXT_FILES)} (also .gz), .xlsx and .parquet files are read")


def _content(file: Path) -> bytes:
    """The bytes of a text file, unpacked; a small file that unpacks without end is refused."""
    try:
        with gzip.open(file) if file.suffix == ".gz" else file.open("rb") as opened:
            content: bytes = opened.read(LARGEST + 1)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(f"{file.name} is not a whole .gz file: {error}") from error
    if len(content) > LARGEST:
        raise ValueError(f"{file.name} holds more than {LARGEST:,} bytes of text; give a part of its rows")
    return content


def _cells(content: bytes) -> list[list[str]]:
    """The cells of a text file; empty lines and comments are left out."""
    wide = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))  # as spreadsheets save "Unicode text"
    try:
        text = content.decode("utf-16" if wide else "utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("cp1252", errors="replace")  # what older spreadsheets write
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    separator = _separator(lines[:50])
    rows = _split(lines, separator)
    return _without_thousands(rows, separator)


def _without_thousands(rows: list[list[str]], separator: str) -> list[list[str]]:
    """Where commas separate cells, one within a number stood in quotes: in "1,250" it marks a thousand.

    Only if that can be meant by all such numbers of a table; else it is a decimal comma. Where something else separates
    cells, it marks thousands only if some number has two commas, or a comma before a point.
    """
    marked = [cell for row in rows for cell in row if THOUSANDS.fullmatch(cell) or DECIMAL_COMMA.fullmatch(cell)]
    if not marked or not all(map(THOUSANDS.fullmatch, marked)):
        return rows
    if separator != "," and all(map(DECIMAL_COMMA.fullmatch, marked)):
        return rows
    return [[cell.replace(",", "") if THOUSANDS.fullmatch(cell) else cell for cell in row] for row in rows]


def _split(lines: Sequence[str], separator: str) -> list[list[str]]:
    spaces = separator == " "
    plain = (line.strip() if spaces else line for line in lines)
    reader = csv.reader(plain, delimiter=separator, skipinitialspace=spaces)
    try:
        return [[cell.strip() for cell in row] for row in reader]
    except csv.Error as error:
        raise ValueError(f"this is not a table of numbers: {error}") from error


def _separator(lines: Sequence[str]) -> str:
    """The separator that splits the most lines into as many cells as most lines have; ties go to the usual one.

    A space is one only where no other splits as many lines: spaces also stand beside commas.
    """

    def agreement(separator: str) -> tuple[int, bool, int]:
        counts = [len(row) for row in _split(lines, separator)]
        usual = max(set(counts), key=counts.count, default=1)
        return (counts.count(usual) if usual > 1 else 0, separator != " ", usual)

    return max(SEPARATORS, key=agreement) if lines else ","


def _from_cells(name: str, rows: Sequence[Sequence[str]]) -> list[Column]:
    if len(rows) < 2:
        raise ValueError(f"{name} needs a line of column names and at least one line of numbers")
    names = [cell.strip() for cell in rows[0]]
    if all(_number(cell, comma=False) is not None for cell in names):
        raise ValueError(f"{name}: the first line holds only numbers; it must name the columns")
    if all(len(row) == len(names) + 1 for row in rows[1:]):
        names = ["", *names]  # R leaves the column of row names without one
    for line, row in enumerate(rows[1:], start=2):
        if len(row) != len(names):
            raise ValueError(f"{name}, line {line}: {len(row)} entries for {len(names)} columns")
    comma = any(DECIMAL_COMMA.fullmatch(_plain(cell)) for row in rows[1:] for cell in row)
    columns = [_column(name, [row[i] for row in rows[1:]], comma) for i, name in enumerate(names)]
    return columns[1:] if _numbers_rows(columns[0]) else columns


def _column(name: str, cells: Sequence[str], comma: bool) -> Column:
    values = np.full(len(cells), np.nan)
    texts = [(line, cell) for line, cell in enumerate(cells, start=2) if _number(cell, comma) is None]
    texts = [(line, cell) for line, cell in texts if cell.lower() not in MISSING]
    for row, cell in enumerate(cells):
        number = _number(cell, comma)
        values[row] = np.nan if number is None else number
    line, text = texts[0] if texts else (0, "")
    marked = [cell for cell in cells if comma and DECIMAL_COMMA.fullmatch(cell)]
    doubtful = marked[0] if marked and all(map(THOUSANDS.fullmatch, marked)) else ""
    return Column(name, values, len(texts), text, line, doubtful)


def _plain(cell: str) -> str:
    """A number without spaces or apostrophes between its thousands, with an ASCII minus, and with e for Fortran's D."""
    cell = cell.replace("\u2212", "-")
    if GROUPED.fullmatch(cell):
        return re.sub(r"[^\d.,+-]", "", cell)
    written = FORTRAN.fullmatch(cell)
    return "e".join(written.groups()) if written else cell


def _number(cell: str, comma: bool) -> float | None:
    """
    >>> _number("1,5", True), _number("1.234,5", True), _number("1e3", False), _number("-inf", False)
    (1.5, 1234.5, 1000.0, None)
    >>> _number("1 234.5", False), _number("1'234,5", True), _number("\u22121.5D+03", False), _number("True", False)
    (1234.5, 1234.5, -1500.0, 1.0)
    """
    if cell.lower() in TRUTH:
        return TRUTH[cell.lower()]
    cell = _plain(cell)
    plain = cell.replace(".", "").replace(",", ".") if comma and DECIMAL_COMMA.fullmatch(cell) else cell
    try:
        number = float(plain)
    except ValueError:
        return None
    return number if np.isfinite(number) else None


def _numbers_rows(column: Column) -> bool:
    """A first column without a name holds the names or numbers of rows."""
    return column.name in ("", "Unnamed: 0", "__index_level_0__")


def _called(column: Column) -> str:
    return f"column {column.name}" if column.name else "a column without a name"


def _useless(column: Column) -> str | None:
    """Why a column that was not asked for cannot be an input, if it cannot."""
    empty = int(np.isnan(column.values).sum())
    if 2 * column.texts > len(column.values):
        return f"holds text ({column.first_text!r})"
    return "is mostly empty" if 2 * empty > len(column.values) else None


def _first_gap(name: str, columns: Sequence[Column]) -> str:
    for column in columns:
        if column.texts:
            return (
                f"{name}, line {column.first_line}, column {column.name!r}: {column.first_text!r} is not a number; "
                "leave out the column (--drop) or repair the entry"
            )
    column = next(column for column in columns if np.isnan(column.values).any())
    line = int(np.argmax(np.isnan(column.values))) + 2
    return f"{name}, line {line}, column {column.name!r} is empty"


def _excel_cells(file: Path) -> list[list[str]]:
    """The cells of the first sheet, values and not formulas."""
    try:
        from openpyxl import load_workbook
    except ImportError:
        raise ImportError("reading Excel files needs openpyxl: pip install 'nalm[excel]'") from None
    try:
        book = load_workbook(io.BytesIO(file.read_bytes()), read_only=True, data_only=True)
        rows = [[_as_text(cell) for cell in row] for row in book.worksheets[0].iter_rows(values_only=True)]
    except (zipfile.BadZipFile, KeyError, IndexError, SyntaxError) as error:  # no archive, or one without a sheet
        raise ValueError(f"{file.name} is not an Excel file: {error}") from error
    return [row for row in rows if any(row)]


def _as_text(cell: Any) -> str:
    return "" if cell is None else repr(float(cell)) if isinstance(cell, int | float) else str(cell)


def _from_parquet(file: Path) -> list[Column]:
    try:
        from pyarrow import parquet
    except ImportError:
        raise ImportError("reading Parquet needs pyarrow: pip install 'nalm[parquet]'") from None
    table = parquet.read_table(file)
    columns = []
    for name in table.column_names:
        try:
            columns.append(Column(name, np.asarray(table[name].to_numpy(), dtype=np.float64)))
        except (TypeError, ValueError):
            columns.append(
                _column(name, ["" if cell is None else str(cell) for cell in table[name].to_pylist()], False)
            )
    return [column for column in columns if not _numbers_rows(column)]
