"""Which trees equal which peeled targets: one sort, one window search, then a filter on the other probes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from functools import cached_property

import numpy as np

from nalm.solver.formula.calculus import Array, Indices
from nalm.solver.settings import SETTINGS
from nalm.solver.shapes.trees.forest import Trees

View = Callable[[Array, Array], tuple[Array, Array]]


def plain(values: Array, errors: Array) -> tuple[Array, Array]:
    """The values themselves: target = tree."""
    return values, errors


def scaled(values: Array, errors: Array) -> tuple[Array, Array]:
    """Ratios to the first probe: target = c * tree, with c unknown."""
    with np.errstate(all="ignore"):
        ratio = values[:, 1:] / values[:, :1]
        bound = (errors[:, 1:] + np.abs(ratio) * errors[:, :1]) / np.abs(values[:, :1])
    return ratio, bound


def shifted(values: Array, errors: Array) -> tuple[Array, Array]:
    """Differences to the first probe, up to sign: target = ±tree + c."""
    step = values[:, 1:] - values[:, :1]
    return step * np.where(step[:, :1] < 0, -1, 1), errors[:, 1:] + errors[:, :1]


def affine(values: Array, errors: Array) -> tuple[Array, Array]:
    """Ratios of differences: target = c * tree + e."""
    return scaled(*shifted(values, errors))


class Side(ABC):
    """One side of a meeting: trees, of each of which several keys are compared.

    Only the first key is computed for all trees; the others are asked of the few whose first keys meet.

    Attributes:
        rows: the trees that are compared, `(n,)`, with their first keys and the error bounds of these.
    """

    def __init__(self, rows: Indices, first: Array, bound: Array) -> None:
        self.rows, self.first, self.bound = rows, first, bound

    @cached_property
    def ordered(self) -> tuple[Indices, Array]:
        """The order of the first keys, and these in that order; one side is met with several."""
        order = np.argsort(self.first)
        return order, self.first[order]

    def around(self, sought: Array, reach: float) -> tuple[Indices, Array]:
        """The same for the first keys within reach of some others, which are ordered."""
        place, ends = np.searchsorted(sought, self.first), np.concatenate([[-np.inf], sought, [np.inf]])
        near = np.flatnonzero((self.first - ends[place] <= reach) | (ends[place + 1] - self.first <= reach))
        order = near[np.argsort(self.first[near])]
        return order, self.first[order]

    @abstractmethod
    def keys(self, compared: Indices, probes: int | None) -> tuple[Array, Array]:
        """The keys that so many probes show of some of the rows, `(k, keys)`, and their error bounds; None for all."""

    @abstractmethod
    def numbers(self, compared: Indices) -> list[int]:
        """What the trees at some of the rows are called outside."""


class Seen(Side):
    """Trees as a view shows them, numbered from `start` on."""

    def __init__(self, trees: Trees, start: int, view: View) -> None:
        self.values, self.errors, self.view, self.start = trees.values, trees.errors, view, start
        seen, bound = view(trees.values[:, :FIRST_PROBES], trees.errors[:, :FIRST_PROBES])
        if not seen.shape[1]:  # so few rows differ that the view uses all of them up: nothing is left to compare
            seen, bound = np.zeros((len(trees), 1)), np.ones((len(trees), 1))
        with np.errstate(all="ignore"):
            sharp = bound[:, 0] < SETTINGS.sharp * np.abs(seen[:, 0])
        rows = np.flatnonzero(np.isfinite(seen[:, 0]) & sharp)
        super().__init__(rows, seen[rows, 0], bound[rows, 0])

    def keys(self, compared: Indices, probes: int | None) -> tuple[Array, Array]:
        rows = self.rows[compared]
        seen, bound = self.view(self.values[rows, :probes], self.errors[rows, :probes])
        if probes is None:  # a tree with a blunt key is not compared after all
            with np.errstate(all="ignore"):
                sharp = np.all(bound < SETTINGS.sharp * np.max(np.abs(seen), axis=1, keepdims=True), axis=1)
            seen = np.where(sharp[:, None], seen, np.nan)
        return seen, bound

    def numbers(self, compared: Indices) -> list[int]:
        return list((self.rows[compared] + self.start).tolist())


FIRST_PROBES = 3
"""Probes that show the first key through every view: the ratio of two differences takes three."""
FEW_PROBES = 4
"""Probes that turn down nearly all pairs whose first keys meet by chance, before all are asked."""
MANY_TREES = 1000
"""Trees for each target, from which on the few that come near one are sorted, and not all: that takes a third as long,
but all are sorted once for several meetings."""
MANY_PAIRS = 500
"""Pairs, up to which all probes are asked at once: a call of numpy costs as much as a thousand of its numbers."""


def meet(trees: Side, peeled: Side) -> Iterator[tuple[int, int]]:
    """Pairs (tree number, peeled number) that agree at every probe within `SETTINGS.slack` times their error bounds.

    A list met with itself gives each pair once, and no element with itself.
    """
    if not len(trees.rows) or not len(peeled.rows):
        return
    some = np.sort(trees.bound[:: 1 + len(trees.rows) // 200])
    typical = float(some[9 * len(some) // 10])  # the few that are blunter than nine in ten are met where they are near
    turn, sought = peeled.ordered  # looked up in this order, each is found beside the last one
    reach = SETTINGS.slack * (peeled.bound[turn] + typical)
    few = MANY_TREES * len(sought) < len(trees.rows)
    order, first = trees.around(sought, float(np.max(reach))) if few else trees.ordered
    low, counts = np.empty_like(turn), np.empty_like(turn)
    low[turn] = np.searchsorted(first, sought - reach)
    counts[turn] = np.searchsorted(first, sought + reach) - low[turn]
    counts[counts > SETTINGS.most_met] = 0  # a flat view says nothing
    ends = np.cumsum(counts)
    begin = 0
    while begin < len(counts):
        done = ends[begin - 1] if begin else 0
        stop = max(begin + 1, int(np.searchsorted(ends, done + SETTINGS.meet_chunk)))
        i, j = _expanded(order, low[begin:stop], counts[begin:stop], begin)
        if trees is peeled:
            i, j = i[i > j], j[i > j]
        for probes in (FEW_PROBES, None) if len(i) > MANY_PAIRS else (None,):
            if not len(i):
                break
            (one, one_bound), (other, other_bound) = trees.keys(i, probes), peeled.keys(j, probes)
            kept = np.all(np.abs(one - other) <= SETTINGS.slack * (one_bound + other_bound), axis=1)
            i, j = i[kept], j[kept]
        yield from zip(trees.numbers(i), peeled.numbers(j), strict=True)
        begin = stop


def _expanded(order: Indices, low: Indices, counts: Indices, begin: int) -> tuple[Indices, Indices]:
    """Every (tree, target) pair inside the windows."""
    j = np.repeat(np.arange(len(counts)), counts)
    within = np.arange(len(j)) - np.repeat(np.cumsum(counts) - counts, counts)
    return order[low[j] + within], j + begin
