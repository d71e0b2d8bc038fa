"""Which trees equal which peeled targets: one sort, one window search, then a filter on the other probes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from nalm.solver.formula.calculus import Array, Indices
from nalm.solver.settings import SETTINGS

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


@dataclass(frozen=True)
class Side:
    """One side of a meeting, seen through a view: keys `(N, m)` with error bounds, and the numbers they stand for."""

    values: Array
    errors: Array
    numbers: Indices

    @cached_property
    def ordered(self) -> tuple[Indices, Array]:
        """The order of the first keys, and these in that order; one side is met with several."""
        order = np.argsort(self.values[:, 0])
        return order, self.values[order, 0]

    @classmethod
    def of(cls, values: Array, errors: Array, start: int, view: View, rows: Indices | None = None) -> Side:
        """The trees whose values, seen through `view`, are sharp enough to be compared."""
        numbers = np.arange(len(values)) if rows is None else rows
        seen, bound = view(values[numbers], errors[numbers])
        if not seen.shape[1]:  # so few rows differ that the view uses all of them up: nothing is left to compare
            return cls(seen[:0], bound[:0], numbers[:0])
        with np.errstate(all="ignore"):
            sharp = np.all(bound < SETTINGS.sharp * np.max(np.abs(seen), axis=1, keepdims=True), axis=1)
            sound = np.isfinite(seen).all(axis=1) & sharp & (bound[:, 0] < SETTINGS.sharp * np.abs(seen[:, 0]))
        return cls(seen[sound], bound[sound], numbers[sound] + start)


def meet(trees: Side, peeled: Side) -> Iterator[tuple[int, int]]:
    """Pairs (tree number, peeled number) that agree at every probe within `SETTINGS.slack` times their error bounds.

    A list met with itself gives each pair once, and no element with itself.
    """
    if not len(trees.values) or not len(peeled.values):
        return
    order, first = trees.ordered
    some = np.sort(trees.errors[:: 1 + len(first) // 200, 0])
    typical = float(some[9 * len(some) // 10])  # the few that are blunter than nine in ten are met where they are near
    reach = SETTINGS.slack * (peeled.errors[:, 0] + typical)
    low = np.searchsorted(first, peeled.values[:, 0] - reach)
    counts = np.searchsorted(first, peeled.values[:, 0] + reach) - low
    counts[counts > SETTINGS.most_met] = 0  # a flat view says nothing
    ends = np.cumsum(counts)
    begin = 0
    while begin < len(counts):
        done = ends[begin - 1] if begin else 0
        stop = max(begin + 1, int(np.searchsorted(ends, done + SETTINGS.meet_chunk)))
        i, j = _expanded(order, low[begin:stop], counts[begin:stop], begin)
        if trees is peeled:
            i, j = i[i > j], j[i > j]
        for column in range(1, trees.values.shape[1]):
            if not len(i):
                break
            gap = np.abs(trees.values[i, column] - peeled.values[j, column])
            kept = gap <= SETTINGS.slack * (trees.errors[i, column] + peeled.errors[j, column])
            i, j = i[kept], j[kept]
        yield from zip(trees.numbers[i].tolist(), peeled.numbers[j].tolist(), strict=True)
        begin = stop


def _expanded(order: Indices, low: Indices, counts: Indices, begin: int) -> tuple[Indices, Indices]:
    """Every (tree, target) pair inside the windows."""
    j = np.repeat(np.arange(len(counts)), counts)
    within = np.arange(len(j)) - np.repeat(np.cumsum(counts) - counts, counts)
    return order[low[j] + within], j + begin
