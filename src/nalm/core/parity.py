"""Gaussian elimination over the field of two elements: which signs multiply to which."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Bits = NDArray[np.bool_]


class Parities(NamedTuple):
    """Unknowns that take part `(..., targets, unknowns)`, and whether they explain all equations `(..., targets)`."""

    taken: Bits
    explains: Bits


def parities(known: Bits, wanted: Bits) -> Parities:
    """Which unknowns to add modulo 2, that is, which signs to multiply; those that are not needed are left out.

    Args:
        known: the equations `(..., equations, unknowns)`; leading axes are systems of their own.
        wanted: their right sides `(..., equations, targets)`.

    >>> signs = np.array([[1, 1, -1], [-1, 1, -1], [1, -1, 1], [-1, -1, -1]])
    >>> found = parities(signs < 0, signs[:, :2].prod(1, keepdims=True) < 0)
    >>> found.taken.tolist(), found.explains.tolist()
    ([[True, True, False]], [True])
    """
    unknowns = known.shape[-1]
    system = np.concatenate([known, wanted], -1)
    spent = np.zeros(system.shape[:-1], dtype=bool)
    pivots = []
    for i in range(unknowns):
        usable = system[..., i] & ~spent
        pivot = usable & (np.cumsum(usable, -1) == 1)  # the first of them, if there is one
        equation = (system & pivot[..., None]).any(-2, keepdims=True)
        system ^= (system[..., i : i + 1] & ~pivot[..., None]) & equation
        spent |= pivot
        pivots.append(pivot)
    solution = [(system[..., unknowns:] & pivot[..., None]).any(-2) for pivot in pivots]  # each (..., targets)
    contradicted = np.any(system[..., unknowns:] & ~spent[..., None], axis=-2)
    return Parities(np.stack(solution, -1), np.logical_not(contradicted))
