"""The search: shapes propose, the judge decides, cheapest first; noise and few digits are thought of in between."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, islice

from nalm.solver.clock import OutOfTime, time_limit
from nalm.solver.data.problem import Problem
from nalm.solver.formula.algebra import Formula
from nalm.solver.settings import SETTINGS
from nalm.solver.shapes.approximation import approximations
from nalm.solver.shapes.catalogue import BLURRED, NEVER_NARROWED, SHAPES, WAVES, proposals
from nalm.solver.shapes.shape import Cost, Effort, Groups, Scope, Shape
from nalm.solver.verdict.candidate import Finding, Status, Verdict
from nalm.solver.verdict.choice import best_of, refusal
from nalm.solver.verdict.judge import constant_target, judge, unclaimed
from nalm.solver.verdict.learning import levels_off, telling
from nalm.solver.verdict.noise import Pool, under_noise
from nalm.solver.verdict.print import PRINTED, as_printed, in_print

Report = Callable[[str], None]


def searched_within(
    seconds: float | None, problem: Problem, effort: Effort, noise_is_known: bool, report: Report
) -> Finding:
    """What a search finds before its time is over; a claim without a look at its rivals is only ambiguous."""
    met: list[Verdict] = []
    try:
        with time_limit(seconds):
            return searched(problem, effort, noise_is_known, report, met)
    except OutOfTime:
        stopped = "the search was stopped by its limit of time"
        if claims := [verdict for verdict in met if verdict.found]:
            return Finding(problem, tuple(met), best_of(problem, claims).doubted(stopped))
        return Finding(problem, tuple(met), refused(problem, met).verdict.because(stopped))


def searched(
    problem: Problem, effort: Effort, noise_is_known: bool, report: Report, met: list[Verdict] | None = None
) -> Finding:
    """Cheap shapes, then shallow and deep searches, each on exact data and then, if noise is not given, on blurred.

    Where all that some columns leave of the target is noise, nothing exact is searched for, and laws in noise only in
    those columns. If the target passes for noise itself, there are only waves to search for, which may turn too fast to
    be seen otherwise. The deep searches take seconds, so blurred data come first there if they are likely: nothing
    exact is found in them.
    Everything that is judged before noise is thought of is put into `met` as well, for one who stops the search.
    """
    scope, pool = Scope(problem, effort), Pool(problem)
    tried = constant_target(problem)
    doubtful: Finding | None = None
    for costs in STAGES:
        stage = max(costs)
        if not problem.columns or any(verdict.found for verdict in tried):
            break
        dear = stage is Cost.DEEP or (stage is Cost.SHALLOW and problem.columns > SETTINGS.cheaply_searched)
        columns = telling(problem) if dear else None
        if columns and noise_is_known:  # then laws in noise are searched for as exact ones are
            columns = None
        exactly, blurred = (SHAPES, SHAPES) if columns is None else (() if columns else (WAVES,), _narrowed(columns))
        blurred_first = stage is Cost.DEEP and not noise_is_known and levels_off(problem)
        if blurred_first:
            finding = _blurred(_concluded(problem, tried), pool, effort, stage, blurred, report)
            if finding.verdict.status is not Status.NONE:
                return finding
        tried = tried + climb(scope, [shape for shape in exactly if shape.cost in costs], report, met)
        finding = _concluded(problem, tried)
        thinks_of_noise = not noise_is_known and not blurred_first and (stage < effort.costs or stage is Cost.DEEP)
        if finding.verdict.status is Status.NONE and thinks_of_noise:
            finding = _blurred(finding, pool, effort, stage, blurred, report)
            if finding.verdict.found:
                return finding
            doubtful = finding if finding.verdict.status is Status.AMBIGUOUS and stage > Cost.ITERATION else None
        if stage >= effort.costs:
            break
    finding = _concluded(problem, tried)
    return doubtful if doubtful is not None and finding.verdict.status is Status.NONE else finding


STAGES = ((Cost.CLOSED_FORM, Cost.ITERATION), (Cost.SHALLOW,), (Cost.DEEP,))


def _narrowed(columns: Sequence[int]) -> tuple[Shape, ...]:
    """The shapes as they look only at these columns, if there are any; some look at all of them in any case."""
    narrow = [shape.on(columns) for shape in SHAPES if columns and shape not in NEVER_NARROWED]
    return (*NEVER_NARROWED, *narrow)


def climb(
    scope: Scope, shapes: Iterable[Shape], report: Report = lambda _: None, met: list[Verdict] | None = None
) -> list[Verdict]:
    """Every proposal judged, in order; the search ends with the first shape that explains the data.

    After a find, a few more proposals of the same group are judged, so that a rival shows itself.
    """
    judged: list[Verdict] = []
    undecided = 0
    for shape in shapes:
        report(shape.name)
        for group, formula in islice(_grouped(shape, scope), SETTINGS.judged_in_vain):
            judged.append(judge(scope.problem, formula, shape.name))
            if met is not None:
                met.append(judged[-1])
            undecided += judged[-1].status is Status.AMBIGUOUS
            if undecided == SETTINGS.undecided:
                return judged
            if judged[-1].found:
                rivals = islice(group, SETTINGS.rivals)
                return judged + [judge(scope.problem, rival, shape.name) for rival in rivals]
    return judged


def _grouped(shape: Shape, scope: Scope) -> Iterator[tuple[Iterator[Formula], Formula]]:
    """Every proposal of a shape, with the rest of its group."""
    for group in shape.groups(scope):
        for formula in group:
            yield group, formula


def _concluded(problem: Problem, tried: list[Verdict]) -> Finding:
    """The best of all that was tried, or of the approximations that are always there."""
    return Finding(problem, tuple(tried), best_of(problem, tried, _fallback(problem)))


def refused(problem: Problem, tried: list[Verdict]) -> Finding:
    """No claim: whatever has the smallest error."""
    return Finding(problem, tuple(tried), refusal(problem, [*tried, *_fallback(problem)]))


def _fallback(problem: Problem) -> Iterator[Verdict]:
    return (unclaimed(problem, formula, "approximation") for formula in approximations(problem))


def _blurred(
    exact: Finding, pool: Pool, effort: Effort, stage: Cost, among: Iterable[Shape], report: Report
) -> Finding:
    """What explains the data within their printed digits, if they have few, or else under noise.

    Args:
        exact: what the search without noise has ended with.
        pool: what has explained the data under noise so far.
        stage: the costliest shapes tried.
        among: the shapes they are taken from.
    """
    shapes = [s for s in among if s.blurred_cost is not None and s.blurred_cost <= stage]
    reach = replace(BLURRED, functions=effort.functions, before=effort.before)
    if stage < Cost.DEEP and (printed := as_printed(exact.problem)) is not None:
        report("printed digits")
        inside = [in_print(printed, verdict) for verdict in climb(Scope(printed, reach), map(_first, shapes))]
        finding = _concluded(printed, inside)
        if finding.verdict.status is not Status.NONE:
            return Finding(printed, (*exact.tried, *inside), finding.verdict.because(PRINTED))
        if stage <= Cost.ITERATION:  # noise explains too easily what more shapes would explain exactly
            return exact
    report("noise")
    scope = Scope(pool.loosened, reach)
    explanations = [pool.of(shape.name, partial(proposals, _first(shape), scope)) for shape in shapes]
    return under_noise(exact.problem, chain.from_iterable(explanations), exact)


def _first(shape: Shape) -> Shape:
    """The shape with its first proposals only: where data are blurred, nothing exact guides a search to more."""
    most = SETTINGS.blurred_function_proposals if shape.blurred_cost is Cost.DEEP else SETTINGS.blurred_proposals

    def propose(scope: Scope) -> Groups:
        firsts = (islice(group, SETTINGS.blurred_group) for group in shape.groups(scope))
        yield islice(chain.from_iterable(firsts), most)

    return Shape(shape.name, shape.cost, propose, shape.blurred_cost)
