"""A sum of two trees behind an unknown real factor: `t = c * (u ± v)`.

The factor is eliminated, not fitted. With `r_i = t_i / t_0` the map `S -> S_i - r_i S_0` is linear and sends t to zero,
so it sends u and v to the same values up to sign, and one meeting of the two lists finds them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from nalm.solver.formula.algebra import Formula, WeightedSum, total
from nalm.solver.formula.calculus import Array, Indices
from nalm.solver.settings import SETTINGS
from nalm.solver.shapes.shape import Groups
from nalm.solver.shapes.trees.forest import Forest, Trees
from nalm.solver.shapes.trees.meet import Side, meet
from nalm.solver.shapes.trees.peel import Peels

PARTS = ((2, 1), (2, 2), (3, 1), (3, 2), (3, 3), (4, 1), (4, 2))


def splits(forest: Forest, peels: Peels, most_leaves: int) -> Groups:
    """Formulas `c * (u ± v)` of the target, and of the target multiplied or divided by a small tree."""
    for peeled in range(min(3 if most_leaves > 6 else 2, len(peels.levels))):
        rows = peels.multiplicative(peeled)
        # A tree that was divided out of u and v comes back in both, so two leaves more are still within reach.
        reach = most_leaves + 2 * (peeled > 0) - peeled
        affordable = [len(level) * len(rows) <= SETTINGS.split_values for level in forest.levels]
        parts = [(a, b) for a, b in PARTS if a <= len(forest.levels) and affordable[a - 1] and a + b <= reach]
        for row in rows:
            yield _split(forest, peels, peeled, int(row), parts)


def _split(forest: Forest, peels: Peels, peeled: int, row: int, parts: list[tuple[int, int]]) -> Iterator[Formula]:
    t, error = peels.levels[peeled].values[row], peels.levels[peeled].errors[row]
    sides = {
        level: _eliminated(forest.levels[level - 1], forest.starts[level - 1], t, error)
        for level in {level for pair in parts for level in pair}
    }
    for a, b in parts:
        hits = list(islice(meet(sides[a], sides[b]), SETTINGS.split_hits))
        if not hits:
            continue
        u, v = (ProbeValues.of(forest, level, numbers) for level, numbers in zip((a, b), np.array(hits).T, strict=True))
        signs, factors = factors_in_front(u, v, ProbeValues(t, error))
        for k in np.flatnonzero(signs):
            i, j = hits[k]
            body = total([(Fraction(1), forest.formula(i)), (Fraction(int(signs[k])), forest.formula(j))])
            yield peels.formula(row + peels.starts[peeled], WeightedSum(((float(factors[k]), body),)))


def _eliminated(trees: Trees, start: int, t: Array, error: Array) -> Side:
    some = slice(1, 1 + SETTINGS.split_probes)
    ratio = (t[some] / t[0])[:, None]
    spread = (error[some] / abs(t[0]))[:, None] + np.abs(ratio) * error[0] / abs(t[0])
    values, errors = trees.by_probe  # (m, N): along trees, which are many
    left = values[some] - ratio * values[0]
    bounds = errors[some] + np.abs(ratio) * errors[0] + np.abs(values[0]) * spread
    sound = np.flatnonzero(np.abs(left[0]) > SETTINGS.split_sharp * bounds[0])
    left = left[:, sound]
    return Side((left * np.where(left[0] < 0, -1, 1)).T, bounds[:, sound].T, sound + start)


@dataclass(frozen=True)
class ProbeValues:
    """Trees `(k, m)` or a target `(m,)` at the probes, and what rounding may have done to them there."""

    at: Array
    errors: Array

    @classmethod
    def of(cls, forest: Forest, level: int, numbers: Indices) -> ProbeValues:
        """Trees of a level of the forest, by their numbers."""
        trees, rows = forest.levels[level - 1], numbers - forest.starts[level - 1]
        return cls(trees.values[rows], trees.errors[rows])


def factors_in_front(u: ProbeValues, v: ProbeValues, t: ProbeValues) -> tuple[Indices, Array]:
    """The signs s and the factors c in `t = c * (u + s * v)`, one for each pair of trees; sign 0 if c is not the same
    at every probe.

    Two ways to write one tree match whatever the target is, and only this unmasks them: their difference is all
    rounding, and where it is not, the factor differs by more than rounding explains.
    """
    signs, factors = np.zeros(len(u.at), np.int64), np.zeros(len(u.at))
    for sign in (-1, 1):  # the last word is that of the sum
        with np.errstate(all="ignore"):
            below = u.at + sign * v.at
            ratio = t.at / below
            spread = SETTINGS.slack * ((u.errors + v.errors) / np.abs(below) + t.errors / np.abs(t.at))
            sharp = spread < SETTINGS.split_wobble
            factor = _median(ratio, sharp)
            same = np.abs(ratio / factor[:, None] - 1) <= spread + np.median(spread, axis=1, keepdims=True)
            found = (np.sum(sharp, axis=1) >= SETTINGS.split_probes) & (factor != 0) & np.all(same | ~sharp, axis=1)
        signs[found], factors[found] = sign, factor[found]
    return signs, factors


def _median(values: Array, counted: NDArray[np.bool_]) -> Array:
    """Of those that count in each row; not a number where none does."""
    ordered = np.sort(np.where(counted, values, np.inf), axis=1)
    count = np.sum(counted, axis=1)
    middle = np.stack([np.maximum(count - 1, 0) // 2, count // 2], axis=1)
    both = np.take_along_axis(ordered, np.minimum(middle, values.shape[1] - 1), axis=1)
    return np.where(count > 0, np.mean(both, axis=1), np.nan)
