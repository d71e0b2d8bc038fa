"""A sum of a few power laws, `y ** p = sum_k c_k * prod_i x_i ** e_ki`, with any number of inputs in each.

Given the exponents the coefficients are linear, so only the exponents are descended on (variable projection), from many
starts at once. An input of both signs has no free exponent, and neither has a sine: it stands in the last term only,
plain or squared.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations as combinations_of
from itertools import product as every

import numpy as np

from nalm.solver.data.problem import Problem
from nalm.solver.formula.algebra import ONE, Applied, Formula, Input, inputs, product, total
from nalm.solver.formula.calculus import Array, Indices, evaluate
from nalm.solver.formula.functions import Function
from nalm.solver.settings import SETTINGS
from nalm.solver.shapes.combine import combinations
from nalm.solver.shapes.linear import least_squares
from nalm.solver.shapes.power import TargetPower, usable_powers
from nalm.solver.shapes.shape import Groups


def sum_of_power_laws(problem: Problem, columns: Indices) -> Groups:
    """Formulas with two, then three power laws, for every power of the target that has a value."""
    signed = [int(i) for i in columns if np.any(problem.X[:, i] <= 0)]
    inputs_of_both_signs = [Input(i) for i in signed[-SETTINGS.signed_columns :]]
    lasts = [ONE, *(product([(x, power)]) for x in inputs_of_both_signs for power in (1, 2))]
    return _each(problem, columns, lasts, SETTINGS.descents)


def power_laws_with_function(problem: Problem, columns: Indices, chosen: Sequence[Function]) -> Groups:
    """The same with a sine or cosine of an input, or of a difference of two, as a factor of the last."""
    single: list[Formula] = [Input(int(i)) for i in columns]
    between = [total([(Fraction(1), a), (Fraction(-1), b)]) for a, b in combinations_of(single, 2)]
    lasts = [Applied(Function.COS, x) for x in (*single, *between) if Function.COS in chosen]
    lasts += [Applied(Function.SIN, x) for x in single if Function.SIN in chosen]
    squares = [product([(f, 2)]) for f in lasts if f.function is Function.SIN]
    return _each(problem, columns, [*lasts, *squares], SETTINGS.function_descents)


def _each(problem: Problem, columns: Indices, lasts: Sequence[Formula], starts: int) -> Groups:
    """Two terms before three, for every last factor and every power of the target."""
    positive = [int(i) for i in columns if np.all(problem.X[:, i] > 0)]
    for count, last, target_power in every((2, 3), lasts, tuple(usable_powers(problem))):
        free = [i for i in positive if i not in inputs(last)]
        if free and problem.rows >= count * (len(free) + 1) + SETTINGS.spare_rows:
            yield _fitted(problem, free, count, last, target_power, starts)


def _fitted(
    problem: Problem, columns: list[int], count: int, last: Formula, target_power: TargetPower, starts: int
) -> Iterator[Formula]:
    weights, target = target_power.weights(problem.y), target_power.target(problem.y)
    some = slice(0, SETTINGS.descent_rows)
    logs = np.log(problem.X[some][:, columns])
    nearest = _nearest(logs, target[some])
    rng = np.random.default_rng([problem.seed, count])
    descent = _Descent(logs, target[some], evaluate(last, problem.X[some]), _starts(nearest, starts, count, rng))
    close = problem.reach(SETTINGS.close)
    seen: set[tuple[Formula, ...]] = set()
    for exponents in descent.solutions(close):
        halves = np.round(2 * exponents) / 2
        if np.max(np.abs(exponents - halves)) > SETTINGS.nearly_half + problem.blur:
            continue
        laws = [
            product((Input(i), Fraction(float(e))) for i, e in zip(columns, row, strict=True) if e) for row in halves
        ]
        laws[-1] = product([(laws[-1], 1), (last, 1)])
        if len(set(laws)) == count and (found := tuple(sorted(laws, key=repr))) not in seen:
            seen.add(found)
            table = np.stack([evaluate(law, problem.X) for law in laws], axis=1)
            for formula in combinations(laws, table, target, weights, problem.blur):
                yield target_power.formula(formula, problem)


def _nearest(logs: Array, target: Array) -> Array:
    """The exponents of the one power law that is nearest."""
    floor = SETTINGS.least_target * float(np.median(np.abs(target)))  # a target of zero has no logarithm
    line = np.column_stack([logs, np.ones(len(logs))])
    return least_squares(line, np.log(np.abs(target) + floor + 1e-300))[:-1]


def _starts(nearest: Array, starts: int, count: int, rng: np.random.Generator) -> Array:
    """Exponents around the nearest power law, near and far, and every third anywhere: `(starts, terms, columns)`."""
    spread = np.geomspace(*SETTINGS.start_spread, starts)[:, None, None]
    made = nearest + spread * rng.normal(size=(starts, count, len(nearest)))
    made[::3] = SETTINGS.start_anywhere * rng.normal(size=made[::3].shape)
    return np.asarray(made)


class _Descent:
    """Levenberg-Marquardt on the exponents `(starts, terms, columns)` of many starts at once."""

    def __init__(self, logs: Array, target: Array, last: Array, exponents: Array) -> None:
        size = float(np.median(np.abs(target))) or 1.0
        self.weight = 1 / (np.abs(target) + size)  # large targets do not drown small ones
        self.logs, self.target, self.last, self.exponents = logs, target * self.weight, last, exponents
        self.count = exponents.shape[1]

    def solutions(self, close: float) -> Iterator[Array]:
        """Exponents of the starts that end close to the target, nearest first."""
        exponents, errors = self._descended(close)
        for k in np.argsort(errors, kind="stable"):
            if not errors[k] < close:
                return
            yield exponents[k]

    def _descended(self, close: float) -> tuple[Array, Array]:
        """Exponents and relative errors of the starts that are followed to the end."""
        exponents, damping = self.exponents, np.full(len(self.exponents), SETTINGS.first_damping)
        height = float(np.linalg.norm(self.target))
        terms, weights, left = self._projected(exponents)
        errors = np.linalg.norm(left, axis=1) / height
        for step in range(SETTINGS.descent_steps):
            if step >= SETTINGS.descent_doubt and np.min(errors) > max(SETTINGS.descent_hope, close):
                break
            if step == SETTINGS.descent_look:
                best = np.sort(np.argsort(errors, kind="stable")[: -(-len(errors) // 3)])
                exponents, damping, errors = exponents[best], damping[best], errors[best]
                terms, weights, left = terms[best], weights[best], left[best]
            tried = exponents + self._steps(terms, weights, left, damping)
            tried_terms, tried_weights, tried_left = self._projected(tried)
            tried_errors = np.linalg.norm(tried_left, axis=1) / height
            better = tried_errors < errors
            damping = np.where(better, damping / 5, damping * 4)
            for now, new in ((exponents, tried), (terms, tried_terms), (weights, tried_weights), (left, tried_left)):
                now[better] = new[better]
            gained = better & (tried_errors <= (1 - SETTINGS.descent_gain) * errors)
            stalled = not np.any(gained) and bool(np.all(damping > SETTINGS.hopeless_damping))
            first = int(np.argmin(tried_errors))
            near = better[first] and (1 - SETTINGS.descent_settled) * errors[first] < tried_errors[first] < close
            errors = np.where(better, tried_errors, errors)
            if stalled or near or np.min(errors) < SETTINGS.arrived * close:
                break
        return exponents, errors

    def _projected(self, exponents: Array) -> tuple[Array, Array, Array]:
        """The terms `(starts, rows, terms)`, their least-squares coefficients, and what they leave of the target."""
        with np.errstate(all="ignore"):
            logs = np.einsum("nd,bkd->bnk", self.logs, exponents)
            terms = np.exp(np.clip(logs, -SETTINGS.largest_logarithm, SETTINGS.largest_logarithm))
        terms[:, :, -1] *= self.last
        terms *= self.weight[None, :, None]
        terms /= np.maximum(np.max(np.abs(terms), axis=1, keepdims=True), 1e-300)
        gram = np.einsum("bnk,bnl->bkl", terms, terms) + SETTINGS.descent_ridge * len(self.logs) * np.eye(self.count)
        weights = np.linalg.solve(gram, np.einsum("bnk,n->bk", terms, self.target)[..., None])[..., 0]
        return terms, weights, self.target - np.einsum("bnk,bk->bn", terms, weights)

    def _steps(self, terms: Array, weights: Array, left: Array, damping: Array) -> Array:
        """Gauss-Newton steps, with what the coefficients would take up projected out of the slopes."""
        starts, rows, count = terms.shape
        slopes = (terms * weights[:, None, :])[..., None] * self.logs[None, :, None, :]
        slopes = slopes.reshape(starts, rows, -1)
        basis = np.linalg.qr(terms)[0]
        slopes = slopes - basis @ (basis.transpose(0, 2, 1) @ slopes)
        normal = slopes.transpose(0, 2, 1) @ slopes
        scale = np.einsum("bii->bi", normal).mean(axis=1) + 1e-300
        normal = normal + (damping * scale)[:, None, None] * np.eye(normal.shape[1])
        try:
            steps = np.linalg.solve(normal, (slopes.transpose(0, 2, 1) @ left[..., None]))[..., 0]
        except np.linalg.LinAlgError:
            return np.zeros((starts, count, self.logs.shape[1]))
        return np.asarray(np.clip(steps, -SETTINGS.longest_step, SETTINGS.longest_step).reshape(starts, count, -1))
