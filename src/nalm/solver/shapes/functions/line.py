"""Terms fitted beside a line: a constant and every input, of which only what matters is kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from nalm.solver.data.problem import Problem, once_for_table, spread
from nalm.solver.formula.algebra import ONE, Formula, Input, product, total
from nalm.solver.formula.calculus import Array, Indices
from nalm.solver.settings import SETTINGS
from nalm.solver.shapes.linear import gram_inverse, least_squares


@dataclass(frozen=True, eq=False)
class Line:
    """A constant and inputs, and the target beside them, with every row times its weight.

    Attributes:
        columns: `(rows, columns)`, the constant first.
        y: `(rows,)`.
        weights: `(rows,)`.
    """

    columns: Array
    y: Array
    weights: Array

    @property
    def of_shares(self) -> bool:
        """Do errors count as shares of the target?"""
        return bool(np.ptp(self.weights))


def lines_of(problem: Problem) -> list[Line]:
    """A constant and the inputs, all rows alike; under noise first the constant alone.

    There, a line that is not in the law takes up a part of a curve that is. Without noise a target of many sizes, such
    as the current of a diode, is also seen with errors as shares of it: all rows alike see only its largest values.
    """
    line = np.column_stack([np.ones(problem.rows), problem.X])
    alike = np.ones(problem.rows)
    if problem.noisy:
        return [Line(line[:, :1], problem.y, alike), Line(line, problem.y, alike)]
    size, largest = np.abs(problem.y), float(np.max(np.abs(problem.y)))
    small = float(np.quantile(size, SETTINGS.small_targets))
    if not 0 < small < SETTINGS.many_sizes * largest:
        return [Line(line, problem.y, alike)]
    shares = small / np.maximum(size, small)
    return [Line(line, problem.y, alike), Line(line * shares[:, None], problem.y * shares, shares)]


@once_for_table(most=4)  # every scan beside a line asks for the same
def rows_beside(line: Array, most: int, seed: int) -> tuple[Indices, Array]:
    """So many rows for a scan of what stands beside the columns of a line, and a basis of them, `(rows, columns)`.

    Each column of the line explains one more of them, whatever the target.
    """
    rows = spread(len(line), most + line.shape[1], seed)
    return rows, np.asarray(np.linalg.qr(line[rows])[0])


@dataclass(frozen=True)
class Beside:
    """The weights of terms, each times a factor, beside a line, and what is kept of the line."""

    weights: tuple[float, ...]
    line: tuple[tuple[float, Formula], ...]
    factor: Formula

    def formulas(self, terms: Iterable[tuple[float, Formula]]) -> Iterator[Formula]:
        """Weighted terms and the line, and the terms alone: a line may seem to matter while their numbers are rough."""
        listed = [(weight, product([(self.factor, 1), (term, 1)])) for weight, term in terms]
        yield total([*listed, *self.line])
        if self.line:
            yield total(listed)


def fitted_beside(line: Line, factor: Formula, times: Array, values: Sequence[Array]) -> Beside | None:
    """Terms with `values` times a factor, and a line; None without finite values, or if large terms cancel each other.

    Args:
        times: the factor at every row, `(rows,)`.
        values: the terms at every row, `(rows,)` each.
    """
    weighted = line.weights * times
    design, y = np.column_stack([*(value * weighted for value in values), line.columns]), line.y
    if not np.isfinite(design).all():
        return None
    weights = least_squares(design, y)
    shares = np.max(np.abs(weights * design), axis=0) / np.max(np.abs(y))
    if np.max(shares) > SETTINGS.largest_weight:
        return None
    length = np.linalg.norm(design, axis=0)
    unit = design / np.where(length > 0, length, 1.0)
    left = float(np.sum((y - design @ weights) ** 2)) / max(len(y) - len(weights), 1)
    deviations = np.sqrt(left * gram_inverse(unit))
    matters = (shares > SETTINGS.close) & (np.abs(weights) * length > SETTINGS.significant * deviations)
    count = len(values)
    names: list[Formula] = [ONE, *(Input(i) for i in range(line.columns.shape[1] - 1))]
    kept = zip(weights[count:], names, matters[count:], strict=True)
    return Beside(tuple(map(float, weights[:count])), tuple((float(w), t) for w, t, m in kept if m), factor)
