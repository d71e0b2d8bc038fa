"""P.S: the target, or its reciprocal, as a product of K sums, and as a quotient of two sums.

A product of sums is fitted by Levenberg-Marquardt in whitened coordinates from a sign-aligned raw start: whitening
removes the anisotropy of narrow ranges, and a start with the right sign spares the factors from crossing zero.
A quotient needs no iteration: `X a = y X b` is a null vector.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from nalm.solver.data.problem import Problem
from nalm.solver.formula.algebra import ONE, Formula, Input, Number, WeightedSum, product, total
from nalm.solver.formula.calculus import Array
from nalm.solver.settings import SETTINGS
from nalm.solver.shapes.marquardt import balanced, minimise
from nalm.solver.shapes.null_vector import in_ratios, null_vector
from nalm.solver.shapes.power import IDENTITY, TargetPower
from nalm.solver.shapes.shape import Groups


def product_of_sums(problem: Problem, k: int = 2, starts: int = 8, affine: bool = False) -> Groups:
    """Formulas `prod_k(sum_i(w_ki * x_i))` of the target and its reciprocal; `affine` adds a constant to each sum."""
    table, terms = _table(problem, affine)
    if len(table) < 2 * table.shape[1] * (k if k < 3 else 1) + 4:
        return
    starts = min(starts, int(SETTINGS.factor_work / (len(table) * (k * table.shape[1]) ** 2)))
    for target_power in (IDENTITY, TargetPower(-1)):
        if not target_power.usable(problem.y):
            continue
        fit = _Whitened(table, target_power.target(problem.y), target_power.weights(problem.y))
        for weights in fit.solutions(k, starts, problem.seed, problem.reach(SETTINGS.sums_close)):
            yield (target_power.formula(formula, problem) for formula in _read(weights, terms))


def quotient_of_sums(problem: Problem, affine: bool = False) -> Groups:
    """Formulas `sum(a_i * x_i) / sum(b_i * x_i)` from the last right singular vector of `[X, -y X]`."""
    yield _quotients(problem, affine)


def _quotients(problem: Problem, affine: bool) -> Iterator[Formula]:
    table, terms = _table(problem, affine)
    columns = table.shape[1]
    if len(table) < 2 * columns + 4 or columns > SETTINGS.quotient_columns:
        return
    whitened, triangle = _whiten(table)
    weight = 1 / (np.abs(problem.y) + np.sqrt(np.mean(problem.y**2)))
    design = np.hstack([whitened, -problem.y[:, None] * whitened]) * weight[:, None]
    if not np.isfinite(design).all():
        return
    singular, rows = np.linalg.svd(np.linalg.qr(design, mode="r"))[1:]
    if singular[-1] > problem.reach(SETTINGS.sums_close) * singular[-2]:
        return
    above, below = (_unwhitened(triangle, part) for part in np.split(rows[-1], 2))
    for top, bottom, scale in _gauged([above, below], exponents=(1, -1)):
        yield from _assembled([top, bottom], (1, -1), scale, terms)
    if affine:
        yield from _with_fractions(table, terms, problem.y, weight, [above, below])


def _with_fractions(
    table: Array, terms: list[Formula], y: Array, weight: Array, rough: list[Array]
) -> Iterator[Formula]:
    """The quotient of the terms that matter, its null vector found again without the others, in simple ratios."""
    size = np.max(np.abs(table), axis=0)
    sides = [np.flatnonzero(np.abs(w) * size > SETTINGS.negligible_weight * np.max(np.abs(w) * size)) for w in rough]
    design = np.hstack([table[:, sides[0]], -y[:, None] * table[:, sides[1]]]) * weight[:, None]
    if best := in_ratios(null_vector(design)):
        cut = len(sides[0])
        above, below = (
            total((ratio, terms[int(i)]) for ratio, i in zip(ratios, side, strict=True))
            for ratios, side in zip((best[:cut], best[cut:]), sides, strict=True)
        )
        yield product([(above, 1), (below, -1)])


def _table(problem: Problem, affine: bool) -> tuple[Array, list[Formula]]:
    terms: list[Formula] = [Input(i) for i in range(problem.columns)]
    if not affine:
        return problem.X, terms
    return np.column_stack([problem.X, np.ones(problem.rows)]), [*terms, ONE]


def _whiten(table: Array) -> tuple[Array, Array]:
    """`F` with `F'F = n I` and the triangle with `table = F triangle`."""
    basis, triangle = np.linalg.qr(table)
    root = np.sqrt(len(table))
    return basis * root, triangle / root


def _unwhitened(triangle: Array, weights: Array) -> Array:
    """Weights of the table's columns, `(d,)` or `(d, k)`, by those of the whitened ones, whatever the sizes."""
    size = np.max(np.abs(triangle), axis=0)
    size = np.where(size > 0, size, 1.0)
    return np.asarray((np.linalg.lstsq(triangle / size, weights, rcond=None)[0].T / size).T)


class _Whitened:
    """One target in whitened coordinates, ready for fits with any number of factors."""

    def __init__(self, table: Array, target: Array, row_weights: Array) -> None:
        self.features, self.triangle = _whiten(table)
        self.height = float(np.max(np.abs(target))) or 1.0
        self.target = target / self.height
        self.row_weights = row_weights

    def solutions(self, k: int, starts: int, seed: int, close: float) -> Iterator[Array]:
        """Weights `(k, d)` of fits with a relative error below `close`; for k >= 3 the last start is spectral."""
        rng = np.random.default_rng([seed, k])
        for attempt in range(starts):
            start = self._aligned(self._raw_start(k, rng))
            if k > 2 and attempt == starts - 1:
                start = self._spectral_start(k, rng, start)
            factors, error = minimise(self.features, self.target, self.row_weights, start)
            if error < close:
                weights = _unwhitened(self.triangle, factors.T).T
                weights[0] *= self.height
                yield weights

    def _raw_start(self, k: int, rng: np.random.Generator) -> Array:
        columns = self.features.shape[1]
        reach = np.sqrt(6 / (columns + k))
        return np.asarray(rng.uniform(-reach, reach, (k, columns)) @ self.triangle.T)

    def _aligned(self, start: Array) -> Array:
        """Flip one factor if the product has the wrong sign on average, and give it the size of the target."""
        values = np.prod(start @ self.features.T, axis=0)
        if np.mean(values * self.target) < 0:
            start[0] = -start[0]
        size = np.sqrt(np.mean(values**2)) or 1.0
        return np.asarray(start * (np.sqrt(np.mean(self.target**2)) / size) ** (1 / len(start)))

    def _spectral_start(self, k: int, rng: np.random.Generator, otherwise: Array) -> Array:
        """Inputs that sway log|y| span the factors: a fit inside their top-k eigenspace, from 20 cheap starts."""
        with np.errstate(all="ignore"):
            logs = np.log(np.abs(self.target))
        kept = np.isfinite(logs)
        if kept.sum() < 4 * k or self.features.shape[1] < k:
            return otherwise
        F = self.features[kept]
        moment = (F * (logs[kept] - logs[kept].mean())[:, None]).T @ F
        values, vectors = np.linalg.eigh(moment)
        basis = vectors[:, np.argsort(-np.abs(values))[:k]]
        inner = _Whitened.__new__(_Whitened)
        inner.features, inner.triangle = self.features @ basis, np.eye(k)
        inner.target, inner.row_weights, inner.height = self.target, self.row_weights, 1.0
        best, least = otherwise, np.inf
        for _ in range(20):
            factors, error = minimise(
                inner.features, inner.target, inner.row_weights, inner._aligned(rng.normal(size=(k, k)))
            )
            if error < least:
                best, least = factors @ basis.T, error
            if least < SETTINGS.spectral_start:
                break
        return best


def _read(weights: Array, terms: list[Formula]) -> Iterator[Formula]:
    exponents = (1,) * len(weights)
    for *factors, scale in _gauged(list(balanced(weights)), exponents):
        yield from _assembled(factors, exponents, scale, terms)


def _gauged(factors: list[Array], exponents: tuple[int, ...]) -> Iterator[tuple]:  # type: ignore[type-arg]
    """Factors with their largest weight made 1, 2 or 3 so that the others are whole, and what that leaves in front.

    Last, for real coefficients inside the sums, the factors with the largest weight 1 and the rest as fitted.
    """
    largest = [float(np.max(np.abs(f))) for f in factors]
    if min(largest) == 0 or not np.all(np.isfinite(largest)):
        return
    units = [f / m for f, m in zip(factors, largest, strict=True)]
    reach = SETTINGS.gauge_reach
    whole = [next((u * m for m in (1, 2, 3) if np.all(np.abs(u * m - np.round(u * m)) < reach)), None) for u in units]
    front = float(np.prod([m**e for m, e in zip(largest, exponents, strict=True)]))
    if all(w is not None for w in whole):
        steps = [float(np.max(np.abs(w))) for w in whole if w is not None]
        yield (
            *(np.round(w) for w in whole if w is not None),
            front / float(np.prod([round(s) ** float(e) for s, e in zip(steps, exponents, strict=True)])),
        )
    yield *units, front


def _assembled(
    factors: list[Array], exponents: tuple[int, ...], scale: float, terms: list[Formula]
) -> Iterator[Formula]:
    """The formula of gauged factors, if at most a few of its weights are not whole."""
    sums, real = [], 0
    for factor in factors:
        chosen: list[tuple[Number, Formula]] = []
        for weight, term in zip(factor, terms, strict=True):
            whole = round(float(weight))
            if abs(weight - whole) < SETTINGS.whole_weight:
                chosen.append((Fraction(whole), term))
            else:
                chosen.append((float(weight), term))
                real += 1
        sums.append(total(chosen))
    if real <= SETTINGS.real_in_sums and all(isinstance(s, WeightedSum | Input) or s == ONE for s in sums):
        body = product((s, e) for s, e in zip(sums, exponents, strict=True))
        yield WeightedSum(((scale, body),))
