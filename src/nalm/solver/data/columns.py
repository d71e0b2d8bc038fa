"""The columns of a table: their names, and which say nothing and are set aside before a search."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np

from nalm.solver.data.problem import Problem
from nalm.solver.formula.calculus import Array
from nalm.solver.settings import SETTINGS


def column_names(X: Any, names: Sequence[str] | None, columns: int) -> list[str]:
    """The names given, else those of a DataFrame, else `x0, x1, ...`; one for each column, all distinct.

    A whole number as a name gets an x in front, as nobody could tell it from a number in a formula.
    """
    given = names if names is not None else getattr(X, "columns", None)
    if given is None:
        return [f"x{i}" for i in range(columns)]
    labels = [_label(name) for name in given]
    if len(labels) != columns:
        raise ValueError(f"{len(labels)} names for {columns} columns: {labels}")
    if any(not name.strip() for name in labels):
        raise ValueError(f"column names must not be empty: {labels}")
    repeated = sorted({name for name in labels if labels.count(name) > 1})
    if repeated:
        raise ValueError(f"column names must be distinct, but these repeat: {', '.join(repeated)}; rename them")
    return labels


def _label(name: Any) -> str:
    return f"x{name}" if isinstance(name, Integral) or str(name).isdecimal() else str(name)


def rows_for(X: Any, names: Sequence[str]) -> Array:
    """New rows for a formula over columns of these names, `(rows, columns)`.

    Those of a DataFrame are found by name, in whatever order they are; a table without any of the names goes by place.
    """
    array = np.asarray(X)
    held = [_label(name) for name in getattr(X, "columns", ())]
    if any(name in held for name in names):
        if missing := [name for name in names if name not in held]:
            raise ValueError(
                f"the formula was found with the columns {', '.join(names)}; X has no {', '.join(missing)}"
            )
        array = array[:, [held.index(name) for name in names]]
    if array.ndim != 2 or array.shape[1] != len(names):
        raise ValueError(f"X must be a table with the columns {', '.join(names)}, but has shape {array.shape}")
    return np.asarray(array, dtype=np.float64)


def set_aside(problem: Problem, names: Sequence[str]) -> tuple[Problem, list[int], list[str]]:
    """The problem without constant and repeated columns, the columns kept, and notes on the others."""
    kept: list[int] = []
    notes: list[str] = []
    first: dict[bytes, int] = {}
    for i in range(problem.columns):
        column = np.ascontiguousarray(problem.X[:, i])
        if np.ptp(column) == 0:
            notes.append(
                f"column {names[i]} is constant ({column[0]:g}), so it was left out; it may hide in a coefficient"
            )
        elif (same := first.setdefault(column.tobytes(), i)) != i:
            notes.append(f"column {names[i]} equals {names[same]}, so only {names[same]} was used")
        else:
            kept.append(i)
    return problem.of_columns(kept), kept, notes


def tied(problem: Problem, names: Sequence[str]) -> list[str]:
    """A note on columns that determine each other, such as shares of a whole: a law can be written in several ways."""
    if not problem.columns or problem.rows <= problem.columns + 1:
        return []
    scaled = problem.X / np.max(np.abs(problem.X), axis=0)
    centred = scaled - scaled.mean(axis=0)
    unit = centred / np.linalg.norm(centred, axis=0)
    if np.linalg.eigvalsh(unit.T @ unit)[0] >= SETTINGS.square_cutoff:
        return []
    sizes, directions = np.linalg.eigh(unit.T @ unit)
    flat = directions[:, sizes < SETTINGS.square_cutoff]
    among = [
        name
        for name, part in zip(names, np.abs(flat).max(axis=1, initial=0.0), strict=True)
        if part > SETTINGS.tied_share
    ]
    if not among:
        return []
    return [f"columns {', '.join(among)} determine each other, so other formulas are equal to this one in such tables"]


def standard(X: Array) -> Array:
    """The columns with mean 0 and deviation 1; 0 where a column does not change. Numbers of 1e300 have no squares."""
    height = np.max(np.abs(X), axis=0)
    scaled = X / np.where(height > 0, height, 1)
    spread = scaled.std(axis=0)
    return np.asarray((scaled - scaled.mean(axis=0)) / np.where(spread > 0, spread, 1))


def marked_missing(problem: Problem, names: Sequence[str]) -> list[str]:
    """A note on numbers such as -999 that repeat far from all others of a column: they may stand for missing ones."""
    notes = []
    for name, values in zip(
        (*(f"column {name}" for name in names), "the target"), (*problem.X.T, problem.y), strict=True
    ):
        for end in (float(np.min(values)), float(np.max(values))):
            rest, times = values[values != end], int(np.sum(values == end))
            if abs(end) not in SETTINGS.missing_marks or times < SETTINGS.fewest_marked or not len(rest):
                continue
            if np.min(np.abs(rest - end)) > np.ptp(rest):
                notes.append(
                    f"{name} is {end:g} in {times} rows, far from all others; if that marks a missing value, "
                    "leave out these rows"
                )
    return notes
