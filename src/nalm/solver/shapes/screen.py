"""Which inputs matter: an order in which the costly searches take them."""

from __future__ import annotations

import numpy as np
from scipy import stats

from nalm.solver.data.columns import standard
from nalm.solver.data.problem import Problem
from nalm.solver.formula.calculus import Array, Indices
from nalm.solver.settings import SETTINGS


def by_importance(problem: Problem) -> Indices:
    """Columns, most important first, by how strongly linear, square and pairwise terms sway the target.

    Ranks of y and of log|y| stand in for the target, so that poles do not drown the rest.
    """
    z = standard(problem.X)
    with np.errstate(all="ignore"):
        logs = np.log(np.abs(problem.y) + 1e-300)
    targets = np.stack([_ranks(problem.y), _ranks(logs)], axis=1)
    score = _regressed(z, targets) if _affordable(z) else np.maximum(*(_correlated(z, t) for t in targets.T))
    return np.argsort(-score, kind="stable")


def _ranks(target: Array) -> Array:
    ranks = stats.rankdata(target)
    return np.asarray((ranks - ranks.mean()) / (ranks.std() or 1.0))


def _affordable(z: Array) -> bool:
    """Are there rows for one regression on all terms, and few enough terms?"""
    rows, columns = z.shape
    terms = columns + columns * (columns + 1) // 2
    return bool(columns <= SETTINGS.regressed_columns and rows > terms + SETTINGS.ranking_rows)


def _regressed(z: Array, targets: Array) -> Array:
    """For each column, the largest squared coefficient of a term it takes part in: for one target `(rows,)`, or any of
    several, `(rows, targets)`."""
    columns = z.shape[1]
    i, j = np.triu_indices(columns)
    terms = z[:, i] * z[:, j]
    weights = np.linalg.lstsq(np.hstack([z, terms - terms.mean(axis=0)]), targets, rcond=None)[0]
    fitted = np.max(weights.reshape(len(weights), -1) ** 2, axis=1)
    score = fitted[:columns].copy()
    np.maximum.at(score, i, fitted[columns:])
    np.maximum.at(score, j, fitted[columns:])
    return np.asarray(score)


def _correlated(z: Array, t: Array) -> Array:
    """The same for one target by correlations, after the linear part has been taken out where there are rows for it.

    The terms are not written down: what all pairs of a thousand columns tell takes three products of matrices.
    """
    rows, columns = z.shape
    if rows > columns + SETTINGS.ranking_rows:
        gram = z.T @ z + SETTINGS.telling_ridge * rows * np.eye(columns)  # a column may be one of others
        linear = np.linalg.solve(gram, z.T @ t)
        t, first = t - z @ linear, linear**2
    else:
        first = (z.T @ t / rows) ** 2
    squares = z**2
    along = z.T @ (t[:, None] * z) - (z.T @ z) * np.mean(t)
    length = np.maximum(squares.T @ squares - (z.T @ z) ** 2 / rows, 0)
    pairs = np.where(length > 0, along**2 / np.where(length > 0, length, 1), 0) / rows
    return np.asarray(np.maximum(first, np.max(pairs, axis=1)))
