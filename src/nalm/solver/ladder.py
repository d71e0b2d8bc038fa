"""The ladder of shapes, cheapest first, and the search that climbs it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice, takewhile

import numpy as np

from nalm.solver.algebra.formula import ONE, Constant, Formula, Input, total
from nalm.solver.problem import Problem
from nalm.solver.shapes.composite import product_with_factors, sum_with_trees
from nalm.solver.shapes.factored import AFFINE_COLUMNS, product_of_sums, quotient_of_sums
from nalm.solver.shapes.forms import monomial_times_form
from nalm.solver.shapes.linear import least_squares
from nalm.solver.shapes.monomials import sum_of_products
from nalm.solver.shapes.products import product_of_powers
from nalm.solver.shapes.screen import by_importance
from nalm.solver.shapes.sums import sum_of_inputs, sum_of_powers
from nalm.solver.trees.forest import Indices
from nalm.solver.trees.search import tree
from nalm.solver.verdict.judge import Candidate, Status, judge

Propose = Callable[[Problem], Iterator[Formula | None]]
"""What a shape proposes. None closes a group of equals: after a find, only its own group is searched for rivals."""


@dataclass(frozen=True)
class Effort:
    """How far the search goes. A tree stage is (leaves, the number of most important inputs it may use)."""

    tree_stages: tuple[tuple[int, int], ...]
    tree_budget: int
    monomial_columns: int
    monomial_terms: int
    factors: tuple[int, ...]
    starts: int
    composite: bool = True


EFFORTS = {
    "quick": Effort(((4, 6),), 100_000, 5, 2, (2,), 2, composite=False),
    "normal": Effort(((4, 30), (5, 10), (6, 7), (7, 5)), 600_000, 10, 5, (2, 3), 4),
    "high": Effort(((4, 100), (5, 20), (6, 14), (7, 10)), 6_000_000, 14, 8, (2, 3, 4, 5), 10),
}


@dataclass(frozen=True)
class Rung:
    """One shape: its name and the formulas it proposes."""

    name: str
    propose: Propose


def stages(problem: Problem, effort: Effort) -> Iterator[Iterator[Rung]]:
    """The ladder in three parts: closed forms, shallow searches, deep searches."""
    yield closed_forms(effort)
    yield searches(problem, effort, deep=False)
    yield searches(problem, effort, deep=True)


def closed_forms(effort: Effort) -> Iterator[Rung]:
    """The closed forms, and products of two sums: milliseconds for a few columns."""
    yield Rung("sum", sum_of_inputs)
    yield Rung("product", product_of_powers)
    yield Rung("sum of powers", sum_of_powers)
    yield Rung("quotient of sums", quotient_of_sums)
    yield Rung("product of 2 sums", partial(product_of_sums, k=2, starts=2 * effort.starts))


def searches(problem: Problem, effort: Effort, deep: bool) -> Iterator[Rung]:
    """The searches, in the order in which they are tried."""
    order = by_importance(problem)
    many, few = order[: effort.monomial_columns], order[: min(6, effort.monomial_columns)]
    if not deep:
        yield Rung("sum of products", partial(sum_of_products, columns=few, terms=3))
        if problem.columns <= AFFINE_COLUMNS:
            affine = partial(product_of_sums, k=2, starts=effort.starts, affine=True)
            yield Rung("quotient of sums with constants", partial(quotient_of_sums, affine=True))
            yield Rung("product of 2 sums with constants", affine)
        yield from _trees(problem, effort, order, deep)
    elif effort.composite:
        yield Rung("monomial times a form", partial(monomial_times_form, columns=many))
        yield Rung("product with factors", partial(product_with_factors, columns=few))
        yield Rung("sum with trees", partial(sum_with_trees, columns=few))
        yield from _trees(problem, effort, order, deep)
        yield Rung("longer sum of products", partial(sum_of_products, columns=many, terms=effort.monomial_terms))
        for k in effort.factors[1:]:
            yield Rung(f"product of {k} sums", partial(product_of_sums, k=k, starts=effort.starts))


def _trees(problem: Problem, effort: Effort, order: Indices, deep: bool) -> Iterator[Rung]:
    """Tree searches from shallow over many inputs to deep over few; a stage that a deeper one contains is left out."""
    listed = effort.tree_stages
    for at, (leaves, columns) in enumerate(listed):
        contained = at + 1 < len(listed) and problem.columns <= listed[at + 1][1]
        if (leaves > SHALLOW) == deep and (leaves == SHALLOW or not contained):
            search = partial(tree, columns=order[:columns], most_leaves=leaves, budget=effort.tree_budget)
            yield Rung(f"tree to {leaves} leaves", search)


SHALLOW = 5
"""Up to this many leaves a tree search is cheaper than the composite shapes."""

RIVALS = 20
UNDECIDED = 30
"""After so many formulas that reproduce the data but are not pinned down, more of them decide nothing."""


def climb(problem: Problem, rungs: Iterable[Rung], report: Callable[[str], None] = lambda _: None) -> list[Candidate]:
    """Every candidate judged, in order; the search ends with the first rung that explains the data.

    After a find, a few more proposals of the same rung are judged, so that a rival shows itself.
    """
    judged: list[Candidate] = []
    undecided = 0
    for rung in rungs:
        report(rung.name)
        proposals = iter(rung.propose(problem))
        for formula in proposals:
            if formula is None:
                continue
            judged.append(judge(problem, formula, rung.name))
            undecided += judged[-1].status is Status.AMBIGUOUS
            if undecided == UNDECIDED:
                return judged
            if judged[-1].found:
                equals = (rival for rival in takewhile(lambda rival: rival is not None, proposals) if rival is not None)
                judged += [judge(problem, rival, rung.name) for rival in islice(equals, RIVALS)]
                return judged
    return judged


def approximations(problem: Problem) -> list[Candidate]:
    """The mean and the straight line: what is left to predict with when nothing else fits."""
    formulas: list[Formula] = [Constant(float(np.mean(problem.y)))]
    line = least_squares(np.column_stack([problem.X, np.ones(problem.rows)]), problem.y)
    if np.all(np.isfinite(line)):
        features: list[Formula] = [*(Input(i) for i in range(problem.columns)), ONE]
        formulas.append(total((float(w), f) for w, f in zip(line, features, strict=True)))
    return [
        Candidate(f, "approximation", Status.NONE, problem.backward_error(f), problem.relative_rms(f)) for f in formulas
    ]
