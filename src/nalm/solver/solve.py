"""`solve`: a table in, an exact formula or an honest refusal out."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from threadpoolctl import ThreadpoolController

from nalm.core.arguments import NotNegative, Seed, checks_arguments
from nalm.solver.clock import Stopwatch
from nalm.solver.data.columns import column_names, marked_missing, set_aside, tied
from nalm.solver.data.digits import marks
from nalm.solver.data.dimensions import dimensions
from nalm.solver.data.problem import checked
from nalm.solver.data.rows import gathered
from nalm.solver.formula.algebra import Formula, inputs, real_constants, renumbered
from nalm.solver.formula.functions import named
from nalm.solver.outliers import without_outliers
from nalm.solver.search import searched_within
from nalm.solver.settings import SETTINGS
from nalm.solver.shapes.catalogue import EFFORTS
from nalm.solver.solution import Evidence, Solution, recognised_in
from nalm.solver.verdict.candidate import Status
from nalm.solver.verdict.everywhere import everywhere
from nalm.solver.verdict.front import approximated
from nalm.solver.verdict.twins import without_twins

NO_LAW = "no law was found, "
NO_BETTER = "and nothing that was tried predicts rows it was not fitted to better than their mean"
FEW_ROWS = "and the rows are too few to see how well this predicts others"


@checks_arguments
def solve(
    X: Any,
    y: Any,
    names: Sequence[str] | None = None,
    noise: NotNegative | None = None,
    effort: str = "normal",
    like: Any = None,
    functions: Iterable[str] | None = None,
    weights: Any = None,
    units: Mapping[str, str] | None = None,
    max_seconds: NotNegative | None = None,
    before: Solution | None = None,
    seed: Seed = 0,
    report: Callable[[str], None] = lambda _: None,
) -> Solution:
    """Finds the formula over the columns of `X` that gives `y`, if it has one of the shapes arithmetic units compute.

    Args:
        X: a table of numbers, `(rows, columns)`; the column names of a DataFrame become symbols.
        y: one number for each row.
        names: symbols for the columns, instead of x0, x1, ... or a DataFrame's own.
        noise: relative noise of y, 0 for none; None if unknown: then exactness is tried first and noise after it.
        effort: "quick", "normal" or "high".
        like: a unit or `Chain` whose grid weights are to be filled; the search keeps to what it can compute.
        functions: the elementary functions a formula may hold, by name ("sin", "exp", ...); None for all of them, ()
            for arithmetic alone, which is always tried first.
        weights: how much each row counts in an approximation, at least 0; a law holds at every row of positive weight.
        units: physical units of columns by name, and of the target as "y" (`{"m": "kg", "y": "newton"}`); formulas that
            do not balance are not claimed.
        max_seconds: the search ends after so long with the best it has; None for no limit.
        before: an earlier answer for a table with these columns, whose formulas are tried first.
        seed: the same seed gives the same answer.
        report: called with the name of each shape as it is tried.

    >>> import numpy as np
    >>> X = np.random.default_rng(0).uniform(1, 2, (64, 3))
    >>> print(solve(X, X[:, 0] * X[:, 1] / X[:, 2] ** 2, names=["m", "M", "r"]).expression)
    M*m/r**2
    """
    from nalm.solver.units.fill import fill
    from nalm.solver.units.stack import stack_of

    began, clock = time.perf_counter(), Stopwatch(max_seconds)
    if effort not in EFFORTS:
        raise ValueError(f"effort must be one of {', '.join(EFFORTS)}; got {effort!r}")
    table = checked(X, y, noise=noise, seed=seed, names=names)
    labels = column_names(X, names, table.columns)
    table = replace(table, dimensions=dimensions(units, labels))
    with one_thread(), np.errstate(all="ignore"):
        if like is not None:
            notes: list[str] = []
            finding, unit, why = fill(like, table)
        else:
            rows = gathered(table, weights)
            problem, columns, aside = set_aside(rows.problem, labels)
            notes = [*rows.notes, *aside, *marked_missing(table, labels), *tied(problem, [labels[i] for i in columns])]
            may_hold = named(functions)
            if all(marks(column) for column in problem.X.T):
                may_hold = ()  # through two values every function goes that a line goes through
            reach = replace(EFFORTS[effort], functions=may_hold, before=_laws_of(before, labels, columns))
            limit = clock.left(SETTINGS.search_share)
            finding = without_twins(searched_within(limit, problem, reach, noise is not None, report))
            finding = everywhere(finding, rows, columns)
            finding = without_outliers(finding, rows, columns, clock.left(SETTINGS.outlier_share))
            finding = approximated(finding, rows.weights, clock.left()).over(columns)
            unit, why = stack_of(finding.verdict, table.columns)
    chosen, notes = finding.verdict.candidate, [*notes, *finding.verdict.reasons]
    if finding.verdict.status is Status.NONE and not finding.verdict.reasons:
        few = table.rows < SETTINGS.fewest_held_out
        notes.append(NO_LAW + (FEW_ROWS if few else NO_BETTER))
    if table.dimensions is not None:
        notes += table.dimensions.said(chosen.formula)
    notes += [f"{value:.6g} was recognised as {name}" for value, name in recognised_in(chosen).items()]
    notes += why
    used = finding.problem
    evidence = Evidence(chosen.backward_error, table.rows, used.noise, chosen.constants, tuple(notes), used.additive)
    return Solution(finding.verdict, evidence, tuple(labels), finding.tried, unit, time.perf_counter() - began)


def _laws_of(earlier: Solution | None, names: Sequence[str], columns: Sequence[int]) -> tuple[Formula, ...]:
    """The formulas of an earlier answer that may be laws, over the columns that are searched, the chosen one first.

    Those with more numbers were fitted to the earlier rows; as approximations, formulas are made anew from the rows.
    """
    if earlier is None:
        return ()
    if earlier.names != tuple(names):
        raise ValueError(f"before has the columns {', '.join(earlier.names)}; the table has {', '.join(names)}")
    listed = [earlier.chosen.formula, *(verdict.candidate.formula for verdict in earlier.front)]
    place = {column: k for k, column in enumerate(columns)}
    return tuple(
        renumbered(formula, [place.get(i, -1) for i in range(len(names))])
        for formula in dict.fromkeys(listed)
        if len(real_constants(formula)) <= SETTINGS.most_constants and inputs(formula) <= place.keys()
    )


_linear_algebra = cache(ThreadpoolController)  # looks for the libraries on first use, when all of them are loaded


def one_thread() -> AbstractContextManager[Any]:
    """The matrices here are small: several threads gain nothing, and where cores are busy they wait for each other."""
    limits: AbstractContextManager[Any] = _linear_algebra().limit(limits=1, user_api="blas")
    return limits
