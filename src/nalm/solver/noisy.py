"""Data with noise of unknown size: which formula, how large the noise, and whether the data really decide.

Exactness cannot be seen under noise, so three other things are asked: the best formula leaves errors without structure;
no other formula that was proposed explains the data nearly as well; and no small change of the formula does either.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import islice

import numpy as np

from nalm.solver.algebra.calculus import evaluate
from nalm.solver.algebra.formula import Formula, real_constants
from nalm.solver.ladder import Propose, Rung
from nalm.solver.problem import Problem
from nalm.solver.shapes.composite import product_with_factors, sum_with_trees
from nalm.solver.shapes.factored import product_of_sums, quotient_of_sums
from nalm.solver.shapes.forms import monomial_times_form
from nalm.solver.shapes.monomials import sum_of_products
from nalm.solver.shapes.products import product_of_powers
from nalm.solver.shapes.screen import by_importance
from nalm.solver.shapes.sums import sum_of_inputs, sum_of_powers
from nalm.solver.verdict.certainty import agrees_elsewhere, description_bits
from nalm.solver.verdict.edits import edits
from nalm.solver.verdict.judge import Candidate, Status, judge, refine
from nalm.solver.verdict.structure import structured

LARGEST_NOISE = 0.03
CLEAR_MARGIN = 16.0
"""By how many noise variances a rival must be worse: four standard deviations."""

PROPOSALS = 40
Outcome = tuple[Problem, list[Candidate], Candidate, Status, list[str]]


def under_noise(problem: Problem, tried: list[Candidate], chosen: Candidate, thorough: bool) -> Outcome:
    """The verdict when nothing is exact and the noise was not given; unless `thorough`, by the closed forms only."""
    loose = replace(problem, noise=LARGEST_NOISE)
    pool: dict[Formula, float] = {}
    shapes: dict[Formula, str] = {}
    for rung in rungs(loose, thorough):
        for formula in _given(rung.propose(loose)):
            refined = refine(loose, formula, rounds=2)[0]
            level = noise_level(problem, refined)
            if level < LARGEST_NOISE:
                pool[refined], shapes[refined] = level, rung.name
    if not pool:
        return problem, tried, chosen, Status.NONE, []
    best = min(pool, key=lambda formula: _cost(problem, formula, pool[formula]))
    exact = judge(problem, best, shapes[best])
    if exact.found:  # the closed forms and searches of noisy data may meet an exact law first
        return problem, [*tried, exact], exact, exact.status, []
    noisy = replace(problem, noise=pool[best])
    verdict = judge(noisy, best, shapes[best])
    noisy = replace(problem, noise=max(noise_level(problem, verdict.formula), 1e-12))
    tried = [*tried, *(judge(noisy, formula, shapes[formula]) for formula in sorted(pool, key=pool.__getitem__)[:10])]
    holds = verdict.status is not Status.NONE and noisy.noise <= LARGEST_NOISE
    if not holds or structured(noisy, verdict.formula, level=2e-3):
        return problem, tried, min([chosen, verdict], key=lambda c: c.relative_error), Status.NONE, []
    note = f"the noise of y was estimated as {noisy.noise:.1e} of its size"
    if verdict.doubt:
        return noisy, tried, verdict, Status.AMBIGUOUS, [note, verdict.doubt]
    if _has_rival(noisy, verdict.formula, pool):
        return noisy, tried, verdict, Status.AMBIGUOUS, [note, "another formula explains the data nearly as well"]
    return noisy, tried, verdict, verdict.status, [note]


def rungs(problem: Problem, thorough: bool) -> Iterator[Rung]:
    """The shapes that are tried where data are blurred, the first proposals of each: nothing exact guides a search."""
    return (Rung(name, partial(_first, propose)) for name, propose in _shapes(problem, thorough))


def _first(propose: Propose, problem: Problem) -> Iterator[Formula | None]:
    return islice(_given(propose(problem)), PROPOSALS)


def _given(proposals: Iterator[Formula | None]) -> Iterator[Formula]:
    return (formula for formula in proposals if formula is not None)


def _shapes(problem: Problem, thorough: bool) -> Iterator[tuple[str, Propose]]:
    yield "sum", sum_of_inputs
    yield "product", product_of_powers
    yield "sum of powers", sum_of_powers
    yield "quotient of sums", quotient_of_sums
    if not thorough:
        return
    yield "product of 2 sums", partial(product_of_sums, k=2, starts=3)
    few = by_importance(problem)[:6]
    yield "sum of products", partial(sum_of_products, columns=few, terms=3, width=30)
    yield "monomial times a form", partial(monomial_times_form, columns=few)
    yield "product with factors", partial(product_with_factors, columns=few[:5])
    yield "sum with trees", partial(sum_with_trees, columns=few[:5])


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
        near = problem.rows * (level**2 - squares) < CLEAR_MARGIN * squares
        if near and not agrees_elsewhere(problem, formula, other, within=2 * problem.noise):
            return True
    real = bool(real_constants(formula))
    for other in edits(formula, problem.columns):
        changed = refine(problem, other, rounds=1)[0] if real else other
        if problem.rows * (noise_level(problem, changed) ** 2 - squares) < CLEAR_MARGIN * squares:
            return True
    return False
