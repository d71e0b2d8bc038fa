"""The target with small trees peeled off: `y = C(S)` is the same as `S = C^-1(y)`."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from nalm.solver.formula.algebra import Formula, product, total
from nalm.solver.formula.calculus import Array, Indices
from nalm.solver.shapes.trees.forest import Forest, Op, Trees, applied, combined, joined, keys, targets

_UNDO = {Op.PLUS: Op.MINUS, Op.MINUS: Op.PLUS, Op.TIMES: Op.OVER, Op.OVER: Op.TIMES}


class Peels:
    """Peeled targets, level by number of leaves peeled, numbered through all levels."""

    def __init__(self, y: Array, noise: float, forest: Forest) -> None:
        self.forest = forest
        self.levels: list[Trees] = [targets(y, noise)]
        self.starts: list[int] = [0]
        self._negative = bool(np.all(y <= 0))
        self._seen = keys(self.levels[0].values)

    def pairs(self) -> int:
        """How many pairs the next level combines."""
        count = len(self.levels)
        sizes = [len(level) for level in self.levels]
        return sum(sizes[-1 - a] * len(self.forest.levels[a]) for a in range(min(count, len(self.forest.levels))))

    def grow(self) -> None:
        """Peels one more leaf: one from the last level, two at once from the one before, and so on."""
        made: list[Trees] = []
        for a in range(min(len(self.levels), len(self.forest.levels))):
            peeled, trees = self.levels[-1 - a], self.forest.levels[a]
            i, j = np.repeat(np.arange(len(peeled)), len(trees)), np.tile(np.arange(len(trees)), len(peeled))
            made += combined(peeled, trees, i, j, (self.starts[-1 - a], self.forest.starts[a]))
        trees = joined(made)
        found, first = np.unique(keys(trees.values), return_index=True)
        fresh = ~np.isin(found, self._seen)
        self._seen = np.concatenate([self._seen, found[fresh]])
        self.starts.append(self.starts[-1] + len(self.levels[-1]))
        self.levels.append(trees.at(np.sort(first[fresh])))

    def multiplicative(self, level: int) -> Indices:
        """Rows of a level whose peeling only multiplied and divided, so that a free factor stays a free factor."""
        trees = self.levels[level]
        if level == 0:
            return np.arange(len(trees))
        kept = np.isin(trees.op, (Op.TIMES, Op.OVER, Op.UNDER))
        parents = np.array([self._pure(int(p)) for p in trees.left[kept]], dtype=bool)
        return np.flatnonzero(kept)[parents] if len(parents) else np.zeros(0, np.int64)

    def _pure(self, number: int) -> bool:
        op, left, *_ = self._row(number)
        return left < 0 or (op in (Op.TIMES, Op.OVER, Op.UNDER) and self._pure(left))

    def _row(self, number: int) -> tuple[int, int, int, int]:
        level = int(np.searchsorted(self.starts, number, side="right")) - 1
        trees, row = self.levels[level], number - self.starts[level]
        return int(trees.op[row]), int(trees.left[row]), int(trees.right[row]), int(trees.sign[row])

    def formula(self, number: int, explained: Formula) -> Formula:
        """The formula of y, given one of peeled target `number`."""
        op, left, right, sign = self._row(number)
        inner = total([(Fraction(sign), explained)])
        if left < 0:
            return self._unlinked(Op(op), inner)
        peeled = self.forest.formula(right)
        before = applied(Op.OVER, peeled, inner) if op == Op.UNDER else applied(_UNDO[Op(op)], inner, peeled)
        return self.formula(left, before)

    def _unlinked(self, op: Op, inner: Formula) -> Formula:
        if op == Op.SQUARE:
            return total([(Fraction(-1 if self._negative else 1), product([(inner, Fraction(1, 2))]))])
        return product([(inner, 2)]) if op == Op.ROOT else inner
