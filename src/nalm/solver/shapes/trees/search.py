"""T: tree search, meeting small trees and the peeled target in the middle."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache, lru_cache
from itertools import islice

import numpy as np

from nalm.solver.data.problem import Problem
from nalm.solver.formula.algebra import ONE, Formula, WeightedSum, total
from nalm.solver.formula.calculus import Array, Indices
from nalm.solver.settings import SETTINGS
from nalm.solver.shapes.shape import Groups
from nalm.solver.shapes.trees.forest import Forest
from nalm.solver.shapes.trees.meet import Seen, Side, View, affine, meet, plain, scaled, shifted
from nalm.solver.shapes.trees.peel import Peels
from nalm.solver.shapes.trees.split import splits


def tree(problem: Problem, columns: Indices, most_leaves: int, budget: int) -> Groups:
    """Formulas with up to `most_leaves` leaves over some columns, fewest leaves first, real constants last.

    Args:
        columns: the inputs to use; the constant 1 is always there.
        budget: the most pairs of trees that one step may combine.
    """
    rows = probe_rows(problem.X[:, columns])
    probed, full = problem.X[np.ix_(rows, columns)], most_leaves > 6
    keep = budget <= SETTINGS.kept_forest
    forest = _kept_forest(probed.tobytes(), tuple(columns.tolist()), full) if keep else Forest(probed, columns, full)
    peels = Peels(problem.y[rows], problem.blur, forest)
    reached = []
    side = cache(_side)  # a level is met with several
    for trees, peeled in _meetings(most_leaves):
        if _grown(forest, trees, budget) and _grown(peels, peeled, budget):
            meeting = _Meeting(forest, peels, trees - 1, peeled, side)
            reached.append(meeting)
            for view in (plain, scaled):
                yield meeting.formulas(view)
    yield from splits(forest, peels, most_leaves, budget)
    for view in (shifted, affine):
        for meeting in reached:
            if meeting.size <= SETTINGS.loose_values:
                yield meeting.formulas(view)


@lru_cache(maxsize=4)
def _kept_forest(probed: bytes, columns: tuple[int, ...], full: bool) -> Forest:
    """Trees know nothing of the target, which is seen through many functions while the inputs stay the same."""
    return Forest(np.frombuffer(probed).reshape(-1, len(columns)), np.array(columns, dtype=np.int64), full)


def _meetings(most_leaves: int) -> Iterator[tuple[int, int]]:
    """(leaves of the subtree, leaves peeled): every tree of at most seven leaves is cut by one of these."""
    for total_leaves in range(2, most_leaves + 1):
        for trees in (2, 3, 4):
            peeled = total_leaves - trees
            if 0 <= peeled <= 3 and not (trees == 2 and total_leaves > 4):
                yield trees, peeled


def _grown(growing: Forest | Peels, level: int, budget: int) -> bool:
    """Grows up to a level (counted in leaves); False if that would cost more than the budget."""
    needed = level if isinstance(growing, Forest) else level + 1
    while len(growing.levels) < needed:
        if growing.pairs() > budget:
            return False
        growing.grow()
    return True


SideOf = Callable[[Forest | Peels, int, View], Side]


def _side(growing: Forest | Peels, level: int, view: View) -> Side:
    return Seen(growing.levels[level], growing.starts[level], view)


class _Meeting:
    """One subtree level against one peeled level, under each view."""

    def __init__(self, forest: Forest, peels: Peels, level: int, peeled: int, side: SideOf) -> None:
        self.forest, self.peels, self.side = forest, peels, side
        self.level, self.peeled = level, peeled
        self.size = len(forest.levels[level]) + len(peels.levels[peeled])

    def formulas(self, view: View) -> Iterator[Formula]:
        most = SETTINGS.hits if view in (plain, scaled) else SETTINGS.loose_hits
        trees, targets = self.side(self.forest, self.level, view), self.side(self.peels, self.peeled, view)
        for i, j in islice(meet(trees, targets), most):
            subtree = self.forest.formula(i)
            for explained in self._explained(view, subtree, i, j):
                yield self.peels.formula(j, explained)

    def _explained(self, view: View, subtree: Formula, i: int, j: int) -> Iterator[Formula]:
        """What the peeled target equals: the subtree, with first guesses at the constants that the view leaves free."""
        if view is plain:
            yield subtree
            return
        u = self.forest.levels[self.level].values[i - self.forest.starts[self.level]]
        t = self.peels.levels[self.peeled].values[j - self.peels.starts[self.peeled]]
        if view is scaled:
            yield WeightedSum(((float(np.median(t / u)), subtree),))
            return
        slope, offset = np.polyfit(u, t, 1)
        if view is shifted:
            sign = 1 if slope > 0 else -1
            yield total([(Fraction(sign), subtree), (float(np.median(t - sign * u)), ONE)])
        else:
            yield total([(float(slope), subtree), (float(offset), ONE)])


def probe_rows(X: Array, count: int = SETTINGS.probes) -> Indices:
    """The rows whose inputs lie furthest apart, from each other, from 0 and from 1: differences are sharpest there."""
    with np.errstate(all="ignore"):
        table = np.column_stack([X, np.ones(len(X))])
        scale = np.max(np.abs(table), axis=1, keepdims=True)
        ordered = np.sort(table / scale, axis=1)
        gap = np.min(np.diff(ordered, axis=1), axis=1) if table.shape[1] > 1 else np.ones(len(X))
        gap = np.minimum(gap, np.min(np.abs(table / scale), axis=1))
    return np.argsort(-gap, kind="stable")[:count]
