"""Few features beside a base that is linear: what is left of each is compared with what is left of the target."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from nalm.solver.data.problem import Problem
from nalm.solver.formula.algebra import Applied, Formula, Input, WeightedSum, product
from nalm.solver.formula.calculus import Array, Indices, evaluate
from nalm.solver.formula.functions import Function
from nalm.solver.settings import SETTINGS
from nalm.solver.shapes.beam import Beam
from nalm.solver.shapes.linear import left_beside


def supports(
    base: Array,
    features: Array,
    target: Array,
    most: int,
    close: float,
    rounded: float = SETTINGS.rounded,
    width: int = SETTINGS.pairs_kept,
) -> Iterator[Indices]:
    """Sets of up to `most` features that, with the base, explain the target up to what rounding did to it."""
    left_of = left_beside(base)
    with np.errstate(all="ignore"):
        length = np.linalg.norm(features, axis=0)
        left = left_of(features)
        fresh = np.linalg.norm(left, axis=0)
        usable = np.flatnonzero(np.isfinite(fresh) & (fresh > SETTINGS.fresh_share * length))
    rest = left_of(target)
    height = np.linalg.norm(rest)
    if not len(usable) or not height > 0:
        return
    beam = Beam(left[:, usable] / fresh[usable], rest / height)
    # Narrow ranges leave little to explain, so the bar also allows for what rounding leaves in the target.
    bar = max(close, rounded * float(np.sqrt(len(target)) / height))
    for size in range(1, most + 1):
        supports, errors = beam.lengthened(size, width, bar if size == most else np.inf)
        yield from (usable[support] for support in supports[errors < bar][: SETTINGS.beam_tried])


def powers(problem: Problem, trees: list[Formula], fitted: Array) -> Iterator[Formula]:
    """The product of trees and inputs with exponents rounded to halves, and the factor in front.

    An input of both signs stands as its size where an exponent asks for a root of it.
    """
    halves = np.round(fitted[:-1] * 2) / 2
    if (
        np.max(np.abs(fitted[:-1] - halves)) > SETTINGS.nearly_half + problem.blur
        or np.max(np.abs(halves)) > SETTINGS.highest_exponent
    ):
        return
    signed = [np.any(problem.X[:, i] < 0) and halves[len(trees) + i] % 1 != 0 for i in range(problem.columns)]
    sizes = [Applied(Function.ABS, Input(i)) if signed[i] else Input(i) for i in range(problem.columns)]
    bodies = [*trees, *sizes]
    body = product((b, Fraction(float(e))) for b, e in zip(bodies, halves, strict=True) if e)
    ratio = problem.y / evaluate(body, problem.X)
    if np.all(np.isfinite(ratio)) and np.median(ratio) != 0:
        yield WeightedSum(((float(np.median(ratio)), body),))
