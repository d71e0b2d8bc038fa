"""Coefficients of a linear combination of given features, read in the ways that can be exact."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from nalm.solver.formula.algebra import Formula, Number, WeightedSum, total
from nalm.solver.formula.calculus import Array
from nalm.solver.settings import SETTINGS
from nalm.solver.shapes.linear import gram_inverse, least_squares, snap


def combinations(
    features: Sequence[Formula], values: Array, target: Array, row_weights: Array, blur: float = 0.0
) -> Iterator[Formula]:
    """Formulas `sum(c_j * feature_j)` near `target`: whole and half coefficients, one real factor, free real ones.

    Args:
        features: m formulas; `values` `(n, m)` are theirs at the rows.
        blur: the relative error of the target beyond rounding.
        row_weights: weights of the rows, `(n,)`.
    """
    A, b = values * row_weights[:, None], target * row_weights
    if not (np.isfinite(A).all() and np.isfinite(b).all()) or len(A) < A.shape[1]:
        return
    close = max(SETTINGS.nearly_explained, SETTINGS.blur_reach * blur)
    fitted = least_squares(A, b)
    if not _plausible(A, b, fitted, close):
        return
    yield from _on_grid(features, A, b, fitted, close)
    kept = np.flatnonzero(_significant(A, b, fitted))
    if 0 < len(kept) < len(fitted):
        A, features = A[:, kept], [features[int(i)] for i in kept]
        fitted = least_squares(A, b)
        if not _plausible(A, b, fitted, close):
            return
        yield from _on_grid(features, A, b, fitted, close)
    if len(kept):
        yield from _with_factor(features, fitted)


def _on_grid(features: Sequence[Formula], A: Array, b: Array, fitted: Array, close: float) -> Iterator[Formula]:
    """Whole and half coefficients near the fitted ones."""
    for step in (1.0, 0.5):
        weights = fitted / step
        whole = (
            step * np.round(weights) if np.all(np.abs(weights - np.round(weights)) < SETTINGS.nearly_whole) else None
        )
        if whole is None and step == 1.0:
            whole = snap(A, b)
        if whole is not None and np.max(np.abs(whole)) <= SETTINGS.largest_weight and _plausible(A, b, whole, close):
            yield grid_sum(features, whole)


def _significant(A: Array, b: Array, fitted: Array) -> NDArray[np.bool_]:
    """Which terms matter: not negligible, and not within four standard deviations of nothing."""
    largest = np.max(np.abs(A), axis=0)
    scale, height = np.where(largest > 0, largest, 1.0), float(np.max(np.abs(b))) or 1.0
    unit, share = A / scale, fitted * (scale / height)  # magnitudes of 1e±300 have no squares
    noise = np.linalg.norm(b / height - unit @ share) / np.sqrt(max(len(A) - len(share), 1))
    spread = noise * np.sqrt(gram_inverse(unit))
    return np.asarray(
        (np.abs(share) > SETTINGS.negligible_weight * np.max(np.abs(share)))
        & (np.abs(share) > SETTINGS.significant * spread)
    )


def grid_sum(features: Sequence[Formula], weights: Array) -> Formula:
    """The sum of features with weights that are multiples of one half."""
    return total((Fraction(float(w)).limit_denominator(2), f) for w, f in zip(weights, features, strict=True) if w)


def _plausible(A: Array, b: Array, weights: Array, close: float) -> bool:
    """Cheap filter before verification: nearly all of the target is explained."""
    if not np.all(np.isfinite(weights)):
        return False
    height = np.max(np.abs(b)) or 1.0
    return float(np.linalg.norm((A @ weights - b) / height)) < close * float(np.linalg.norm(b / height))


def _with_factor(features: Sequence[Formula], fitted: Array) -> Iterator[Formula]:
    """One real factor times whole ratios, where the ratios are whole; then every coefficient real."""
    chosen = [(float(w), f) for w, f in zip(fitted, features, strict=True)]
    if len(chosen) > 1:
        for scale in sorted({abs(w) for w, _ in chosen}):
            ratios = [w / scale for w, _ in chosen]
            if all(abs(r) < 50 and abs(r - round(r)) < 1e-3 * abs(r) for r in ratios):  # a ratio may be infinite
                grid = total((Fraction(round(r)), f) for r, (_, f) in zip(ratios, chosen, strict=True))
                yield WeightedSum(((scale, grid),))
                break
    if len(chosen) <= 12:
        real: list[tuple[Number, Formula]] = list(chosen)
        yield total(real)
