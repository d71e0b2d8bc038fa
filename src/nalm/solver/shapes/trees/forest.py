"""All small trees over the inputs, and all ways to peel small trees off the target, by their values at a few rows.

A tree with up to seven leaves has an edge that cuts it into a subtree and a rest of at most four leaves each. So the
subtrees are listed by number of leaves, the target is peeled by as many leaves, and the two lists are met in the
middle. Everything is kept up to sign, and functions equal at the probe rows are kept once.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from nalm.solver.formula.algebra import ONE, Formula, Input, product, total
from nalm.solver.formula.calculus import Array, Indices
from nalm.solver.settings import SETTINGS


class Op(IntEnum):
    """How a tree is made of its left and right part. `UNDER` is right / left."""

    LEAF = 0
    PLUS = 1
    MINUS = 2
    TIMES = 3
    OVER = 4
    UNDER = 5
    ROOT = 6
    SQUARE = 7


BINARY = (Op.PLUS, Op.MINUS, Op.TIMES, Op.OVER, Op.UNDER)


@dataclass(frozen=True, eq=False)
class Trees:
    """Many trees: values and error bounds at the probes `(N, m)`, how each was made.

    In memory one probe stands after another: most of what is asked of all trees takes few probes.
    """

    values: Array
    errors: Array
    op: NDArray[np.int8]
    left: Indices
    right: Indices
    sign: NDArray[np.int8]

    def __len__(self) -> int:
        return len(self.values)

    def at(self, kept: Indices) -> Trees:
        """Those of the trees that are kept."""
        return Trees(*(np.take(getattr(self, name).T, kept, axis=-1).T for name in _FIELDS))


_FIELDS = ("values", "errors", "op", "left", "right", "sign")


def joined(parts: list[Trees]) -> Trees:
    """One list of trees after another."""
    return Trees(*(np.concatenate([getattr(part, name) for part in parts]) for name in _FIELDS))


def leaves(X: Array) -> Trees:
    """The inputs and the constant 1 at the probe rows `X` `(m, d)`."""
    values = np.asfortranarray(np.vstack([X.T, np.ones(len(X))]))
    errors = SETTINGS.rounding * np.abs(values)
    errors[-1] = 0
    number = np.arange(len(values))
    blank = np.full(len(values), -1)
    return _signed(values, errors, Op.LEAF, number, blank)


def targets(y: Array, noise: float) -> Trees:
    """What may be peeled: the target, its square (the last layer is a root) and its root (it is a square)."""
    error = (SETTINGS.rounding + noise) * np.abs(y)
    rows = [(y, error, Op.LEAF), (y**2, 2 * np.abs(y) * error, Op.SQUARE)]
    if np.all(y > 0):
        rows.append((np.sqrt(y), error / (2 * np.sqrt(y)), Op.ROOT))
    blank = np.array([-1])
    return joined([_signed(v[None], e[None], op, blank, blank) for v, e, op in rows])


def combined(left: Trees, right: Trees, i: Indices, j: Indices, starts: tuple[int, int]) -> list[Trees]:
    """`left[i] op right[j]` for each binary operation; numbers are counted from `starts`."""
    one, other = left.at(i), right.at(j)
    u, v, du, dv = one.values, other.values, one.errors, other.errors
    up, vp = np.abs(u), np.abs(v)
    made = []
    with np.errstate(all="ignore"):
        for op in BINARY:
            match op:
                case Op.PLUS | Op.MINUS:
                    values, errors = (u + v if op == Op.PLUS else u - v), du + dv
                case Op.TIMES:
                    values, errors = u * v, up * dv + vp * du
                case Op.OVER:
                    values, errors = u / v, (du + up / vp * dv) / vp
                case _:
                    values, errors = v / u, (dv + vp / up * du) / up
            trees = _signed(values, errors, op, i + starts[0], j + starts[1])
            made.append(trees.at(_sound(trees)))
    return made


def roots(trees: Trees, start: int) -> Trees:
    """Square roots of the trees that are positive at every probe."""
    kept = np.flatnonzero(np.all(trees.values > 0, axis=1))
    values = np.sqrt(trees.values[kept])
    return _signed(values, trees.errors[kept] / (2 * values), Op.ROOT, kept + start, np.full(len(kept), -1))


def _signed(values: Array, errors: Array, op: Op, left: Indices, right: Indices) -> Trees:
    """Trees with the sign that makes the first value positive; the sign is kept for the formula."""
    sign = np.where(values[:, 0] < 0, -1, 1).astype(np.int8)
    return Trees(values * sign[:, None], errors, np.full(len(values), op, np.int8), left, right, sign)


def _sound(trees: Trees) -> Indices:
    """Drops trees without a value, and those that are nothing but rounding (u - u)."""
    with np.errstate(all="ignore"):
        finite = np.isfinite(trees.values).all(axis=1) & (np.abs(trees.values).max(axis=1) < SETTINGS.largest_value)
        clear = np.abs(trees.values) > SETTINGS.clear * trees.errors
    return np.flatnonzero(finite & (clear.sum(axis=1) * 2 > trees.values.shape[1]))


def keys(values: Array) -> NDArray[np.uint64]:
    """A hash of the first three values at float32 precision: equal for equal functions, however they were rounded."""
    bits = np.ascontiguousarray(values[:, :3].astype(np.float32)).view(np.uint32).astype(np.uint64)
    mixed = np.zeros(len(values), np.uint64)
    for column, odd in enumerate((0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9)[: bits.shape[1]]):
        mixed ^= (bits[:, column] + np.uint64(column + 1)) * np.uint64(odd)
        mixed ^= mixed >> np.uint64(29)
    return mixed


class Forest:
    """Trees over the inputs, level by number of leaves, numbered through all levels.

    Up to six leaves, a subtree of four that splits into one and three need not be listed: the three are listed, and
    the one is peeled. So unless `full`, level four holds only the trees that split into two and two.
    """

    def __init__(self, X: Array, columns: Indices, full: bool = True) -> None:
        self.columns = columns
        self._full = full
        self.levels: list[Trees] = []
        self.starts: list[int] = []
        self._seen = np.zeros(0, np.uint64)
        self._add(leaves(X))

    def _add(self, trees: Trees) -> None:
        found, first = np.unique(keys(trees.values), return_index=True)
        fresh = ~np.isin(found, self._seen, assume_unique=True)
        self._seen = np.concatenate([self._seen, found[fresh]])
        self.starts.append(self.starts[-1] + len(self.levels[-1]) if self.levels else 0)
        self.levels.append(trees.at(np.sort(first[fresh])))

    def pairs(self) -> int:
        """How many pairs of trees the next level combines."""
        count = len(self.levels)
        sizes = [len(level) for level in self.levels]
        return sum(sizes[a] * sizes[count - 1 - a] for a in self._smaller_parts())

    def _smaller_parts(self) -> range:
        count = len(self.levels)
        return range(1 if count == 3 and not self._full else 0, (count + 1) // 2)

    def grow(self) -> None:
        """Adds the trees with one leaf more; a square root counts as a leaf."""
        count = len(self.levels)
        made = [roots(self.levels[-1], self.starts[-1])]
        for a in self._smaller_parts():
            b = count - 1 - a
            i, j = _all_pairs(len(self.levels[a]), len(self.levels[b]), a == b)
            made += combined(self.levels[a], self.levels[b], i, j, (self.starts[a], self.starts[b]))
        self._add(joined(made))

    def formula(self, number: int) -> Formula:
        """The formula of tree `number`, with the sign its values have."""
        level = int(np.searchsorted(self.starts, number, side="right")) - 1
        trees, row = self.levels[level], number - self.starts[level]
        op, left, right, sign = (int(getattr(trees, name)[row]) for name in ("op", "left", "right", "sign"))
        if op == Op.LEAF:
            body: Formula = ONE if left == len(self.columns) else Input(int(self.columns[left]))
        elif op == Op.ROOT:
            body = product([(self.formula(left), Fraction(1, 2))])
        else:
            body = applied(Op(op), self.formula(left), self.formula(right))
        return total([(Fraction(sign), body)])


def applied(op: Op, u: Formula, v: Formula) -> Formula:
    """`u op v` as a formula."""
    match op:
        case Op.PLUS | Op.MINUS:
            return total([(Fraction(1), u), (Fraction(1 if op == Op.PLUS else -1), v)])
        case Op.TIMES:
            return product([(u, 1), (v, 1)])
        case Op.OVER:
            return product([(u, 1), (v, -1)])
        case _:
            return product([(v, 1), (u, -1)])


def _all_pairs(a: int, b: int, same: bool) -> tuple[Indices, Indices]:
    if same:
        i, j = np.triu_indices(a)
        return i, j
    return np.repeat(np.arange(a), b), np.tile(np.arange(b), a)
