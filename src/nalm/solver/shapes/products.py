"""P: the target as a coefficient times a product of powers of inputs, fitted as a sum of logarithms."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from nalm.core.parity import parities
from nalm.solver.data.problem import Problem
from nalm.solver.formula.algebra import Formula, Input, PowerProduct, WeightedSum, monomial, total
from nalm.solver.formula.calculus import Array, Indices
from nalm.solver.settings import SETTINGS
from nalm.solver.shapes.linear import least_squares, snap, sparse_weights
from nalm.solver.shapes.shape import Groups

DENOMINATORS = (1, 2, 3, 4)
LARGEST_EXPONENT = 12


def product_of_powers(problem: Problem) -> Groups:
    """Formulas `c * prod(x_i ** e_i)` with whole exponents, or simple fractions where the inputs are positive.

    Zeros: rows with target 0 say nothing about exponents; a column that is 0 where the target is not has exponent 0.
    Columns that only ever hold ±1 have no logarithm to fit: their exponents come from the signs, over GF(2).
    """
    yield _products(problem)


def _products(problem: Problem) -> Iterator[Formula]:
    rows = problem.y != 0
    if rows.sum() < 3:
        return
    X, y = problem.X[rows], problem.y[rows]
    usable = np.all(X != 0, axis=0)
    logs = np.log(np.abs(np.where(usable, X, 1.0)))
    target = np.log(np.abs(y))
    flat = np.ptp(logs, axis=0) == 0
    varied = np.flatnonzero(usable & ~flat)
    signs = np.flatnonzero(usable & flat & np.any(X < 0, axis=0))
    seen: set[tuple[Fraction, ...]] = set()
    for exponents in _exponents(logs[:, varied], target, problem.log_weights[rows], problem.seed):
        if exponents not in seen and max(map(abs, exponents), default=Fraction(0)) <= LARGEST_EXPONENT:
            seen.add(exponents)
            yield from _signed(X, y, dict(zip(varied.tolist(), exponents, strict=True)), signs)


def _exponents(logs: Array, target: Array, weights: Array, seed: int) -> Iterator[tuple[Fraction, ...]]:
    """Guesses at the exponents of the varied columns, without and with a free factor in front."""
    rows, columns = logs.shape
    if not columns:
        yield ()
        return
    if rows < columns + 2:
        for guess in sparse_weights(logs, target, seed):
            yield tuple(Fraction(int(w)) for w in np.round(guess))
        return
    share = weights**2 / np.sum(weights**2)
    centred, middle = logs - share @ logs, target - share @ target
    for A, b in ((logs, target), (centred, middle)):
        A, b = A * weights[:, None], b * weights
        fitted = least_squares(A, b)
        if not np.all(np.isfinite(fitted)):
            continue
        for q in DENOMINATORS:
            if np.all(np.abs(fitted * q - np.round(fitted * q)) < SETTINGS.nearly_whole * q):
                yield tuple(Fraction(round(w * q), q) for w in fitted)
        if not np.linalg.norm(b - A @ fitted) < SETTINGS.power_like * np.linalg.norm(b - np.mean(b)):
            continue
        snapped = snap(A, b)
        if np.all(np.isfinite(snapped)):
            yield tuple(Fraction(int(w)) for w in snapped)


def _signed(X: Array, y: Array, exponents: dict[int, Fraction], signs: Indices) -> Iterator[Formula]:
    """The product with its coefficient, and with the ±1 columns that explain the sign of the target."""
    factors = {i: e for i, e in exponents.items() if e}
    if any(e.denominator > 1 and np.any(X[:, i] < 0) for i, e in factors.items()):
        return
    negative = y < 0
    for i, exponent in factors.items():
        if exponent.numerator % 2:
            negative = negative ^ (X[:, i] < 0)
    if negative.any() and not negative.all() and len(signs):
        found = parities(np.column_stack([X[:, signs] < 0, np.ones(len(X), dtype=bool)]), negative[:, None])
        if not found.explains.all():
            return
        *odd, flipped = found.taken[0]
        factors |= {int(i): Fraction(1) for i, takes_part in zip(signs, odd, strict=True) if takes_part}
        negative = np.full(len(X), flipped)
    body = monomial(*factors.items())
    magnitude = np.ones(len(X))
    with np.errstate(all="ignore"):
        for i, exponent in factors.items():
            magnitude = magnitude * np.power(np.abs(X[:, i]), float(exponent))
        ratio = float(np.exp(np.median(np.log(np.abs(y) / magnitude))))
    sign = -1 if np.mean(negative) > 0.5 else 1
    yield total([(Fraction(sign), body)])
    if np.isfinite(ratio) and ratio > 0 and isinstance(body, PowerProduct | Input):
        yield WeightedSum(((sign * ratio, body),))
