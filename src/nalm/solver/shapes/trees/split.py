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

from nalm.solver.formula.algebra import Formula, WeightedSum, total
from nalm.solver.formula.calculus import Array
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
        for i, j in islice(meet(sides[a], sides[b]), SETTINGS.split_hits):
            u, v = (ProbeValues.of(forest, level, number) for level, number in ((a, i), (b, j)))
            sign, factor = factor_in_front(u, v, ProbeValues(t, error))
            if sign:
                body = total([(Fraction(1), forest.formula(i)), (Fraction(sign), forest.formula(j))])
                yield peels.formula(row + peels.starts[peeled], WeightedSum(((factor, body),)))


def _eliminated(trees: Trees, start: int, t: Array, error: Array) -> Side:
    some = slice(1, 1 + SETTINGS.split_probes)
    ratio = t[some] / t[0]
    spread = error[some] / abs(t[0]) + np.abs(ratio) * error[0] / abs(t[0])
    values = trees.values[:, some] - ratio * trees.values[:, :1]
    errors = trees.errors[:, some] + np.abs(ratio) * trees.errors[:, :1] + np.abs(trees.values[:, :1]) * spread
    sound = np.abs(values[:, 0]) > SETTINGS.split_sharp * errors[:, 0]
    signed = values * np.where(values[:, :1] < 0, -1, 1)
    return Side(signed[sound], errors[sound], np.flatnonzero(sound) + start)


@dataclass(frozen=True)
class ProbeValues:
    """A tree or target at the probes, and what rounding may have done to it there."""

    at: Array
    errors: Array

    @classmethod
    def of(cls, forest: Forest, level: int, number: int) -> ProbeValues:
        """A tree of a level of the forest, by its number."""
        trees, k = forest.levels[level - 1], number - forest.starts[level - 1]
        return cls(trees.values[k], trees.errors[k])


def factor_in_front(u: ProbeValues, v: ProbeValues, t: ProbeValues) -> tuple[int, float]:
    """The sign s and the factor c in `t = c * (u + s * v)`; sign 0 if c is not the same at every probe.

    Two ways to write one tree match whatever the target is, and only this unmasks them: their difference is all
    rounding, and where it is not, the factor differs by more than rounding explains.
    """
    for sign in (1, -1):
        with np.errstate(all="ignore"):
            below = u.at + sign * v.at
            ratio = t.at / below
            spread = SETTINGS.slack * ((u.errors + v.errors) / np.abs(below) + t.errors / np.abs(t.at))
            sharp = spread < SETTINGS.split_wobble
            if sharp.sum() < SETTINGS.split_probes:
                continue
            factor = float(np.median(ratio[sharp]))
            same = np.abs(ratio / factor - 1) <= spread + np.median(spread)
        if factor and np.all(same[sharp]):
            return sign, factor
    return 0, 0.0
