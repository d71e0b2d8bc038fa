"""Powers of inputs times functions of small trees: logarithms make it a sum, of which few terms are chosen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations

import numpy as np

from nalm.solver.data.problem import Problem
from nalm.solver.formula.algebra import Formula, Input, total
from nalm.solver.formula.calculus import Indices, evaluate
from nalm.solver.formula.functions import Function
from nalm.solver.settings import SETTINGS
from nalm.solver.shapes.beside import powers, supports
from nalm.solver.shapes.functions.features import finite_features
from nalm.solver.shapes.functions.profile import logarithms
from nalm.solver.shapes.linear import least_squares
from nalm.solver.shapes.shape import Groups


def product_with_functions(problem: Problem, columns: Indices, chosen: Sequence[Function]) -> Groups:
    """Formulas `c * prod(x_i ** e_i) * f(u) ** a * g(v) ** b ...` with up to three functions of small trees."""
    yield _products_with_functions(problem, columns, chosen)


def _products_with_functions(problem: Problem, columns: Indices, chosen: Sequence[Function]) -> Iterator[Formula]:
    if np.any(problem.y == 0) or np.any(problem.X == 0) or problem.rows < problem.columns + SETTINGS.spare_rows:
        return
    features, gaps = finite_features(problem.X, tuple(columns.tolist()), tuple(chosen)), _gaps(columns)
    trees = [*features.formulas, *gaps]
    if not trees:
        return
    # Without noise a part of the rows tells which functions are there.
    enough = max(SETTINGS.telling_rows, SETTINGS.scanned_per_column * (problem.columns + 1))
    rows = np.arange(problem.rows) if problem.noisy else problem.spread_rows(enough)
    some = problem.of_rows(rows)
    values = np.column_stack([features.values[rows], *(evaluate(gap, some.X) for gap in gaps)])
    with np.errstate(all="ignore"):
        logs = np.log(np.abs(values)) * some.log_weights[:, None]
    base, target = logarithms(some)
    close = problem.reach(SETTINGS.close)
    whole_base, whole_target = logarithms(problem)
    for support in supports(base, logs, target, SETTINGS.functions_in_product, close):
        chosen_trees = [trees[int(k)] for k in support]
        with np.errstate(all="ignore"):
            taken = [np.log(np.abs(evaluate(tree, problem.X))) * problem.log_weights for tree in chosen_trees]
        fitted = least_squares(np.column_stack([*taken, whole_base]), whole_target)
        if np.all(np.isfinite(fitted)):
            yield from powers(problem, chosen_trees, fitted)


def _gaps(columns: Indices) -> list[Formula]:
    """Sums and differences of two inputs, which stand beside functions of them."""
    pairs = combinations([int(i) for i in columns], 2)
    return [total([(Fraction(1), Input(i)), (Fraction(s), Input(j))]) for i, j in pairs for s in (1, -1)]
