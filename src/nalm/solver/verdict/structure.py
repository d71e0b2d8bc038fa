"""Whether errors are noise, or something that a formula has missed.

Noise knows nothing of the inputs. So the errors are tested in ways that see different things: a cubic in the
inputs (an F test; global and sharp), the errors of the rows around (left-out predictions by kernels of several widths),
and, under noise, the errors of the next rows along every coordinate, of the nearest rows, and of the next rows in the
table: at the scale of the data, where any function that is smooth between rows shows. One that is not, because it turns
faster than the rows follow each other, shows as a wave.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, combinations, combinations_with_replacement, islice, permutations

import numpy as np
from scipy import spatial, special, stats

from nalm.solver.data.columns import standard
from nalm.solver.data.problem import Problem, once_for_table
from nalm.solver.formula.algebra import Constant, Formula, inputs, real_constants
from nalm.solver.formula.calculus import Array, Indices, evaluate
from nalm.solver.settings import SETTINGS


def structured(problem: Problem, formula: Formula, level: float = SETTINGS.structure_level) -> bool:
    """Do the errors follow the inputs? True marks an approximation (or a missing term), not a law.

    Args:
        level: the chance that white errors are called structured by the F test.
    """
    return _follow(problem, formula, level) or (problem.noisy and _waves_explain(problem, problem.errors(formula)))


def _follow(problem: Problem, formula: Formula, level: float) -> bool:
    """Do the errors follow the inputs as functions do that are smooth between the rows?"""
    errors = problem.errors(formula)
    if not np.all(np.isfinite(errors)):
        return True
    if np.sqrt(np.mean(errors**2)) < SETTINGS.negligible_error / problem.rounding:
        return False
    basis = _cubic_basis(problem.X, tuple(sorted(inputs(formula))))
    # A value that changes sign would hide a missing factor, so its sign is taken out as well.
    both = (errors, errors * np.where(evaluate(formula, problem.X) < 0, -1, 1))
    if any(_explained(basis, e) < level for e in both):
        return True
    strength = SETTINGS.predictable if real_constants(formula) else SETTINGS.predictable_without_fits
    if _predictable(problem.X, np.stack(both, axis=1), strength, SETTINGS.kernel_widths if problem.noisy else (1.0,)):
        return True
    return problem.noisy and any(_neighbours_foretell(problem, formula, e) for e in both)


def white(problem: Problem) -> bool:
    """Does the target itself pass for noise by the tests that errors must pass, on enough rows to see more?

    Then there is nothing to explain. Its size has to pass as well: a product of inputs of both signs has a mean of zero
    wherever one looks, but is small where a factor is. A wave that turns faster than the rows follow each other passes.
    """
    if problem.rows < rows_to_be_white(problem):
        return False
    for values in (problem.y, np.abs(problem.y)):
        noise = replace(problem, y=values, noise=0.0, additive=float(np.std(values)))
        if _follow(noise, Constant(float(np.mean(values))), SETTINGS.white_level):
            return False
    return True


def rows_to_be_white(problem: Problem) -> int:
    """Rows by which a target may be called noise: three for each linear, square and pairwise term of the columns."""
    return max(SETTINGS.fewest_to_level, SETTINGS.rows_per_term * math.comb(problem.columns + 2, 2))


def _explained(basis: Array, errors: Array) -> float:
    """The chance that pure noise is explained this well by the columns of the basis."""
    rows, terms = basis.shape
    if terms < 2 or rows < terms + 4:
        return 1.0
    explained = float(np.sum((basis.T @ errors) ** 2))
    left = max(float(np.sum(errors**2)) - explained, 1e-300)
    return float(stats.f.sf((explained / terms) / (left / (rows - terms)), terms, rows - terms))


def _predictable(X: Array, errors: Array, strength: float, widths: tuple[float, ...]) -> bool:
    """Does a smooth function of all inputs, fitted to the other rows, foretell a row's error? Columns are tested apart.

    What is real shows in every block of rows; what one block shows by chance, the next does not. Left-out predictions
    of kernel ridge regression, which sees what no list of terms names, correlate with white errors by chance only.
    """
    size = SETTINGS.kernel_rows
    starts = range(0, max(1, len(X) - size + 1), size)[: SETTINGS.kernel_blocks]
    return any(all(np.max(_foretold(X, errors, width, b)) > strength for b in starts) for width in widths)


def _foretold(X: Array, errors: Array, width: float, start: int = 0) -> Array:
    """How well the errors of each column are foretold in a block: the correlation times the root of its rows."""
    smoother = _smoother(X, start, width)
    errors = errors[start : start + len(smoother)]
    errors = errors - errors.mean(axis=0)
    own = np.diag(smoother)[:, None]
    foretold = (smoother @ errors - own * errors) / (1 - own)
    size = np.linalg.norm(foretold, axis=0) * np.linalg.norm(errors, axis=0)
    return np.asarray(np.sqrt(len(errors)) * np.sum(foretold * errors, axis=0) / np.maximum(size, 1e-300))


@once_for_table(most=12)  # three widths in each of four blocks: 24 MB
def _smoother(X: Array, start: int, width: float) -> Array:
    """What takes errors to their smooth part, in the block of rows from `start` on: kernel ridge regression."""
    z = standard(X[start : start + SETTINGS.kernel_rows])
    distance = np.sum(z**2, axis=1)[:, None] + np.sum(z**2, axis=1) - 2 * z @ z.T
    kernel = np.exp(-distance / (4 * z.shape[1] * width**2))
    return np.asarray(kernel @ np.linalg.inv(kernel + SETTINGS.kernel_ridge * np.eye(len(z))))


def _neighbours_foretell(problem: Problem, formula: Formula, errors: Array) -> bool:
    """Have rows that are close to each other like errors, or opposite ones, more often than by chance?

    Errors that alternate from row to row are no noise either: those of Fibonacci's numbers beside an exponential do.
    Ranks stand in for the errors, so that no outlier decides. For white errors every sum of products over pairs is
    normal with the root of the number of pairs as its deviation.
    """
    scores = _normal_scores(errors)
    surprises = [
        abs(float(np.sum(scores[one] * scores[other]))) / np.sqrt(len(one))
        for one, other in _close_pairs(problem, formula)
        if len(one) >= SETTINGS.fewest_pairs
    ]
    return max(surprises, default=0.0) > stats.norm.isf(SETTINGS.neighbour_level / (2 * max(len(surprises), 1)))


def _normal_scores(errors: Array) -> Array:
    """What normal errors of the same ranks would be, with a mean of 0 and a deviation of 1."""
    scores = special.ndtri((stats.rankdata(errors) - 0.5) / len(errors))
    return np.asarray((scores - scores.mean()) / (scores.std() or 1.0))


def _close_pairs(problem: Problem, formula: Formula) -> Iterator[tuple[Indices, Indices]]:
    """Pairs of rows that are close in one way: a few steps apart along a coordinate, or nearest in all of them."""
    read = sorted(inputs(formula))
    columns = [*read, *(i for i in range(problem.columns) if i not in read)][: SETTINGS.neighbour_columns]
    with np.errstate(all="ignore"):
        value = evaluate(formula, problem.X)
    orders = [np.argsort(problem.X[:, i], kind="stable") for i in columns]
    orders += [np.argsort(value, kind="stable"), np.arange(problem.rows)]
    for order in orders:
        for reach in SETTINGS.neighbour_steps:
            steps = [(order[:-step], order[step:]) for step in range(1, min(reach, problem.rows - 1) + 1)]
            yield np.concatenate([one for one, _ in steps]), np.concatenate([other for _, other in steps])
    for chosen in [read, columns] if len(columns) > len(read) else [read]:
        if len(chosen) > 1:
            yield from _nearest_pairs(problem.X, tuple(chosen))


@once_for_table(most=4)
def _nearest_pairs(X: Array, columns: tuple[int, ...]) -> list[tuple[Indices, Indices]]:
    """Every row and its nearest others, each pair once, among a part of the rows if there are very many."""
    z = standard(X[:, columns])
    rows = np.arange(len(z))[: SETTINGS.nearest_rows]
    found = spatial.cKDTree(z[rows]).query(z[rows], k=min(SETTINGS.nearest + 1, len(rows)))[1]
    nearest: Indices = np.asarray(found)[:, 1:]
    close = []
    for count in (1, nearest.shape[1]):
        one, other = np.repeat(rows, count), nearest[:, :count].ravel()
        pairs = np.unique(np.sort(np.stack([one, other], axis=1), axis=1), axis=0)
        pairs = pairs[pairs[:, 0] != pairs[:, 1]]
        close.append((pairs[:, 0], pairs[:, 1]))
    return close


def _waves_explain(problem: Problem, errors: Array) -> bool:
    """Does one wave along an input explain more of the errors than the best of so many waves does by chance?"""
    rows = min(problem.rows, SETTINGS.kernel_rows)
    errors = errors[:rows] - np.mean(errors[:rows])
    if rows < SETTINGS.wave_points:
        return False
    chances, waves = [1.0], 1
    for column in range(min(problem.columns, SETTINGS.neighbour_columns)):
        sine, cosine = _waves_along(problem.X, column)
        if not sine.shape[1]:
            continue
        with np.errstate(all="ignore"):
            ss, cc, sc = np.sum(sine**2, axis=0), np.sum(cosine**2, axis=0), np.sum(sine * cosine, axis=0)
            by_sine, by_cosine = errors @ sine, errors @ cosine
            explained = (by_sine**2 * cc - 2 * by_sine * by_cosine * sc + by_cosine**2 * ss) / (ss * cc - sc**2)
            left = 1 - np.clip(np.nan_to_num(explained) / np.sum(errors**2), 0, 1)
        chances.append(float(np.min(left)) ** ((rows - 3) / 2))  # of an F with two degrees of freedom
        waves += sine.shape[1]
    return min(chances) * waves < SETTINGS.neighbour_level


@once_for_table(most=12)  # 3 MB each
def _waves_along(X: Array, column: int) -> tuple[Array, Array]:
    """Sines and cosines along a column, `(rows, waves)`, one radian over its range apart: to two rows a half wave."""
    x = X[: SETTINGS.kernel_rows, column]
    most = min(np.pi * len(np.unique(x)) / 2, SETTINGS.wave_scales)
    angle = x[:, None] * np.arange(1.0, most) / (float(np.ptp(x)) or 1.0)
    sine, cosine = np.sin(angle), np.cos(angle)
    return sine - sine.mean(axis=0), cosine - cosine.mean(axis=0)


def wave_across(problem: Problem, formula: Formula) -> bool:
    """Does one wave across two or three inputs, or along a product or quotient of two, explain too much of the errors?

    That is more than the best of so many waves explains by chance. Such a wave may turn several times along each input
    and so be seen along none of them; a law with a small one beside it would be claimed without it.
    """
    rows = min(problem.rows, SETTINGS.telling_rows)
    if rows < SETTINGS.wave_points:
        return False
    scores = _normal_scores(problem.errors(formula)[:rows])
    read = sorted(inputs(formula))
    columns = [*read, *(i for i in range(problem.columns) if i not in read)][: SETTINGS.waved_columns]
    chances, waves = [1.0], 1
    for tried, angle in _waves_across(problem.X[:rows, columns], scores):
        waves += tried
        basis = np.linalg.qr(np.stack([np.ones(rows), np.sin(angle), np.cos(angle)], axis=1))[0]
        left = max(1 - float(np.sum((basis.T @ scores) ** 2)) / rows, 0.0)
        chances.append(left ** ((rows - 3) / 2))  # of an F with two degrees of freedom
    return min(chances) * waves < SETTINGS.neighbour_level


def _waves_across(X: Array, scores: Array) -> Iterator[tuple[int, Array]]:
    """How many waves of a kind are tried, and the angles at the rows of the one that holds most of the scores."""
    z = X / np.maximum(np.ptp(X, axis=0), 1e-300)
    for count, most in ((2, SETTINGS.waves_across_two), (3, SETTINGS.waves_across_three)):
        for chosen in combinations(range(X.shape[1]), count):
            # radians over the range of each input; of two opposite waves one is enough
            first, *others = (np.exp(1j * np.outer(np.arange(-most, most + 1), z[:, i])) for i in chosen)
            held = first[most + 1 :] * scores
            for other in others[:-1]:
                held = (held[:, None] * other).reshape(-1, len(z))
            held = np.abs(held @ others[-1].T)
            place = np.unravel_index(int(np.argmax(held)), (most, *[2 * most + 1] * (count - 1)))
            turns = np.array([place[0] + 1, *(int(i) - most for i in place[1:])])
            yield held.size, z[:, chosen] @ turns
    with np.errstate(all="ignore"):
        products = [X[:, i] * X[:, j] for i, j in combinations(range(X.shape[1]), 2)]
        quotients = [X[:, i] / X[:, j] for i, j in permutations(range(X.shape[1]), 2)]
    for u in (*products, *quotients):
        if np.all(np.isfinite(u)) and np.ptp(u) > 0:
            turns = np.arange(1.0, min(np.pi * len(u) / 2, SETTINGS.wave_scales))
            held = np.abs(np.exp(1j * np.outer(turns, u / np.ptp(u))) @ scores)
            yield held.size, turns[int(np.argmax(held))] * u / np.ptp(u)


def cubic(X: Array, used: Sequence[int]) -> Array:
    """All terms to the third degree in the inputs read, the other inputs, squares and products; a third of the rows."""
    rows, columns = X.shape
    z = standard(X)
    varied = np.ptp(X, axis=0) > 0
    others = [i for i in range(columns) if i not in used]
    read = [i for i in used if varied[i]]
    terms = chain(
        chain.from_iterable(combinations_with_replacement(read, degree) for degree in range(4)),
        ((i,) for i in others),
        ((i, i) for i in others),
        ((i, j) for j in others for i in (*read, *others) if i < j or i in read),
    )
    kept = list(islice(terms, max(1, rows // 3)))
    return np.stack([np.prod(z[:, term], axis=1) for term in kept], axis=1)


@once_for_table(most=8)  # of the last formulas judged, which mostly read the same inputs
def _cubic_basis(X: Array, used: tuple[int, ...]) -> Array:
    return np.asarray(np.linalg.qr(cubic(X, used))[0])
