"""The verdict on a whole search: the best of all that was judged, unless an equal disagrees with it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from nalm.solver.data.problem import Problem
from nalm.solver.formula.algebra import real_constants
from nalm.solver.settings import SETTINGS
from nalm.solver.verdict.candidate import Status, Verdict
from nalm.solver.verdict.certainty import agrees_elsewhere, description_bits


def best_of(problem: Problem, tried: Sequence[Verdict], fallback: Iterable[Verdict] = ()) -> Verdict:
    """The simplest claim, with fewest fitted numbers; without any, the shortest description of what fits the data;
    without that, the smallest error, also among the fallback."""
    explaining = [v for v in tried if v.found or v.status is Status.AMBIGUOUS]
    found = [v for v in explaining if v.found]
    if not explaining:
        return refusal(problem, [*tried, *fallback])
    if not found:  # a fraction with twenty digits is no simpler than a fitted number
        return min(explaining, key=lambda v: description_bits(problem, v.candidate.formula))
    chosen = min(found, key=lambda v: (len(v.candidate.constants), v.candidate.complexity))
    best = chosen.candidate
    candidates = (v.candidate for v in explaining)
    rivals = [c for c in candidates if c.complexity <= best.complexity + 1 and len(c.constants) <= len(best.constants)]
    if not all(agrees_elsewhere(problem, best.formula, rival.formula) for rival in rivals):
        return chosen.doubted("another formula of the same size fits as well but differs outside the data")
    return chosen


def refusal(problem: Problem, tried: Sequence[Verdict]) -> Verdict:
    """The smallest error, and nothing is said of it; of formulas with fewer numbers than rows, if there are any."""
    fewer = SETTINGS.rows_per_refused_number
    plain = [v for v in tried if fewer * len(real_constants(v.candidate.formula)) <= problem.rows]
    return Verdict(min(plain or tried, key=lambda v: v.candidate.relative_error).candidate, Status.NONE)
