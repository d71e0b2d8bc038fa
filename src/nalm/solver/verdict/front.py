"""When there is no law: formulas from short to long, each with its error on rows it was not fitted to.

The front holds only formulas that no shorter one beats, none with a pole between the smallest and the largest values of
the columns. The shortest is chosen that held-out rows cannot tell from the best, or that nobody could in a figure: what
is offered here is no law, so it is there to be read and to predict, and digits that nobody sees cost terms to read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np

from nalm.solver.clock import OutOfTime, time_limit
from nalm.solver.data.problem import Problem
from nalm.solver.formula.algebra import Formula, inputs, real_constants, size, with_constants
from nalm.solver.formula.bounds import defined_between
from nalm.solver.formula.calculus import Array, evaluate, gradients
from nalm.solver.settings import SETTINGS
from nalm.solver.shapes.approximation import fitted_sum, rounded
from nalm.solver.shapes.flexible import Terms, linear_terms, paired_terms, saturating_terms, single_terms, sparse_sums
from nalm.solver.shapes.screen import by_importance
from nalm.solver.verdict.candidate import Candidate, Finding, Fitted, Status, Verdict
from nalm.solver.verdict.learning import telling


@dataclass(frozen=True, eq=False)
class FrontEntry:
    """A formula, the shape it came from, and its squared errors at every row, held out where it was fitted `(n,)`."""

    formula: Formula
    shape: str
    squares: Array


def approximated(finding: Finding, weights: Array, seconds: float | None = None) -> Finding:
    """The finding with the front of approximations in the place of what was tried, if nothing was claimed.

    Args:
        finding: what a search has ended with.
        weights: how much each row counts, `(n,)`.
        seconds: how long it may take; then those approximations count that are ready, the plain ones first.
    """
    problem = finding.problem
    if finding.verdict.status is not Status.NONE or not problem.columns:
        return finding
    finding = _in_few_digits(finding)
    if problem.rows < SETTINGS.fewest_held_out:
        return finding
    entries: list[FrontEntry] = []
    try:
        with time_limit(seconds):
            for entry in chain(_sparse_sums(problem, weights), _tried(finding)):
                entries.append(entry)
    except OutOfTime:
        pass
    return _on_front(finding, entries, weights) if entries else finding


def _in_few_digits(finding: Finding) -> Finding:
    """A refusal whose formula is written in the digits that the rows determine."""
    problem, candidate = finding.problem, finding.verdict.candidate
    if len(real_constants(candidate.formula)) >= problem.rows:
        return finding
    short = _shortened(problem, _in_sample(problem, candidate.formula, candidate.shape))
    if short.formula == candidate.formula:
        return finding
    errors = problem.backward_error(short.formula), problem.relative_rms(short.formula)
    constants = tuple(map(Fitted, real_constants(short.formula), _deviations(problem, short)))
    return replace(
        finding, verdict=replace(finding.verdict, candidate=Candidate(short.formula, short.shape, *errors, constants))
    )


def _on_front(finding: Finding, entries: Sequence[FrontEntry], weights: Array) -> Finding:
    problem = finding.problem
    front = _undominated(entries, weights)
    chosen = _knee(front, weights, problem.y)
    # Which rows are held out together may make the mean look worse than it is, and noise a law beside it.
    mean = np.average(problem.y, weights=weights)
    spread = float(np.average((problem.y - mean) ** 2, weights=weights)) * _optimism(problem.rows, 1)
    alone = min(float(np.average(front[0].squares, weights=weights)), spread)
    worth = 1 - float(np.average(chosen.squares, weights=weights)) / alone if alone > 0 else 0.0
    if chosen is front[0] or worth < SETTINGS.least_explained:
        return finding
    verdicts = {entry.formula: _verdict(problem, entry, weights) for entry in front}
    explained = f"{worth:.3g}" if worth < SETTINGS.nearly_all else f"all but {max(1 - worth, 0.0):.1g}"
    note = (
        f"no law was found; this formula of size {size(chosen.formula)} approximates, and explains {explained} of the "
        "variance of rows it was not fitted to"
    )
    chosen_verdict = verdicts[chosen.formula].because(*finding.verdict.reasons, note)
    verdicts[chosen.formula] = chosen_verdict
    return Finding(problem, tuple(verdicts.values()), chosen_verdict)


def _sparse_sums(problem: Problem, weights: Array) -> Iterator[FrontEntry]:
    """Sums of growing length, of plain columns and of all terms: of many, more are chosen by chance.

    Where some columns leave only noise of the target, all terms are those of these columns.
    """
    ranked = [int(i) for i in by_importance(problem)]
    yield from _held_out(problem, weights, linear_terms(problem, ranked[: SETTINGS.single_columns]), [])
    ranked = [i for i in ranked if i in (telling(problem) or ranked)]
    columns = ranked[: SETTINGS.single_columns]
    terms = single_terms(problem, columns) + paired_terms(problem, ranked[: SETTINGS.paired_columns])
    terms = terms + saturating_terms(problem, columns)
    yield from _held_out(problem, weights, terms, columns)


def _held_out(problem: Problem, weights: Array, terms: Terms, columns: Sequence[int]) -> list[FrontEntry]:
    """Sums fitted to all rows, with the errors that sums of that length, fitted to other rows, make at each row."""
    longest = int(min(SETTINGS.longest_sum, problem.rows // SETTINGS.rows_per_summand))
    whole = sparse_sums(problem, weights, terms, columns, longest)
    squares = np.full((longest + 1, problem.rows), np.inf)
    fold_of = np.random.default_rng(problem.seed).permutation(problem.rows) % SETTINGS.folds
    for fold in range(SETTINGS.folds):
        out = fold_of == fold
        if np.any(weights[~out]):
            values = sparse_sums(problem, np.where(out, 0.0, weights), terms, columns, longest).values
            squares[: len(values), out] = (values[:, out] - problem.y[out]) ** 2
    return [
        FrontEntry(fitted_sum(problem, chosen, weights), "sparse sum", errors)
        for chosen, errors in zip(whole.terms, squares, strict=False)
        if np.all(np.isfinite(errors))
    ]


def _tried(finding: Finding) -> list[FrontEntry]:
    """What the search has met, if it has few numbers for the rows it was fitted to, and no pole."""
    problem = finding.problem
    low, high = np.min(problem.X, axis=0), np.max(problem.X, axis=0)
    most = problem.rows // SETTINGS.rows_per_number
    entries = []
    for verdict in sorted(finding.tried, key=lambda v: v.candidate.relative_error)[: SETTINGS.tried_on_front]:
        candidate = verdict.candidate
        numbers = len(real_constants(candidate.formula))
        reads = bool(inputs(candidate.formula))  # a constant is the sum without terms, whatever it is written as
        if reads and numbers <= most and defined_between(candidate.formula, low, high):
            entries.append(_shortened(problem, _in_sample(problem, candidate.formula, candidate.shape)))
    return [entry for entry in entries if np.all(np.isfinite(entry.squares)) and problem.balances(entry.formula)]


def _in_sample(problem: Problem, formula: Formula, shape: str) -> FrontEntry:
    """Errors at the rows it was fitted to, enlarged by what fitting has taken off them."""
    optimism = _optimism(problem.rows, len(real_constants(formula)))
    return FrontEntry(formula, shape, optimism * (evaluate(formula, problem.X) - problem.y) ** 2)


def _optimism(rows: int, numbers: int) -> float:
    return (rows + numbers) / (rows - numbers)


def _shortened(problem: Problem, entry: FrontEntry) -> FrontEntry:
    """The same with its numbers rounded to their accuracy, if that costs nothing that anyone would notice.

    Numbers that trade against each other are known better together than one by one, and may need a digit or two more.
    """
    values = real_constants(entry.formula)
    if not values or not np.all(np.isfinite(entry.squares)):
        return entry
    spreads = np.array(_deviations(problem, entry))
    for finer in (1, 10, 100):
        numbers = [rounded(value, spread / finer) for value, spread in zip(values, spreads, strict=True)]
        short = _in_sample(problem, with_constants(entry.formula, numbers), entry.shape)
        if np.mean(short.squares) <= (1 + SETTINGS.knee_share) * np.mean(entry.squares):
            return short
    return entry


def _undominated(entries: Iterable[FrontEntry], weights: Array) -> list[FrontEntry]:
    """Shortest first, each with a smaller error than all shorter ones."""
    front: list[FrontEntry] = []
    least = np.inf
    ranked = [(size(entry.formula), float(np.average(entry.squares, weights=weights)), entry) for entry in entries]
    for _, error, entry in sorted(ranked, key=lambda r: r[:2]):
        if error < least:
            least = error
            front.append(entry)
    return front


def _knee(front: Sequence[FrontEntry], weights: Array, y: Array) -> FrontEntry:
    """The shortest whose squared error exceeds the least by little: a share of it, of the uncertainty of the
    difference, or of the variance of the target `y`."""
    best = front[-1]
    share = weights / np.sum(weights)
    rows = 1 / float(np.sum(share**2))
    unseen = SETTINGS.knee_accuracy**2 * float(share @ (y - share @ y) ** 2)
    for entry in front:
        worse = entry.squares - best.squares
        mean = float(share @ worse)
        uncertainty = np.sqrt(float(share @ (worse - mean) ** 2) / rows)
        if mean <= max(SETTINGS.knee * uncertainty, SETTINGS.knee_share * float(share @ best.squares), unseen):
            return entry
    return best


def _verdict(problem: Problem, entry: FrontEntry, weights: Array) -> Verdict:
    error = np.sqrt(np.average(entry.squares, weights=weights) / np.average(problem.y**2, weights=weights))
    constants = tuple(map(Fitted, real_constants(entry.formula), _deviations(problem, entry)))
    backward = problem.backward_error(entry.formula)
    return Verdict(Candidate(entry.formula, entry.shape, backward, float(error), constants), Status.APPROXIMATION)


def _deviations(problem: Problem, entry: FrontEntry) -> list[float]:
    by_constant = gradients(entry.formula, problem.X)[2]
    if not by_constant.shape[1] or not np.all(np.isfinite(by_constant)):
        return [float("inf")] * by_constant.shape[1]
    scale = np.linalg.norm(by_constant, axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    inverse = np.linalg.pinv((by_constant / scale).T @ (by_constant / scale))
    noise = np.sqrt(np.mean(entry.squares))
    return [float(d) for d in noise * np.sqrt(np.maximum(np.diag(inverse), 0.0)) / scale]
