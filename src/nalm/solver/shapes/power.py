"""A unary last layer: the target seen through 1/y, y² or 1/y², so that a simpler shape can explain it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from nalm.solver.data.problem import Problem
from nalm.solver.formula.algebra import Formula, Input, PowerProduct, product, total
from nalm.solver.formula.calculus import Array


@dataclass(frozen=True)
class TargetPower:
    """Explains `y ** power` and turns the explanation back into a formula for `y`."""

    power: int

    def target(self, y: Array) -> Array:
        """The power of the target."""
        with np.errstate(all="ignore"):
            return np.asarray(y if self.power == 1 else np.power(y, float(self.power)))

    def formula(self, explained: Formula, problem: Problem) -> Formula:
        """The formula of the target, given one of its power."""
        exponent = Fraction(1, self.power)
        if self.power % 2 == 1:
            return product([(explained, exponent)])
        positive, rest = _positive_factors(explained, problem)
        root = product([(rest, exponent), *((factor, e * exponent) for factor, e in positive)])
        return total([(Fraction(-1), root)]) if np.all(problem.y <= 0) else root

    def usable(self, y: Array) -> bool:
        """Even powers lose the sign of y, so all of y must share one; negative powers need y without zeros."""
        if self.power < 0 and np.any(y == 0):
            return False
        one_sign = bool(np.all(y >= 0) or np.all(y <= 0))
        return (self.power % 2 == 1 or one_sign) and bool(np.isfinite(self.target(y)).all())

    def weights(self, y: Array) -> Array:
        """Row weights under which an error of `y ** power` counts as the error of y it stands for."""
        with np.errstate(all="ignore"):
            scale = np.sqrt(np.mean((y / np.max(np.abs(y))) ** 2)) * np.max(np.abs(y))
            slope = abs(self.power) * np.abs(y) ** float(self.power - 1)
            weight = 1 / (slope * (np.abs(y) + scale))
        finite = np.isfinite(weight)
        return np.where(finite, weight / np.max(weight, where=finite, initial=1e-300), 0.0)


def _positive_factors(formula: Formula, problem: Problem) -> tuple[list[tuple[Formula, Fraction]], Formula]:
    """The inputs in a product that are positive at every row, and the rest: their roots need no size, |b| for b."""
    if not isinstance(formula, PowerProduct):
        return [], formula
    above = [isinstance(f, Input) and bool(np.all(problem.X[:, f.index] > 0)) for f, _ in formula.factors]
    taken = [pair for pair, is_above in zip(formula.factors, above, strict=True) if is_above]
    return taken, product(pair for pair, is_above in zip(formula.factors, above, strict=True) if not is_above)


IDENTITY = TargetPower(1)
POWERS_OF_TARGET = (IDENTITY, TargetPower(-1), TargetPower(2), TargetPower(-2))


def usable_powers(problem: Problem) -> Iterator[TargetPower]:
    """The powers that the signs and zeros of the target allow."""
    return (target_power for target_power in POWERS_OF_TARGET if target_power.usable(problem.y))
