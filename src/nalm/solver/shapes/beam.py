"""Sparse sums over a dictionary: every single, every pair from the Gram matrix, then a beam of longer sums."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from nalm.solver.data.problem import Problem
from nalm.solver.formula.algebra import Formula
from nalm.solver.formula.calculus import Array
from nalm.solver.settings import SETTINGS
from nalm.solver.shapes.combine import combinations
from nalm.solver.shapes.power import TargetPower
from nalm.solver.shapes.shape import Groups

Supports = NDArray[np.int64]


def sparse_sums(
    problem: Problem, features: Sequence[Formula], values: Array, target_power: TargetPower, terms: int, width: int
) -> Groups:
    """Formulas with `y ** power = sum of at most `terms` features`, fewest terms first.

    Args:
        values: the features at the rows, `(n, m)`.
        width: how many sums of each length are kept.
    """
    rows = slice(0, SETTINGS.beam_rows)
    weights, target = target_power.weights(problem.y), target_power.target(problem.y)
    with np.errstate(all="ignore"):
        A = values[rows] * weights[rows, None]
        length = np.linalg.norm(A, axis=0)
        usable = np.flatnonzero(np.isfinite(length) & (length > 0) & np.isfinite(values).all(axis=0))
    b = (target * weights)[rows]
    height = float(np.linalg.norm(b))
    if not (np.isfinite(height) and height > 0 and len(usable)):
        return
    beam = Beam(A[:, usable] / length[usable], b / height)
    close = problem.reach(SETTINGS.beam_close)
    if not beam.least_error() < close:
        return
    for size in range(1, terms + 1):
        if size > len(usable) or size + 2 > len(b):
            return
        supports, errors = beam.lengthened(size, width, close if size == terms else np.inf)
        near = (usable[support] for support in supports[errors < close][: SETTINGS.beam_tried])
        yield (
            target_power.formula(formula, problem)
            for chosen in near
            for formula in combinations([features[i] for i in chosen], values[:, chosen], target, weights, problem.blur)
        )


class Beam:
    """The best sums of each length over unit columns `A` `(n, m)` for a unit target."""

    def __init__(self, A: Array, b: Array) -> None:
        self.A, self.b = A, b
        self.supports: Supports = np.zeros((0, 0), np.int64)

    def least_error(self) -> float:
        """What all columns together leave of the target, below which no sum of some of them comes; 0 if too many."""
        if len(self.b) <= self.A.shape[1]:
            return 0.0
        triangle = np.asarray(np.linalg.qr(np.column_stack([self.A, self.b]), mode="r"))
        return float(abs(triangle[-1, -1]))

    def lengthened(self, size: int, width: int, worth: float = np.inf) -> tuple[Supports, Array]:
        """The best supports with `size` columns and their relative errors, best first.

        Args:
            worth: errors above this are of no interest, if there are to be no longer sums.
        """
        if size == 1:
            ranked = np.argsort(-np.abs(self.A.T @ self.b), kind="stable")[:, None]
        elif size == 2:
            ranked = self._pairs(width, worth)
        else:
            ranked = self._extended(width, worth)
        if size <= 2:
            ranked = ranked[:width]
        errors = self._errors(ranked)
        order = np.argsort(errors, kind="stable")
        self.supports = ranked[order]
        return self.supports, errors[order]

    def _pairs(self, width: int, worth: float) -> Supports:
        """All pairs, a block of rows at a time: what two columns explain follows from the Gram matrix alone."""
        along = self.A.T @ self.b
        first = int(np.argmax(np.abs(along)))
        with_first = self._explained(along, slice(first, first + 1), slice(0, None))[0]
        with_first[first] = -1
        bar = np.partition(with_first, -width)[-width] if len(along) > width else 0.0  # as many pairs reach it
        bar = max(bar, 1 - max(worth, SETTINGS.beam_blunt) ** 2, 0.0)
        pairs, scores = [], []
        for start in range(0, len(along), SETTINGS.beam_block):
            explained = self._explained(along, slice(start, start + SETTINGS.beam_block), slice(start, None))
            explained[:, : len(explained)][np.tri(len(explained), dtype=bool)] = -1  # each pair once
            near = np.flatnonzero(explained >= bar)
            best = near[_largest(explained.ravel()[near], width)]
            pairs.append(np.stack(np.unravel_index(best, explained.shape), axis=1) + start)
            scores.append(explained.ravel()[best])
        return np.concatenate(pairs)[_largest(np.concatenate(scores), width)]

    def _explained(self, along: Array, rows: slice, columns: slice) -> Array:
        """The share of the target that each pair of some columns with others explains; -1 for equal columns."""
        own = along[rows, None]
        gram = self.A[:, rows].T @ self.A[:, columns]
        gained = along[columns] - own * gram  # by the other column, beside the one
        gram *= gram
        determinant = np.subtract(1, gram, out=gram)
        gained *= gained
        with np.errstate(all="ignore"):
            gained /= determinant
        gained += own**2
        gained[determinant <= SETTINGS.smallest_determinant] = -1
        return np.asarray(gained)

    def _extended(self, width: int, worth: float) -> Supports:
        """Every kept support with one more column, all in two matrix products."""
        bases = np.linalg.qr(self.A.T[self.supports].transpose(0, 2, 1))[0]  # (beams, n, k)
        left = self.b - np.einsum("bnk,bk->bn", bases, np.einsum("bnk,n->bk", bases, self.b))
        onto = np.einsum("bnk,nm->bkm", bases, self.A, optimize=True)
        remaining = 1 - np.sum(onto**2, axis=1)
        with np.errstate(all="ignore"):
            gains = (left @ self.A) ** 2 / remaining / np.maximum(np.sum(left**2, axis=1), 1e-30)[:, None]
        gains[~(remaining > SETTINGS.smallest_determinant)] = -1
        # What matters is the error left: rank by the squared error of the longer sum.
        error = np.sum(left**2, axis=1)[:, None] * (1 - gains)
        error[gains < 0] = np.inf
        near = np.flatnonzero(error < max(worth, SETTINGS.beam_blunt) ** 2)
        beams, columns = np.unravel_index(near[_largest(-error.ravel()[near], 2 * width)], error.shape)
        longer = np.sort(np.column_stack([self.supports[beams], columns]), axis=1)
        return np.unique(longer, axis=0)[: 2 * width]

    def _errors(self, supports: Supports) -> Array:
        """Relative errors of the least-squares sums over each support."""
        bases = np.linalg.qr(self.A.T[supports].transpose(0, 2, 1))[0]  # (supports, n, k)
        left = self.b - np.einsum("bnk,bk->bn", bases, np.einsum("bnk,n->bk", bases, self.b))
        return np.asarray(np.linalg.norm(left, axis=1))


def _largest(values: Array, count: int) -> NDArray[np.intp]:
    if count >= len(values):
        return np.argsort(-values, kind="stable")
    best = np.argpartition(-values, count)[:count]
    return best[np.argsort(-values[best], kind="stable")]
