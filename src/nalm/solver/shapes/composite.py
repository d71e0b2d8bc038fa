"""Everything at once but for one or two trees: `c * prod(x_i ** e_i) * u ** f * v ** g`, and `sum(w_i * x_i) + c * u`.

The part that is linear in all inputs (in the logarithms, for products) is projected out once; what is left of the
target is then compared with what is left of thousands of small trees, one by one and in pairs, in two matrix products.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import combinations as combinations_of
from itertools import combinations_with_replacement as pairs_of
from itertools import permutations
from itertools import product as product_of
from typing import Any

import numpy as np

from nalm.solver.data.problem import Problem
from nalm.solver.formula.algebra import ONE, Formula, Input, inputs, monomial, total
from nalm.solver.formula.calculus import Indices, evaluate
from nalm.solver.settings import SETTINGS
from nalm.solver.shapes.beside import powers, supports
from nalm.solver.shapes.combine import combinations
from nalm.solver.shapes.linear import least_squares
from nalm.solver.shapes.shape import Groups
from nalm.solver.shapes.trees.forest import Forest
from nalm.solver.shapes.trees.search import probe_rows


class SmallTrees(Sequence[Formula]):
    """Sums and differences of two products of two inputs, then all trees with up to three leaves over some columns.

    `values` `(n, m)` are theirs at all rows; a formula is made only when it is asked for.
    """

    def __init__(self, problem: Problem, columns: Indices) -> None:
        self._parts, self._pairs = _pairs(tuple(columns.tolist()))
        one, other = np.stack([evaluate(part, problem.X) for part in self._parts])[self._pairs.T]
        binomials = np.stack([one + other, one - other], axis=1).reshape(-1, problem.rows)
        self._forest = Forest(problem.X[:, columns], columns)
        self._forest.grow()
        self._forest.grow()
        listed = np.concatenate([level.values for level in self._forest.levels])[
            : SETTINGS.most_small_trees - len(binomials)
        ]
        self.values = np.concatenate([binomials, listed]).T

    def __len__(self) -> int:
        return int(self.values.shape[1])

    def __getitem__(self, index: Any) -> Any:
        pair, is_difference = divmod(int(index), 2)
        if pair >= len(self._pairs):
            return self._forest.formula(int(index) - 2 * len(self._pairs))
        first, second = (self._parts[part] for part in self._pairs[pair])
        return total([(Fraction(1), first), (Fraction(-1 if is_difference else 1), second)])


@lru_cache(maxsize=16)  # as for the monomials: many problems, few sets of columns
def _pairs(columns: tuple[int, ...]) -> tuple[list[Formula], Indices]:
    """Two products of two inputs, or of three and two, that have no input in common: which two of a list, `(n, 2)`."""
    monomials = [monomial((i, 1), (j, 1)) for i, j in pairs_of(columns, 2)]
    cubes = [monomial((i, 1), (j, 2)) for i, j in permutations(columns, 2)]
    both = [*combinations_of([*monomials, ONE], 2), *product_of(cubes, monomials)]
    parts = [*monomials, ONE, *cubes]
    number = {part: k for k, part in enumerate(parts)}
    return parts, np.array([(number[a], number[b]) for a, b in both if not inputs(a) & inputs(b)]).reshape(-1, 2)


@lru_cache(maxsize=1)
def _small_trees(problem: Problem, columns: tuple[int, ...]) -> SmallTrees:
    return SmallTrees(problem, np.array(columns, dtype=np.int64))


def small_trees(problem: Problem, columns: Indices) -> tuple[Problem, SmallTrees]:
    """The small trees of a problem at enough rows to tell them apart, and the problem at these; two shapes share
    them."""
    some = _some(problem)
    return some, _small_trees(some, tuple(columns.tolist()))


@lru_cache(maxsize=1)
def _some(problem: Problem) -> Problem:
    most = SETTINGS.composite_rows_in_noise if problem.noisy else SETTINGS.composite_rows
    most = max(most, SETTINGS.scanned_per_column * (problem.columns + 1))
    return problem if problem.rows <= most else problem.of_rows(problem.spread_rows(most))


def product_with_factors(problem: Problem, columns: Indices, factors: int = 2) -> Groups:
    """Formulas `c * prod(x_i ** e_i) * u ** f * v ** g` with small trees u, v."""
    yield _products(problem, columns, factors)


def _products(problem: Problem, columns: Indices, factors: int) -> Iterator[Formula]:
    if np.any(problem.y == 0) or np.any(problem.X == 0) or problem.rows < problem.columns + 8:
        return
    some, trees = small_trees(problem, columns)
    values = trees.values
    with np.errstate(all="ignore"):
        logs = np.log(np.abs(values))
    base = np.column_stack([np.log(np.abs(some.X)), np.ones(some.rows)])
    target = np.log(np.abs(some.y))
    # Differences of nearly equal inputs lose their digits, so the half of the rows with the widest gaps is used.
    sharp = probe_rows(some.X[:, columns], max(some.rows // 2, problem.columns + 8))
    weights = some.log_weights[sharp]
    logs, base, target = logs[sharp] * weights[:, None], base[sharp] * weights[:, None], target[sharp] * weights
    for support in supports(base, logs, target, factors, problem.reach(SETTINGS.close)):
        fitted = least_squares(np.column_stack([logs[:, support], base]), target)
        if np.all(np.isfinite(fitted)):
            # A root needs its tree the right way round.
            upright = [_negated(trees[i]) if np.all(values[:, i] < 0) else trees[i] for i in support]
            yield from powers(problem, upright, fitted)


def _negated(formula: Formula) -> Formula:
    return total([(Fraction(-1), formula)])


def sum_with_trees(problem: Problem, columns: Indices, terms: int = 2) -> Groups:
    """Formulas `sum(w_i * x_i) + c + a * u + b * v` with small trees u, v."""
    yield _sums(problem, columns, terms)


def _sums(problem: Problem, columns: Indices, terms: int) -> Iterator[Formula]:
    if problem.rows < problem.columns + 8:
        return
    some, trees = small_trees(problem, columns)
    base = np.column_stack([problem.X, np.ones(problem.rows)])
    near = np.column_stack([some.X, np.ones(some.rows)])
    linear: list[Formula] = [*(Input(i) for i in range(problem.columns)), ONE]
    rounded = SETTINGS.rounded * float(np.sqrt(np.mean(problem.y**2)))
    for support in supports(near, trees.values, some.y, terms, problem.reach(SETTINGS.close), rounded):
        chosen = [trees[i] for i in support]
        features = [*chosen, *linear]
        table = np.column_stack([*(evaluate(tree, problem.X) for tree in chosen), base])
        plain = np.ones(problem.rows)
        yield from combinations(features, table, problem.y, plain, problem.blur)
