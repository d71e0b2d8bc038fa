"""Gaussian elimination over the field of two elements: which signs multiply to which."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def parity(A: NDArray[np.bool_], b: NDArray[np.bool_]) -> NDArray[np.bool_] | None:
    """A solution of `A p = b` over GF(2), free unknowns 0; None if there is none.

    >>> parity(np.array([[True, False], [True, True]]), np.array([True, False]))
    array([ True,  True])
    """
    table = np.column_stack([A, b]).copy()
    pivots: list[int] = []
    row = 0
    for column in range(A.shape[1]):
        below = np.flatnonzero(table[row:, column])
        if not len(below):
            continue
        table[[row, row + below[0]]] = table[[row + below[0], row]]
        others = table[:, column].copy()
        others[row] = False
        table[others] ^= table[row]
        pivots.append(column)
        row += 1
        if row == len(table):
            break
    if table[row:, -1].any():
        return None
    solution = np.zeros(A.shape[1], dtype=bool)
    solution[pivots] = table[: len(pivots), -1]
    return solution
