"""`solve`: a table in, an exact formula or an honest refusal out."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
from threadpoolctl import ThreadpoolController

from nalm.solver.algebra.formula import Constant
from nalm.solver.clean import renumbered, set_aside
from nalm.solver.ladder import EFFORTS, Effort, approximations, climb, stages
from nalm.solver.noisy import Outcome, under_noise
from nalm.solver.printed import PRINTED, as_printed, within_print
from nalm.solver.problem import Problem, checked, column_names
from nalm.solver.solution import Evidence, Solution
from nalm.solver.verdict.certainty import agrees_elsewhere
from nalm.solver.verdict.judge import Candidate, Status, judge, rational


def solve(
    X: Any,
    y: Any,
    names: Sequence[str] | None = None,
    noise: float | None = None,
    effort: str = "normal",
    like: Any = None,
    seed: int = 0,
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
        seed: the same seed gives the same answer.
        report: called with the name of each shape as it is tried.

    >>> import numpy as np
    >>> X = np.random.default_rng(0).uniform(1, 2, (64, 3))
    >>> print(solve(X, X[:, 0] * X[:, 1] / X[:, 2] ** 2, names=["m", "M", "r"]).expression)
    M*m/r**2
    """
    began = time.perf_counter()
    if effort not in EFFORTS:
        raise ValueError(f"effort must be one of {', '.join(EFFORTS)}; got {effort!r}")
    problem = checked(X, y, noise=noise, seed=seed)
    labels = column_names(X, names, problem.columns)
    if like is not None:
        from nalm.solver.like import fill

        with one_thread():
            return fill(like, problem, tuple(labels), began)
    used, columns, notes = set_aside(problem, labels)
    with one_thread(), np.errstate(all="ignore"):
        used, tried, chosen, status, more = _searched(used, EFFORTS[effort], noise is None, report)
    tried = [replace(c, formula=renumbered(c.formula, columns)) for c in tried]
    chosen = replace(chosen, formula=renumbered(chosen.formula, columns))
    unit, why = _stack(chosen, status, problem.columns)
    evidence = Evidence(
        chosen.backward_error, problem.rows, used.noise, chosen.constants, (*notes, *more, *([why] if why else []))
    )
    return Solution(chosen, status, evidence, tuple(labels), tuple(tried), unit, time.perf_counter() - began)


_linear_algebra = cache(ThreadpoolController)  # looks for the libraries on first use, when all of them are loaded


def one_thread() -> AbstractContextManager[Any]:
    """The matrices here are small: several threads gain nothing, and where cores are busy they wait for each other."""
    limits: AbstractContextManager[Any] = _linear_algebra().limit(limits=1, user_api="blas")
    return limits


def _searched(problem: Problem, effort: Effort, noisy: bool, report: Callable[[str], None]) -> Outcome:
    """Closed forms, shallow searches, deep searches, and noise after each of the first two: the first that holds.

    Noise comes before the deep searches because nothing exact can be found in noisy data, and they take seconds.
    """
    tried = _constant_target(problem)
    doubtful: Outcome | None = None
    for depth, rungs in enumerate(stages(problem, effort)):
        if not problem.columns or any(c.found for c in tried):
            break
        tried = tried + climb(problem, rungs, report)
        chosen, status, _ = _verdict(problem, tried)
        if status is Status.NONE and noisy and depth < (2 if effort.composite else 1):
            outcome = _blurred(problem, tried, chosen, depth > 0, report)
            if outcome[3] in (Status.EXACT, Status.REAL):
                return outcome
            doubtful = outcome if outcome[3] is Status.AMBIGUOUS and depth else None
    chosen, status, notes = _verdict(problem, tried)
    if status is Status.NONE and doubtful is not None:
        return doubtful
    return problem, tried, chosen, status, notes


def _blurred(
    problem: Problem, tried: list[Candidate], chosen: Candidate, thorough: bool, report: Callable[[str], None]
) -> Outcome:
    """What explains the data within their printed digits, if they have few, or else under noise."""
    if (printed := as_printed(problem)) is not None:
        report("printed digits")
        inside = within_print(printed, thorough)
        best, status, notes = _verdict(printed, inside)
        if status is not Status.NONE:
            return printed, tried + inside, best, status, [PRINTED, *notes]
        if not thorough:  # noise explains too easily what more shapes would explain exactly
            return problem, tried, chosen, Status.NONE, []
    report("noise")
    return under_noise(problem, tried, chosen, thorough)


def _constant_target(problem: Problem) -> list[Candidate]:
    """A target that never changes is a number, whatever the inputs."""
    first = float(problem.y[0])
    if problem.columns and np.ptp(problem.y) > 0:
        return []
    if np.ptp(problem.y) > 0:
        mean = Constant(float(np.mean(problem.y)))
        return [judge(problem, mean, "constant")]
    exact = rational(first, 0.0) if first else Fraction(0)
    if exact is not None and float(exact) == first:
        return [Candidate(Constant(exact), "constant", Status.EXACT, 0.0, 0.0)]
    return [Candidate(Constant(first), "constant", Status.REAL, 0.0, 0.0, ((first, 0.0),))]


def _verdict(problem: Problem, tried: list[Candidate]) -> tuple[Candidate, Status, list[str]]:
    """The best candidate and what may be said of it."""
    found = [c for c in tried if c.found] or [c for c in tried if c.status is Status.AMBIGUOUS]
    if not found:
        return min([*tried, *approximations(problem)], key=lambda c: c.relative_error), Status.NONE, []
    chosen = min(found, key=lambda c: (len(c.constants), c.complexity))
    rivals = [c for c in found if c.complexity <= chosen.complexity + 1 and len(c.constants) <= len(chosen.constants)]
    if not all(agrees_elsewhere(problem, chosen.formula, rival.formula) for rival in rivals):
        return chosen, Status.AMBIGUOUS, ["another formula of the same size fits as well but differs outside the data"]
    return chosen, chosen.status, [chosen.doubt] if chosen.doubt else []


def _stack(chosen: Candidate, status: Status, columns: int) -> tuple[Any, str]:
    from nalm.solver.stack import stack_of

    if status is Status.NONE:
        return None, ""
    return stack_of(chosen.formula, columns)
