"""Records as plain tables in files: CSV, compressed CSV, Parquet."""

from __future__ import annotations

import csv
import gzip
import io
import json
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from nalm.bench.results.columns import COLUMNS, Record, RecordError, encode
from nalm.bench.results.writing import PathLike, write_safely

_BOOLEANS = {"true": True, "false": False}


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
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([_written(cell, digits) for cell in line] for line in cells)
    content = text.getvalue().encode()
    if str(path).endswith(".gz"):
        content = gzip.compress(content, mtime=0)
    write_safely(path, lambda temporary: temporary.write_bytes(content), force=force)


def _written(cell: str | float | None, digits: int | None) -> str:
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return str(cell).lower()
    return f"{cell:.{digits}g}" if isinstance(cell, float) and digits is not None else str(cell)


def read_table(path: PathLike) -> list[Record]:
    """Read what `write_table` wrote. Columns beyond `COLUMNS` hold numbers or truth values if all their cells do."""
    try:
        content = Path(path).read_bytes()
        text = (gzip.decompress(content) if str(path).endswith(".gz") else content).decode()
        names, *lines = list(csv.reader(io.StringIO(text, newline=""), strict=True)) or [[]]
    except (OSError, EOFError, UnicodeDecodeError, csv.Error) as error:
        raise RecordError(f"{os.fspath(path)} is not a readable table: {error}") from error
    for number, line in enumerate(lines, start=2):
        if len(line) != len(names):
            raise RecordError(f"{os.fspath(path)}, line {number}: {len(line)} cells under {len(names)} column names")
    columns = [_parsed(name, cells) for name, cells in zip(names, zip(*lines, strict=True), strict=False)]
    return [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)]


def _parsed(name: str, cells: Sequence[str]) -> list[Any]:
    parsers: dict[type, Callable[[str], Any]] = {bool: _BOOLEANS.__getitem__, object: json.loads}
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
