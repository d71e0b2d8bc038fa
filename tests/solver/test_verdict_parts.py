"""What a verdict is made of, on numbers one can check by hand: bits, deviations, levels, kinds of noise, neighbours."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from nalm.solver import solve
from nalm.solver.data.problem import Problem
from nalm.solver.formula.algebra import ONE, Constant, Formula, Input, WeightedSum, product, real_constants, total
from nalm.solver.settings import SETTINGS
from nalm.solver.verdict.certainty import (
    agrees_elsewhere,
    description_bits,
    doubt,
    evidence_bits,
    spread_elsewhere,
    stretched,
    symbol_bits,
    whole_bits,
)
from nalm.solver.verdict.edits import edits
from nalm.solver.verdict.everywhere import Contradictions
from nalm.solver.verdict.judge import judge
from nalm.solver.verdict.noise import Noise, noise_of
from nalm.solver.verdict.print import as_printed
from nalm.solver.verdict.refine import _shortest, rational, refine, with_exact_constants
from nalm.solver.verdict.structure import _explained, _foretold, _neighbours_foretell, cubic, structured

RNG = np.random.default_rng(0)
X = RNG.uniform(1, 2, (100, 2))
PRODUCT = product([(Input(0), 1), (Input(1), 1)])
PRODUCT_VALUES = X[:, 0] * X[:, 1]


def real(coefficient: float, formula: Formula) -> Formula:
    return WeightedSum(((coefficient, formula),))


# -- fitted numbers ------------------------------------------------------------------------------------------------


def test_a_fitted_number_and_its_deviation_are_those_of_weighted_least_squares() -> None:
    noise = 0.01 * RNG.normal(size=100)
    problem = Problem(X, 3.7 * X[:, 0] + noise, additive=0.01)
    formula, spread = refine(problem, real(3.0, Input(0)))
    # every row weighs as much as noise and rounding of the two numbers allow
    weight = 1 / (0.01 + problem.rounding * (np.abs(problem.y) + np.abs(3.7 * X[:, 0])))
    expected = np.sum(weight**2 * X[:, 0] * problem.y) / np.sum(weight**2 * X[:, 0] ** 2)
    left = (problem.y - expected * X[:, 0]) * weight
    assert isinstance(formula, WeightedSum)
    assert formula.terms[0][0] == pytest.approx(expected, rel=1e-9)
    deviation = np.sqrt(np.mean(left**2)) / np.sqrt(np.sum(weight**2 * X[:, 0] ** 2))
    assert spread[0] == pytest.approx(deviation, rel=1e-6)


def test_numbers_that_the_data_do_not_tell_apart_have_no_deviation() -> None:
    twins = np.column_stack([X[:, 0], X[:, 0]])
    formula = WeightedSum(((1.0, Input(0)), (1.0, Input(1))))
    assert np.isinf(refine(Problem(twins, 2 * X[:, 0]), formula)[1]).all()


@pytest.mark.parametrize(
    ("value", "deviation", "blurred", "expected"),
    [
        (0.3333333, 1e-7, False, Fraction(1, 3)),
        (0.3333333, 2e-4, False, None),  # fractions as fine lie too close to each other
        (1 / 13, 1e-9, False, None),  # a denominator above twelve
        (-2.5, 1e-6, False, Fraction(-5, 2)),
        (1.002, 0.001, True, Fraction(1)),  # 1, 2 and 1/2 are believed sooner
        (1.002, 0.0012, False, None),
        (3.002, 0.001, True, None),
        (0.0, 1e-9, False, None),
    ],
)
def test_a_number_is_a_fraction_only_if_that_is_no_chance(
    value: float, deviation: float, blurred: bool, expected: Fraction | None
) -> None:
    assert rational(value, deviation, blurred) == expected


def test_a_coefficient_of_nothing_shares_no_factor() -> None:
    nothing = WeightedSum(((0.0, Input(0)), (1.234, Input(1))))  # where a target spans hundreds of powers of ten
    assert list(with_exact_constants(nothing, np.array([1e-9, 1e-9]))) == [nothing]
    shared = WeightedSum(((1.234, Input(0)), (2.468, Input(1))))
    assert next(with_exact_constants(shared, np.array([1e-9, 1e-9]))) != shared


def test_a_number_is_written_in_as_few_digits_as_its_deviation_allows() -> None:
    assert _shortest(9.8100000503, 1e-6) == 9.81
    assert _shortest(9.8100000503, 1e-9) == 9.81000005
    assert _shortest(9.8100000503, 0.15) == 9.8
    assert _shortest(math.pi, 0.0) == math.pi


# -- bits ----------------------------------------------------------------------------------------------------------


def test_bits_of_evidence_are_those_of_each_distinct_row() -> None:
    problem = Problem(X, X[:, 0] * X[:, 1], additive=0.01)
    height, rounding = np.max(problem.y), problem.rounding
    floor = 0.01 + 3 * rounding * problem.y  # the target's own rounding, and that of each input
    by_hand = np.sum(np.log2(np.std(problem.y / height) / (floor / height) + 1) - 2)
    assert evidence_bits(problem, PRODUCT) == pytest.approx(by_hand, rel=1e-6)
    twice = Problem(np.vstack([X, X]), np.tile(problem.y, 2), additive=0.01)
    assert evidence_bits(twice, PRODUCT) == pytest.approx(by_hand, rel=1e-6)


def test_bits_of_a_formula_are_those_of_its_symbols_and_real_numbers() -> None:
    problem = Problem(X, X[:, 0] * X[:, 1], noise=0.01)
    symbol = math.log2(4) + 2.5
    assert symbol_bits(problem, PRODUCT) == pytest.approx(2 * symbol + 2)
    number = -math.log2(problem.rounding + 0.01)
    assert description_bits(problem, real(1.3, PRODUCT)) == pytest.approx(3 * symbol + 2 + number)
    assert whole_bits(total([(Fraction(57), Input(0)), (Fraction(3, 4), Input(1))])) == pytest.approx(
        math.log2(57) + math.log2(12)
    )


def test_too_few_rows_too_few_levels_and_free_numbers_are_doubts() -> None:
    assert doubt(Problem(X, X[:, 0] * X[:, 1]), PRODUCT) == ""
    assert "too few rows" in doubt(Problem(X[:1], X[:1, 0]), PRODUCT)
    levels = np.column_stack([RNG.integers(1, 5, 100).astype(float), X[:, 1]])
    assert "only 4 different values" in doubt(Problem(levels, levels[:, 0] * X[:, 1]), PRODUCT)
    marks = np.column_stack([np.where(RNG.random(100) < 0.5, -1.0, 1.0), X[:, 1]])
    assert doubt(Problem(marks, marks[:, 0] * X[:, 1]), PRODUCT) == ""
    narrow = 1 + X / 1e4  # on so narrow a range any numbers fit
    loose = total([(1.0, Input(0)), (1.0, product([(Input(0), 2)])), (1.0, product([(Input(0), -1)]))])
    assert spread_elsewhere(Problem(narrow, narrow[:, 0] * 3), loose) > SETTINGS.pinned


# -- elsewhere -----------------------------------------------------------------------------------------------------


def test_elsewhere_is_beyond_the_data_and_the_same_every_time() -> None:
    far = stretched(Problem(X, X[:, 0]))
    ratio = far / X[:64]
    assert far.shape == (64, 2)
    assert ratio.min() < 0.7
    assert ratio.max() > 2.8
    assert np.all((ratio >= 0.5) & (ratio < 3))
    assert np.array_equal(far, stretched(Problem(X, X[:, 1])))


def test_formulas_agree_elsewhere_if_they_are_one_function() -> None:
    problem = Problem(X, X[:, 0])
    square = product([(Input(0), 2)])
    assert agrees_elsewhere(problem, square, product([(Input(0), 1), (Input(0), 1)]))
    assert not agrees_elsewhere(problem, square, real(1.0001, square))
    assert agrees_elsewhere(problem, square, real(1.0001, square), within=1e-3)
    assert not agrees_elsewhere(problem, square, Input(0))


# -- kinds of noise ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1e-3, 3e-2])
def test_noise_is_of_the_kind_and_size_that_made_it(size: float) -> None:
    wide = np.column_stack([np.geomspace(1, 100, 400)])
    errors = np.random.default_rng(5).normal(size=400)
    relative = noise_of(Problem(wide, wide[:, 0] * (1 + size * errors)), Input(0))
    assert relative is not None
    assert relative.additive == 0
    assert relative.relative == pytest.approx(size, rel=0.1)
    additive = noise_of(Problem(wide, wide[:, 0] + size * errors), Input(0))
    assert additive is not None
    assert additive.relative == 0
    assert additive.additive == pytest.approx(size, rel=0.1)
    assert noise_of(Problem(wide, wide[:, 0]), product([(Constant(Fraction(0)), 1)])) is not None
    broken = product([(total([(Fraction(1), Input(0)), (Fraction(-1), ONE)]), -1)])  # has a pole at the first row
    assert noise_of(Problem(wide, wide[:, 0]), broken) is None


def test_noise_is_bearable_up_to_a_tenth_of_each_target_or_a_share_of_all() -> None:
    problem = Problem(X, 10 * X[:, 0])
    deviation = float(np.std(problem.y))
    assert Noise(relative=0.1).bearable(problem)
    assert not Noise(relative=0.11).bearable(problem)
    assert Noise(additive=0.14 * deviation).bearable(problem)
    assert not Noise(additive=0.16 * deviation).bearable(problem)


# -- whether errors are noise --------------------------------------------------------------------------------------


def test_white_errors_pass_and_those_that_follow_the_inputs_do_not() -> None:
    wide = np.random.default_rng(1).uniform(-1, 1, (300, 2))
    white = np.random.default_rng(2).normal(size=300)
    flat = Constant(5.0)
    for follows in (0 * white, 0.5 * wide[:, 0], 0.8 * wide[:, 0] * wide[:, 1], 0.6 * np.sin(12 * wide[:, 1])):
        problem = Problem(wide, 5 + white + 3 * follows, additive=1.0)
        assert structured(problem, flat, SETTINGS.structure_level_under_noise) == bool(np.any(follows))


def test_each_of_the_three_tests_sees_something_of_its_own() -> None:
    line = np.linspace(-1, 1, 200)[:, None]
    problem = Problem(line, np.ones(200), additive=1.0)
    noise = np.random.default_rng(3).normal(size=200)
    basis = np.linalg.qr(cubic(problem.X, [0]))[0]
    assert basis.shape == (200, 4)
    assert _explained(basis, noise) > 0.01
    assert _explained(basis, noise + 2 * line[:, 0] ** 3) < 1e-6
    slow, fast = np.sin(20 * line[:, 0]), np.sin(60 * line[:, 0])
    assert _explained(basis, noise + slow) > 1e-3
    assert float(_foretold(line, (noise + 2 * slow)[:, None], 0.2)[0]) > SETTINGS.predictable
    assert float(_foretold(line, noise[:, None], 0.2)[0]) < SETTINGS.predictable
    assert _neighbours_foretell(problem, Input(0), noise + 2 * fast)
    assert _neighbours_foretell(problem, Input(0), noise + 2 * (-1.0) ** np.arange(200))
    assert not _neighbours_foretell(problem, Input(0), noise)


# -- neighbours ----------------------------------------------------------------------------------------------------


def test_edits_are_one_small_change_away() -> None:
    found = list(edits(total([(Fraction(2), Input(0)), (Fraction(1), Input(1))]), 3))
    for wanted in (
        total([(Fraction(3), Input(0)), (Fraction(1), Input(1))]),
        total([(Fraction(1), Input(0)), (Fraction(1), Input(1))]),
        total([(Fraction(2), Input(2)), (Fraction(1), Input(1))]),
        total([(Fraction(2), Input(0)), (Fraction(1), Input(1)), (Fraction(-1), Input(2))]),
        total([(Fraction(2), Input(0)), (Fraction(1), Input(1)), (Fraction(1), ONE)]),
    ):
        assert wanted in found
    assert product([(Input(0), Fraction(3, 2))]) in list(edits(product([(Input(0), Fraction(1, 2))]), 1))
    assert product([(PRODUCT, 1), (Input(0), -1)]) in list(edits(PRODUCT, 2))


def test_print_is_seen_where_the_target_has_few_digits() -> None:
    short = X.round(2)
    printed = as_printed(Problem(short, (short[:, 0] * 3).round(1)))
    assert printed is not None
    np.testing.assert_allclose(np.max(printed.printed, axis=0), [0.005, 0.005, 0.05])  # type: ignore[arg-type]
    assert as_printed(Problem(short, X[:, 0] * X[:, 1])) is None


@pytest.mark.parametrize(("wrong", "few"), [(0, False), (1, True), (10, True), (11, False)])
def test_one_row_in_twenty_may_be_wrong_rather_than_the_formula(wrong: int, few: bool) -> None:
    assert Contradictions(tuple(range(wrong)), 200, fits=False).few == few


def test_a_coefficient_is_free_under_noise_and_becomes_whole_only_if_the_data_say_so() -> None:
    noise = 0.01 * np.random.default_rng(4).normal(size=100)
    claimed = judge(Problem(X, PRODUCT_VALUES + noise, additive=0.01), PRODUCT, "by hand")
    assert claimed.candidate.formula == PRODUCT
    off = judge(Problem(X, 1.05 * PRODUCT_VALUES + noise, additive=0.01), PRODUCT, "by hand")
    assert off.candidate.constants[0].value == pytest.approx(1.05, abs=0.01)
    exact = judge(Problem(X, 1.05 * PRODUCT_VALUES), PRODUCT, "by hand")
    assert not exact.found


def test_numbers_that_trade_against_each_other_keep_the_digits_they_need() -> None:
    x = np.random.default_rng(3).uniform(0.1, 10, (200, 1))
    y = 2 + 3 * x[:, 0] ** 1.7
    solution = solve(x, y + 0.01 * np.std(y) * np.random.default_rng(4).normal(size=200))
    numbers = real_constants(solution.chosen.formula)
    assert numbers
    assert all(float(f"{number:.6g}") == number for number in numbers)
