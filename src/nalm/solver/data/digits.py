"""How many digits the numbers of a column have."""

from __future__ import annotations

import numpy as np

from nalm.solver.formula.calculus import Array
from nalm.solver.settings import SETTINGS


def half_units(values: Array) -> Array:
    """Half a unit of the last digit of each number: of a fixed number of decimals or of significant digits.

    Whichever explains the column with fewer digits in all is believed. Whole numbers count as exact.

    >>> half_units(np.array([0.25, 1.5, 12.75])).tolist(), half_units(np.array([3.0, 4.0])).tolist()
    ([0.005, 0.005, 0.005], [0.0, 0.0])
    """
    exact = np.zeros(len(values))
    if whole(values):
        return exact
    power = np.floor(np.log10(np.abs(np.where(values == 0, 1.0, values))))
    ways = [_coarsest(values, np.zeros(len(values)), 0), _coarsest(values, power, 1)]
    known = [unit for unit in ways if unit is not None]
    return max(known, key=lambda unit: float(np.sum(np.log(unit))), default=exact)


def _coarsest(values: Array, power: Array, fewest: int) -> Array | None:
    """Half of `10 ** (power - digits)` for the fewest digits that keep every number; None if that takes too many."""
    for digits in range(fewest, SETTINGS.most_digits):
        unit = 10.0 ** (power - digits)
        counts = values / unit
        if np.all(np.abs(counts - np.round(counts)) <= 1e-12 * np.abs(counts)):
            return unit / 2
    return None


def step(values: Array) -> float:
    """What all distances between numbers are multiples of, as those from a converter with 10 bits; 0 if nothing is.

    >>> step(np.floor(np.sqrt(np.arange(200.0)) / 0.07) * 0.07).__round__(9), step(np.sqrt(np.arange(200.0)))
    (0.07, 0.0)
    """
    gaps = np.diff(np.unique(values))
    if len(gaps) < SETTINGS.fewest_levels or gaps.min() < SETTINGS.smallest_step * np.max(np.abs(values)):
        return 0.0
    for parts in SETTINGS.step_parts:
        unit = float(gaps.min()) / parts
        counts = gaps / unit
        if np.all(np.abs(counts - np.round(counts)) < SETTINGS.step_share):
            return unit
    return 0.0


def full(values: Array) -> bool:
    """Do the numbers use all digits of float64? Not those of a float32, nor those that a file with 14 digits keeps.

    >>> full(np.sqrt([2.0, 3.0, 5.0])), full(np.arange(9.0)), full(np.float64(np.float32(np.sqrt([2.0, 3.0]))))
    (True, False, False)
    """
    some = values[: SETTINGS.digit_rows]
    short = some.astype(np.float32) == some
    with np.errstate(all="ignore"):
        counts = some * 10.0 ** (13 - np.floor(np.log10(np.abs(some))))
        # Of 14 digits only whole counts are kept; the float64 nearest to one is less than 0.05 away from it.
        near = ~(np.abs(counts - np.round(counts)) > 0.1)
    for k in np.flatnonzero(near & ~short):
        short[k] = float(f"{some[k]:.14g}") == some[k]
    return bool(np.mean(short) < SETTINGS.short_numbers)


def exact_settings(values: Array) -> bool:
    """Whole numbers and decimals of few digits: what was set, not measured or computed."""
    return whole(values) or bool(half_units(values).any())


def whole(values: Array) -> bool:
    """Whole numbers only?"""
    return bool(np.all(values == np.round(values)))


def marks(values: Array) -> bool:
    """Two values of 0, 1 and -1: they name two cases and measure nothing."""
    levels = np.unique(values)
    return len(levels) == 2 and bool(np.all(np.isin(levels, (-1, 0, 1))))
