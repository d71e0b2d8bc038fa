"""Tables that were printed: numbers with few digits are known to half a unit of their last digit, and no better.

Unlike noise, this error has a bound that the table itself shows. A formula holds if every row lies within it.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from nalm.solver.algebra.formula import Formula, real_constants
from nalm.solver.digits import half_units
from nalm.solver.ladder import climb
from nalm.solver.noisy import rungs
from nalm.solver.problem import ROUNDING, Problem
from nalm.solver.verdict.certainty import agrees_elsewhere
from nalm.solver.verdict.edits import edits
from nalm.solver.verdict.judge import Candidate, Status, refine

PRINTED = "the numbers have few digits; every row agrees within half a unit of the last digit of inputs and target"
SPARE_DIGITS = 2.0
"""Several fitted numbers are believed if they are this much rounder, in all, than chance would make them."""


def as_printed(problem: Problem) -> Problem | None:
    """The problem with the errors of its printed numbers; None if they have float32's digits or more.

    Inputs of few digits beside a full target are settings, and exact.
    """
    values = np.column_stack([problem.X, problem.y])
    errors = np.column_stack([half_units(column) for column in values.T])
    few = errors > 4 * ROUNDING * np.abs(values)
    return replace(problem, printed=errors) if errors[:, -1].any() and few.any() else None


def within_print(problem: Problem, thorough: bool) -> list[Candidate]:
    """What explains a printed table: the shapes tried under noise, none of them claimed if a neighbour fits as well."""
    tried = climb(problem, rungs(problem, thorough))
    return [_doubted(problem, candidate) if candidate.found else candidate for candidate in tried]


def _doubted(problem: Problem, candidate: Candidate) -> Candidate:
    if len(candidate.constants) > 1 and sum(_spare_digits(*pair) for pair in candidate.constants) < SPARE_DIGITS:
        return replace(candidate, status=Status.AMBIGUOUS, doubt="several fitted numbers may hide another formula")
    if any(_rivals(problem, candidate.formula, other) for other in edits(candidate.formula, problem.columns)):
        return replace(
            candidate, status=Status.AMBIGUOUS, doubt="another formula lies within the printed digits as well"
        )
    return candidate


def _spare_digits(value: float, deviation: float) -> float:
    """How many digits fewer a constant takes than the data determine: above 0 for 1.8 ± 0.001, about 0 by chance.

    >>> round(_spare_digits(1.8, 0.001), 2), round(_spare_digits(1.7634, 0.001), 2)
    (1.26, -1.75)
    """
    digits = next(n for n in range(1, 18) if float(f"{value:.{n}g}") == value)
    return math.log10(abs(value) / max(deviation, 1e-16)) - digits


def _rivals(problem: Problem, formula: Formula, other: Formula) -> bool:
    changed = refine(problem, other, rounds=1)[0] if real_constants(other) else other
    return problem.holds(changed) and not agrees_elsewhere(problem, formula, changed, within=2 * problem.blur)
