"""One function of a small tree as if it were an input; which of hundreds is worth a search, one regression decides."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product as every

import numpy as np
from scipy import stats

from nalm.solver.data.problem import Problem
from nalm.solver.formula.algebra import HALF, Formula, Input, inputs, product
from nalm.solver.formula.calculus import Array, Indices
from nalm.solver.formula.functions import Function
from nalm.solver.settings import SETTINGS
from nalm.solver.shapes.derived import derived
from nalm.solver.shapes.functions.around import Arithmetic
from nalm.solver.shapes.functions.features import Features, finite_features
from nalm.solver.shapes.shape import Groups


def inside(
    problem: Problem, columns: Indices, chosen: Sequence[Function], cheap: Arithmetic, more: Arithmetic
) -> Groups:
    """Formulas that hold one function of a small tree as if it were an input, in the place of the inputs it reads.

    All promising functions are searched with the cheap shapes before any is searched with more.
    """
    telling = _most_telling(problem, finite_features(problem.X, tuple(columns.tolist()), tuple(chosen)))
    first = telling[: SETTINGS.telling_features]
    for arithmetic, views, promising in ((cheap, (_others, _every, _roots), telling), (more, (_others,), first)):
        for feature, view in every(promising, views):
            found = derived(problem, [*view(problem, inputs(feature)), feature])
            if found is not None:
                for group in arithmetic(found.problem):
                    yield found.back(group)


def _others(problem: Problem, read: frozenset[int]) -> list[Formula]:
    return [Input(i) for i in range(problem.columns) if i not in read]


def _every(problem: Problem, read: frozenset[int]) -> list[Formula]:
    return [*_others(problem, read), *(Input(i) for i in sorted(read))]


def _roots(problem: Problem, read: frozenset[int]) -> list[Formula]:
    """Square roots of the other inputs, which have roots of their own in sums of intensities and of squares."""
    positive = all(np.all(problem.X[:, i] > 0) for i in range(problem.columns) if i not in read)
    return [product([(x, HALF)]) for x in _others(problem, read)] if positive else []


def _most_telling(problem: Problem, features: Features) -> list[Formula]:
    """The features that, beside a quadratic in all inputs and times another, explain most of the target, and more than
    the best of as many would by chance.

    The target enters as it is and as its square, so that roots are seen as well.
    """
    rows = slice(0, SETTINGS.telling_rows)
    X = problem.X[rows]
    z = X / np.maximum(np.max(np.abs(X), axis=0), 1e-300)
    line = np.hstack([np.ones((len(z), 1)), z])
    i, j = np.triu_indices(z.shape[1])
    quadratic = np.hstack([line, z[:, i] * z[:, j]])
    multiples = quadratic if len(z) >= 2 * SETTINGS.rows_per_term * quadratic.shape[1] else line
    formulas = features.formulas
    if not formulas or len(z) < quadratic.shape[1] + multiples.shape[1] + 4:
        return list(formulas[: SETTINGS.telling_features])
    basis = np.linalg.qr(quadratic)[0]
    targets = np.stack([problem.y[rows], problem.y[rows] ** 2])
    rests = targets - (targets @ basis) @ basis.T
    values = np.ascontiguousarray(features.values[rows].T)  # (features, rows)
    values = values / np.max(np.abs(values), axis=1, keepdims=True)
    some = SETTINGS.telling_block
    blocks = [_explained(values[k : k + some], multiples, basis, rests) for k in range(0, len(values), some)]
    kept: list[int] = []
    for rest, explained in zip(rests, np.concatenate(blocks, axis=1), strict=True):
        spent, spare = multiples.shape[1], len(z) - quadratic.shape[1] - multiples.shape[1]
        unexplained = np.maximum(float(rest @ rest) - explained, 1e-300)
        chance = len(formulas) * stats.f.sf((explained / spent) / (unexplained / spare), spent, spare)
        ranked = np.argsort(-explained, kind="stable")[: SETTINGS.telling_features]
        kept += [int(k) for k in ranked if chance[k] < SETTINGS.telling_chance]
    return [formulas[k] for k in dict.fromkeys(kept)]


def _explained(values: Array, multiples: Array, basis: Array, rests: Array) -> Array:
    """How much of each rest `(targets, rows)` the multiples of each feature `(features, rows)` explain, beside a basis:
    `(targets, features)`."""
    times = values[:, :, None] * multiples  # (features, rows, multiples)
    left = times - basis @ (basis.T @ times)
    gram = left.transpose(0, 2, 1) @ left
    gram = gram + SETTINGS.telling_ridge * np.trace(gram, axis1=1, axis2=2)[:, None, None] * np.eye(multiples.shape[1])
    along = (rests @ left).transpose(0, 2, 1)  # (features, multiples, targets)
    try:
        return np.asarray(np.sum(along * np.linalg.solve(gram, along), axis=1).T)
    except np.linalg.LinAlgError:
        return np.zeros((len(rests), len(values)))
