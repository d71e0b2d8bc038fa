"""Data with noise of unknown size: which formula, how large the noise, and whether the data really decide.

Exactness cannot be seen under noise, so other things are asked: the best formula leaves errors that are noise; no other
formula that was proposed explains the data nearly as well; no small change of the formula does either; and its numbers
are those that the data would choose.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain

import numpy as np

from nalm.solver.data.problem import Problem
from nalm.solver.formula.algebra import Formula, real_constants
from nalm.solver.formula.calculus import Array, evaluate
from nalm.solver.settings import SETTINGS
from nalm.solver.verdict.candidate import Finding, Status, Verdict
from nalm.solver.verdict.certainty import agrees_elsewhere, symbol_bits, whole_bits
from nalm.solver.verdict.choice import refusal
from nalm.solver.verdict.edits import edits
from nalm.solver.verdict.judge import judge
from nalm.solver.verdict.learning import regression
from nalm.solver.verdict.refine import refine
from nalm.solver.verdict.structure import cubic


@dataclass(frozen=True)
class Noise:
    """Errors of y: a share of each target, or of one size for all rows."""

    relative: float = 0.0
    additive: float = 0.0

    def on(self, problem: Problem) -> Problem:
        """The problem with this noise."""
        return replace(problem, noise=self.relative, additive=self.additive)

    def bearable(self, problem: Problem) -> bool:
        """Is it small enough for a law to be told from its neighbours?"""
        most = SETTINGS.largest_share * float(np.std(problem.y))
        return self.relative <= SETTINGS.largest_noise and self.additive <= most

    def surprise(self, problem: Problem) -> float:
        """Twice the nats that name the errors: the logarithms of their sizes at the rows."""
        with np.errstate(all="ignore"):
            sizes = self.additive + self.relative * np.abs(problem.y)
            return float(2 * np.sum(np.log(np.maximum(sizes, SETTINGS.least_noise * np.abs(problem.y).max()))))

    def __str__(self) -> str:
        if self.relative:
            return f"{self.relative:.1e} of its size"
        return f"{self.additive:.2g}, the same for all rows"


def loosened(problem: Problem) -> Problem:
    """The problem with the largest noise that is likely: shapes propose for this one.

    A smooth regression leaves at other rows the noise and what it has not learned; a cubic in the inputs leaves the
    noise and what is not cubic in the law.
    """
    share = SETTINGS.largest_share
    if problem.rows >= SETTINGS.fewest_to_level:
        share = min(share, SETTINGS.cubic_excess * regression(problem).left)
    terms = cubic(problem.X, range(problem.columns))
    if problem.rows >= 2 * terms.shape[1]:
        basis = np.linalg.qr(terms)[0]
        centred = problem.y - problem.y.mean()
        left = np.linalg.norm(centred - basis @ (basis.T @ centred)) / np.linalg.norm(centred)
        share = min(
            share, SETTINGS.cubic_excess * float(left) * math.sqrt(problem.rows / (problem.rows - terms.shape[1]))
        )
    return Noise(additive=share * float(np.std(problem.y))).on(problem)


@dataclass(frozen=True)
class _Explanation:
    """A proposed formula, its shape, and the noise that it leaves."""

    formula: Formula
    shape: str
    noise: Noise

    def cost(self, problem: Problem) -> float:
        """Twice the description length in nats: the errors at their own level, the formula, its fitted constants."""
        constants = len(real_constants(self.formula))
        bits = symbol_bits(problem, self.formula) + whole_bits(self.formula)
        return self.noise.surprise(problem) + 2 * math.log(2) * bits + constants * math.log(problem.rows)


class Pool:
    """What explains a problem under noise. Each shape is asked once, however many stages of a search look at it."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._of: dict[str, list[_Explanation]] = {}

    @cached_property
    def loosened(self) -> Problem:
        """The problem that shapes propose for."""
        return loosened(self._problem)

    def of(self, shape: str, propose: Callable[[], Iterable[Formula]]) -> list[_Explanation]:
        """The proposals of a shape with the noise they leave, where that is small enough."""
        if shape not in self._of:
            self._of[shape] = [
                explanation
                for formula in propose()
                for explanation in _explanations(self._problem, formula, shape, self.loosened.additive)
            ]
        return self._of[shape]


def under_noise(problem: Problem, explanations: Iterable[_Explanation], exact: Finding) -> Finding:
    """The verdict when nothing is exact and the noise was not given.

    Args:
        explanations: proposals, with the noise they leave.
        exact: what the search without noise has ended with.
    """
    first: dict[Formula, _Explanation] = {}
    for explanation in explanations:
        first.setdefault(explanation.formula, explanation)
    pool = list(first.values())
    if not pool:
        return exact
    best = min(pool, key=lambda explanation: explanation.cost(problem))
    verdict = judge(problem, best.formula, best.shape)
    if verdict.found:  # the closed forms and searches of noisy data may meet an exact law first
        return Finding(problem, (*exact.tried, verdict), verdict)
    if closer := list(_closer(problem, verdict, exact.tried)):
        pool += closer
        best = min(pool, key=lambda explanation: explanation.cost(problem))
    noisy = best.noise.on(problem)
    verdict = judge(noisy, best.formula, best.shape)
    listed = sorted(pool, key=lambda explanation: explanation.noise.surprise(problem))[: SETTINGS.listed_under_noise]
    tried = (*exact.tried, *(judge(noisy, other.formula, other.shape) for other in listed))
    if verdict.status is Status.NONE:
        return Finding(problem, tried, refusal(problem, [exact.verdict, verdict]))
    note = f"the noise of y was estimated as {best.noise}"
    if verdict.found and _has_rival(noisy, verdict.candidate.formula, pool):
        return Finding(noisy, tried, verdict.doubted(note, "another formula explains the data nearly as well"))
    return Finding(noisy, tried, verdict.because(note))


def _closer(problem: Problem, best: Verdict, tried: Iterable[Verdict]) -> Iterator[_Explanation]:
    """What the search without noise has met that leaves far less: then what the best one leaves need not be noise.

    Exact data lead that search further, so that it may meet a law whose smaller term passes for noise otherwise.
    """
    far_less = SETTINGS.far_less * best.candidate.relative_error
    for candidate in (verdict.candidate for verdict in tried if verdict.candidate.relative_error < far_less):
        yield from _explanations(problem, candidate.formula, candidate.shape, math.inf)


def _explanations(problem: Problem, formula: Formula, shape: str, likely: float) -> Iterator[_Explanation]:
    """A proposal with its numbers refined under each kind of noise, where what it leaves is small enough."""
    kinds = [Noise(additive=float(np.std(problem.y))), Noise(relative=1.0)]  # only the weights of the rows matter here
    far = SETTINGS.far_off
    for kind in kinds if np.all(problem.y) and real_constants(formula) else kinds[:1]:
        if not _typical_error(problem, formula) < far * likely:
            break
        refined = refine(kind.on(problem), formula, rounds=2)[0]
        noise = noise_of(problem, refined)
        if noise is not None and noise.bearable(problem):
            yield _Explanation(refined, shape, noise)
        formula, far = refined, SETTINGS.off


def _typical_error(problem: Problem, formula: Formula) -> float:
    """The median of the errors where there is a value; NaN if there is none at all."""
    errors = np.abs(evaluate(formula, problem.X) - problem.y)
    finite = errors[np.isfinite(errors)]
    return float(np.median(finite)) if len(finite) else math.nan


def noise_of(problem: Problem, formula: Formula) -> Noise | None:
    """The noise that a formula leaves, of the kind that explains its errors better; None where it has no value."""
    with np.errstate(all="ignore"):
        errors = evaluate(formula, problem.X) - problem.y
        if not np.all(np.isfinite(errors)):
            return None
        freedom = problem.rows / max(problem.rows - len(real_constants(formula)), 1)
        height = float(np.max(np.abs(problem.y)))
        additive = Noise(additive=height * _rms(errors / height, freedom) + SETTINGS.least_noise * height)
        if np.any(problem.y == 0):
            return additive
        relative = Noise(relative=_rms(errors / problem.y, freedom) + SETTINGS.least_noise)
    return min(additive, relative, key=lambda noise: noise.surprise(problem))


def _rms(errors: Array, freedom: float) -> float:
    return math.sqrt(freedom * float(np.mean(errors**2)))


def _has_rival(problem: Problem, formula: Formula, pool: Iterable[_Explanation]) -> bool:
    """Does anything else, proposed or one small change away, come within the clear margin, and differ elsewhere?

    A change may be undone when its numbers are fitted: to add x to 2.5 x is to fit 2.5 again. That is no other formula.
    """
    squares = float(np.sum(problem.errors(formula) ** 2))
    margin = squares * (1 + SETTINGS.clear_margin / problem.rows)
    real = bool(real_constants(formula))
    changes = edits(formula, problem.columns)
    changed = (refine(problem, other, rounds=1)[0] for other in changes) if real else changes
    same = SETTINGS.same_under_noise * problem.blur
    return any(
        float(np.sum(problem.errors(other) ** 2)) < margin
        and not agrees_elsewhere(problem, formula, other, within=same)
        for other in chain((explanation.formula for explanation in pool), changed)
    )
