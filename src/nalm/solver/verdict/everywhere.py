"""What was found in a sample of rows must hold at all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from nalm.solver.data.problem import Problem
from nalm.solver.data.rows import GatheredRows, chunks
from nalm.solver.formula.algebra import Formula, renumbered
from nalm.solver.settings import SETTINGS
from nalm.solver.verdict.candidate import Finding, Status
from nalm.solver.verdict.print import as_printed


def everywhere(finding: Finding, rows: GatheredRows, columns: Sequence[int]) -> Finding:
    """The finding, with its claim taken back if some row of the whole table contradicts it; those rows are named.

    Args:
        finding: over some columns of the table.
        rows: all of them; they are looked at some at a time.
        columns: which columns the finding is over.
    """
    verdict, searched = finding.verdict, finding.problem
    if not verdict.found or rows.every.rows <= searched.rows:
        return finding
    if rows.repeats_agree and searched.noisy and not rows.problem.noisy:
        copied = "rows that repeat have equal targets, so they were copied, or there is no noise to explain the errors"
        return replace(finding, verdict=verdict.doubted(copied))
    against = contradictions(searched, verdict.candidate.formula, rows, columns)
    if against.fits:
        return finding
    if against.few:
        return replace(finding, verdict=verdict.doubted(against.named))
    return replace(finding, verdict=replace(verdict, status=Status.NONE).because(against.named))


@dataclass(frozen=True)
class Contradictions:
    """The rows that contradict a formula, by their positions in the table that was given, of so many rows.

    `fits` says that there are none, and that the errors as a whole are no larger than they may be.
    """

    positions: tuple[int, ...]
    rows: int
    fits: bool

    @property
    def few(self) -> bool:
        """Are there some, but so few that they may be wrong rather than the formula?"""
        return 0 < len(self.positions) <= SETTINGS.most_outliers * self.rows

    @property
    def named(self) -> str:
        """A sentence that names the rows.

        >>> Contradictions((3, 17), 200, fits=False).named
        '2 of 200 rows contradict the formula: 3, 17'
        """
        if not self.positions:
            return "over all rows the errors are too large"
        listed = ", ".join(map(str, self.positions[: SETTINGS.listed_rows]))
        more = " ..." if len(self.positions) > SETTINGS.listed_rows else ""
        return f"{len(self.positions)} of {self.rows} rows contradict the formula: {listed}{more}"


def contradictions(searched: Problem, formula: Formula, rows: GatheredRows, columns: Sequence[int]) -> Contradictions:
    """What all rows say of a formula over some columns of the table, with the noise and digits of the rows searched."""
    formula = renumbered(formula, columns)
    wrong: list[int] = []
    start = 0
    fits = True
    for some in chunks(replace(rows.every, noise=searched.noise, additive=searched.additive)):
        some = (as_printed(some) or some) if searched.printed is not None else some
        errors = np.abs(some.errors(formula))
        wrong += [int(i) for i in rows.positions[start + np.flatnonzero(~(errors < some.limit))]]
        fits = fits and not wrong and some.holds(formula)
        start += some.rows
    return Contradictions(tuple(wrong), rows.every.rows, fits)
