"""The one combination of columns that is nothing at every row, such as `A(x) - y B(x)`, read in simple ratios."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from nalm.solver.formula.algebra import Number
from nalm.solver.formula.calculus import Array
from nalm.solver.settings import SETTINGS


def null_vector(columns: Array) -> Array:
    """The weights `(m,)` of columns `(n, m)`, whatever their sizes, with the smallest sum; empty if there is none."""
    with np.errstate(all="ignore"):
        length = np.linalg.norm(columns, axis=0)
        if not (len(length) and np.isfinite(length).all() and np.all(length > 0)):  # columns of zeros leave no weight
            return np.zeros(0)
        return np.asarray(np.linalg.svd(np.linalg.qr(columns / length, mode="r"))[2][-1] / length)


def in_ratios(null: Array) -> list[Number]:
    """The weights in simple ratios, with at most a few real ones; empty if there are more.

    Any weight may be the unit of all others; the one that makes most of them fractions is taken.
    """
    with np.errstate(all="ignore"):
        relative = [null / unit for unit in null if unit]
    readings = [[_ratio(float(w)) for w in weights] for weights in relative if np.isfinite(weights).all()]
    best = min(readings, key=_real, default=[])
    return best if _real(best) <= SETTINGS.real_in_sums else []


def _real(numbers: list[Number]) -> int:
    return sum(isinstance(number, float) for number in numbers)


def _ratio(weight: float) -> Number:
    """A simple fraction, or the weight as it is if none is near."""
    near = Fraction(weight).limit_denominator(SETTINGS.largest_ratio)
    is_simple = abs(near.numerator) * near.denominator <= SETTINGS.ratio_product
    return near if is_simple and abs(float(near) - weight) <= SETTINGS.ratio_reach * abs(weight) else weight
