"""Powers of inputs times functions of small trees: logarithms make it a sum, of which few terms are chosen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations

import numpy as np

from nalm.solver.data.problem import Problem
from nalm.solver.formula.algebra import Applied, Formula, Input, inputs, monomial, total
from nalm.solver.formula.calculus import Array, Indices, evaluate
from nalm.solver.formula.functions import Function
from nalm.solver.settings import SETTINGS
from nalm.solver.shapes.beside import powers, supports
from nalm.solver.shapes.functions.features import finite_features
from nalm.solver.shapes.functions.profile import logarithms
from nalm.solver.shapes.linear import least_squares
from nalm.solver.shapes.shape import Groups


def product_with_functions(problem: Problem, columns: Indices, chosen: Sequence[Function]) -> Groups:
    """Formulas `c * prod(x_i ** e_i) * f(u) ** a * g(v) ** b ...` with up to three functions of small trees; then with
    one wave of an angle such as `w t + p`."""
    if np.any(problem.y == 0) or np.any(problem.X == 0) or problem.rows < problem.columns + SETTINGS.spare_rows:
        return
    features, gaps = finite_features(problem.X, tuple(columns.tolist()), tuple(chosen)), _gaps(columns)
    values = np.column_stack([features.values, *(evaluate(gap, problem.X) for gap in gaps)])
    yield _products(problem, [*features.formulas, *gaps], values, SETTINGS.functions_in_product)
    if waves := _waves([int(i) for i in columns], chosen):
        yield _products(problem, waves, np.stack([evaluate(wave, problem.X) for wave in waves], axis=1), most=1)


def _products(problem: Problem, trees: Sequence[Formula], values: Array, most: int) -> Iterator[Formula]:
    """Powers of inputs times powers of at most so many of the trees, which have `values` `(rows, trees)`."""
    if not trees:
        return
    # Without noise a part of the rows tells which functions are there.
    enough = max(SETTINGS.telling_rows, SETTINGS.scanned_per_column * (problem.columns + 1))
    rows = np.arange(problem.rows) if problem.noisy else problem.spread_rows(enough)
    some = problem.of_rows(rows)
    with np.errstate(all="ignore"):
        logs = np.log(np.abs(values[rows])) * some.log_weights[:, None]
    base, target = logarithms(some)
    close = problem.reach(SETTINGS.close)
    whole_base, whole_target = logarithms(problem)
    for support in supports(base, logs, target, most, close):
        chosen_trees = [trees[int(k)] for k in support]
        with np.errstate(all="ignore"):
            taken = [np.log(np.abs(evaluate(tree, problem.X))) * problem.log_weights for tree in chosen_trees]
        fitted = least_squares(np.column_stack([*taken, whole_base]), whole_target)
        if np.all(np.isfinite(fitted)):
            yield from powers(problem, chosen_trees, fitted)


def _waves(columns: list[int], chosen: Sequence[Function]) -> list[Formula]:
    """Sines and cosines of `a b + c` and `a b + c d`, and of differences: angles that turn with time, and phases."""
    products: list[Formula] = [monomial((i, 1), (j, 1)) for i, j in combinations(columns, 2)]
    others: list[Formula] = [*(Input(i) for i in columns), *products]
    angles = [
        total([(Fraction(1), a), (Fraction(sign), b)])
        for k, a in enumerate(products)
        for b in others[: len(columns) + k]
        if not inputs(a) & inputs(b)
        for sign in (1, -1)
    ]
    return [Applied(f, angle) for f in (Function.SIN, Function.COS) if f in chosen for angle in angles]


def _gaps(columns: Indices) -> list[Formula]:
    """Sums and differences of two inputs, which stand beside functions of them."""
    pairs = combinations([int(i) for i in columns], 2)
    return [total([(Fraction(1), Input(i)), (Fraction(s), Input(j))]) for i, j in pairs for s in (1, -1)]
