"""A function around an arithmetic formula: if y = f(u), the inverse of f takes the target to u."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import chain
from itertools import product as every

import numpy as np

from nalm.solver.data.problem import Problem
from nalm.solver.formula.algebra import ONE, Applied, Formula, Input, exponential, product, total
from nalm.solver.formula.calculus import Array, Indices
from nalm.solver.formula.functions import Function, inverse_of, slope_of, value_of
from nalm.solver.settings import SETTINGS
from nalm.solver.shapes.derived import derived
from nalm.solver.shapes.shape import Groups

Arithmetic = Callable[[Problem], Groups]
"""The arithmetic shapes that a derived problem is searched with."""


def around(
    problem: Problem, columns: Indices, chosen: Sequence[Function], arithmetic: Arithmetic, in_exponent: Arithmetic
) -> Groups:
    """Formulas `f(u)` with an arithmetic u; for the exponential u may also hold logarithms, so that powers stand beside
    it, and for an inverse function u may hold the sine or cosine of one of the columns. With the exponential comes the
    logistic function, `1 / (1 + exp(u))`: a chance or a share, whatever it depends on. `in_exponent` are
    shapes of an exponent only."""
    for function in chosen:
        for outer in (_around(function), _LOGISTIC) if function is Function.EXP else (_around(function),):
            seen, target = problem, outer.inverse(problem.y)
            if problem.noisy:
                seen, target = sharp(problem, target, outer.slope(target))
            on_main_branch = np.isfinite(target).all() and np.allclose(outer.value(target), seen.y, rtol=1e-9)
            if not on_main_branch or np.ptp(target) == 0:
                continue
            for below in _columns_below(seen, columns[: SETTINGS.turned_columns], function):
                found = derived(seen, below, target)
                if found is not None:
                    searches = (arithmetic, in_exponent) if outer.formula is exponential else (arithmetic,)
                    for group in chain.from_iterable(search(found.problem) for search in searches):
                        yield map(outer.formula, found.back(group))


@dataclass(frozen=True)
class _Outer:
    """What stands around a formula: its values and slopes, what undoes it, and how it is written."""

    value: Callable[[Array], Array]
    slope: Callable[[Array], Array]
    inverse: Callable[[Array], Array]
    formula: Callable[[Formula], Formula]


def _around(function: Function) -> _Outer:
    written = exponential if function is Function.EXP else partial(Applied, function)
    return _Outer(partial(value_of, function), partial(slope_of, function), partial(inverse_of, function), written)


def _share(u: Array) -> Array:
    with np.errstate(all="ignore"):
        return np.asarray(1 / (1 + np.exp(u)))


def _odds(y: Array) -> Array:
    with np.errstate(all="ignore"):
        return np.asarray(np.log1p(-y) - np.log(y))


_LOGISTIC = _Outer(
    _share,
    lambda u: -_share(u) * _share(-u),
    _odds,
    lambda u: product([(total([(Fraction(1), ONE), (Fraction(1), exponential(u))]), -1)]),
)


def sharp(problem: Problem, target: Array, slope: Array) -> tuple[Problem, Array]:
    """The rows whose noise is least enlarged when the target is undone, in the noise of the argument, and theirs.

    Rows at which the noise takes the target out of the function's range are none of them.

    Args:
        target: the argument at every row.
        slope: the derivative of y by the argument there.
    """
    blurs = (problem.additive + problem.noise * np.abs(problem.y)) / np.abs(slope)
    blurs = np.where(np.isfinite(target) & np.isfinite(blurs), blurs, np.inf)
    kept = np.sort(np.argsort(blurs, kind="stable")[: max(1, problem.rows // 2)])
    kept = kept[np.isfinite(blurs[kept])]
    if len(kept) < max(1, problem.rows // 4):
        return problem, target
    return replace(problem.of_rows(kept), noise=0.0, additive=float(np.median(blurs[kept]))), target[kept]


def _columns_below(problem: Problem, turned: Indices, function: Function) -> Iterator[list[Formula]]:
    plain: list[Formula] = [Input(i) for i in range(problem.columns)]
    yield plain
    if function is Function.EXP:
        positive = [i for i in range(problem.columns) if np.all(problem.X[:, i] > 0)]
        if positive:
            yield [*plain, *(Applied(Function.LOG, Input(i)) for i in positive)]
    if function in (Function.ASIN, Function.ACOS, Function.ATAN):
        for i, wave in every((int(c) for c in turned), (Function.SIN, Function.COS)):
            yield [*plain[:i], *plain[i + 1 :], Applied(wave, Input(i))]
