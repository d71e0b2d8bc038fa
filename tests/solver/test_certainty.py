"""How far the data decide: every doubt at its own bound, and its statistics against those computed another way."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from nalm.solver.data.problem import Problem
from nalm.solver.formula.algebra import ONE, Applied, Constant, Formula, Input, WeightedSum, product, total
from nalm.solver.formula.functions import Function
from nalm.solver.settings import SETTINGS
from nalm.solver.verdict import certainty, information
from nalm.solver.verdict.certainty import (
    _bends,
    _few_levels,
    _freed,
    _terms_missed,
    _truth_table,
    agrees_elsewhere,
    doubt,
    evidence_bits,
    exponents_are_certain,
    functions_are_certain,
    spread_elsewhere,
    stretched,
    whole_bits,
)
from nalm.solver.verdict.information import _directions, _length, unfitted_bits

X = np.random.default_rng(0).uniform(1, 2, (100, 2))
SQUARE = product([(Input(0), 2)])


# -- the doubts, each at its bound ---------------------------------------------------------------------------------

SURE: dict[str, Any] = {
    "evidence_bits": SETTINGS.spare_bits + 10.0,
    "description_bits": 10.0,
    "unfitted_bits": 5.0,
    "symbol_bits": 2.0,
    "whole_bits": 3.0,
    "_few_levels": "",
    "_distinct": 3 * SETTINGS.rows_per_term,
    "_terms_missed": 3,
    "spread_elsewhere": 0.0,
    "exponents_are_certain": True,
    "functions_are_certain": True,
}


@pytest.mark.parametrize(
    ("changed", "noise", "printed", "said"),
    [
        ({}, 0.0, False, ""),
        ({}, 0.1, False, ""),
        ({"description_bits": 10.1}, 0.0, False, "too few rows"),
        ({"unfitted_bits": 4.9}, 0.0, False, "on so small a range"),
        ({"unfitted_bits": 4.9}, 0.1, False, ""),  # under noise other tests ask
        ({"_few_levels": "few"}, 0.0, False, "few"),
        ({"_distinct": 3 * SETTINGS.rows_per_term - 1}, 0.1, False, "too few distinct rows"),
        ({"_distinct": 3 * SETTINGS.rows_per_term - 1}, 0.0, False, ""),
        ({"spread_elsewhere": SETTINGS.pinned}, 0.0, False, "do not pin down"),
        ({"spread_elsewhere": 0.99 * SETTINGS.pinned}, 0.0, False, ""),
        ({"spread_elsewhere": SETTINGS.pinned_in_print}, 0.0, True, "do not pin down"),
        ({"spread_elsewhere": 0.99 * SETTINGS.pinned_in_print}, 0.0, True, ""),
        ({"spread_elsewhere": SETTINGS.pinned_under_noise}, 0.1, False, "do not pin down"),
        ({"spread_elsewhere": 0.99 * SETTINGS.pinned_under_noise}, 0.1, False, ""),
        ({"spread_elsewhere": math.nan}, 0.1, False, "do not pin down"),
        ({"exponents_are_certain": False}, 0.1, False, "other exponents"),
        ({"exponents_are_certain": False}, 0.0, False, ""),
        ({"functions_are_certain": False}, 0.1, False, "other functions"),
        ({"functions_are_certain": False}, 0.0, False, ""),
    ],
)
def test_every_doubt_begins_at_its_bound(
    monkeypatch: pytest.MonkeyPatch, changed: dict[str, Any], noise: float, printed: bool, said: str
) -> None:
    for name, value in (SURE | changed).items():
        monkeypatch.setattr(certainty, name, lambda *_, value=value: value)
    problem = Problem(X, X[:, 0], noise=noise, printed=np.zeros((100, 3)) if printed else None)
    found = doubt(problem, Input(0))
    assert said in found
    assert bool(said) == bool(found)


def test_inputs_with_few_levels_are_doubted_unless_they_are_marks_of_a_whole_truth_table() -> None:
    levels = np.column_stack([np.arange(40) % 5, np.arange(40) % 4]).astype(float)
    assert _few_levels(Problem(levels, levels[:, 0] / 3), Input(0)) == ""
    assert "only 4 rows" in _few_levels(Problem(levels, levels[:, 1] / 3), Input(1))
    both = total([(Fraction(1), Input(0)), (Fraction(1), Input(1))])
    assert "only 4 different values" in _few_levels(Problem(levels, levels.sum(1)), both)
    assert _few_levels(Problem(levels, levels[:, 0]), Constant(1.0)) == ""
    marks = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 3, dtype=float)
    both_marks = product([(Input(0), 1), (Input(1), 1)])
    assert _truth_table(Problem(marks, marks.prod(1)), both_marks)
    assert _few_levels(Problem(marks, marks.prod(1)), both_marks) == ""
    assert not _truth_table(Problem(marks, marks.prod(1) / 3), both_marks)  # a target that is measured
    assert "only 4 rows" in _few_levels(Problem(marks, marks.prod(1) / 3), both_marks)
    assert not _truth_table(Problem(marks[:3], marks[:3].prod(1)), both_marks)  # a case is missing
    assert not _truth_table(Problem(2 * marks, marks.prod(1)), both_marks)  # 0 and 2 are measures


@pytest.mark.parametrize(("read", "columns", "expected"), [(1, 1, 4), (2, 5, 16), (6, 6, 84), (7, 8, 86)])
def test_terms_that_may_be_missed_are_those_of_a_cubic_and_of_a_parabola_in_each_other(
    read: int, columns: int, expected: int
) -> None:
    formula = total((Fraction(1), Input(i)) for i in range(read))
    assert _terms_missed(Problem(np.ones((9, columns)), np.ones(9)), formula) == expected


# -- exponents and functions under noise ---------------------------------------------------------------------------


def deviations_of(moves: np.ndarray) -> np.ndarray:
    """Of numbers that move a target of unit noise so, if the fit is perfect."""
    return SETTINGS.least_misfit * np.sqrt(np.diag(np.linalg.inv(moves.T @ moves)))


@pytest.mark.parametrize(
    ("exponent", "base", "formula", "most"),
    [
        (2.0, X[:, 0], SQUARE, SETTINGS.exponent_chance),
        (0.5, X[:, 0], product([(Input(0), Fraction(1, 2))]), SETTINGS.exponent_chance / 4),
        (
            2.0,
            X[:, 0] + X[:, 1],
            product([(total([(Fraction(1), Input(0)), (Fraction(1), Input(1))]), 2)]),
            SETTINGS.inner_exponent_chance,
        ),
    ],
)
def test_an_exponent_is_certain_while_its_reach_is_small_beside_the_gaps_of_fractions(
    exponent: float, base: np.ndarray, formula: Formula, most: float
) -> None:
    value = base**exponent
    moves = [value * np.log(base), value]
    if most == SETTINGS.inner_exponent_chance:  # the ratio of the two inside is free as well
        moves.append(2 * base * X[:, 1])
    spread = deviations_of(np.column_stack(moves))[0]
    noise = most / (2 * SETTINGS.number_reach * spread)  # at which the chance is just what it may be
    for factor, certain in ((0.99, True), (1.01, False)):
        assert exponents_are_certain(Problem(X, value, additive=factor * noise), formula) == certain


def test_an_exponent_that_the_data_would_choose_otherwise_is_not_certain() -> None:
    value = X[:, 0] ** 2
    spread = deviations_of(np.column_stack([value * np.log(X[:, 0]), value]))[0]
    off = 2e-4
    noise = off / (SETTINGS.number_reach * spread)
    for factor, certain in ((1.05, True), (0.95, False)):
        for sign in (1, -1):
            problem = Problem(X, X[:, 0] ** (2 + sign * off), additive=factor * noise)
            assert exponents_are_certain(problem, SQUARE) == certain
    assert exponents_are_certain(Problem(X, value, additive=1e9), Constant(1.0))


@pytest.mark.parametrize("reach", [1.5, 8.0])  # radians: the mean square of the argument below and above its bound
def test_a_function_is_certain_while_its_argument_is_known_though_it_may_bend(reach: float) -> None:
    u = np.linspace(0.05, reach, 200)
    formula = Applied(Function.SIN, Input(0))
    slope = np.cos(u)
    moves = np.column_stack([slope * u**2, slope * u**3, np.sin(u), slope * u, slope * u * np.log(u)])
    covariance = np.linalg.inv(moves.T @ moves)[:2, :2]
    shares = np.column_stack([u, u**2])
    known = np.median(np.sqrt(np.einsum("na,ab,nb->n", shares, covariance, shares)))  # per unit noise
    most = SETTINGS.argument_known * min(float(np.mean(u**2)), SETTINGS.largest_square)
    for factor, certain in ((0.98, True), (1.02, False)):
        problem = Problem(u[:, None], np.sin(u), additive=factor * most / known)
        assert functions_are_certain(problem, formula) == certain
    assert functions_are_certain(Problem(u[:, None], u, additive=1e9), Input(0))
    nothing = Applied(Function.SIN, WeightedSum(((Fraction(0), Input(0)),)))  # whose argument bends nothing
    assert not functions_are_certain(Problem(u[:, None], u, additive=1e-9), nothing)


def test_numbers_set_free_move_as_in_least_squares() -> None:
    rng = np.random.default_rng(1)
    design, misfit = rng.normal(size=(30, 3)) * [1.0, 50.0, 0.01], 4 * rng.normal(size=30)
    step, deviation = _freed(design, misfit)
    wanted = np.linalg.lstsq(design, misfit, rcond=None)[0]
    noise = np.sqrt(np.sum((misfit - design @ wanted) ** 2) / 27)
    np.testing.assert_allclose(step, wanted, rtol=1e-8)
    np.testing.assert_allclose(deviation, noise * np.sqrt(np.diag(np.linalg.inv(design.T @ design))), rtol=1e-8)
    step, deviation = _freed(np.column_stack([design[:, 0], np.zeros(30)]), misfit)
    assert step[1] == 0
    assert np.isinf(deviation).tolist() == [False, True]
    three, off = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), np.array([0.0, 0.0, 3.0])  # one row more than numbers
    spread = np.sqrt(np.diag(np.linalg.inv(three.T @ three)))
    assert _freed(three, off)[1] == pytest.approx(math.sqrt(3.0) * spread)
    square, exact = np.eye(2), np.array([5.0, 7.0])  # as many numbers as rows
    assert _freed(square, exact)[1] == pytest.approx([SETTINGS.least_misfit] * 2)


# -- bits ----------------------------------------------------------------------------------------------------------


def test_rows_of_whole_numbers_tell_the_bits_of_whole_numbers() -> None:
    counts = np.column_stack([np.arange(1.0, 13.0), np.arange(12.0) % 3])
    y = 3 * counts[:, 0] + 100
    assert evidence_bits(Problem(counts, y), Input(0)) == pytest.approx(12 * np.log2(np.std(y) / 0.5 + 1))
    assert evidence_bits(Problem(counts, y), Input(1)) == pytest.approx(3 * np.log2(np.std(y) / 0.5 + 1))
    half = Problem(counts, y + 0.25)  # whole inputs alone are not enough; a quarter was printed with two digits
    floor = np.maximum(0.005, half.rounding * (half.y + counts[:, 0]))
    by_hand = np.sum(np.log2(np.std(half.y) / floor + 1) - SETTINGS.row_margin)
    assert evidence_bits(half, Input(0)) == pytest.approx(by_hand)


def test_a_truth_table_is_told_by_all_rows_that_differ_in_any_column() -> None:
    marks = np.array([[0, 0, 5], [0, 1, 6], [1, 0, 7], [1, 1, 8], [1, 1, 9]], dtype=float)
    y = marks[:, 0] * marks[:, 1]
    formula = product([(Input(0), 1), (Input(1), 1)])
    assert evidence_bits(Problem(marks, y), formula) == pytest.approx(5 * np.log2(np.std(y) / 0.5 + 1))


def test_a_target_of_zero_tells_what_a_typical_one_does() -> None:
    x = np.linspace(0, 1, 9)[:, None] * math.pi
    y = 2 * x[:, 0]
    problem = Problem(x, y)
    floor = np.where(y > 0, 2 * problem.rounding * y, problem.rounding * np.std(y))
    by_hand = np.sum(np.log2(np.std(y) / floor + 1) - SETTINGS.row_margin)
    assert evidence_bits(problem, WeightedSum(((2.0, Input(0)),))) == pytest.approx(by_hand, rel=1e-6)
    loud = Problem(x, y, additive=100.0)  # less than nothing is told by no row
    assert evidence_bits(loud, Input(0)) == 0


def test_whole_numbers_are_counted_inside_products_and_functions() -> None:
    inner = total([(Fraction(57), Input(0)), (Fraction(1), ONE)])
    assert whole_bits(product([(inner, 2)])) == pytest.approx(math.log2(57))
    assert whole_bits(Applied(Function.SIN, inner)) == pytest.approx(math.log2(57))
    assert whole_bits(WeightedSum(((3.5, Input(0)),))) == 0
    assert whole_bits(WeightedSum(((Fraction(0), Input(0)),))) == 0


# -- elsewhere -----------------------------------------------------------------------------------------------------


def far_spread(near: np.ndarray, far: np.ndarray, noise: float) -> float:
    """The median deviation of `far` combinations of numbers that move the data by `near`, in tolerances."""
    covariance = np.linalg.inv(near.T @ near)
    return noise * float(np.median(np.sqrt(np.einsum("na,ab,nb->n", far, covariance, far))))


@pytest.mark.parametrize("off", [0.0, 3.0])
def test_predictions_elsewhere_spread_as_the_free_numbers_do(off: float) -> None:
    """Of x0 squared: a factor in front and the exponent; with noise, curvature beside them."""
    alternating = np.where(np.arange(100) % 2, 1.0, -1.0)
    beyond = stretched(Problem(X, X[:, 0]))[:, 0]
    x = X[:, 0]
    exact = Problem(X, x**2)
    tolerance = exact.rounding * 3 * x**2  # the target's rounding, and twice that of the input
    exact = exact.of_target(x**2 + off * alternating * tolerance)
    tolerance = exact.rounding * (np.abs(exact.y) + 2 * x**2)
    near = np.column_stack([x**2, x**2 * np.log(x)]) / tolerance[:, None]
    far = np.column_stack([np.ones(64), np.log(beyond)])
    noise = max(SETTINGS.least_misfit, float(np.sqrt(np.mean(((x**2 - exact.y) / tolerance) ** 2))))
    assert spread_elsewhere(exact, SQUARE) == pytest.approx(far_spread(near, far, noise), rel=1e-4)

    noisy = Problem(X, x**2 + off * alternating * 0.01, additive=0.01)
    tolerance = 0.01 + noisy.rounding * (np.abs(noisy.y) + 2 * x**2)
    near = np.column_stack([x**2, x**2 * np.log(x), x**2 * np.log(x) ** 2]) / tolerance[:, None]
    far = np.column_stack([np.ones(64), np.log(beyond), np.log(beyond) ** 2])
    assert spread_elsewhere(noisy, SQUARE) == pytest.approx(
        far_spread(near, far, max(SETTINGS.least_misfit, off)), rel=1e-3
    )


def test_more_free_numbers_than_rows_pin_nothing_down_and_no_value_elsewhere_spreads_nothing() -> None:
    few = X[:5]
    formula = total([(Fraction(k + 1), product([(Input(0), k + 2), (Input(1), k)])) for k in range(3)])
    assert spread_elsewhere(Problem(few, few[:, 0]), formula) == math.inf
    nowhere = product([(total([(Fraction(1), Input(0)), (Fraction(-10), ONE)]), Fraction(1, 2))])
    assert spread_elsewhere(Problem(X, X[:, 0]), nowhere) == 0.0
    rows = np.array([[np.e, np.e**2], [0.0, 1.0]])
    with np.errstate(invalid="ignore"):
        pairs = _bends(product([(Input(0), 1), (Input(1), 1)]), rows, np.array([3.0, 4.0]))
    np.testing.assert_allclose(pairs, [[3.0, 6.0, 12.0], [0.0, 0.0, 0.0]])


def test_formulas_agree_by_the_median_of_their_relative_gaps() -> None:
    problem = Problem(X, X[:, 0])
    larger = WeightedSum(((1.01, Input(0)),))
    assert agrees_elsewhere(problem, larger, Input(0), within=0.01 / 1.01 * 1.001)  # a share of the larger
    assert not agrees_elsewhere(problem, larger, Input(0), within=0.01 / 1.01 * 0.999)
    assert not agrees_elsewhere(problem, Input(0), larger, within=0.01 / 1.01)  # equal is not below
    nowhere = product([(total([(Fraction(1), Input(0)), (Fraction(-10), ONE)]), Fraction(1, 2))])
    assert agrees_elsewhere(problem, Input(0), nowhere)  # nothing contradicts
    zero = Constant(Fraction(0))
    assert agrees_elsewhere(problem, zero, Constant(0.0))


# -- what a smooth function of the inputs may be -------------------------------------------------------------------


def test_the_length_of_an_input_is_where_its_slope_becomes_another() -> None:
    x = np.linspace(4, 4.4, 41)[:, None]  # median 4.2
    problem = Problem(x, x[:, 0])
    lengths = {
        Input(0): 4.0,  # a line never turns: the size of the input
        product([(Input(0), 2)]): 4.0,  # 2 x changes by its own size at x
        product([(Input(0), -1)]): 2.0,  # by half of that for 1 / x
        product([(Input(0), -3)]): 1.0,
        Applied(Function.EXP, WeightedSum(((16.0, Input(0)),))): 1 / 16,
    }
    for formula, expected in lengths.items():
        by_input = information.gradients(formula, x)[1]
        assert _length(problem, formula, 0, by_input) == expected
    around = np.linspace(-1, 1, 9)[:, None] ** 3
    around[3:6] = 0.0
    at_zero = np.where(np.abs(around) < 0.5, 0.0, around)  # more than half of them are nothing: the deviation then
    by_input = np.ones_like(at_zero)
    assert _length(Problem(at_zero, at_zero[:, 0]), Input(0), 0, by_input) == 0.5  # of 0.49


def test_directions_are_the_variances_of_a_gaussian_kernel_at_the_distinct_rows() -> None:
    two = np.array([[0.0, 7.0], [1.0, 7.0], [0.0, 8.0]])
    k = math.exp(-0.5 / 4)
    np.testing.assert_allclose(_directions(two, (0,), (2.0,)), [1 + k, 1 - k])
    k, k2, k3 = math.exp(-0.5 / 4), math.exp(-0.5 / 9), math.exp(-0.5 / 4 - 0.5 / 9)
    kernel = np.array([[1, k, k2], [k, 1, k3], [k2, k3, 1]])
    np.testing.assert_allclose(_directions(two, (0, 1), (2.0, 3.0)), np.linalg.eigvalsh(kernel)[::-1])
    many = np.arange(2.0 * SETTINGS.kernel_rows)[:, None]  # far from each other: each row is a direction
    np.testing.assert_allclose(_directions(many, (0,), (0.01,)), np.full(SETTINGS.kernel_rows, 2.0))
    alike = np.linspace(1, 1.0001, 50)[:, None]
    assert len(_directions(alike, (0,), (1.0,))) < 6  # what rounding decides is left out


def test_bits_that_were_not_fitted_are_those_beyond_the_best_known_directions() -> None:
    x = np.linspace(1, 3, 12)[:, None] ** 1.1
    y = np.sqrt(2) * x[:, 0]
    problem = Problem(x, y)
    fitted = WeightedSum(((float(np.sqrt(2)), Input(0)),))
    shares = _directions(x, (0,), (2.0,))
    noise = np.median(2 * problem.rounding * y)
    bits = 0.5 * np.log2(1 + shares * np.mean(y**2) / noise**2)
    assert unfitted_bits(problem, fitted) == pytest.approx(np.sum(bits[1:]), rel=1e-9)
    assert unfitted_bits(problem, Input(0)) == pytest.approx(
        np.sum(0.5 * np.log2(1 + shares * np.mean(y**2) / np.median(problem.rounding * (y + x[:, 0])) ** 2)), rel=1e-9
    )
    assert unfitted_bits(problem, Constant(1.0)) == math.inf
    nothing = problem.of_target(np.where(np.arange(12) < 9, 0.0, y))  # most targets are 0
    rough = SETTINGS.rounding * math.sqrt(np.mean((nothing.y / nothing.y.max()) ** 2)) / 1.0
    signal = math.sqrt(np.mean((nothing.y / nothing.y.max()) ** 2))
    zero = WeightedSum(((Fraction(0), Input(0)),))
    assert nothing.rounding == SETTINGS.rounding
    assert unfitted_bits(nothing, zero) == pytest.approx(
        np.sum(0.5 * np.log2(1 + shares * (signal / rough) ** 2)), rel=1e-6
    )
