"""A sum of two trees behind an unknown real factor: `t = c * (u ± v)`.

The factor is eliminated, not fitted. With `r_i = t_i / t_0` the map `S -> S_i - r_i S_0` is linear and sends t to zero,
so it sends u and v to the same values up to sign, and one meeting of the two lists finds them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
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


def splits(forest: Forest, peels: Peels, most_leaves: int, budget: int) -> Groups:
    """Formulas `c * (u ± v)` of the target, and of the target multiplied or divided by a small tree."""
    most = min(SETTINGS.split_values, SETTINGS.split_share * budget)
    for peeled in range(min(3 if most_leaves > 6 else 2, len(peels.levels))):
        rows = peels.multiplicative(peeled)
        # A tree that was divided out of u and v comes back in both, so two leaves more are still within reach.
        reach = most_leaves + 2 * (peeled > 0) - peeled
        affordable = [len(level) * len(rows) <= most for level in forest.levels]
        parts = [(a, b) for a, b in PARTS if a <= len(forest.levels) and affordable[a - 1] and a + b <= reach]
        yield from _split(forest, peels, peeled, rows, parts)


def _split(forest: Forest, peels: Peels, peeled: int, rows: Indices, parts: list[tuple[int, int]]) -> Groups:
    """Those of some targets of a peeled level, into trees of so many leaves each."""
    targets = peels.levels[peeled].at(rows)
    side = cache(lambda leaves: _Eliminated(forest.levels[leaves - 1], targets))
    for a, b in parts:
        yield _met(forest, peels, peels.starts[peeled] + rows, (side(a), side(b)), (a, b))


def _met(
    forest: Forest, peels: Peels, numbers: Indices, sides: tuple[_Eliminated, _Eliminated], leaves: tuple[int, int]
) -> Iterator[Formula]:
    hits = np.array(list(islice(meet(*sides), SETTINGS.split_hits)), dtype=np.int64).reshape(-1, 2)
    (which, i), (_, j) = (np.divmod(hit, len(side.trees)) for hit, side in zip(hits.T, sides, strict=True))
    u, v = (ProbeValues.of(side.trees, rows) for side, rows in zip(sides, (i, j), strict=True))
    signs, factors = factors_in_front(u, v, ProbeValues.of(sides[0].targets, which))
    one, other = (forest.starts[count - 1] for count in leaves)
    for k in np.flatnonzero(signs):
        first, second = forest.formula(int(i[k]) + one), forest.formula(int(j[k]) + other)
        body = total([(Fraction(1), first), (Fraction(int(signs[k])), second)])
        yield peels.formula(int(numbers[which[k]]), WeightedSum(((float(factors[k]), body),)))


class _Eliminated(Side):
    """Trees without the factor that takes one of them to a target, up to sign, for each of many targets.

    Tree i for target t is row `t * len(trees) + i`. The first key is a logarithm, of which those of one target lie far
    from those of another: so all targets are met at once.
    """

    def __init__(self, trees: Trees, targets: Trees) -> None:
        self.trees, self.targets = trees, targets
        t, error = targets.values, targets.errors
        self._ratios = t[:, 1 : 1 + SETTINGS.split_probes] / t[:, :1]
        self._spreads = error[:, 1 : 1 + SETTINGS.split_probes] + np.abs(self._ratios) * error[:, :1]
        self._spreads = self._spreads / np.abs(t[:, :1])
        if not self._ratios.shape[1]:
            super().__init__(np.zeros(0, np.int64), np.zeros(0), np.zeros(0))
            return
        (base, other), (dull, blur) = trees.values[:, :2].T, trees.errors[:, :2].T
        ratio, spread = self._ratios[:, :1], self._spreads[:, :1]
        left = np.abs(other - ratio * base).ravel()  # (targets, trees)
        bound = (blur + np.abs(ratio) * dull + spread * np.abs(base)).ravel()
        rows = np.flatnonzero(left > SETTINGS.split_sharp * bound)
        left, bound = left[rows], bound[rows]
        super().__init__(rows, np.log(left) + APART * (rows // len(trees)), bound / left)

    def keys(self, compared: Indices, probes: int | None) -> tuple[Array, Array]:
        which, i = np.divmod(self.rows[compared], len(self.trees))
        ratio, spread = self._ratios[which, :probes], self._spreads[which, :probes]
        some = slice(1, 1 + ratio.shape[1])
        values, errors = self.trees.values[i], self.trees.errors[i]
        left = values[:, some] - ratio * values[:, :1]
        bounds = errors[:, some] + np.abs(ratio) * errors[:, :1] + np.abs(values[:, :1]) * spread
        return np.where(left[:, :1] < 0, -left, left), bounds

    def numbers(self, compared: Indices) -> list[int]:
        return list(self.rows[compared].tolist())


APART = 1000.0
"""Between the logarithms of two targets: those of numbers between 1e-200 and 1e200 are less than that apart."""


@dataclass(frozen=True)
class ProbeValues:
    """Trees or targets at the probes, `(k, m)` or `(m,)`, and what rounding may have done to them there."""

    at: Array
    errors: Array

    @classmethod
    def of(cls, trees: Trees, rows: Indices) -> ProbeValues:
        """Some of the trees."""
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
