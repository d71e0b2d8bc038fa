"""Data with noise of unknown size: which formula, how large the noise, and whether the data really decide.

Exactness cannot be seen under noise, so three other things are asked: the best formula leaves errors without structure;
no other formula that was proposed explains the data nearly as well; and no small change of the formula does either.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from nalm.solver.data.problem import Problem
from nalm.solver.formula.algebra import Formula, real_constants
from nalm.solver.formula.calculus import evaluate
from nalm.solver.settings import SETTINGS
from nalm.solver.verdict.candidate import Finding, Status, Verdict
from nalm.solver.verdict.certainty import agrees_elsewhere, description_bits
from nalm.solver.verdict.choice import refusal
from nalm.solver.verdict.edits import edits
from nalm.solver.verdict.judge import judge
from nalm.solver.verdict.refine import refine
from nalm.solver.verdict.structure import structured


def loosened(problem: Problem) -> Problem:
    """The problem with the largest noise that is looked for: shapes propose for this one."""
    return replace(problem, noise=SETTINGS.largest_noise)


def under_noise(problem: Problem, proposed: Iterable[tuple[Formula, str]], exact: Finding) -> Finding:
    """The verdict when nothing is exact and the noise was not given.

    Args:
        proposed: formulas and the names of their shapes.
        exact: what the search without noise has ended with.
    """
    pool: dict[Formula, float] = {}
    shapes: dict[Formula, str] = {}
    for formula, shape in proposed:
        refined = refine(loosened(problem), formula, rounds=2)[0]
        level = noise_level(problem, refined)
        if level < SETTINGS.largest_noise:
            pool[refined], shapes[refined] = level, shape
    if not pool:
        return exact
    best = min(pool, key=lambda formula: _cost(problem, formula, pool[formula]))
    verdict = judge(problem, best, shapes[best])
    if verdict.found:  # the closed forms and searches of noisy data may meet an exact law first
        return Finding(problem, (*exact.tried, verdict), verdict)
    verdict = judge(replace(problem, noise=pool[best]), best, shapes[best])
    formula = verdict.candidate.formula
    noisy = replace(problem, noise=max(noise_level(problem, formula), 1e-12))
    listed = sorted(pool, key=pool.__getitem__)[: SETTINGS.listed_under_noise]
    tried = (*exact.tried, *(judge(noisy, other, shapes[other]) for other in listed))
    holds = verdict.status is not Status.NONE and noisy.noise <= SETTINGS.largest_noise
    if not holds or structured(noisy, formula, level=SETTINGS.structure_level_under_noise):
        return Finding(problem, tried, refusal([exact.verdict, verdict]))
    note = f"the noise of y was estimated as {noisy.noise:.1e} of its size"
    if verdict.found and _has_rival(noisy, formula, pool):
        reasons = (note, "another formula explains the data nearly as well")
        return Finding(noisy, tried, Verdict(verdict.candidate, Status.AMBIGUOUS, reasons))
    return Finding(noisy, tried, verdict.because(note))


def noise_level(problem: Problem, formula: Formula) -> float:
    """Root mean square of the errors relative to each target; infinite where the formula has no value."""
    with np.errstate(all="ignore"):
        relative = (evaluate(formula, problem.X) - problem.y) / np.abs(problem.y)
        level = math.sqrt(float(np.mean(relative[problem.y != 0] ** 2))) if np.any(problem.y) else math.inf
    return level if math.isfinite(level) else math.inf


def _cost(problem: Problem, formula: Formula, level: float) -> float:
    """Twice the description length in nats: the errors at their own level, the formula, its fitted constants."""
    constants = len(real_constants(formula))
    bits = description_bits(problem, formula) - 24 * constants
    return 2 * problem.rows * math.log(max(level, 1e-12)) + 2 * math.log(2) * bits + constants * math.log(problem.rows)


def _has_rival(problem: Problem, formula: Formula, pool: dict[Formula, float]) -> bool:
    """Does anything else, proposed or one small change away, come within the clear margin?"""
    squares = problem.noise**2
    for other, level in pool.items():
        near = problem.rows * (level**2 - squares) < SETTINGS.clear_margin * squares
        if near and not agrees_elsewhere(problem, formula, other, within=2 * problem.noise):
            return True
    real = bool(real_constants(formula))
    for other in edits(formula, problem.columns):
        changed = refine(problem, other, rounds=1)[0] if real else other
        if problem.rows * (noise_level(problem, changed) ** 2 - squares) < SETTINGS.clear_margin * squares:
            return True
    return False
