"""Sparse sums of simple terms that follow any smooth table: what is left to predict with when there is no law.

Terms are powers of one column, products and quotients of two, saturating quotients of up to three, and products of a
chosen term with another column. They are chosen one after another, each time the one that explains most of what is left
(orthogonal least squares), and dropped again. Held-out rows decide afterwards how many are worth having; nothing here
judges.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import combinations
from itertools import product as product_of

import numpy as np

from nalm.solver.data.problem import Problem
from nalm.solver.formula.algebra import ONE, Formula, Input, monomial, product, size, total
from nalm.solver.formula.calculus import Array, evaluate
from nalm.solver.settings import SETTINGS


@dataclass(frozen=True, eq=False)
class Terms:
    """Terms that a sum may hold, and their values `(rows, terms)`."""

    formulas: tuple[Formula, ...]
    values: Array

    @cached_property
    def discounts(self) -> Array:
        """By how much a longer term counts for less, `(terms,)`."""
        return np.array([SETTINGS.length_discount ** size(formula) for formula in self.formulas])

    def __add__(self, other: Terms) -> Terms:
        return Terms(self.formulas + other.formulas, np.hstack([self.values, other.values]))

    def named(self, chosen: Sequence[int]) -> list[Formula]:
        """The formulas of the chosen terms."""
        return [self.formulas[i] for i in chosen]


@dataclass(frozen=True, eq=False)
class Sums:
    """A sum for each length from 0: its terms, and its values at all rows, `(lengths, rows)`; each has a constant."""

    terms: tuple[tuple[Formula, ...], ...]
    values: Array


def linear_terms(problem: Problem, columns: Sequence[int]) -> Terms:
    """The columns themselves."""
    return Terms(tuple(Input(i) for i in columns), problem.X[:, list(columns)])


def single_terms(problem: Problem, columns: Sequence[int]) -> Terms:
    """Terms of one column each; none has a pole between the column's smallest and largest value."""
    return _evaluated(problem, [term for i in columns for term in _of_column(i, problem.X[:, i])])


def paired_terms(problem: Problem, columns: Sequence[int]) -> Terms:
    """Products of two columns, plain and about their middles, and quotients where the divisor keeps its sign."""
    formulas: list[Formula] = []
    for i, j in combinations(columns, 2):
        first, second = problem.X[:, i], problem.X[:, j]
        formulas.append(monomial((i, 1), (j, 1)))
        middles = _about_middle(i, first), _about_middle(j, second)
        if middles != (Input(i), Input(j)):
            formulas.append(product([(middles[0], 1), (middles[1], 1)]))
        formulas += [monomial((j, 1), (i, -1))] if _invertible(first) else []
        formulas += [monomial((i, 1), (j, -1))] if _invertible(second) else []
    return _evaluated(problem, formulas)


def saturating_terms(problem: Problem, columns: Sequence[int]) -> Terms:
    """`1/(1 + c/m)` for products and quotients m of up to three positive columns, half way up at a quantile of m."""
    positive = [i for i in columns if np.min(problem.X[:, i]) > 0][: SETTINGS.saturating_columns]
    formulas: list[Formula] = []
    for count in (1, 2, 3):
        for chosen in combinations(positive, count):
            for signs in product_of((1, -1), repeat=count - 1):  # m and 1/m saturate alike
                inverse = monomial(*((i, -sign) for i, sign in zip(chosen, (1, *signs), strict=True)))
                for at in np.quantile(evaluate(inverse, problem.X), SETTINGS.saturating_shares):
                    formulas.append(product([(total([(Fraction(1), ONE), (float(f"{1 / at:.2g}"), inverse)]), -1)]))
    return _evaluated(problem, formulas)


def sparse_sums(problem: Problem, weights: Array, terms: Terms, columns: Sequence[int], longest: int) -> Sums:
    """A good sum of each length, fitted with these weights of rows; rows of weight 0 are only predicted.

    Every chosen term brings its products with `columns` as new choices.

    Terms are chosen up to the longest sum and then dropped again, each time the one whose loss matters least: what was
    a good first choice is often not needed beside later ones.
    """
    root = np.sqrt(weights / np.sum(weights))
    terms, chosen = _chosen(problem, root, terms, columns, longest)
    values = terms.values[:, chosen]
    values = values - root**2 @ values if chosen else values
    mean = float(root**2 @ problem.y)
    frame, triangle = np.linalg.qr(root[:, None] * values)
    target = frame.T @ (root * (problem.y - mean))
    kept = list(range(len(chosen)))
    sums: list[tuple[Formula, ...]] = []
    predicted: list[Array] = []
    while kept:
        inner, small = np.linalg.qr(triangle[:, kept])
        inverse = np.linalg.pinv(small)
        fitted = inverse @ (inner.T @ target)
        sums.append(tuple(terms.named([chosen[k] for k in kept])))
        predicted.append(mean + values[:, kept] @ fitted)
        kept.pop(int(np.argmin(fitted**2 / np.sum(inverse**2, axis=1))))
    sums.append(())
    predicted.append(np.full(problem.rows, mean))
    return Sums(tuple(reversed(sums)), np.stack(predicted[::-1]))


def _chosen(
    problem: Problem, root: Array, terms: Terms, columns: Sequence[int], longest: int
) -> tuple[Terms, list[int]]:
    """Terms in the order in which they explain most, and all that there were to choose from.

    What is left of the target is orthogonal to the terms chosen, so its product with a term is its product with the new
    part of that term; only the squared lengths of the new parts are brought up to date.
    """
    fitted = root > 0
    scale = root[fitted]
    left = scale * (problem.y - root**2 @ problem.y)[fitted]
    start = float(np.linalg.norm(left))
    basis = scale[:, None]
    weighted = scale[:, None] * terms.values[fitted]
    lengths = np.sum(weighted**2, axis=0)
    squares = lengths - (basis[:, 0] @ weighted) ** 2
    discounts, present = terms.discounts, set(terms.formulas)
    chosen: list[int] = []
    by_chance = 0
    while len(chosen) < longest and by_chance < SETTINGS.chance_terms:
        usable = squares > SETTINGS.dependent**2 * lengths
        usable[chosen] = False
        gain = np.where(usable, (left @ weighted) ** 2 / np.where(usable, squares, 1.0), 0.0)
        best = int(np.argmax(gain * discounts))
        if not gain[best] > (SETTINGS.converged * start) ** 2:
            break
        by_chance += gain[best] < 2 * np.log(len(gain)) * float(left @ left) / len(left)  # the most of m random ones
        direction = weighted[:, best]
        for _ in range(2):
            direction = direction - basis @ (basis.T @ direction)
        direction = direction / np.linalg.norm(direction)
        left = left - direction * float(direction @ left)
        chosen.append(best)
        basis = np.column_stack([basis, direction])
        more = _products(problem, terms, best, columns, present)
        present.update(more.formulas)
        new = scale[:, None] * more.values[fitted]
        squares = squares - (direction @ weighted) ** 2
        terms, weighted = terms + more, np.hstack([weighted, new])
        discounts = np.append(discounts, more.discounts)
        lengths = np.append(lengths, np.sum(new**2, axis=0))
        squares = np.append(squares, np.sum((new - basis @ (basis.T @ new)) ** 2, axis=0))
    return terms, chosen


def _products(problem: Problem, terms: Terms, chosen: int, columns: Sequence[int], present: set[Formula]) -> Terms:
    """The chosen term times each column, unless that is present already."""
    made = {_times(terms.formulas[chosen], i): i for i in columns}
    new = {formula: i for formula, i in made.items() if formula not in present}
    return Terms(tuple(new), terms.values[:, [chosen]] * problem.X[:, list(new.values())])


@lru_cache(maxsize=4096)  # the rows held out ask for those of all rows
def _times(formula: Formula, column: int) -> Formula:
    return product([(formula, 1), (Input(column), 1)])


def _evaluated(problem: Problem, formulas: Sequence[Formula]) -> Terms:
    values = np.stack([evaluate(f, problem.X) for f in formulas], axis=1) if formulas else np.zeros((problem.rows, 0))
    usable = np.isfinite(values).all(axis=0) & (np.ptp(values, axis=0) > 0)
    return Terms(tuple(f for f, good in zip(formulas, usable, strict=True) if good), values[:, usable])


def _of_column(i: int, x: Array) -> Iterator[Formula]:
    yield Input(i)
    levels = len(np.unique(x[: SETTINGS.front_rows]))
    if levels < 3:
        return
    middle = _about_middle(i, x)
    for power in range(2, min(levels, SETTINGS.highest_power + 1)):
        yield product([(middle, power)])
        if middle != Input(i):
            yield monomial((i, power))
    if _invertible(x):
        yield monomial((i, -1))
        yield monomial((i, -2))
    if _invertible(x) and x[0] > 0:
        yield monomial((i, Fraction(1, 2)))


def _invertible(x: Array) -> bool:
    """Is a column well away from 0, where its inverse has a pole, but not so far that this is nearly straight?"""
    near, far = np.sort(np.abs([np.min(x), np.max(x)]))
    same_sign = np.min(x) > 0 or np.max(x) < 0
    return bool(same_sign and SETTINGS.pole_distance * (far - near) <= near <= far / SETTINGS.scales_spread)


def _about_middle(i: int, x: Array) -> Formula:
    """The column less its middle, a number of few digits (a whole one where it can be); the column if that is 0."""
    unit = 10.0 ** np.floor(np.log10(np.std(x) or 1.0))
    middle = float(f"{np.round(np.mean(x) / unit) * unit:.12g}")
    number = Fraction(int(middle)) if middle.is_integer() else middle
    return total([(Fraction(1), Input(i)), (-number, ONE)]) if middle else Input(i)
