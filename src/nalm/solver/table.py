"""Tables of numbers from files, and the two ways a solution leaves: a table of candidates and a Python function."""

from __future__ import annotations

import csv
import keyword
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from nalm.solver.algebra.calculus import Array
from nalm.solver.solution import Solution

if TYPE_CHECKING:
    from rich.table import Table

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


def candidate_table(solution: Solution) -> Table:
    """What was tried, as a rich table: simplest first, the chosen one marked."""
    from rich.table import Table

    table = Table(title=None, show_edge=False, pad_edge=False)
    for heading, side in (("", "left"), ("formula", "left"), ("shape", "left"), ("size", "right"), ("error", "right")):
        table.add_column(heading, justify=side, overflow="fold")  # type: ignore[arg-type]
    table.add_column("verdict")
    for row in solution.candidates:
        mark = ">" if row["chosen"] else ""
        error = f"{row['relative_error']:.1e}"
        table.add_row(mark, row["formula"], row["shape"], str(row["complexity"]), error, row["status"])
    return table


def candidate_text(solution: Solution) -> str:
    """The same as plain text, one line for each candidate."""
    return "\n".join(
        f"{'>' if row['chosen'] else ' '} {row['relative_error']:8.1e}  {row['complexity']:3d}  {row['formula']}  "
        f"[{row['shape']}, {row['status']}]"
        for row in solution.candidates
    )


def identifiers(names: Sequence[str]) -> list[str]:
    """Distinct Python names for column names of any kind: spaces, Greek letters, `lambda`.

    >>> identifiers(["mass (kg)", "lambda", "2nd", "λ"])
    ['mass_kg', 'lambda_', 'x2nd', 'λ']
    """
    made: list[str] = []
    for name in names:
        plain = re.sub(r"\W+", "_", name).strip("_") or "x"
        plain = f"x{plain}" if plain[0].isdigit() else plain
        plain = f"{plain}_" if keyword.iskeyword(plain) or plain == "math" else plain
        while plain in made:
            plain += "_"
        made.append(plain)
    return made


def python_function(solution: Solution, name: str = "f") -> str:
    """Source of a Python function of the inputs that needs nothing but the standard library."""
    import sympy

    expression = solution.expression
    arguments = identifiers(solution.names)
    plain = dict(zip(expression.symbols, (sympy.Symbol(a, real=True) for a in arguments), strict=True))
    body = sympy.pycode(expression.sympy.xreplace(plain))
    listed = "".join(f"\n    {a}: {n}" for a, n in zip(arguments, solution.names, strict=True) if a != n)
    about = f'    """{expression}, {solution.status} from {solution.evidence.samples} rows.{listed}\n    """'
    head = "import math\n\n\n" if "math." in body else ""
    return f"{head}def {name}({', '.join(arguments)}):\n{about}\n    return {body}\n"
