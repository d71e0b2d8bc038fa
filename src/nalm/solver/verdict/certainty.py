"""How far the data decide for a formula: enough bits, numbers that are pinned down, no other formula that fits."""

from __future__ import annotations

import math

import numpy as np

from nalm.solver.data.digits import half_units
from nalm.solver.data.problem import Problem
from nalm.solver.formula.algebra import Formula, inputs, real_constants, size
from nalm.solver.formula.calculus import Array, evaluate, freedoms, gradients
from nalm.solver.settings import SETTINGS


def doubt(problem: Problem, formula: Formula) -> str:
    """Why a formula that reproduces the data may still not be the law; empty if the data leave no doubt."""
    if evidence_bits(problem, formula) - description_bits(problem, formula) < SETTINGS.spare_bits:
        return "there are too few rows to be sure of a formula this long"
    if problem.noise and real_constants(formula) and problem.rows < SETTINGS.rows_per_term * _cubic_terms(formula):
        return "there are too few rows to tell noise from what fitted coefficients have missed"
    pinned = (
        SETTINGS.pinned_under_noise
        if problem.noise
        else SETTINGS.pinned
        if problem.printed is None
        else SETTINGS.pinned_in_print
    )
    if not spread_elsewhere(problem, formula) < pinned:
        return "the data do not pin down the numbers in this formula: others predict differently elsewhere"
    return ""


def _cubic_terms(formula: Formula) -> int:
    """How many terms to the third degree the inputs read have, as many as tests for missed terms can use."""
    return min(math.comb(len(inputs(formula)) + 3, 3), SETTINGS.most_cubic_terms)


def evidence_bits(problem: Problem, formula: Formula) -> float:
    """How many bits the target pins down: for each distinct row, its spread over what rounding and noise leave open."""
    height = float(np.max(np.abs(problem.y))) or 1.0
    y = problem.y / height  # squares of very small numbers would vanish
    spread = float(np.std(y))
    floor = np.maximum(
        (SETTINGS.rounding + problem.noise) * np.maximum(np.abs(y), 1e-300), half_units(problem.y) / height
    )
    if problem.printed is not None:
        floor = problem.tolerance(gradients(formula, problem.X)[1]) / height
    read = sorted(inputs(formula))
    distinct = np.unique(problem.X[:, read], axis=0, return_index=True)[1]
    return float(np.sum(np.maximum(np.log2(spread / floor[distinct] + 1) - 2, 0)))


def description_bits(problem: Problem, formula: Formula) -> float:
    """About how many bits name a formula: which inputs, joined how, and each real constant to the noise."""
    constant = -math.log2(SETTINGS.rounding + problem.blur)
    symbol = math.log2(problem.columns + 2) + 2.5
    return size(formula) * symbol + len(inputs(formula)) + constant * len(real_constants(formula))


def spread_elsewhere(problem: Problem, formula: Formula) -> float:
    """The relative standard deviation of predictions outside the data if every number of the formula were free.

    Directions in which the numbers can move without any effect anywhere (another way to write the same function) do
    not count, and neither does a number without effect on the data, such as an exponent of ±1.
    """
    beyond = stretched(problem)
    (value, moves), (far_value, far_moves) = freedoms(formula, problem.X), freedoms(formula, beyond)
    if problem.noise:
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
    noise = max(0.3, float(np.sqrt(np.mean(np.nan_to_num(errors) ** 2))))
    moved = (far[:, free] / length[free]) @ directions.T / np.maximum(size_of, 1e-15)
    return noise * float(np.median(np.linalg.norm(moved, axis=1)))


def _bends(formula: Formula, X: Array, value: Array) -> Array:
    """What a change of curvature does: under noise, formulas of another kind with the same slopes are rivals too."""
    read = sorted(inputs(formula))
    with np.errstate(all="ignore"):
        logs = np.log(np.abs(X[:, read]))
    i, j = np.triu_indices(len(read))
    return np.asarray(np.nan_to_num(logs[:, i] * logs[:, j], neginf=0.0, posinf=0.0) * value[:, None])


def stretched(problem: Problem, rows: int = 64) -> Array:
    """Inputs beyond the data: some rows, every entry by its own factor."""
    some = problem.X[:rows]
    return np.asarray(some * np.random.default_rng(0).uniform(0.5, 3.0, some.shape))


def agrees_elsewhere(problem: Problem, one: Formula, other: Formula, within: float = 1e-5) -> bool:
    """Are two formulas that both fit the data the same function on inputs beyond the data?"""
    far = stretched(problem)
    a, b = evaluate(one, far), evaluate(other, far)
    both = np.isfinite(a) & np.isfinite(b)
    with np.errstate(all="ignore"):
        gap = np.abs(a[both] - b[both]) / np.maximum(np.abs(a[both]), np.abs(b[both]))
    return bool(np.median(np.nan_to_num(gap)) < within) if len(gap) else True
