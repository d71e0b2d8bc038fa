"""What is kept of a finished run, and how it reads as a plain table.

A row is a dict. `COLUMNS` names what the library itself records; the store keeps exactly these, and a table may carry
further columns. A value that is unknown, not applicable or not a number is `None` in memory, nothing in a file.
"""

from __future__ import annotations

import csv
import difflib
import gzip
import io
import json
import math
import os
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Row: TypeAlias = dict[str, Any]
PathLike: TypeAlias = str | os.PathLike[str]

# What was run, what came out, the exact record. `object` stands for anything JSON can hold.
COLUMNS: dict[str, type] = {
    "id": str,
    "study": str,
    "unit": str,
    "task": str,
    "operation": str,
    "inputs": int,
    "range": str,
    "recipe": str,
    "steps": int,
    "seed": int,
    "engine": str,
    "solved": bool,
    "solved_at": int,
    "selected_step": int,
    "validation_error": float,
    "test_error": float,
    "sparsity": float,
    "threshold": float,
    "reinitialisations": int,
    "nonfinite_step": int,
    "seconds": float,
    "run": object,
    "weights": object,
    "details": object,
    "library_version": str,
    "torch_version": str,
    "created_at": str,
}

# One line of an evaluation curve; float32 counts steps exactly up to 16 million.
CURVE_COLUMNS = ("step", "validation_error", "test_error", "sparsity")

_BOOLEANS = {"true": True, "false": False}


class RowError(ValueError):
    """A value or a file that is not what a row or a table should be."""


def encode(name: str, value: Any) -> str | int | float | bool | None:
    """The plain value a file can hold: numpy and torch numbers unpacked, JSON as text, nan as None.

    >>> encode("run", {"unit": "NMU", "seed": 3}), encode("test_error", float("nan"))
    ('{"seed":3,"unit":"NMU"}', None)
    """
    kind = COLUMNS.get(name)
    if kind is object and value is not None:
        return json.dumps(value, sort_keys=True, separators=(",", ":"), default=lambda array: array.tolist())
    plain = value.item() if hasattr(value, "item") else value
    if plain is None or (isinstance(plain, float) and math.isnan(plain)):
        return None
    if not isinstance(plain, str | int | float) or (kind is not None and not _fits(kind, plain)):
        raise RowError(f"column {name!r} holds {kind.__name__ if kind else 'plain values'}, got {value!r}")
    return kind(plain) if kind else plain


def _fits(kind: type, value: str | float) -> bool:
    return isinstance(value, str) == (kind is str) and (kind in (str, float) or value == kind(value))


def unknown_column(name: str) -> str:
    """What to tell someone who asks for a column that is not there."""
    close = difflib.get_close_matches(name, COLUMNS, n=1)
    return f"runs have no column {name!r}: " + (f"did you mean {close[0]!r}?" if close else f"try {', '.join(COLUMNS)}")


def decode(name: str, value: Any) -> Any:
    """The inverse of `encode`, up to the kind of number."""
    kind = COLUMNS.get(name)
    if value is None or kind not in (object, bool):
        return value
    return json.loads(value) if kind is object else bool(value)


def pack_curve(curve: ArrayLike | None) -> bytes | None:
    """Compress an evaluation curve of shape `(evaluations, 4)`, column by column: like numbers pack tighter."""
    array = np.asarray(() if curve is None else curve, dtype="<f4")
    if not array.size:
        return None
    if array.ndim != 2 or array.shape[1] != len(CURVE_COLUMNS):
        raise RowError(f"a curve has the columns {', '.join(CURVE_COLUMNS)}, got shape {array.shape}")
    return zlib.compress(array.T.tobytes(), 9)


def unpack_curve(packed: bytes | None) -> NDArray[np.float32]:
    """The inverse of `pack_curve`; nothing unpacks to no evaluations."""
    flat = np.frombuffer(zlib.decompress(packed) if packed else b"", dtype="<f4")
    return flat.reshape(len(CURVE_COLUMNS), -1).T.astype(np.float32)


def write_table(path: PathLike, rows: Iterable[Mapping[str, Any]], digits: int | None = 6) -> None:
    """Write rows as CSV, compressed when the name ends in `.gz`; equal sets of rows give equal bytes.

    Columns come in the order of `COLUMNS`, others after them by name; rows are sorted by their values, left to right.
    Floats keep `digits` significant digits, or every bit when it is None.
    """
    kept = list(rows)
    present = {name for row in kept for name in row}
    names = [name for name in COLUMNS if name in present] + sorted(present - COLUMNS.keys())
    cells = [[encode(name, row.get(name)) for name in names] for row in kept]
    cells.sort(key=lambda line: [(isinstance(cell, str), -math.inf if cell is None else cell) for cell in line])
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([_written(cell, digits) for cell in line] for line in cells)
    content = text.getvalue().encode()
    if str(path).endswith(".gz"):
        content = gzip.compress(content, mtime=0)
    _replace_file(path, lambda temporary: temporary.write_bytes(content))


def _written(cell: str | float | None, digits: int | None) -> str:
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return str(cell).lower()
    return f"{cell:.{digits}g}" if isinstance(cell, float) and digits is not None else str(cell)


def read_table(path: PathLike) -> list[Row]:
    """Read what `write_table` wrote. Columns beyond `COLUMNS` hold numbers or truth values if all their cells do."""
    try:
        content = Path(path).read_bytes()
        text = (gzip.decompress(content) if str(path).endswith(".gz") else content).decode()
        names, *lines = list(csv.reader(io.StringIO(text, newline=""), strict=True)) or [[]]
    except (OSError, EOFError, UnicodeDecodeError, csv.Error) as error:
        raise RowError(f"{os.fspath(path)} is not a readable table: {error}") from error
    for number, line in enumerate(lines, start=2):
        if len(line) != len(names):
            raise RowError(f"{os.fspath(path)}, row {number}: {len(line)} cells under {len(names)} column names")
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
    raise RowError(f"column {name!r} holds {kinds[0].__name__}, got {wrong!r}")


def _parses(parser: Callable[[str], Any], cell: str) -> bool:
    try:
        parser(cell)
    except (ValueError, KeyError):
        return False
    return True


def write_parquet(path: PathLike, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write the columns of `COLUMNS` as Parquet; what is JSON stays text. Needs pyarrow."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise ImportError("Parquet needs pyarrow: pip install 'nalm[parquet]', or export to .csv") from error
    kinds = {str: pyarrow.string(), object: pyarrow.string(), int: pyarrow.int64(), bool: pyarrow.bool_()}
    schema = pyarrow.schema([(name, kinds.get(kind, pyarrow.float64())) for name, kind in COLUMNS.items()])
    table = pyarrow.table({name: [encode(name, row.get(name)) for row in rows] for name in COLUMNS}, schema=schema)
    _replace_file(path, lambda temporary: pyarrow.parquet.write_table(table, temporary))


def _replace_file(path: PathLike, write: Callable[[Path], object]) -> None:
    """Let `write` fill a file beside `path`, then put it in place at once: a reader never meets half a file."""
    target = Path(path)
    temporary = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        write(temporary)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
