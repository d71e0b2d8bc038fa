"""Tables that were printed: numbers with few digits are known to half a unit of their last digit, and no better.

Unlike noise, this error has a bound that the table itself shows. A formula holds if every row lies within it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from nalm.solver.data.digits import half_units
from nalm.solver.data.problem import Problem
from nalm.solver.formula.algebra import Formula, real_constants
from nalm.solver.settings import SETTINGS
from nalm.solver.verdict.candidate import Fitted, Status, Verdict
from nalm.solver.verdict.certainty import agrees_elsewhere
from nalm.solver.verdict.edits import edits
from nalm.solver.verdict.judge import judge
from nalm.solver.verdict.refine import refine

PRINTED = "the numbers have few digits; every row agrees within half a unit of the last digit of inputs and target"


def as_printed(problem: Problem) -> Problem | None:
    """The problem with the errors of its printed numbers; None if they have float32's digits or more.

    Inputs of few digits beside a full target are settings, and exact.
    """
    values = np.column_stack([problem.X, problem.y])
    errors = np.column_stack([half_units(column) for column in values.T])
    few = errors > 4 * SETTINGS.rounding * np.abs(values)
    return replace(problem, printed=errors) if errors[:, -1].any() and few.any() else None


def in_print(problem: Problem, verdict: Verdict) -> Verdict:
    """The verdict on a formula within the printed digits: nothing is claimed if a neighbour fits as well."""
    if not verdict.found:
        return verdict
    candidate = verdict.candidate
    if len(candidate.constants) > 1 and sum(map(_spare_digits, candidate.constants)) < SETTINGS.spare_digits:
        return Verdict(candidate, Status.AMBIGUOUS, ("several fitted numbers may hide another formula",))
    if any(_rivals(problem, candidate.formula, other) for other in edits(candidate.formula, problem.columns)):
        return Verdict(candidate, Status.AMBIGUOUS, ("another formula lies within the printed digits as well",))
    if any(_rounder(judge(moved, candidate.formula, candidate.shape), verdict) for moved in _cut_off(problem)):
        return Verdict(candidate, Status.AMBIGUOUS, ("rounder numbers agree as well, if the target was cut off",))
    return verdict


def _cut_off(problem: Problem) -> Iterator[Problem]:
    """The problem if its targets were not rounded to the last digit but cut off, downwards or upwards."""
    assert problem.printed is not None
    yield from (problem.of_target(problem.y + side * problem.printed[:, -1]) for side in (1, -1))


def _rounder(one: Verdict, other: Verdict) -> bool:
    """Is it claimed as well, with fewer digits in fitted numbers? 2 x + 1 has none, 2 x + 0.995 three."""
    digits, most = (sum(constant.digits for constant in v.candidate.constants) for v in (one, other))
    return one.found and digits < most


def _spare_digits(constant: Fitted) -> float:
    """How many digits fewer a constant takes than the data determine: above 0 for 1.8 ± 0.001, about 0 by chance.

    >>> round(_spare_digits(Fitted(1.8, 0.001)), 2), round(_spare_digits(Fitted(1.7634, 0.001)), 2)
    (1.26, -1.75)
    """
    return math.log10(abs(constant.value) / max(constant.deviation, 1e-16)) - constant.digits


def _rivals(problem: Problem, formula: Formula, other: Formula) -> bool:
    changed = refine(problem, other, rounds=1)[0] if real_constants(other) else other
    return problem.holds(changed) and not agrees_elsewhere(
        problem, formula, changed, within=SETTINGS.same_under_noise * problem.blur
    )
