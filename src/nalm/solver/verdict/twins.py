"""Columns that are the same quantity in two units: a claim that reads both is written with one of them.

With Celsius and Fahrenheit in a table, `-119.4 C + 70.97 F` is `8.314 C + 2271`. Both are right there, and nobody would
know the law in the first.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations

import numpy as np

from nalm.solver.formula.algebra import (
    ONE,
    Applied,
    Formula,
    Input,
    PowerProduct,
    WeightedSum,
    inputs,
    product,
    substituted,
    total,
)
from nalm.solver.formula.calculus import Array
from nalm.solver.settings import SETTINGS
from nalm.solver.verdict.candidate import Finding, Verdict
from nalm.solver.verdict.judge import judge


def without_twins(finding: Finding) -> Finding:
    """The finding, its claim written without a column that is a line in another one, if that takes fewer digits."""
    problem, verdict = finding.problem, finding.verdict
    if not verdict.found:
        return finding
    formula = verdict.candidate.formula
    plainer = [verdict]
    for kept, dropped in permutations(sorted(inputs(formula)), 2):
        line = _line(problem.X[:, kept], problem.X[:, dropped])
        if line is None:
            continue
        columns: list[Formula] = [Input(i) for i in range(problem.columns)]
        columns[dropped] = total([(line[0], Input(kept)), (line[1], ONE)])
        plainer.append(judge(problem, _opened(substituted(formula, columns)), verdict.candidate.shape))
    best = min((other for other in plainer if other.found), key=_length)
    return finding if best is verdict else Finding(problem, (*finding.tried, best), best.because(*verdict.reasons))


def _opened(formula: Formula) -> Formula:
    """The same with sums in sums made one, also where their numbers are fitted: then each can be fitted again."""
    match formula:
        case WeightedSum(terms):
            inner = [(c, _opened(term)) for c, term in terms]
            return total(
                (c * d, part)
                for c, term in inner
                for d, part in (term.terms if isinstance(term, WeightedSum) else ((Fraction(1), term),))
            )
        case PowerProduct(factors):
            return product((_opened(factor), exponent) for factor, exponent in factors)
        case Applied(function, argument):
            return Applied(function, _opened(argument))
        case _:
            return formula


def _length(verdict: Verdict) -> tuple[int, int, int]:
    candidate = verdict.candidate
    return len(candidate.constants), sum(constant.digits for constant in candidate.constants), candidate.complexity


def _line(x: Array, y: Array) -> tuple[float, float] | None:
    """Slope and offset, if one column is a line in the other up to the rounding of float64."""
    design = np.column_stack([x, np.ones(len(x))])
    slope, offset = np.linalg.lstsq(design, y, rcond=None)[0]
    left = np.max(np.abs(design @ [slope, offset] - y))
    return (float(slope), float(offset)) if left < SETTINGS.twin_rounding * np.max(np.abs(y)) else None
