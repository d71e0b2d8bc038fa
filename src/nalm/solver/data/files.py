"""Tables of numbers from files."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from nalm.solver.formula.calculus import Array

SEPARATORS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}


def read_table(path: str | Path, target: str) -> tuple[Array, Array, list[str]]:
    """Inputs `(rows, columns)`, target `(rows,)` and the names of the inputs, from a CSV, TSV or Parquet file.

    The first line of a text file names the columns; `target` is one of them.
    """
    file = Path(path)
    if not file.is_file():
        raise FileNotFoundError(f"there is no file {file}")
    if file.suffix in SEPARATORS:
        names, columns = _read_text(file, SEPARATORS[file.suffix])
    elif file.suffix == ".parquet":
        names, columns = _read_parquet(file)
    else:
        raise ValueError(f"{file.name}: only .csv, .tsv and .parquet files are read")
    if target not in names:
        raise ValueError(f"{file.name} has no column {target!r}; its columns are {', '.join(names)}")
    at = names.index(target)
    others = [i for i in range(len(names)) if i != at]
    if not others:
        raise ValueError(f"{file.name} has no column besides {target!r} to explain it with")
    return np.stack([columns[i] for i in others], axis=1), columns[at], [names[i] for i in others]


def _read_text(file: Path, separator: str) -> tuple[list[str], list[Array]]:
    with file.open(newline="", encoding="utf-8-sig") as stream:
        rows = [row for row in csv.reader(stream, delimiter=separator) if row]
    if len(rows) < 2:
        raise ValueError(f"{file.name} needs a line of column names and at least one line of numbers")
    names = [name.strip() for name in rows[0]]
    for line, row in enumerate(rows[1:], start=2):
        if len(row) != len(names):
            raise ValueError(f"{file.name}, line {line}: {len(row)} entries for {len(names)} columns")
    return names, [_numbers(file.name, name, [row[i] for row in rows[1:]]) for i, name in enumerate(names)]


def _numbers(file: str, column: str, entries: Sequence[str]) -> Array:
    out = np.empty(len(entries))
    for line, entry in enumerate(entries, start=2):
        try:
            out[line - 2] = float(entry)
        except ValueError:
            raise ValueError(
                f"{file}, line {line}, column {column!r}: {entry!r} is not a number; "
                "remove the column or repair the entry"
            ) from None
    return out


def _read_parquet(file: Path) -> tuple[list[str], list[Array]]:
    try:
        from pyarrow import parquet
    except ImportError:
        raise ImportError("reading Parquet needs pyarrow: pip install 'nalm[parquet]'") from None
    table = parquet.read_table(file)
    columns: list[Array] = []
    for name in table.column_names:
        try:
            columns.append(np.asarray(table[name].to_numpy(), dtype=np.float64))
        except (TypeError, ValueError):
            raise ValueError(f"{file.name}: column {name!r} holds {table[name].type}, not numbers; remove it") from None
    return list(table.column_names), columns
