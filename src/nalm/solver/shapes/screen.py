"""Which inputs matter: an order in which the costly searches take them."""

from __future__ import annotations

import numpy as np
from scipy import stats

from nalm.solver.data.problem import Problem
from nalm.solver.formula.calculus import Array, Indices
from nalm.solver.settings import SETTINGS


def by_importance(problem: Problem) -> Indices:
    """Columns, most important first, by how strongly linear, square and pairwise terms sway the target.

    Ranks of y and of log|y| stand in for the target, so that poles do not drown the rest.
    """
    spread = problem.X.std(axis=0)
    z = (problem.X - problem.X.mean(axis=0)) / np.where(spread > 0, spread, 1)
    with np.errstate(all="ignore"):
        logs = np.log(np.abs(problem.y) + 1e-300)
    score = np.maximum(_strength(z, problem.y), _strength(z, logs))
    return np.argsort(-score, kind="stable")


def _strength(z: Array, target: Array) -> Array:
    """For each column, the largest squared coefficient of a term it takes part in."""
    rows, columns = z.shape
    ranks = stats.rankdata(target)
    t = (ranks - ranks.mean()) / (ranks.std() or 1.0)
    i, j = np.triu_indices(columns)
    terms = z[:, i] * z[:, j]
    terms = terms - terms.mean(axis=0)
    if rows > columns + len(i) + SETTINGS.ranking_rows:
        fitted = np.linalg.lstsq(np.hstack([z, terms]), t, rcond=None)[0] ** 2
    else:  # too few rows for one regression: correlations, after the linear part has been taken out
        if rows > columns + SETTINGS.ranking_rows:
            linear = np.linalg.lstsq(z, t, rcond=None)[0]
            t, first = t - z @ linear, linear**2
        else:
            first = (z.T @ t / rows) ** 2
        length = np.linalg.norm(terms, axis=0)
        fitted = np.concatenate([first, (terms.T @ t / np.where(length > 0, length, 1)) ** 2 / rows])
    score = fitted[:columns].copy()
    np.maximum.at(score, i, fitted[columns:])
    np.maximum.at(score, j, fitted[columns:])
    return np.asarray(score)
