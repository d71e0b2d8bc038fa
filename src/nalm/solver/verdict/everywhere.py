"""What was found in a sample of rows must hold at all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from nalm.solver.data.problem import Problem
from nalm.solver.data.rows import chunks
from nalm.solver.settings import SETTINGS
from nalm.solver.verdict.candidate import Finding, Status, Verdict
from nalm.solver.verdict.print import as_printed


def everywhere(finding: Finding, table: Problem, columns: Sequence[int]) -> Finding:
    """The finding, with its claim taken back if some row of the whole table contradicts it; those rows are named.

    Args:
        finding: over some columns of the table.
        table: all rows; they are looked at some at a time.
        columns: which columns the finding is over.
    """
    verdict, searched = finding.verdict, finding.problem
    if not verdict.found or table.rows <= searched.rows:
        return finding
    formula = verdict.over(columns).candidate.formula
    wrong: list[int] = []
    start = 0
    fits = True
    for some in chunks(replace(table, noise=searched.noise, additive=searched.additive)):
        some = (as_printed(some) or some) if searched.printed is not None else some
        errors = np.abs(some.errors(formula))
        wrong += [start + int(i) for i in np.nonzero(~(errors < some.limit))[0]]
        fits = fits and (bool(wrong) or some.holds(formula))
        start += some.rows
    if fits and not wrong:
        return finding
    few = 0 < len(wrong) <= SETTINGS.most_outliers * table.rows
    why = contradicted(wrong, table.rows) if wrong else "over all rows the errors are too large"
    status = Status.AMBIGUOUS if few else Status.NONE
    return replace(finding, verdict=Verdict(verdict.candidate, status, (why, *verdict.reasons)))


def contradicted(wrong: Sequence[int], rows: int) -> str:
    """A sentence that names the rows.

    >>> contradicted([3, 17], 200)
    '2 of 200 rows contradict the formula: 3, 17'
    """
    listed = ", ".join(map(str, wrong[: SETTINGS.listed_rows])) + (" ..." if len(wrong) > SETTINGS.listed_rows else "")
    return f"{len(wrong)} of {rows} rows contradict the formula: {listed}"
