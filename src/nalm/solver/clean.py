"""Columns that cannot be told apart or say nothing are set aside before a search, and the result says so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from nalm.solver.algebra.formula import Constant, Formula, Input, Product, Sum
from nalm.solver.problem import Problem
from nalm.solver.trees.forest import Indices


def set_aside(problem: Problem, names: Sequence[str]) -> tuple[Problem, Indices, list[str]]:
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
    columns = np.array(kept, dtype=np.int64)
    return replace(problem, X=np.ascontiguousarray(problem.X[:, columns])), columns, notes


def renumbered(formula: Formula, columns: Indices) -> Formula:
    """A formula over some columns as one over the whole table."""
    match formula:
        case Input(index):
            return Input(int(columns[index]))
        case Constant():
            return formula
        case Sum(terms):
            return Sum(tuple((c, renumbered(t, columns)) for c, t in terms))
        case Product(factors):
            return Product(tuple((renumbered(f, columns), e) for f, e in factors))
