"""A curve with one unknown number below 1/u, exp, log or a root: growth that saturates, decays that stretch.

`y = 1 / (a + b exp(k x))` is linear but for k once the target is undone, and `x ** k` is `exp(k log(x))`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from nalm.solver.data.problem import Problem
from nalm.solver.formula.algebra import Applied, Formula, Input, exponential, monomial, product
from nalm.solver.formula.calculus import Array, Indices
from nalm.solver.formula.functions import Function, inverse_of, slope_of
from nalm.solver.settings import SETTINGS
from nalm.solver.shapes.derived import derived
from nalm.solver.shapes.functions.around import sharp
from nalm.solver.shapes.functions.wave import waves
from nalm.solver.shapes.shape import Groups


@dataclass(frozen=True)
class _Outer:
    """What stands around a curve u: how the target is undone, the slope of y there, and how it is written."""

    needs: tuple[Function, ...]
    undone: Callable[[Array], Array]
    slope: Callable[[Array], Array]
    around: Callable[[Formula], Formula]


def _applied(function: Function) -> _Outer:
    return _Outer(
        (function,), lambda y: inverse_of(function, y), lambda u: slope_of(function, u), lambda f: Applied(function, f)
    )


OUTERS = (
    _Outer((), lambda y: y, np.ones_like, lambda f: f),
    _Outer((), lambda y: 1 / y, lambda u: -1 / u**2, lambda f: product([(f, -1)])),
    replace(_applied(Function.EXP), around=exponential),
    _applied(Function.LOG),
    _Outer((), np.square, lambda u: 1 / (2 * np.sqrt(u)), lambda f: product([(f, Fraction(1, 2))])),
)


def of_curve(problem: Problem, columns: Indices, chosen: Sequence[Function]) -> Groups:
    """Formulas `g(c + sum(w_i * x_i) + w * t + a * exp(k t))` with g one of `OUTERS` and t a column, its logarithm, its
    square or its inverse; without a g also waves of such a t, and no t that is a column, which other shapes have."""
    few = [int(i) for i in columns[: SETTINGS.curved_columns]]
    plain: list[Formula] = [Input(j) for j in range(problem.columns)]
    for outer in (outer for outer in OUTERS if set(outer.needs) <= set(chosen)):
        with np.errstate(all="ignore"):
            target = outer.undone(problem.y)
            seen, target = sharp(problem, target, outer.slope(target)) if problem.noisy else (problem, target)
        if not (len(target) and np.isfinite(target).all() and np.ptp(target) > 0):
            continue
        for i in few:
            for argument in _arguments(problem, i, outer, logarithms=Function.LOG in chosen):
                found = derived(seen, [*plain, argument], target)
                if found is not None:
                    kinds = [f for f in chosen if f is Function.EXP or (f is Function.SIN and outer is OUTERS[0])]
                    for group in waves(found.problem, np.array([problem.columns]), kinds, multiplied=False):
                        yield map(outer.around, found.back(group))


def _arguments(problem: Problem, column: int, outer: _Outer, logarithms: bool) -> Iterator[Formula]:
    if outer is not OUTERS[0]:
        yield Input(column)
    if logarithms and np.all(problem.X[:, column] > 0):
        yield Applied(Function.LOG, Input(column))
    yield monomial((column, 2))
    if np.all(problem.X[:, column] != 0):
        yield monomial((column, -1))
