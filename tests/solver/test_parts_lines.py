"""Small parts of the solver on numbers one can check by hand: intervals, functions, digits, rows, tolerances."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from nalm.solver.clock import OutOfTime, Stopwatch, time_limit
from nalm.solver.data.columns import column_names, set_aside, tied
from nalm.solver.data.digits import exact_settings, full, half_units
from nalm.solver.data.problem import Problem, checked
from nalm.solver.data.rows import checked_weights, gathered
from nalm.solver.formula.algebra import Applied, Constant, Input, PowerProduct, WeightedSum, product, total
from nalm.solver.formula.bounds import NumberRange, defined_between
from nalm.solver.formula.functions import Function, inverse_of, named, slope_of, value_of

# -- formulas -----------------------------------------------------------------------------------------------------


def test_a_coefficient_beyond_all_numbers_is_infinite_and_no_error() -> None:
    """The reciprocal of a curve in noise once ended a search."""
    reciprocal = product([(total([(-1e-310, Input(0))]), -1)])
    assert reciprocal == WeightedSum(((-np.inf, PowerProduct(((Input(0), Fraction(-1)),))),))


# -- intervals ----------------------------------------------------------------------------------------------------


def test_arithmetic_of_intervals() -> None:
    range_ = NumberRange(-1.0, 2.0)
    assert range_.scaled(-3.0) == NumberRange(-6.0, 3.0)
    assert range_.plus(NumberRange(10.0, 20.0)) == NumberRange(9.0, 22.0)
    assert range_.times(NumberRange(-4.0, 3.0)) == NumberRange(-8.0, 6.0)


@pytest.mark.parametrize(
    ("low", "high", "exponent", "expected"),
    [
        (-3.0, 2.0, Fraction(2), (0.0, 9.0)),
        (-3.0, -2.0, Fraction(2), (4.0, 9.0)),
        (-3.0, 2.0, Fraction(3), (-27.0, 8.0)),
        (2.0, 4.0, Fraction(-1), (0.25, 0.5)),
        (0.0, 4.0, Fraction(1, 2), (0.0, 2.0)),
        (0.0, 4.0, Fraction(-1), None),
        (-4.0, 0.0, Fraction(-2), None),
        (-1.0, 4.0, Fraction(1, 2), None),
    ],
)
def test_powers_of_an_interval(
    low: float, high: float, exponent: Fraction, expected: tuple[float, float] | None
) -> None:
    assert NumberRange(low, high).raised(exponent) == (expected and NumberRange(*expected))


@pytest.mark.parametrize(
    ("low", "high", "function", "expected"),
    [
        (-9.0, 0.1, Function.SIN, (-1.0, 1.0)),
        (-9.0, 0.1, Function.COS, (-1.0, 1.0)),
        (-1.0, 1.5, Function.TAN, (np.tan(-1.0), np.tan(1.5))),
        (-1.0, 1.6, Function.TAN, None),
        (-1.6, 1.0, Function.TAN, None),
        (-3.0, 2.0, Function.ABS, (0.0, 3.0)),
        (-3.0, -2.0, Function.ABS, (2.0, 3.0)),
        (2.0, 3.0, Function.ABS, (2.0, 3.0)),
        (1.0, np.e, Function.LOG, (0.0, 1.0)),
        (0.0, 1.0, Function.LOG, None),
        (-1.0, 2.0, Function.ASIN, None),
    ],
)
def test_functions_of_an_interval(
    low: float, high: float, function: Function, expected: tuple[float, float] | None
) -> None:
    found = NumberRange(low, high).through(function)
    assert (found and (found.low, found.high)) == (expected and pytest.approx(expected))


def test_where_a_formula_is_sure_to_have_a_value() -> None:
    # 1 / (x0 - 2) + log(3 x1)
    shifted = WeightedSum(((Fraction(1), Input(0)), (Fraction(-2), Constant(Fraction(1)))))
    pole = PowerProduct(((shifted, Fraction(-1)),))
    logarithm = Applied(Function.LOG, WeightedSum(((Fraction(3), Input(1)),)))
    formula = WeightedSum(((Fraction(1), pole), (Fraction(1), logarithm)))
    assert defined_between(formula, np.array([2.1, 0.1]), np.array([3.0, 1.0]))
    assert not defined_between(formula, np.array([1.9, 0.1]), np.array([3.0, 1.0]))
    assert not defined_between(formula, np.array([2.1, -0.1]), np.array([3.0, 1.0]))
    assert not defined_between(PowerProduct(((Input(0), Fraction(3)),)), np.array([1.0]), np.array([1e200]))


# -- functions ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("function", list(Function))
def test_slopes_are_derivatives_and_inverses_undo(function: Function) -> None:
    at, step = np.array([0.2, 0.7]), 1e-6
    slope = (value_of(function, at + step) - value_of(function, at - step)) / (2 * step)
    assert slope_of(function, at) == pytest.approx(slope, rel=1e-8)
    found = inverse_of(function, value_of(function, at))
    if function is Function.ABS:
        assert np.isnan(found).all()
    else:
        assert found == pytest.approx(at)


def test_functions_are_known_by_name_in_any_case() -> None:
    assert named(None) == tuple(Function)
    assert named(["abs", "SIN"]) == (Function.ABS, Function.SIN)
    assert np.isfinite(inverse_of(Function.SIN, np.array([0.5, 2.0]))).tolist() == [True, False]
    for wrong in ("sin", ["sin", "sinh"]):
        with pytest.raises(ValueError, match="functions must be a list of exp, log"):
            named(wrong)


# -- digits, rows, columns ----------------------------------------------------------------------------------------


def test_digits_of_a_column() -> None:
    assert half_units(np.array([1.25, 12.5, 125.0])).tolist() == pytest.approx([0.005, 0.05, 0.5])  # three digits
    assert half_units(np.array([10.5, 0.5, 0.0])).tolist() == pytest.approx([0.05] * 3)  # one decimal
    assert half_units(np.sqrt([2.0, 3.0])).tolist() == [0.0, 0.0]
    assert half_units(np.array([1.1234567, 1.0])).tolist() == pytest.approx([5e-8] * 2)  # seven are few, eight are not
    assert half_units(np.array([1.12345678, 1.0])).tolist() == [0.0, 0.0]
    assert exact_settings(np.array([3.0, 4.0]))
    assert exact_settings(np.array([0.5, 0.25]))
    assert not exact_settings(np.sqrt([2.0, 3.0]))


def test_a_tenth_of_the_numbers_may_be_short_by_chance() -> None:
    roots = np.sqrt(np.arange(2, 500) + 0.1)
    values = np.array([root for root in roots if float(f"{root:.14g}") != root][:400])
    assert full(np.where(np.arange(400) < 19, 1.0, values))
    assert not full(np.where(np.arange(400) < 20, 1.0, values))  # of the first 200


def table(rows: int, seed: int = 0) -> Problem:
    rng = np.random.default_rng(seed)
    return Problem(rng.random((rows, 2)), rng.random(rows))


def test_rows_given_twice_are_rows_of_weight_two_and_those_of_weight_zero_are_left_out() -> None:
    once = table(9)
    twice = replace(once, X=np.concatenate([once.X, once.X[:4]]), y=np.concatenate([once.y, once.y[:4]]))
    counted = gathered(twice)
    weighted = gathered(once, [2.0] * 4 + [1.0] * 5)
    assert np.array_equal(counted.problem.X, weighted.problem.X)
    assert counted.weights.tolist() == weighted.weights.tolist()
    assert sorted(counted.weights) == [1.0] * 5 + [2.0] * 4
    assert counted.notes == ("13 rows were looked at, of which 9 are distinct; repeats prove nothing",)
    some = gathered(once, [0.0, 0.0] + [1.0] * 7)
    assert some.positions.tolist() == [2, 3, 4, 5, 6, 7, 8]
    assert (some.problem.rows, some.every.rows, some.notes) == (7, 7, ())


def test_a_sample_of_very_many_rows_holds_the_ends_of_every_column() -> None:
    many = table(2_001)
    found = gathered(many)
    assert found.problem.rows == 1_994  # the six ends have their places, and were drawn as well
    assert found.every.rows == 2_001
    for given, kept in zip([*many.X.T, many.y], [*found.problem.X.T, found.problem.y], strict=True):
        assert (kept.min(), kept.max()) == (given.min(), given.max())
    all_of_them = gathered(many.of_rows(slice(0, 2_000)))
    assert np.array_equal(all_of_them.problem.X, many.X[:2_000])
    assert not all_of_them.notes


def test_weights_are_finite_numbers_one_for_each_row() -> None:
    assert checked_weights(None, 3).tolist() == [1, 1, 1]
    assert checked_weights(2, 5).tolist() == [2] * 5
    assert checked_weights([0, 1, 1, 1, 1, 1], 6).tolist() == [0, 1, 1, 1, 1, 1]
    for wrong, message in (
        ([1.0] * 4, "one number for each of the 5 rows"),
        ([1, 1, 1, 1, -1e-9], "finite and at least 0"),
        ([1, 1, 1, 1, np.inf], "finite and at least 0"),
        ([1, 1, 1, 1, 0], "fewer than 5 rows"),
        (["a"] * 5, "must be numbers"),
    ):
        with pytest.raises(ValueError, match=message):
            checked_weights(wrong, 5)


def test_columns_that_determine_each_other_are_named() -> None:
    X = np.random.default_rng(0).uniform(1, 2, (40, 4))
    assert tied(Problem(X, X[:, 0]), list("abcd")) == []
    X[:, 2] = 1e200 * (100 - X[:, 0] - 3 * X[:, 3])
    (note,) = tied(Problem(X, X[:, 0]), list("abcd"))
    assert note.startswith("columns a, c, d determine each other")
    assert tied(Problem(X[:5], X[:5, 0]), list("abcd")) == []  # any five rows lie on a plane


def test_columns_that_say_nothing_are_set_aside() -> None:
    X = np.column_stack([np.arange(5.0), np.full(5, 3.0), np.arange(5.0), np.arange(5.0) ** 2])
    left, kept, notes = set_aside(Problem(X, np.ones(5)), ["a", "b", "c", "d"])
    assert (left.columns, kept) == (2, [0, 3])
    assert notes[0].startswith("column b is constant (3)")
    assert notes[1] == "column c equals a, so only a was used"


def test_names_of_columns() -> None:
    assert column_names(np.ones((5, 2)), None, 2) == ["x0", "x1"]
    assert column_names(None, [7, "b"], 2) == ["x7", "b"]
    for wrong, message in ((["a"], "1 names for 2"), (["a", " "], "not be empty"), (["a", "a"], "these repeat: a;")):
        with pytest.raises(ValueError, match=message):
            column_names(None, wrong, 2)


# -- what counts as equal -----------------------------------------------------------------------------------------


def test_the_tolerance_of_a_target() -> None:
    X, y = np.array([[1.0], [2.0], [4.0], [8.0], [16.0]]), np.array([2.0, 4.0, 8.0, 16.0, 32.0])
    problem = Problem(X, y)
    slopes = np.full((5, 1), 2.0)
    rounding = problem.rounding
    assert problem.tolerance(slopes) == pytest.approx(rounding * 2 * y)  # half from the inputs, half from the target
    noisy = replace(problem, noise=0.1, additive=0.5)
    assert noisy.tolerance(slopes) == pytest.approx(rounding * 2 * y + 0.1 * y + 0.5)
    printed = replace(problem, printed=np.tile([0.05, 0.25], (5, 1)))
    assert printed.tolerance(slopes) == pytest.approx(rounding * 2 * y + 0.05 * 2 + 0.25)
    assert printed.blur == pytest.approx(0.05 / 16 + 0.25 / 32)
    assert noisy.blur == pytest.approx(0.1 + 0.5 / np.sqrt(np.mean(y**2)))
    assert replace(problem, additive=3.0).log_weights == pytest.approx([0, 4 / 7, 8 / 11, 16 / 19, 32 / 35])
    assert (problem.noisy, noisy.noisy, replace(problem, additive=0.5).noisy) == (False, True, True)
    assert (problem.limit, noisy.limit) == (4.0, 6.0)


def test_a_law_holds_up_to_rounding_and_its_error_is_measured() -> None:
    X = np.array([[1.0], [2.0], [4.0], [8.0], [16.0]])
    problem, law = Problem(X, 2 * X[:, 0]), WeightedSum(((Fraction(2), Input(0)),))
    assert problem.backward_error(law) == 0
    assert problem.holds(law)
    spacing = 2.0**-23  # of float32 above 1: two roundings
    off = problem.of_target(problem.y * (1 + 3 * spacing))
    assert off.backward_error(law) == pytest.approx(3, rel=1e-3)  # input and target may both be rounded
    assert off.holds(law)
    assert not problem.of_target(problem.y * (1 + 5 * spacing)).holds(law)
    tenth = problem.of_target(problem.y / 1.1)
    assert tenth.relative_rms(law) == pytest.approx(0.1)
    loud = replace(tenth, noise=0.05)
    assert loud.backward_error(law) < loud.limit
    assert not loud.holds(law)  # every row is two deviations off, to the same side


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (np.ones(5), np.ones(5), "must be a table"),
        (np.ones((5, 1)), np.ones((5, 2)), "one column"),
        (np.ones((5, 1)), np.ones(6), "5 rows but y has 6"),
        (np.ones((4, 1)), np.ones(4), "4 rows are too few: give at least 5"),
        (np.ones((5, 0)), np.ones(5), "no columns"),
        (np.where(np.eye(12) == 1, np.nan, 1.0), np.ones(12), r"in rows 0, 1, 2, 3, 4, 5, 6, 7 and 4 more of columns"),
        (np.ones((5, 1)), [1, 2, 3, 4, np.inf], "y has NaN or inf in rows 4;"),
        (np.ones((5, 1)), [1, 2, "c", 4, 5], r"first such entry 'c' at \(2,\)"),
    ],
)
def test_what_is_no_table_of_numbers_is_named(X: object, y: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        checked(X, y)


def test_noise_is_a_share_below_one() -> None:
    X = np.ones((5, 1))
    assert checked(X, np.ones((5, 1)), noise=0).noise == 0
    assert checked(X, np.ones(5), noise=0.999).noise == 0.999
    for wrong in (1, -0.1, "0.1"):
        with pytest.raises(ValueError, match="at least 0 and below 1"):
            checked(X, np.ones(5), noise=wrong)


# -- time ---------------------------------------------------------------------------------------------------------


def test_time_that_is_over_and_a_share_of_what_is_left() -> None:
    assert Stopwatch(None).left() is None
    left = Stopwatch(1_000.0).left(0.25)
    assert left is not None
    assert 240 < left <= 250
    entered = []
    with pytest.raises(OutOfTime), time_limit(0.0):
        entered.append(True)
    assert not entered
    with time_limit(1_000.0):
        entered.append(True)
    assert entered
