"""What a shape is: a family of formulas, how it proposes members that are near the data, and what that costs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from functools import cached_property, lru_cache
from typing import TypeAlias

import numpy as np

from nalm.solver.data.problem import Problem
from nalm.solver.formula.algebra import Formula, renumbered
from nalm.solver.formula.calculus import Indices
from nalm.solver.formula.functions import Function
from nalm.solver.shapes.screen import by_importance

Groups: TypeAlias = Iterator[Iterator[Formula]]
"""Proposals in groups of equals: once a formula explains the data, only the rest of its own group is asked for rivals.
Each group is used up before the next one is asked for."""

EVERY = 10**9
"""As many columns as there are."""


class Cost(IntEnum):
    """What a shape costs for a few columns, and so when it is tried."""

    CLOSED_FORM = 0  # one or a few linear solves: below a millisecond
    ITERATION = 1  # a few descents: milliseconds
    SHALLOW = 2  # lists of small formulas: tenths of a second
    DEEP = 3  # long lists of formulas: seconds


@dataclass(frozen=True)
class Effort:
    """How far a search goes. Columns are taken from the most important down.

    Attributes:
        pair_starts, starts: descents for products of two sums, and of more.
        most_factors: the largest number of sums in a product.
        sum_columns, sum_terms, sum_width: of sums of products; the width is how many sums of each length are kept.
        long_columns, long_terms: of the longer sums of products.
        form_columns: of monomials times a form.
        power_columns: of sums of power laws.
        composite_columns: of products with factors and sums with trees.
        tree_columns: for each number of leaves that is searched, the columns used.
        tree_budget: the most pairs of trees that one step may combine.
        function_columns: of functions of small trees, and of polynomials.
        functions: which elementary functions a formula may hold.
        before: formulas that an earlier search has ended with, tried first.
        costs: the costliest shapes tried.
    """

    pair_starts: int = 8
    starts: int = 8
    most_factors: int = 5
    sum_columns: int = EVERY
    sum_terms: int = 3
    sum_width: int = 100
    long_columns: int = EVERY
    long_terms: int = 4
    form_columns: int = EVERY
    power_columns: int = 8
    composite_columns: int = EVERY
    tree_columns: Mapping[int, int] = field(default_factory=lambda: dict.fromkeys((4, 5, 6, 7), EVERY))
    tree_budget: int = 2_000_000
    function_columns: int = 6
    functions: tuple[Function, ...] = tuple(Function)
    before: tuple[Formula, ...] = ()
    costs: Cost = Cost.DEEP


@dataclass(frozen=True, eq=False)
class Scope:
    """A problem and how far to search it."""

    problem: Problem
    effort: Effort

    @cached_property
    def _order(self) -> Indices:
        return by_importance(self.problem)

    def columns(self, most: int) -> Indices:
        """The most important columns; all of them, in their own order, if there is room for all."""
        if most >= EVERY:
            return np.arange(self.problem.columns)
        return self._order[:most]


@dataclass(frozen=True)
class Shape:
    """A family of formulas.

    Attributes:
        name: as it is shown beside a candidate.
        cost: when it is tried.
        propose: formulas of this shape that are near the data. It never judges them; ask `groups`, which calls it.
        blurred_cost: likewise where errors are a thousand times those of rounding; None if it finds nothing there.
    """

    name: str
    cost: Cost
    propose: Callable[[Scope], Groups]
    blurred_cost: Cost | None = None

    def on(self, columns: Sequence[int]) -> Shape:
        """The same shape, which sees only these columns."""

        def propose(scope: Scope) -> Groups:
            for group in self.propose(_narrow(scope, tuple(columns))):
                yield (renumbered(formula, columns) for formula in group)

        return replace(self, propose=propose)

    def groups(self, scope: Scope) -> Groups:
        """What is proposed, without formulas whose physical units do not balance."""
        for group in self.propose(scope):
            yield (formula for formula in group if scope.problem.balances(formula))


@lru_cache(maxsize=1)  # every shape asks for the same, and what is known of one table is kept by its identity
def _narrow(scope: Scope, columns: tuple[int, ...]) -> Scope:
    return Scope(scope.problem.of_columns(columns), scope.effort)
