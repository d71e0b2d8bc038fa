"""Least squares that ends on a grid: successive rounding, and fewer rows than columns."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import linalg, optimize

from nalm.solver.formula.calculus import Array
from nalm.solver.settings import SETTINGS


def least_squares(A: Array, b: Array) -> Array:
    """The least-squares solution with columns scaled to unit length, so that their magnitudes do not matter."""
    with np.errstate(all="ignore"):
        scale = np.max(np.abs(A), axis=0)
        scale = np.where((scale > 0) & np.isfinite(scale), scale, 1.0)
        unit = A / scale
        height = float(np.max(np.abs(b))) or 1.0
        if not (np.isfinite(unit).all() and np.isfinite(b).all()):
            return np.full(A.shape[1], np.nan)
        return _solved(unit, b / height) * (height / scale)


def _solved(A: Array, b: Array) -> Array:
    """The least-squares solution; by a triangle where there are many columns and it is well determined: ten times as
    fast as by singular values, which stop for no limit of time."""
    if A.shape[1] >= SETTINGS.many_columns and len(A) >= A.shape[1]:
        basis, triangle = (np.asarray(part) for part in np.linalg.qr(A))
        if _well_determined(triangle):
            return np.asarray(linalg.solve_triangular(triangle, basis.T @ b, check_finite=False))
    return np.asarray(np.linalg.lstsq(A, b, rcond=SETTINGS.rank_cutoff)[0])


def _well_determined(triangle: Array) -> bool:
    sizes = np.abs(np.diag(triangle))
    return bool(np.min(sizes) > SETTINGS.well_determined * np.max(sizes))


def left_beside(base: Array) -> Callable[[Array], Array]:
    """What no combination of the columns of `base` explains of a column or of many, for lengths and angles only.

    It is given in coordinates of the directions beside the base where these are few: that takes fewer operations than
    taking out the base, which counts twice.

    >>> float(np.linalg.norm(left_beside(np.ones((3, 1)))(np.array([1.0, 2.0, 3.0])))).__round__(6)
    1.414214
    """
    rows, columns = base.shape
    if rows - columns < 2 * columns:
        directions = np.linalg.qr(base, mode="complete")[0][:, columns:].T
        return lambda values: np.asarray(directions @ values)
    basis = np.linalg.qr(base)[0]
    return lambda values: np.asarray(values - basis @ (basis.T @ values))


def gram_inverse(A: Array) -> Array:
    """The diagonal of the inverse of `A.T @ A` `(m,)`: the variances of the weights per unit noise."""
    if not np.isfinite(A).all():  # no singular values are found in such a matrix, or only after very long
        return np.full(A.shape[1], np.inf)
    triangle = np.asarray(np.linalg.qr(A, mode="r"), np.float64)
    if triangle.shape[0] == triangle.shape[1] >= SETTINGS.many_columns and _well_determined(triangle):
        inverse = np.asarray(linalg.solve_triangular(triangle, np.eye(len(triangle)), check_finite=False))
    else:
        inverse = np.asarray(np.linalg.pinv(triangle))
    return np.asarray(np.sum(inverse**2, axis=1))


def snap(A: Array, b: Array, step: float = 1.0) -> Array:
    """Weights on the multiples of `step` with `A w` near `b`: round the best determined half, refit the rest, repeat.

    `A` is `(n, m)` with n >= m. This is Babai rounding with an ordering; when all weights are already close to the
    grid it is plain rounding.

    >>> snap(np.array([[1.0, 2.0], [3.0, 1.0], [1.0, 1.0]]), np.array([5.0, 5.0, 3.0]))
    array([1., 2.])
    """
    weights = np.zeros(A.shape[1])
    free = np.arange(A.shape[1])
    left = b.astype(float)
    while len(free):
        fitted = least_squares(A[:, free], left) / step
        if not np.all(np.isfinite(fitted)):
            return np.full(A.shape[1], np.nan)
        if np.all(np.abs(fitted - np.round(fitted)) < SETTINGS.snapped):
            weights[free] = step * np.round(fitted)
            return weights
        order = np.argsort(gram_inverse(A[:, free]))[: (len(free) + 1) // 2]
        weights[free[order]] = step * np.round(fitted[order])
        left = b - A @ weights
        free = np.delete(free, order)
    return weights


def sparse_weights(A: Array, b: Array, seed: int = 0) -> list[Array]:
    """Guesses at a sparse `w` with `A w = b` when there are fewer rows than columns.

    First the reweighted minimum norm from three starts, then the smallest sum of absolute values (a linear program),
    then the same in the box [0, 1] and [-1, 1], which recovers dense subsets as well.
    """
    rng = np.random.default_rng(seed)
    starts: list[Array] = [np.ones(A.shape[1]), *rng.uniform(0.5, 1.5, (2, A.shape[1]))]
    guesses = [_reweighted_minimum_norm(A, b, start) for start in starts]
    guesses += [found for box in ((0, 1), (-1, 1), (None, None)) if (found := _smallest_sum(A, b, box)) is not None]
    return guesses


def _reweighted_minimum_norm(A: Array, b: Array, start: Array) -> Array:
    spread, floor = start.copy(), 1.0
    weights = start
    for _ in range(SETTINGS.guess_rounds):
        covered = A * spread
        gram = covered @ A.T
        gram[np.diag_indices_from(gram)] += SETTINGS.guess_ridge * np.trace(gram)
        weights = spread * (A.T @ np.linalg.lstsq(gram, b, rcond=None)[0])
        if not np.max(np.abs(weights)) < SETTINGS.largest_value:  # whose squares are no numbers
            break
        floor /= 2
        spread = weights**2 + floor
    return np.asarray(weights)


def _smallest_sum(A: Array, b: Array, box: tuple[int | None, int | None]) -> Array | None:
    """min ||w||_1 with |A w - b| <= delta and w in the box, as a linear program over the two signs of w."""
    columns = A.shape[1]
    delta = SETTINGS.guess_slack * np.abs(A).sum(axis=1)
    high = box[1]
    negative = (0, 0) if box[0] == 0 else (0, high)
    both = np.hstack([A, -A])
    result = optimize.linprog(
        np.ones(2 * columns),
        A_ub=np.vstack([both, -both]),
        b_ub=np.concatenate([b + delta, delta - b]),
        bounds=[(0, high)] * columns + [negative] * columns,
        method="highs",
    )
    return None if result.x is None else np.asarray(result.x[:columns] - result.x[columns:])
