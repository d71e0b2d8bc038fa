"""A line whose weights change along a curve of one input, `L(x) + exp(k t) * M(x)`: one scan over k.

Newton's law of cooling is such, `A + (T - A) * exp(-k t)`. With the logarithm of an input as t it is a real power.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from nalm.solver.data.problem import Problem
from nalm.solver.formula.algebra import ONE, Applied, Formula, Input, product, total
from nalm.solver.formula.calculus import Array, Indices, evaluate
from nalm.solver.formula.functions import Function
from nalm.solver.settings import SETTINGS
from nalm.solver.shapes.combine import combinations
from nalm.solver.shapes.shape import Groups


def _arguments(column: int, x: Array, chosen: Sequence[Function]) -> Iterator[Formula]:
    """What the exponential may be taken of: the input, or its logarithm, which makes a power."""
    if Function.EXP in chosen:
        yield Input(column)
        if Function.LOG in chosen and np.all(x > 0):
            yield Applied(Function.LOG, Input(column))


def changing_line(problem: Problem, columns: Indices, chosen: Sequence[Function]) -> Groups:
    """Formulas `L + f * M` with lines L and M in the columns, and f an exponential or a real power of one of them."""
    some = [int(i) for i in columns]
    line: list[Formula] = [ONE, *(Input(i) for i in some)]
    if len(some) < 2 or problem.rows < 2 * len(line) + SETTINGS.spare_rows:
        return
    table = np.column_stack([np.ones(problem.rows), problem.X[:, some]])
    for i in some:
        if len(np.unique(problem.X[:, i])) >= SETTINGS.wave_points:
            for argument in _arguments(i, problem.X[:, i], chosen):
                yield _proposed(problem, line, table, argument)


def _proposed(problem: Problem, line: list[Formula], table: Array, argument: Formula) -> Iterator[Formula]:
    t, y = evaluate(argument, problem.X), problem.y / np.max(np.abs(problem.y))
    sizes = np.geomspace(*SETTINGS.growth_scan) / np.ptp(t)
    grid = np.concatenate([-sizes[::-1], sizes])
    few, more = (problem.spread_rows(rows + 2 * len(line)) for rows in (SETTINGS.scanned_rows, SETTINGS.telling_rows))
    left = _left(table[few], t[few], y[few], grid)
    place = int(np.argmin(left))
    if not left[place] < SETTINGS.changing_close:
        return
    for _ in range(4):  # rounds of a finer grid: to a millionth of the first step
        grid = np.linspace(grid[max(place - 1, 0)], grid[min(place + 1, len(grid) - 1)], 61)
        place = int(np.argmin(_left(table[more], t[more], y[more], grid)))
    curve = Applied(Function.EXP, total([(float(grid[place]), argument)]))
    terms = [*line, *(product([(term, 1), (curve, 1)]) for term in line)]
    values = np.stack([evaluate(term, problem.X) for term in terms], axis=1)
    yield from combinations(terms, values, problem.y, np.ones(problem.rows))


def _left(table: Array, t: Array, y: Array, scales: Array) -> Array:
    """The share of the target that the line, and the line times `exp(k t)`, leave for each scale k, `(scales,)`."""
    unit = table / np.maximum(np.max(np.abs(table), axis=0), 1e-300)
    exponents = scales[:, None] * t
    curves = np.exp(exponents - np.max(exponents, axis=1, keepdims=True))  # from its largest value down: no overflow
    changing = curves[:, :, None] * unit  # (scales, rows, columns)
    basis = np.linalg.qr(np.concatenate([np.broadcast_to(unit, changing.shape), changing], axis=2))[0]
    rest = y - np.einsum("krc,kc->kr", basis, np.einsum("krc,r->kc", basis, y))
    return np.asarray(np.linalg.norm(rest, axis=1) / (np.linalg.norm(y - y.mean()) or 1.0))
