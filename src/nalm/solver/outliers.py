"""Tables with a few wrong rows: a law that a handful of rows show, and nearly all others agree with.

Least squares is spoiled by one wrong row, but a few rows drawn at random are probably all right. What they show is
asked of all rows; those that contradict it are named. A few rows far off also look like noise at all rows, so this is
asked as well where a noise was estimated: an exact law at nearly all rows explains more than any noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from nalm.solver.clock import OutOfTime, time_limit
from nalm.solver.data.problem import Problem
from nalm.solver.data.rows import GatheredRows
from nalm.solver.search import climb
from nalm.solver.settings import SETTINGS
from nalm.solver.shapes.catalogue import EFFORTS, SHAPES
from nalm.solver.shapes.shape import Cost, Scope
from nalm.solver.verdict.candidate import Finding, Status, Verdict
from nalm.solver.verdict.everywhere import contradictions
from nalm.solver.verdict.judge import judge


def without_outliers(finding: Finding, rows: GatheredRows, columns: Sequence[int], seconds: float | None) -> Finding:
    """The finding, or one of a law at all but a few rows; it is called ambiguous, and the rows are named.

    Args:
        finding: over some columns of the table.
        rows: all of them.
        columns: which columns the finding is over.
        seconds: how long it may take.
    """
    given = rows.problem
    problem = replace(finding.problem, noise=given.noise, additive=given.additive)
    estimated = finding.problem.noisy and not given.noisy
    few = max(SETTINGS.outlier_rows, SETTINGS.rows_per_column * problem.columns)
    if not (finding.verdict.status is Status.NONE or estimated) or 2 * few > problem.rows or not problem.columns:
        return finding
    rng = np.random.default_rng(problem.seed)
    shapes = [shape for shape in SHAPES if shape.cost is Cost.CLOSED_FORM]
    try:
        with time_limit(seconds):
            for _ in range(SETTINGS.outlier_draws):
                drawn = problem.of_rows(rng.choice(problem.rows, size=few, replace=False))
                for verdict in climb(Scope(drawn, EFFORTS["quick"]), shapes):
                    if verdict.status is Status.NONE or (law := _at_most_rows(problem, verdict)) is None:
                        continue
                    against = contradictions(problem, law.candidate.formula, rows, columns)
                    if against.few:
                        return Finding(problem, finding.tried, law.doubted(against.named))
    except OutOfTime:
        pass
    return finding


def _at_most_rows(problem: Problem, shown: Verdict) -> Verdict | None:
    """The verdict without the rows that contradict it, if those are few and the others prove it."""
    formula = shown.candidate.formula
    right = np.abs(problem.errors(formula)) < problem.limit
    if np.sum(~right) > SETTINGS.most_outliers * problem.rows:
        return None
    verdict = judge(problem.of_rows(right), formula, shown.candidate.shape)
    return verdict if verdict.found else None
