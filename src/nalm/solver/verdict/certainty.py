"""How far the data decide for a formula: enough bits, numbers that are pinned down, no other formula that fits."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from scipy import stats

from nalm.solver.data.digits import half_units, marks, step, whole
from nalm.solver.data.problem import Problem
from nalm.solver.formula.algebra import Applied, Formula, PowerProduct, WeightedSum, inputs, real_constants, size
from nalm.solver.formula.calculus import (
    Array,
    argument_bends,
    coefficient_moves,
    evaluate,
    exponent_moves,
    freedoms,
    gradients,
)
from nalm.solver.settings import SETTINGS
from nalm.solver.verdict.information import unfitted_bits
from nalm.solver.verdict.refine import refine
from nalm.solver.verdict.structure import wave_across


def doubt(problem: Problem, formula: Formula) -> str:
    """Why a formula that reproduces the data may still not be the law; empty if the data leave no doubt."""
    if evidence_bits(problem, formula) - description_bits(problem, formula) < SETTINGS.spare_bits:
        return "there are too few rows to be sure of a formula this long"
    if not problem.noisy and unfitted_bits(problem, formula) < symbol_bits(problem, formula) + whole_bits(formula):
        return (
            "on so small a range any smooth function could be written like this: its numbers take up all the data tell"
        )
    if few := _few_levels(problem, formula):
        return few
    if problem.noisy and _distinct(problem, formula) < SETTINGS.rows_per_term * _terms_missed(problem, formula):
        return "there are too few distinct rows to tell noise from what the formula may have missed"
    if problem.noisy and _few_rows_err(problem, formula):
        return (
            "most rows agree far better with each other than the noise has it: a few may be wrong and sway the numbers"
        )
    pinned = SETTINGS.pinned if problem.printed is None else SETTINGS.pinned_in_print
    if not spread_elsewhere(problem, formula) < (SETTINGS.pinned_under_noise if problem.noisy else pinned):
        return "the data do not pin down the numbers in this formula: others predict differently elsewhere"
    if problem.noisy and not exponents_are_certain(problem, formula):
        return "the noise leaves room for other exponents"
    if problem.noisy and not functions_are_certain(problem, formula):
        return "the noise leaves room for other functions"
    if problem.noisy and wave_across(problem, formula):
        return "the errors follow a wave across several inputs, so they are no noise"
    if problem.noisy and real_constants(formula):
        return _cut_off(problem, formula) if _in_steps(problem) else _hidden_cause(problem.errors(formula))
    return ""


def _in_steps(problem: Problem) -> bool:
    """Is the noise mostly that of a target cut into steps, as a converter with ten bits does?"""
    noise = problem.additive + problem.noise * float(np.median(np.abs(problem.y)))
    return noise < SETTINGS.step_noise * step(problem.y)


def _cut_off(problem: Problem, formula: Formula) -> str:
    """Why steps leave a doubt: with the numbers fitted again, the formula agrees as well half a step away.

    A converter that rounds gives a target without bias, and one that cuts off is half a step below it: the table does
    not say which it was.
    """
    most = float(np.sum(problem.errors(formula) ** 2)) * (1 + SETTINGS.clear_margin / problem.rows)
    for half in (step(problem.y) / 2, -step(problem.y) / 2):
        moved = problem.of_target(problem.y + half)
        if float(np.sum(moved.errors(refine(moved, formula)[0]) ** 2)) < most:
            return (
                "the target changes in steps as large as the errors: if it was cut off, not rounded, the numbers differ"
            )
    return ""


def _hidden_cause(errors: Array) -> str:
    """Why a fitted number may stand for a column that is not in the table; empty if the errors end as noise does.

    What is left out, and a number cut into steps, makes errors of any size up to an end: 0.98 x1 is all that can be
    said of x1 times a hidden number between 0.96 and 1. Of errors of measurements one in twenty is beyond two
    deviations, and the largest of many beyond three.
    """
    if len(errors) < SETTINGS.fewest_to_end:
        return "there are too few rows to tell noise from a cause that is not in the table"
    largest = float(np.max(np.abs(errors))) / float(np.sqrt(np.mean(errors**2)))
    none_larger = math.exp(len(errors) * math.log1p(-2 * float(stats.norm.sf(largest))))
    flat = float(stats.kurtosistest(errors, alternative="less").pvalue)
    if min(none_larger, flat) < SETTINGS.end_level:
        return "no error is much larger than most, as if a cause made them that is not in the table"
    return ""


def _few_levels(problem: Problem, formula: Formula) -> str:
    """Of an input with two to four values very many functions look like this one; 0 and ±1 are marks, not measures.

    Of marks, too, a formula must be seen at more rows than a few, or at all that there are: two through which 2 x goes
    are no proof of it.
    """
    if not (read := sorted(inputs(formula))):
        return ""
    if (seen := _distinct(problem, formula)) < SETTINGS.fewest_levels and not _truth_table(problem, formula):
        return f"the inputs it reads differ in only {seen} rows, and other formulas agree at those"
    for i in read:
        levels = len(np.unique(problem.X[:, i]))
        if levels < SETTINGS.fewest_levels and not marks(problem.X[:, i]):
            return f"an input takes only {levels} different values, and other functions agree at those"
    return ""


def _truth_table(problem: Problem, formula: Formula) -> bool:
    """Does the formula read marks only, of which every combination is there, with a whole number as the target?"""
    read = sorted(inputs(formula))
    if not (whole(problem.y) and all(marks(problem.X[:, i]) for i in read)):
        return False
    return bool(_distinct(problem, formula) == 2 ** len(read))


def _distinct(problem: Problem, formula: Formula) -> int:
    """How many different rows there are for a formula: those that differ in what it reads."""
    return len(np.unique(problem.X[:, sorted(inputs(formula))], axis=0))


def _terms_missed(problem: Problem, formula: Formula) -> int:
    """How many terms a test for missed ones should look at: to the third degree in the inputs read, a line and a square
    in each of the others."""
    read = len(inputs(formula))
    return min(math.comb(read + 3, 3), SETTINGS.most_cubic_terms) + 2 * (problem.columns - read)


def _few_rows_err(problem: Problem, formula: Formula) -> bool:
    """Are the errors of most rows alike, and those of a few so large that these make up the noise?"""
    errors = problem.errors(formula)
    typical = float(np.median(np.abs(errors - np.median(errors))))
    return typical < SETTINGS.lone_errors * float(np.sqrt(np.mean(errors**2)))


def exponents_are_certain(problem: Problem, formula: Formula) -> bool:
    """Would the data choose these exponents if all of them, and the coefficients, were free, and not by chance?

    A fraction with denominator q is one of about q squared that a random number may lie close to.
    """
    moves = exponent_moves(formula, problem.X)
    if not moves:
        return True
    value, by_input, _ = gradients(formula, problem.X)
    with np.errstate(all="ignore"):
        tolerance = problem.tolerance(by_input)[:, None]
        design = np.column_stack([*(m.move for m in moves), coefficient_moves(formula, problem.X)]) / tolerance
        misfit = (problem.y - value) / tolerance[:, 0]
    step, deviation = _freed(np.nan_to_num(design, posinf=0.0, neginf=0.0), np.nan_to_num(misfit))
    for move, away, spread in zip(moves, np.abs(step), deviation, strict=False):
        reach = SETTINGS.number_reach * float(spread)
        most = SETTINGS.exponent_chance if move.plain else SETTINGS.inner_exponent_chance
        if away > reach or 2 * reach * move.exponent.denominator**2 > most:
            return False
    return True


def functions_are_certain(problem: Problem, formula: Formula) -> bool:
    """Do the data know the argument of each function, if it may bend and every number is free?

    Where they do not, functions that are alike (tanh and the error function, sin and its first terms) are not told
    apart. What counts is the standard deviation of the bent argument as a share of it, at the median row. The smaller
    the argument, the more functions are alike: those with the same first terms differ by its square.
    """
    bends = argument_bends(formula, problem.X)
    if not bends:
        return True
    by_input = gradients(formula, problem.X)[1]
    with np.errstate(all="ignore"):
        moves = np.column_stack(
            [*(m for b in bends for m in (b.by_square, b.by_cube)), freedoms(formula, problem.X)[1]]
        )
        design = np.nan_to_num(moves / problem.tolerance(by_input)[:, None], posinf=0.0, neginf=0.0)
    length = np.linalg.norm(design, axis=0)
    unit = design / np.where(length > 0, length, 1)
    inverse = np.linalg.pinv(unit.T @ unit, rcond=SETTINGS.square_cutoff, hermitian=True)
    for k, bend in enumerate(bends):
        if not np.all(length[2 * k : 2 * k + 2] > 0):
            return False
        shares = np.column_stack([bend.argument, bend.argument**2]) / length[2 * k : 2 * k + 2]
        spread = np.einsum("na,ab,nb->n", shares, inverse[2 * k : 2 * k + 2, 2 * k : 2 * k + 2], shares)
        square = min(float(np.mean(bend.argument**2)), SETTINGS.largest_square)
        if not np.median(np.sqrt(np.maximum(spread, 0))) < SETTINGS.argument_known * square:
            return False
    return True


def _freed(design: Array, misfit: Array) -> tuple[Array, Array]:
    """The steps that numbers would take if they were free, and their standard deviations."""
    length = np.linalg.norm(design, axis=0)
    unit = design / np.where(length > 0, length, 1)
    inverse = np.linalg.pinv(unit.T @ unit, rcond=SETTINGS.square_cutoff, hermitian=True)
    step = inverse @ (unit.T @ misfit)
    left = misfit - unit @ step
    noise = max(SETTINGS.least_misfit, float(np.sqrt(np.sum(left**2) / max(len(misfit) - design.shape[1], 1))))
    spread = noise * np.sqrt(np.maximum(np.diag(inverse), 0))
    return step / np.where(length > 0, length, 1), np.where(
        length > 0, spread / np.where(length > 0, length, 1), np.inf
    )


def evidence_bits(problem: Problem, formula: Formula) -> float:
    """How many bits the target pins down: for each distinct row, its spread over what rounding and noise leave open.

    Where inputs and target are whole numbers, most formulas give whole numbers, too: a row of marks, 0 or 1, tells one
    bit, and twenty of them are met by some formula of a few columns whatever they are.
    """
    height = float(np.max(np.abs(problem.y))) or 1.0
    y = problem.y / height  # squares of very small numbers would vanish
    spread = float(np.std(y))
    read = sorted(inputs(formula))
    if whole(problem.y) and whole(problem.X[:, read]):
        margin, floor = 0.0, np.full(problem.rows, 0.5 / height)
    else:
        margin, floor = SETTINGS.row_margin, problem.tolerance(gradients(formula, problem.X)[1]) / height
        if problem.printed is None:
            floor = np.maximum(floor, half_units(problem.y) / height)
        # A target of 0 tells what a typical one does, and no more.
        floor = np.maximum(floor, np.where(problem.y == 0, problem.rounding * spread, 0.0))
    # A truth table says all about its columns, and every other row that the columns which are not read do not matter.
    telling = problem.X if _truth_table(problem, formula) else problem.X[:, read]
    distinct = np.unique(telling, axis=0, return_index=True)[1]
    return float(np.sum(np.maximum(np.log2(spread / floor[distinct] + 1) - margin, 0)))


def description_bits(problem: Problem, formula: Formula) -> float:
    """About how many bits name a formula: its symbols, its whole numbers, and each real constant to the noise."""
    constant = -math.log2(problem.rounding + problem.blur)
    return symbol_bits(problem, formula) + whole_bits(formula) + constant * len(real_constants(formula))


def symbol_bits(problem: Problem, formula: Formula) -> float:
    """The bits that say which inputs a formula reads, and how they are joined."""
    symbol = math.log2(problem.columns + 2) + SETTINGS.joining_bits
    return size(formula) * symbol + len(inputs(formula))


def whole_bits(formula: Formula) -> float:
    """What the whole numbers and fractions of a formula take beyond a symbol: 57 is less likely than 1."""
    match formula:
        case WeightedSum(terms):
            numbers = [c for c, _ in terms if isinstance(c, Fraction)]
            own = sum(math.log2(max(abs(number.numerator) * number.denominator, 1)) for number in numbers)
            return own + sum(whole_bits(term) for _, term in terms)
        case PowerProduct(factors):
            return sum(whole_bits(factor) for factor, _ in factors)
        case Applied(_, argument):
            return whole_bits(argument)
        case _:
            return 0.0


def spread_elsewhere(problem: Problem, formula: Formula) -> float:
    """The relative standard deviation of predictions outside the data if every number of the formula were free.

    Directions in which the numbers can move without any effect anywhere (another way to write the same function) do
    not count, and neither does a number without effect on the data, such as an exponent of ±1.
    """
    beyond = stretched(problem)
    (value, moves), (far_value, far_moves) = freedoms(formula, problem.X), freedoms(formula, beyond)
    if problem.noisy:
        moves = np.column_stack([moves, _bends(formula, problem.X, value)])
        far_moves = np.column_stack([far_moves, _bends(formula, beyond, far_value)])
    with np.errstate(all="ignore"):
        tolerance = problem.tolerance(gradients(formula, problem.X)[1])
        design = np.nan_to_num(moves / tolerance[:, None], nan=0.0, posinf=0.0, neginf=0.0)
        far = far_moves / np.abs(far_value)[:, None]
        errors = (value - problem.y) / tolerance
    length = np.linalg.norm(design, axis=0)
    far = far[np.isfinite(far).all(axis=1)]
    if not len(far):
        return 0.0
    free = length > 0
    if free.sum() > problem.rows:
        return math.inf
    size_of, directions = np.linalg.svd(design[:, free] / length[free], full_matrices=False)[1:]
    noise = max(SETTINGS.least_misfit, float(np.sqrt(np.mean(np.nan_to_num(errors) ** 2))))
    moved = (far[:, free] / length[free]) @ directions.T / np.maximum(size_of, 1e-15)
    return noise * float(np.median(np.linalg.norm(moved, axis=1)))


def _bends(formula: Formula, X: Array, value: Array) -> Array:
    """What a change of curvature does: under noise, formulas of another kind with the same slopes are rivals too."""
    read = sorted(inputs(formula))
    i, j = np.triu_indices(len(read))
    with np.errstate(all="ignore"):
        logs = np.log(np.abs(X[:, read]))
        return np.asarray(np.nan_to_num(logs[:, i] * logs[:, j], neginf=0.0, posinf=0.0) * value[:, None])


def stretched(problem: Problem) -> Array:
    """Inputs beyond the data: some rows, every entry by its own factor."""
    some = problem.X[: SETTINGS.beyond_rows]
    return np.asarray(some * np.random.default_rng(0).uniform(*SETTINGS.beyond, some.shape))


def agrees_elsewhere(problem: Problem, one: Formula, other: Formula, within: float = SETTINGS.same_elsewhere) -> bool:
    """Are two formulas that both fit the data the same function on inputs beyond the data?"""
    far = stretched(problem)
    a, b = evaluate(one, far), evaluate(other, far)
    both = np.isfinite(a) & np.isfinite(b)
    with np.errstate(all="ignore"):
        gap = np.abs(a[both] - b[both]) / np.maximum(np.abs(a[both]), np.abs(b[both]))
    return bool(np.median(np.nan_to_num(gap)) < within) if len(gap) else True
