"""iNALU's reinitialisation rule, computed ahead: validation errors are constant between validations."""

from __future__ import annotations

import numpy as np

from nalm.core.recipe import Restart


class Notes:
    """The validation errors noted since the last restart, one per step, kept as runs of equal values."""

    def __init__(self, errors: list[float] | None = None, counts: list[int] | None = None) -> None:
        self.errors = errors or []
        self.counts = counts or []

    def take(self, rule: Restart, step: int, error: float, count: int) -> int | None:
        """Note `error` at each of the next `count` steps, from `step`; returns at which of them the rule fires, if it
        does, which empties the notes. `count` is at most `rule.memory`, so that it fires once."""
        fires = self._fires(rule, step, error, count)
        if fires is not None:
            self.errors, self.counts, count = [], [], step + count - (fires + 1)
        self.errors.append(error)
        self.counts.append(count)
        return fires

    def _fires(self, rule: Restart, step: int, error: float, count: int) -> int | None:
        """The first of these steps at which the rule fires."""
        first = step + (-step) % rule.check
        candidates = np.arange(max(first, rule.check), step + count, rule.check)
        held = sum(self.counts)
        sizes = held + candidates - step + 1
        candidates, sizes = candidates[sizes > rule.memory], sizes[sizes > rule.memory]
        if not len(candidates):
            return None
        edges = np.concatenate([[0], np.cumsum([*self.counts, count])])
        values = np.asarray([*self.errors, error], dtype=np.float64)
        total = np.concatenate([[0], np.cumsum(values * np.diff(edges))])
        squares = np.concatenate([[0], np.cumsum(values**2 * np.diff(edges))])
        half = sizes // 2
        rest = sizes - half
        # sums of the first k notes are piecewise linear in k
        earlier = np.interp(half, edges, total) / half
        later = (np.interp(sizes, edges, total) - np.interp(half, edges, total)) / rest
        square = (np.interp(sizes, edges, squares) - np.interp(half, edges, squares)) / rest
        deviation = np.sqrt(np.maximum(square - later**2, 0))
        fires = (earlier <= later + deviation) & (later > rule.error)
        return int(candidates[np.argmax(fires)]) if fires.any() else None
