"""Coefficients of a linear combination of given features, read in the ways that can be exact."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np

from ..algebra.calculus import Array
from ..algebra.formula import Formula, Number, Sum, total
from .linear import least_squares, snap

LARGEST_WEIGHT = 1000
NEGLIGIBLE = 1e-5


def combinations(features: Sequence[Formula], values: Array, target: Array, rows: Array) -> Iterator[Formula]:
    """Formulas `sum(c_j * feature_j)` near `target`: whole and half coefficients, one real factor, free real ones.

    Args:
        features: m formulas; `values` `(n, m)` are theirs at the rows.
        rows: weights of the rows, `(n,)`.
    """
    A, b = values * rows[:, None], target * rows
    if not (np.isfinite(A).all() and np.isfinite(b).all()) or len(A) < A.shape[1]:
        return
    size = np.max(np.abs(A), axis=0)
    fitted = least_squares(A, b)
    if not _plausible(A, b, fitted):
        return
    for step in (1.0, 0.5):
        weights = fitted / step
        whole = step * np.round(weights) if np.all(np.abs(weights - np.round(weights)) < 0.05) else None
        if whole is None and step == 1.0:
            whole = snap(A, b)
        if whole is not None and _plausible(A, b, whole):
            yield grid_sum(features, whole)
    support = np.abs(fitted) * size > NEGLIGIBLE * np.max(np.abs(fitted) * size)
    if support.any() and not support.all():
        fitted = np.zeros_like(fitted)
        fitted[support] = least_squares(A[:, support], b)
    if support.any() and _plausible(A, b, fitted):
        yield from _with_factor(features, fitted, support)


def grid_sum(features: Sequence[Formula], weights: Array) -> Formula:
    return total((Fraction(float(w)).limit_denominator(2), f) for w, f in zip(weights, features, strict=True) if w)


def _plausible(A: Array, b: Array, weights: Array) -> bool:
    """Cheap filter before verification: nearly all of the target is explained and no weight is wild."""
    if not np.all(np.isfinite(weights)) or (np.max(np.abs(weights)) > LARGEST_WEIGHT and np.all(weights % 0.5 == 0)):
        return False
    height = np.max(np.abs(b)) or 1.0
    return float(np.linalg.norm((A @ weights - b) / height)) < 0.05 * float(np.linalg.norm(b / height))


def _with_factor(features: Sequence[Formula], fitted: Array, support: Array) -> Iterator[Formula]:
    """One real factor times whole ratios, where the ratios are whole; then every coefficient real."""
    chosen = [(float(w), f) for w, f, kept in zip(fitted, features, support, strict=True) if kept]
    if len(chosen) > 1:
        for scale in sorted({abs(w) for w, _ in chosen}):
            ratios = [w / scale for w, _ in chosen]
            if all(abs(r - round(r)) < 1e-3 * abs(r) and abs(r) < 50 for r in ratios):
                grid = total((Fraction(round(r)), f) for r, (_, f) in zip(ratios, chosen, strict=True))
                yield Sum(((scale, grid),))
                break
    if len(chosen) <= 12:
        real: list[tuple[Number, Formula]] = list(chosen)
        yield total(real)
