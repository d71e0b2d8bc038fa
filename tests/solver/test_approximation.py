"""When there is no law: a front of approximations whose errors were measured on rows held out."""

import numpy as np
import pytest

from nalm.solver import Status, solve
from nalm.solver.data.problem import checked
from nalm.solver.formula.algebra import ONE, Applied, Input, product, real_constants, total
from nalm.solver.formula.bounds import defined_between
from nalm.solver.formula.functions import Function
from nalm.solver.formula.notation import show
from nalm.solver.shapes.flexible import single_terms


def wave(rows, seed):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, (rows, 3))
    return X, np.sin(X[:, 0]) + X[:, 1] ** 2 / 4 + 0.1 * rng.normal(size=rows)


def test_a_table_without_a_law_is_predicted_as_well_as_its_noise_allows():
    X, y = wave(300, 0)
    solution = solve(X, y, effort="quick")
    assert solution.status is Status.APPROXIMATION
    unseen, truth = wave(2000, 1)
    errors = solution.predict(unseen) - truth
    assert np.sqrt(np.mean(errors**2)) < 0.12  # the noise is 0.1
    reported = solution.chosen.relative_error * np.sqrt(np.mean(y**2))
    assert reported == pytest.approx(np.sqrt(np.mean(errors**2)), rel=0.15)
    assert "not fitted to" in solution.evidence.notes[0]
    assert f"error {solution.chosen.relative_error:.2g} of the target's size" in str(solution)


def test_no_entry_of_the_front_is_beaten_by_a_shorter_one():
    solution = solve(*wave(200, 0), effort="quick")
    sizes = [entry["complexity"] for entry in solution.candidates]
    errors = [entry["relative_error"] for entry in solution.candidates]
    assert len(sizes) > 3
    assert sizes == sorted(set(sizes))
    assert errors == sorted(errors, reverse=True)
    assert sum(entry["chosen"] for entry in solution.candidates) == 1


def test_an_idle_column_stays_out_and_numbers_are_short():
    solution = solve(*wave(500, 0), effort="quick")
    assert "x2" not in str(solution.expression)
    assert all(float(f"{number:.5g}") == number for number in real_constants(solution.chosen.formula))


def test_pure_noise_is_not_approximated():
    rng = np.random.default_rng(0)
    solution = solve(rng.uniform(1, 2, (200, 3)), rng.normal(size=200), effort="quick")
    assert solution.status is Status.NONE


@pytest.mark.parametrize("seed", [0, 2])
def test_few_rows_of_pure_noise_are_not_approximated_by_a_constant_in_disguise(seed):
    rng = np.random.default_rng(seed)  # with these seeds tan(1) was offered: it is near the mean of the target
    solution = solve(rng.uniform(1, 2, (60, 2)), rng.uniform(1, 2, 60), effort="quick")
    assert solution.status is Status.NONE


def test_numbers_of_a_formula_with_functions_are_rounded_to_their_accuracy():
    rng = np.random.default_rng(0)
    X = rng.uniform(1, 3, (150, 2))
    y = 2.31 * X[:, 0] ** 1.73 / X[:, 1] ** 0.41
    solution = solve(X, y * (1 + 0.01 * rng.normal(size=150)))
    assert solution.status in (Status.APPROXIMATION, Status.AMBIGUOUS, Status.REAL)
    assert all(float(f"{number:.6g}") == number for number in real_constants(solution.chosen.formula))
    assert np.max(np.abs(solution.predict(X) / y - 1)) < 0.01


def test_no_pole_between_the_ends_of_the_data():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.uniform(-2, -1, (100, 1)), rng.uniform(1, 2, (100, 1))])
    solution = solve(X, np.abs(1 / X[:, 0]) + 0.05 * rng.normal(size=200), effort="quick")
    between = solution.predict(np.linspace(-2, 2, 401)[:, None])
    assert np.all(np.isfinite(between))
    assert np.max(np.abs(between)) < 5


@pytest.mark.parametrize(
    ("formula", "defined"),
    [
        (product([(Input(0), -1)]), False),
        (product([(total([(1, Input(0)), (2, ONE)]), -1)]), True),
        (product([(total([(1, product([(Input(0), 2)])), (0.1, ONE)]), -2)]), True),
        (product([(Input(1), -1), (Input(0), 3)]), True),
        (total([(-1.0, Input(0)), (2.0, product([(Input(0), -3)]))]), False),
        (Applied(Function.LOG, Input(0)), False),
        (Applied(Function.LOG, Input(1)), True),
        (Applied(Function.TAN, Input(1)), False),
        (product([(total([(1, Applied(Function.SIN, Input(0))), (2, ONE)]), -1)]), True),
        (product([(Applied(Function.ABS, Input(0)), -1)]), False),
    ],
)
def test_poles_are_seen_by_bounds(formula, defined):
    assert defined_between(formula, np.array([-1.0, 1.0]), np.array([1.0, 2.0])) is defined


def test_rows_count_by_their_weight():
    X = np.random.default_rng(0).uniform(0, 1, (200, 1))
    y = np.where(np.arange(200) < 100, np.exp(X[:, 0]), 5 + np.sin(3 * X[:, 0]))
    first = solve(X, y, weights=np.where(np.arange(200) < 100, 1.0, 1e-9), effort="quick")
    np.testing.assert_allclose(first.predict(X[:100]), y[:100], atol=0.05)


def test_wide_tables_give_short_formulas():
    X = np.random.default_rng(0).uniform(-2, 2, (200, 60))
    solution = solve(X, np.sin(2 * X[:, 7]), effort="quick", max_seconds=20)
    assert solution.chosen.complexity < 40
    assert "x7" in str(solution.expression)


def test_digits_that_nobody_sees_are_not_worth_a_longer_formula():
    X = np.random.default_rng(0).uniform(0, 6, (300, 1))
    y = np.cos(X[:, 0]) * np.tanh(2 * X[:, 0] + 1)
    solution = solve(X, y, effort="quick")
    errors = np.array([entry["relative_error"] for entry in solution.candidates]) * np.sqrt(np.mean(y**2)) / np.std(y)
    chosen = next(k for k, entry in enumerate(solution.candidates) if entry["chosen"])
    assert chosen < len(errors) - 1  # longer ones are still closer, and may be asked for
    assert errors[chosen] ** 2 <= errors[-1] ** 2 + 1.0001e-4
    assert all(error**2 > errors[-1] ** 2 + 1e-4 for error in errors[:chosen])


def test_a_refusal_writes_its_line_in_numbers_of_few_digits():
    rng = np.random.default_rng(0)
    solution = solve(rng.uniform(1, 2, (60, 3)), rng.normal(size=60), effort="quick")
    assert solution.status is Status.NONE
    assert len(str(solution.expression)) < 50


def test_middles_of_columns_are_whole_where_they_can_be():
    problem = checked(np.random.default_rng(0).uniform(0, 6, (100, 1)), np.arange(100.0))
    middle = next(f for f in single_terms(problem, [0]).formulas if "- 3" in show(f))
    assert show(middle) == "(x0 - 3)**2"


def test_a_refusal_of_few_rows_is_written_in_few_digits() -> None:
    t = np.random.default_rng(0).uniform(0, 36, (15, 1))
    y = 100 + 1.3 * t[:, 0] + 8 * np.sin(2 * np.pi * t[:, 0] / 12) + 2 * np.sin(2 * np.pi * t[:, 0] / 6 + 1)
    solution = solve(t, y)
    assert solution.status is Status.NONE
    numbers = [constant.value for constant in solution.chosen.constants]
    assert len(numbers) == 5  # a line and a wave: fifteen rows determine three or four digits of each
    assert all(float(f"{number:.5g}") == number for number in numbers)
    np.testing.assert_allclose(solution.predict(t), y, atol=2.5)


def test_where_terms_cancel_the_formula_that_is_shown_predicts_as_well_as_is_said():
    """Keijzer-4: long sums of powers, whose numbers in few digits were wrong by a thousand deviations of the target."""
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 10, (1000, 1))
    y = (x**3 * np.exp(-x) * np.cos(x) * np.sin(x) * (np.sin(x) ** 2 * np.cos(x) - 1))[:, 0]
    solution = solve(x[:750], y[:750], functions=())
    assert solution.status is Status.APPROXIMATION
    said = solution.chosen.relative_error * np.sqrt(np.mean(y[:750] ** 2))
    assert np.sqrt(np.mean((solution.predict(x[750:]) - y[750:]) ** 2)) < 1.5 * said
