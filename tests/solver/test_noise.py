"""Functions under noise: how they are proposed, when their numbers are made exact, and when nothing may be claimed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy import special

from nalm.solver import Status, solve
from nalm.solver.data.problem import Problem, checked
from nalm.solver.formula.algebra import Applied, Formula, Input, WeightedSum, inputs, product
from nalm.solver.formula.calculus import Array, argument_bends, evaluate
from nalm.solver.formula.functions import Function
from nalm.solver.shapes.catalogue import ALONE, shape_named
from nalm.solver.shapes.functions.around import sharp
from nalm.solver.shapes.functions.profile import beside_powers
from nalm.solver.shapes.screen import by_importance
from nalm.solver.shapes.shape import Scope
from nalm.solver.verdict.certainty import functions_are_certain
from nalm.solver.verdict.judge import judge
from nalm.solver.verdict.learning import levels_off, regression, telling
from nalm.solver.verdict.noise import loosened
from nalm.solver.verdict.refine import refine, usual_together
from nalm.solver.verdict.structure import rows_to_be_white, white

A, B = Input(0), Input(1)
TORQUE = product([(A, 1), (Applied(Function.SIN, B), 1)])


def noisy(formula: Formula, ranges: list[tuple[float, float]], share: float, rows: int = 300, seed: int = 0) -> Problem:
    """Values of a formula with noise of a share of their deviation, which the problem is told."""
    rng = np.random.default_rng(seed)
    low, high = np.array(ranges).T
    X: Array = rng.uniform(low, high, (rows, len(ranges)))
    y = evaluate(formula, X)
    size = share * float(np.std(y))
    return replace(checked(X, y + size * rng.normal(size=rows)), additive=size)


@pytest.mark.parametrize(("share", "expected"), [(0.0, False), (0.02, True), (0.2, True)])
def test_a_regression_that_more_rows_do_not_help_is_a_sign_of_noise(share: float, expected: bool) -> None:
    assert levels_off(noisy(TORQUE, [(1, 3), (0, 5)], share)) is expected


def test_a_regression_that_has_learned_nothing_is_no_sign_of_noise() -> None:
    x = np.random.default_rng(0).uniform(0, 10, (300, 1))
    assert not levels_off(checked(x, np.sin(200 * x[:, 0])))


def test_the_noise_is_bounded_from_above_and_not_by_much() -> None:
    problem = noisy(TORQUE, [(1, 3), (0, 5)], 0.02)
    assert 1.0 < loosened(replace(problem, additive=0.0)).additive / problem.additive < 2.5


def test_the_logarithm_of_a_target_within_the_noise_says_nothing() -> None:
    problem = Problem(np.ones((3, 1)), np.array([0.5, 1.5, -8.0]), additive=1.0)
    np.testing.assert_allclose(problem.log_weights, [0.0, 0.6, 8 / 9])
    np.testing.assert_array_equal(replace(problem, additive=0.0).log_weights, 1.0)


def test_undoing_a_function_keeps_the_rows_whose_noise_it_enlarges_least() -> None:
    y = np.array([-0.01, 0.02, 0.5, 1.0, 2.0, 3.0, 4.0, 5.0])
    with np.errstate(invalid="ignore"):
        target = np.log(y)
    kept, arguments = sharp(Problem(np.arange(8.0)[:, None], y, additive=0.1), target, slope=y)
    np.testing.assert_array_equal(kept.y, [2.0, 3.0, 4.0, 5.0])
    np.testing.assert_array_equal(arguments, np.log(kept.y))
    assert kept.additive == pytest.approx(0.1 * (1 / 3 + 1 / 4) / 2)


def test_an_exponential_beside_powers_is_proposed_where_most_targets_are_noise() -> None:
    law = product(
        [(A, 1), (Applied(Function.EXP, WeightedSum(((Fraction(-1), product([(B, 1), (Input(2), -1)])),))), 1)]
    )
    problem = noisy(law, [(1, 5), (1, 9), (1, 2)], 0.01)
    proposed = [formula for group in beside_powers(problem, np.arange(3)) for formula in group]
    refined = [refine(problem, formula, rounds=4)[0] for formula in proposed]
    assert min(problem.relative_rms(formula) for formula in refined) < 0.02


def test_numbers_that_trade_against_each_other_are_made_exact_together() -> None:
    free = WeightedSum(((0.98, Applied(Function.ASIN, WeightedSum(((1.01, product([(A, 1), (B, -1)])),)))),))
    law = Applied(Function.ASIN, product([(A, 1), (B, -1)]))
    problem = noisy(law, [(1, 2), (2.1, 5)], 0.05, rows=600)
    fitted, spread = refine(problem, free, rounds=4)
    assert np.max(spread) > 0.0029  # alone, neither is known to be 1
    assert usual_together(problem, fitted) == law


def test_a_number_that_is_not_1_is_not_made_1_together_with_others() -> None:
    law = WeightedSum(((1.1, Applied(Function.SIN, A)), (1.0, B)))
    problem = noisy(law, [(0, 5), (1, 2)], 0.01, rows=600)
    assert usual_together(problem, refine(problem, law, rounds=4)[0]) is None


def test_bending_an_argument_is_the_derivative_by_its_square_and_cube() -> None:
    X = np.random.default_rng(0).uniform(0.5, 2, (5, 2))
    (bend,) = argument_bends(WeightedSum(((3.0, product([(A, 2), (Applied(Function.SIN, B), -1)])),)), X)
    a, u = X.T
    slope = -3 * a**2 * np.cos(u) / np.sin(u) ** 2
    np.testing.assert_allclose(bend.by_square, slope * u**2)
    np.testing.assert_allclose(bend.by_cube, slope * u**3)


@pytest.mark.parametrize(("share", "expected"), [(0.0005, True), (0.002, True), (0.02, False)])
def test_large_noise_leaves_room_for_other_functions(share: float, expected: bool) -> None:
    tanh = Applied(Function.TANH, WeightedSum(((1.2, A),)))
    assert functions_are_certain(noisy(tanh, [(-3, 3)], share, rows=600), tanh) is expected


def test_the_bessel_function_is_not_told_from_a_cosine_of_a_small_argument() -> None:
    rng = np.random.default_rng(2)
    x = rng.uniform(0, 1, (600, 1))
    y = special.j0(x[:, 0])
    cosine = Applied(Function.COS, WeightedSum(((0.705, A),)))
    for share in (1e-3, 1e-2):
        problem = replace(checked(x, y + share * np.std(y) * rng.normal(size=600)), additive=share * float(np.std(y)))
        assert not functions_are_certain(problem, refine(problem, cosine)[0])


def test_a_law_without_its_smallest_term_is_not_claimed_under_noise() -> None:
    rng = np.random.default_rng(3)
    X = rng.uniform(1, 3, (800, 2))
    law = X[:, 0] * X[:, 1]
    problem = replace(checked(X, 0.998 * law + 0.001 * rng.normal(size=800)), additive=0.001)
    product_of_both = WeightedSum(((0.998, product([(A, 1), (B, 1)])),))
    assert judge(problem, product_of_both, "product").status is Status.AMBIGUOUS
    further = replace(problem, y=problem.y + 0.1 * law)
    assert judge(further, product_of_both, "product").status is Status.REAL


def test_a_law_with_a_function_is_claimed_under_noise() -> None:
    problem = noisy(TORQUE, [(1, 5), (0, 5)], 0.005, rows=400)
    solution = solve(problem.X, problem.y, names=["F", "theta"])
    assert solution.status is Status.EXACT
    assert str(solution.expression) == "F*sin(theta)"
    assert solution.evidence.additive == pytest.approx(problem.additive, rel=0.15)


def test_the_error_function_under_noise_is_not_claimed_as_another() -> None:
    rng = np.random.default_rng(1)
    x = rng.uniform(-2, 2, (300, 1))
    solution = solve(x, special.erf(x[:, 0]) + 0.05 * rng.normal(size=300))
    assert solution.status not in (Status.EXACT, Status.REAL)


@pytest.mark.parametrize("columns", [1, 4])
def test_a_target_that_is_noise_is_not_searched_deeply(columns: int) -> None:
    rng = np.random.default_rng(columns)
    tried: list[str] = []
    solve(rng.uniform(1, 2, (150, columns)), rng.normal(size=150), report=tried.append)
    assert "wave" in tried
    assert "formula with a function" not in tried


@pytest.mark.parametrize("speed", [3.0, 30.0])
def test_a_target_that_follows_an_input_is_not_taken_for_noise(speed: float) -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 5, (300, 3))
    assert not white(checked(X, np.sin(speed * X[:, 1]) + 0.3 * rng.normal(size=300)))
    assert not white(checked(X[:20], rng.normal(size=20)))  # too few rows to say so


def test_a_product_of_both_signs_is_no_noise_although_its_mean_is_zero_everywhere() -> None:
    x = np.random.default_rng(7).uniform(-2, 2, (200, 5))
    y = x[:, 0] * x[:, 1] * np.sin(4 * x[:, 2])
    assert not white(checked(x, y))
    assert solve(x, y).status is Status.EXACT


def test_a_wave_that_turns_faster_than_the_rows_follow_is_still_found() -> None:
    x = np.random.default_rng(0).uniform(0, 2, (200, 1))
    y = np.sin(150 * x[:, 0])
    assert white(checked(x, y))
    assert solve(x, y).status in (Status.EXACT, Status.REAL)


def in_ten_columns(
    target: Callable[[Array], Array], noise: float, rows: int = 300, low: float = 1.0, high: float = 3.0
) -> Problem:
    """A target of ten columns with noise of a share of its deviation, which the problem is not told."""
    rng = np.random.default_rng(5)
    X: Array = rng.uniform(low, high, (rows, 10))
    y = target(X)
    return checked(X, y + noise * float(np.std(y)) * rng.normal(size=rows))


def quotient(X: Array) -> Array:
    return np.asarray(X[:, 3] * X[:, 7] / X[:, 8])


def test_the_columns_that_tell_of_a_target_in_noise_are_heard() -> None:
    assert telling(in_ten_columns(quotient, 0.02)) == (3, 7, 8)


def test_errors_that_are_larger_where_rows_are_rare_are_noise_all_the_same() -> None:
    rng = np.random.default_rng(1)
    X = rng.uniform(1, 3, (300, 10))
    problem = checked(X, quotient(X) + 0.01 * float(np.std(quotient(X))) * rng.normal(size=300))
    assert not white(problem.of_target(regression(problem).errors))
    assert telling(problem) == (3, 7, 8)


def test_no_column_tells_of_noise() -> None:
    problem = in_ten_columns(quotient, 0.0)
    noise = np.random.default_rng(1).normal(size=problem.rows)
    assert telling(problem.of_target(noise)) == ()


@pytest.mark.parametrize("target", [quotient, lambda X: np.sin(2 * X[:, 0]) + X[:, 1] ** 2, lambda X: np.tan(X[:, 0])])
def test_without_noise_more_than_noise_is_left(target: Callable[[Array], Array]) -> None:
    assert telling(in_ten_columns(target, 0.0)) is None


def test_a_column_that_tells_a_little_is_not_lost() -> None:
    heard = telling(in_ten_columns(lambda X: quotient(X) + 0.3 * X[:, 5], 0.02))
    assert heard is None or 5 in heard


def test_too_few_rows_cannot_say_that_the_rest_is_noise() -> None:
    enough = rows_to_be_white(in_ten_columns(quotient, 0.02))
    assert enough == 3 * 66  # a constant, ten columns, and 55 squares and products
    assert telling(in_ten_columns(quotient, 0.02, rows=enough)) is not None
    assert telling(in_ten_columns(quotient, 0.02, rows=enough - 1)) is None


def test_a_regression_that_leaves_most_of_the_target_calls_the_rest_no_noise() -> None:
    def mostly_unknown(X: Array) -> Array:  # a wave of three columns, too fast for the rows, and a little line
        return np.asarray(np.sin(40 * X[:, 0] * X[:, 1] / X[:, 2]) + 0.3 * X[:, 4])

    problem = in_ten_columns(mostly_unknown, 0.0, rows=500)
    assert regression(problem).left > 0.9
    assert telling(problem) is None


def test_a_shape_on_some_columns_proposes_formulas_of_the_whole_table() -> None:
    problem = in_ten_columns(quotient, 0.0)
    (formula, *_), *_ = ([*group] for group in shape_named("product").on((3, 7, 8)).groups(Scope(problem, ALONE)))
    assert inputs(formula) == {3, 7, 8}
    np.testing.assert_allclose(evaluate(formula, problem.X), problem.y)


def test_where_the_rest_is_noise_nothing_exact_is_searched_for() -> None:
    problem = in_ten_columns(lambda X: np.sin(3 * X[:, 0]) + X[:, 1] ** 2 + np.exp(X[:, 0] - X[:, 1]), 0.1)
    tried: list[str] = []
    assert solve(problem.X, problem.y, functions=["sin"], report=tried.append).status is Status.APPROXIMATION
    assert tried[tried.index("product of 2 sums") + 1 :] == ["noise"] * 3  # after the cheap shapes, once for each stage


def test_a_target_that_passes_for_noise_is_searched_for_exact_waves() -> None:
    problem = in_ten_columns(quotient, 0.0)
    tried: list[str] = []
    solve(problem.X, np.random.default_rng(1).normal(size=problem.rows), functions=["sin"], report=tried.append)
    assert tried[tried.index("product of 2 sums") + 1 :] == ["noise", "noise", "wave", "noise"]


@pytest.mark.parametrize(("columns", "at_once"), [(6, True), (7, False)])
def test_small_exact_formulas_of_few_columns_are_looked_for_before_noise_is(columns: int, at_once: bool) -> None:
    problem = in_ten_columns(lambda X: np.sin(3 * X[:, 0]) + X[:, 1] ** 2, 0.1).of_columns(range(columns))
    assert telling(problem) is not None
    tried: list[str] = []
    solve(problem.X, problem.y, functions=(), report=tried.append)
    assert ("tree to 5 leaves" in tried) is at_once


def test_a_law_in_noise_is_found_among_ten_columns() -> None:
    problem = in_ten_columns(lambda X: X[:, 3] * X[:, 7] + X[:, 8] ** 2, 0.02)
    assert telling(problem) == (3, 7, 8)
    solution = solve(problem.X, problem.y)
    assert (str(solution.expression), solution.status) == ("x3*x7 + x8**2", Status.EXACT)


def test_a_row_far_from_the_others_is_foretold_badly_as_the_regression_expects() -> None:
    rng = np.random.default_rng(0)
    x = np.append(rng.uniform(0, 1, 80), 2.0)
    found = regression(checked(x[:, None], np.sin(3 * x) + 0.05 * rng.normal(size=81)))
    far, far_but_expected = (abs(e[-1]) / np.median(np.abs(e)) for e in (found.errors, found.even))
    assert far > 20
    assert far_but_expected < 8


def test_an_important_column_that_another_makes_needless_has_no_part_in_a_regression() -> None:
    rng = np.random.default_rng(3)
    X = rng.uniform(1, 3, (300, 4))
    X[:, 1] = X[:, 0] + 0.3 * rng.normal(size=300)
    problem = checked(X, np.sin(2 * X[:, 0]) + 0.3 * X[:, 2] + 0.02 * rng.normal(size=300))
    assert by_importance(problem).tolist() == [0, 1, 2, 3]
    assert regression(problem).columns == (0, 2)


@pytest.mark.parametrize("seed", [0, 1])
def test_what_was_met_without_noise_and_leaves_far_less_stands_beside_the_formulas_under_noise(seed: int) -> None:
    """`x2*sin(x0**2)` was called exact here: its pool under noise did not hold the sum that had been met before."""
    rng = np.random.default_rng(seed)
    rows = rng.uniform(10, 20, (40, 3))
    y = rows[:, 2] * np.sin(rows[:, 0] ** 2) + 0.0126 * np.cos(rows[:, 0] + rows[:, 2]) + 3e-4 * rng.normal(size=40)
    solution = solve(rows, y)
    assert "cos(x0 + x2)" in str(solution.expression)
    assert not solution.exact


@pytest.mark.parametrize(
    "small",
    [
        lambda x: np.cos(x[:, 0] + 1.7 * x[:, 2]),
        lambda x: np.cos(x.sum(axis=1)),
        lambda x: np.cos(x[:, 1] * x[:, 2] / 10),
        lambda x: np.sin(20 * x[:, 1] / x[:, 2]),
    ],
)
def test_a_small_wave_across_several_inputs_is_no_noise(small: Callable[[Array], Array]) -> None:
    """It is seen along no single input; `x0*x1/x2` was called exact beside the first three."""
    rng = np.random.default_rng(60)
    rows = rng.uniform(10, 20, (60, 3))
    law = rows[:, 0] * rows[:, 1] / rows[:, 2]
    y = law + law.std() * (0.003 * small(rows) + 1e-4 * rng.normal(size=60))
    assert not solve(rows, y).verdict.found
    assert solve(rows, law + 0.003 * law.std() * rng.normal(size=60)).verdict.found  # while noise of this size is noise


def test_across_one_input_there_is_no_wave() -> None:
    rng = np.random.default_rng(1)
    rows = rng.uniform(1, 100, (300, 1))
    assert str(solve(rows, np.log(rows[:, 0]) + 0.01 * rng.normal(size=300))).startswith("log(x0)   [exact")
