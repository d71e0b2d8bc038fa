"""The rows of a table before a search: repeated ones counted, weights, and a sample of very many."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from nalm.core.arguments import shown
from nalm.solver.data.problem import Problem
from nalm.solver.formula.calculus import Array, Indices
from nalm.solver.settings import SETTINGS


@dataclass(frozen=True, eq=False)
class GatheredRows:
    """The rows a search sees, each once, how much each counts, all rows that count, and what there is to say.

    `positions` are those of the rows of `every` in the table that was given. `repeats_agree` says that several rows
    repeat, and none of them with another target: they were copied, or there is no noise.
    """

    problem: Problem
    weights: Array
    every: Problem
    positions: Indices
    notes: tuple[str, ...] = ()
    repeats_agree: bool = False


def gathered(table: Problem, weights: Any = None) -> GatheredRows:
    """Distinct rows of positive weight; a sample of them, with the ends of every column, if they are very many.

    Rows that repeat, or have weights, are put in an order that depends on their values only: a row given twice is a row
    of weight 2.
    """
    given = checked_weights(weights, table.rows)
    notes: list[str] = []
    positions = np.flatnonzero(given > 0)
    if len(positions) < table.rows:
        table, given = table.of_rows(positions), given[positions]
    every = table
    if table.rows > SETTINGS.sampled_rows:
        table, given = _some(table, given, SETTINGS.sampled_rows)
    distinct, counted = _distinct(table, given)
    repeats = table.rows - distinct.rows
    agree = repeats >= SETTINGS.telling_repeats and len(np.unique(distinct.X, axis=0)) == distinct.rows
    if weights is None and distinct.rows == table.rows:
        distinct, counted = table, given  # in the order in which they came
    elif distinct.rows < table.rows:
        notes.append(f"{table.rows} rows were looked at, of which {distinct.rows} are distinct; repeats prove nothing")
    if distinct.rows > SETTINGS.search_rows:
        notes.append(f"a sample of {SETTINGS.search_rows} rows was searched; a law must hold at all rows")
        distinct, counted = _some(distinct, counted, SETTINGS.search_rows)
    return GatheredRows(distinct, counted, every, positions, tuple(notes), agree)


def checked_weights(weights: Any, rows: int) -> Array:
    """One number, at least 0, for each row; ones if none are given."""
    if weights is None:
        return np.ones(rows)
    try:
        array = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError, RuntimeError) as error:
        raise ValueError(f"weights must be numbers, one for each row; got {shown(weights)}: {error}") from error
    array = np.full(rows, float(array)) if array.ndim == 0 else array
    if array.shape != (rows,):
        raise ValueError(f"weights must be one number for each of the {rows} rows, but have shape {array.shape}")
    if not np.all(usable := np.isfinite(array) & (array >= 0)):
        row = int(np.argmin(usable))
        raise ValueError(f"weights must be finite and at least 0; that of row {row} is {array[row]:g}")
    if np.sum(array > 0) < SETTINGS.fewest_rows:
        raise ValueError(f"fewer than {SETTINGS.fewest_rows} rows have a weight above zero: too few for a formula")
    return array


def chunks(table: Problem) -> Iterator[Problem]:
    """All rows, some at a time."""
    for start in range(0, table.rows, SETTINGS.chunk_rows):
        yield table.of_rows(slice(start, start + SETTINGS.chunk_rows))


def _distinct(table: Problem, weights: Array) -> tuple[Problem, Array]:
    values, which = np.unique(np.column_stack([table.X, table.y]), axis=0, return_inverse=True)
    counted = np.asarray(np.bincount(which.reshape(-1), weights=weights), dtype=np.float64)
    order = np.random.default_rng(table.seed).permutation(
        len(values)
    )  # neighbours in value must not be neighbours here
    values = values[order]
    return replace(table, X=np.ascontiguousarray(values[:, :-1]), y=np.ascontiguousarray(values[:, -1])), counted[order]


def _some(table: Problem, weights: Array, count: int) -> tuple[Problem, Array]:
    """A random choice of rows, with those that hold the smallest and largest value of each column and the target."""
    columns = [*table.X.T, table.y]
    ends = {int(end(column)) for column in columns for end in (np.argmin, np.argmax)}
    drawn = np.random.default_rng(table.seed).choice(table.rows, size=count, replace=False)
    kept: Indices = np.array(sorted({*ends, *(int(i) for i in drawn[: max(count - len(ends), 0)])}))
    return table.of_rows(kept), weights[kept]
