"""Records as plain tables in files: CSV, compressed CSV, Parquet."""

from __future__ import annotations

import csv
import gzip
import io
import json
import math
import os
import re
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from nalm.bench.results.columns import COLUMNS, Record, RecordError, encode
from nalm.bench.results.writing import PathLike, write_safely

_BOOLEANS = {"true": True, "false": False}
_SUSPECT = frozenset("'=+-@\t\r")  # with what a text begins that `_FORMULA` may match
_FORMULA = re.compile(r"'*[=+\-@\t\r]")  # what spreadsheets execute, or what we would take for its escaped form
_SPECIAL = re.compile(r'[,"\r\n]')  # with what a cell stands in quotes
_ESCAPED = re.compile(r"'+[=+\-@\t\r]")
COMPRESSION = 4  # of 9: a quarter of the time of 9 for 8 % more bytes (a table of 100,080 runs)
LONGEST = 2**30  # bytes of an unpacked table or characters of a cell: far above any table of ours, below any memory


def write_table(
    path: PathLike, records: Iterable[Mapping[str, Any]], digits: int | None = 6, *, force: bool = False
) -> None:
    """Write records as CSV, compressed when the name ends in `.gz`; equal sets of records give equal bytes.

    Columns come in the order of `COLUMNS`, others after them by name; lines are sorted by their values, left to right.
    Floats keep `digits` significant digits, or every bit when it is None.
    """
    kept = list(records)
    present = {name for record in kept for name in record}
    names = [name for name in COLUMNS if name in present] + sorted(present - COLUMNS.keys())
    cells = [[encode(name, record.get(name)) for name in names] for record in kept]
    cells.sort(key=lambda line: [(isinstance(cell, str), -math.inf if cell is None else cell) for cell in line])
    write_csv(path, names, [[as_line([written(cell, digits) for cell in line]) for line in cells]], force=force)


def write_csv(path: PathLike, names: Sequence[str], blocks: Iterable[Sequence[str]], *, force: bool = False) -> int:
    """Write lines under column names as they come, some at a time; returns how many."""

    def write(temporary: Path) -> int:
        count = 0
        with ExitStack() as stack:
            raw: Any = stack.enter_context(temporary.open("wb"))
            if str(path).endswith(".gz"):  # without name and time, so that equal tables are equal files
                raw = stack.enter_context(gzip.GzipFile("", "wb", COMPRESSION, fileobj=raw, mtime=0))
            text = stack.enter_context(io.TextIOWrapper(raw, "utf-8", newline="", errors="surrogateescape"))
            text.write(as_line([written(name, None) for name in names]))
            for lines in blocks:
                text.write("".join(lines))
                count += len(lines)
        return count

    return write_safely(path, write, force=force)


def written(cell: Any, digits: int | None) -> str:
    """A value as it stands in a table. Text that a spreadsheet would take for a formula gets an apostrophe in front."""
    if isinstance(cell, str):
        safe = f"'{cell}" if cell[:1] in _SUSPECT and _FORMULA.match(cell) else cell
        return '"' + safe.replace('"', '""') + '"' if _SPECIAL.search(safe) else safe
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float):
        return repr(cell) if digits is None else f"{cell:.{digits}g}"
    return "" if cell is None else str(cell)


def as_line(cells: Sequence[str]) -> str:
    """Cells as `written`, as a line of a table; one that is empty must not look like no line at all."""
    return (",".join(cells) or '""') + "\n"


def lines_of(block: Mapping[str, Sequence[Any]], digits: int | None) -> list[str]:
    """Lines of a table from columns of records: column by column is several times faster."""
    columns = [_column(name, values, digits) for name, values in block.items()]
    return list(map(as_line, zip(*columns, strict=True)))


def _column(name: str, values: Sequence[Any], digits: int | None) -> Sequence[str]:
    kind = COLUMNS.get(name)
    if kind is float and digits is not None:
        if None not in values:  # one call for all of them: half the time
            return (f"%.{digits}g " * len(values) % tuple(values)).split()
        return ["" if value is None else f"{value:.{digits}g}" for value in values]
    if kind in (str, bool, int):  # most of them stand in many records
        texts = {value: written(value, digits) for value in set(values)}
        return [texts[value] for value in values]
    return [written(value, digits) for value in values]


def _text(cell: str) -> str:
    """The text behind what `written` made of it."""
    return cell[1:] if _ESCAPED.match(cell) else cell


def read_table(path: PathLike) -> list[Record]:
    """Read what `write_table` wrote. Columns beyond `COLUMNS` hold numbers or truth values if all their cells do."""
    try:
        with gzip.open(path) if str(path).endswith(".gz") else Path(path).open("rb") as file:
            content = file.read(LONGEST + 1)
        if len(content) > LONGEST:
            raise RecordError(f"{os.fspath(path)} holds more than a gigabyte; no table of results is that large")
        usual = csv.field_size_limit(LONGEST)
        try:
            names, *lines = list(csv.reader(io.StringIO(content.decode(), newline=""), strict=True)) or [[]]
        finally:
            csv.field_size_limit(usual)  # the limit is the process's, not ours
    except FileNotFoundError:
        raise RecordError(f"{os.fspath(path)} does not exist; check its name") from None
    except (OSError, EOFError, UnicodeDecodeError, csv.Error, zlib.error) as error:
        raise RecordError(f"{os.fspath(path)} is not a readable table: {error}") from error
    for number, line in enumerate(lines, start=2):
        if len(line) != len(names):
            raise RecordError(f"{os.fspath(path)}, line {number}: {len(line)} cells under {len(names)} column names")
    names = [_text(name) for name in names]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise RecordError(f"{os.fspath(path)}: the column {twice!r} stands there twice")
    columns = [_parsed(name, cells) for name, cells in zip(names, zip(*lines, strict=True), strict=False)]
    return [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)]


def _parsed(name: str, cells: Sequence[str]) -> list[Any]:
    parsers: dict[type, Callable[[str], Any]] = {bool: _BOOLEANS.__getitem__, object: json.loads, str: _text}
    kinds = (COLUMNS[name],) if name in COLUMNS else (int, float, bool, str)
    for kind in kinds:
        try:
            return [parsers.get(kind, kind)(cell) if cell else None for cell in cells]
        except (ValueError, KeyError):
            continue
    wrong = next(cell for cell in cells if cell and not _parses(parsers.get(kinds[0], kinds[0]), cell))
    raise RecordError(f"column {name!r} holds {kinds[0].__name__}, got {wrong!r}")


def _parses(parser: Callable[[str], Any], cell: str) -> bool:
    try:
        parser(cell)
    except (ValueError, KeyError):
        return False
    return True


def write_parquet(path: PathLike, records: Sequence[Mapping[str, Any]], *, force: bool = False) -> None:
    """Write all columns as Parquet; what is JSON stays text. Needs pyarrow."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise ImportError("Parquet needs pyarrow: pip install 'nalm[parquet]', or export to .csv") from error
    kinds = {str: pyarrow.string(), object: pyarrow.string(), int: pyarrow.int64(), bool: pyarrow.bool_()}
    more = sorted({name for record in records for name in record} - COLUMNS.keys())
    columns = {name: [encode(name, record.get(name)) for record in records] for name in (*COLUMNS, *more)}
    arrays = [pyarrow.array(columns[name], kinds.get(kind, pyarrow.float64())) for name, kind in COLUMNS.items()]
    arrays += [pyarrow.array(columns[name]) for name in more]
    table = pyarrow.Table.from_arrays(arrays, names=list(columns))
    write_safely(path, lambda temporary: pyarrow.parquet.write_table(table, temporary), force=force)
