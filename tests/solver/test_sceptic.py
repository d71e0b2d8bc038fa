"""What a sceptical scientist tried for a day: tables from instruments, tables of others, and how the answers read."""

import numpy as np
import pandas as pd
import pytest

from nalm import ArithmeticRegressor
from nalm.solver import Status, solve
from nalm.solver.data.digits import step
from nalm.solver.data.files import read_table
from nalm.solver.verdict.certainty import _hidden_cause


def drawn(seed, *ranges, rows=400):
    rng = np.random.default_rng(seed)
    return rng, [rng.uniform(*limits, rows) for limits in ranges]


# Under noise.


def test_a_formula_is_no_rival_of_itself():
    """To add a to 0.333 a and to fit the number again gives 0.333 a: the data decide for it."""
    rng, (a, b) = drawn(1, (1, 9), (1, 9))
    solution = solve(np.column_stack([a, b]), 0.37 * a + 1.83 * b + 0.02 * rng.normal(size=400))
    assert solution.status is Status.REAL
    np.testing.assert_allclose(sorted(c.value for c in solution.evidence.constants), [0.37, 1.83], rtol=5e-3)


def test_a_change_that_is_seen_nowhere_makes_no_rival():
    """One pascal more in ten thousand, under noise of a thousandth, is beyond what any data tell."""
    rng, (n, t, v) = drawn(2, (1, 5), (250, 400), (0.1, 1))
    y = 8.314 * n * t / v
    solution = solve(np.column_stack([n, t, v]), y * (1 + 1e-3 * rng.normal(size=400)), names=["n", "T", "V"])
    assert solution.status is Status.REAL
    assert solution.evidence.constants[0].value == pytest.approx(8.314, rel=3e-4)


@pytest.mark.parametrize("seed", range(4))
def test_a_hidden_column_is_not_taken_for_a_fitted_number(seed):
    rng, (x, h) = drawn(seed, (1, 2), (1, 1.05), rows=(80, 80, 300, 30)[seed])
    assert not solve(np.column_stack([x, rng.normal(size=len(x))]), x * h).verdict.found


def test_errors_that_end_too_soon_are_not_those_of_measurements():
    rng = np.random.default_rng(5)
    assert "not in the table" in _hidden_cause(rng.uniform(-1, 1, 80))
    assert "no error is much larger" in _hidden_cause(rng.uniform(-1, 1, 80))
    assert "too few rows" in _hidden_cause(rng.normal(size=59))
    assert sum(bool(_hidden_cause(rng.normal(size=60))) for _ in range(200)) < 12
    assert sum(bool(_hidden_cause(rng.uniform(-1, 1, 60))) for _ in range(200)) > 190


# Instruments.


def test_a_step_is_seen_in_what_a_converter_gives():
    volts = np.random.default_rng(0).uniform(0, 5, 200)
    assert step(np.floor(volts / 5 * 1023) * 5 / 1023) == pytest.approx(5 / 1023)
    assert step(np.array([0.0, 2, 5, 9, 16, 18]) * 0.3) == pytest.approx(0.3)  # the step itself is in no gap
    assert step(volts) == 0
    assert step(np.array([1.0, 2, 3])) == 0  # too few to tell


@pytest.mark.parametrize("seed", [5, 6, 8])
def test_whether_a_converter_cuts_off_is_not_guessed(seed):
    """5 R2/(R1 + R2) cut off to ten bits agrees with 1/(0.2004 R1/R2 + 0.2) within its steps."""
    _, (one, two) = drawn(seed, (100, 1000), (100, 1000), rows=200)
    cut, rounded = (way(1023 * two / (one + two)) * 5 / 1023 for way in (np.floor, np.round))
    solution = solve(np.column_stack([one, two]), cut, names=["R1", "R2"])
    assert solution.status is Status.AMBIGUOUS
    assert any("cut off, not rounded" in note for note in solution.evidence.notes)
    assert solve(np.column_stack([one, two]), rounded, names=["R1", "R2"]).verdict.found


def test_digits_that_were_cut_off_are_not_put_into_the_formula():
    """2 x + 1, cut to two decimals, is 2 x + 0.995 within half a unit of the last digit."""
    _, (x,) = drawn(0, (0, 4), rows=150)
    assert not solve(x[:, None], np.floor((2 * x + 1) * 100) / 100).verdict.found
    assert solve(x[:, None], np.round(2 * x + 1, 2)).exact


def test_a_single_number_in_print_is_the_roundest_that_agrees_with_every_row():
    net = np.round(np.random.default_rng(1).uniform(5, 500, 120), 2)
    solution = solve(net[:, None], np.round(1.19 * net, 2), names=["net"])
    assert (str(solution.expression), solution.status) == ("1.19*net", Status.REAL)


def test_of_two_units_of_one_quantity_the_formula_takes_one():
    _, (celsius,) = drawn(3, (0, 100), rows=80)
    table = pd.DataFrame({"C": celsius, "F": 1.8 * celsius + 32})
    solution = solve(table, 8.314 * (celsius + 273.15))
    assert str(solution.expression) == "8.314*C + 2270.9691"
    assert any("determine each other" in note for note in solution.evidence.notes)
    assert str(solve(table, table.C * table.F).expression) == "C*F"  # what is shorter stays


def test_a_target_of_zero_that_no_input_moves_may_be_off_by_the_rounding_of_float64():
    """max(0, 18 - T) is 9 - T/2 + |9 - T/2|: 1e-15 on a warm day, where nothing else excuses an error."""
    warm = np.round(np.random.default_rng(8).uniform(-5, 30, 200), 1)
    solution = solve(warm[:, None], np.round(np.maximum(0, 18 - warm), 1), names=["T"])
    assert solution.exact
    np.testing.assert_allclose(solution.predict([[-10.0], [40.0]]), [28, 0], atol=1e-12)


# Tables of others.


def test_numbers_that_mark_missing_ones_are_pointed_at():
    _, (m, v) = drawn(4, (1, 9), (1, 50), rows=60)
    y = m * v**2 / 2
    gone = v.copy()
    gone[::7] = -999
    notes = solve(np.column_stack([m, gone]), y, names=["m", "v"], effort="quick").evidence.notes
    assert (
        "column v is -999 in 9 rows, far from all others; if that marks a missing value, leave out these rows" in notes
    )
    assert not solve(np.column_stack([m, v]), y, effort="quick").evidence.notes
    once = v.copy()
    once[3] = -999
    assert not any("-999" in n for n in solve(np.column_stack([m, once]), m, effort="quick").evidence.notes)


def test_new_rows_of_a_frame_are_found_by_name():
    _, (a, b) = drawn(6, (1, 5), (1, 5), rows=40)
    table = pd.DataFrame({"a": a, "b": b})
    solution = solve(table, a / b)
    np.testing.assert_allclose(solution.predict(table[["b", "a"]]), a / b)
    np.testing.assert_allclose(solution.predict(table.assign(c="text")), a / b)
    np.testing.assert_allclose(solution.predict(table.to_numpy()), a / b)
    np.testing.assert_allclose(solution.predict(table.set_axis([0, 1], axis=1)), a / b)  # other names: by place
    with pytest.raises(ValueError, match="found with the columns a, b; X has no b"):
        solution.predict(table[["a"]])
    with pytest.raises(ValueError, match=r"the columns a, b, but has shape \(2,\)"):
        solution.predict([1.0, 2.0])


def test_rows_in_another_order_are_not_put_together():
    _, (a, b) = drawn(6, (1, 5), (1, 5), rows=40)
    table = pd.DataFrame({"a": a, "b": b})
    target = table.a / table.b
    for call in (solve, ArithmeticRegressor().fit):
        with pytest.raises(ValueError, match="another order"):
            call(table, target.sample(frac=1, random_state=0))
        call(table, target.set_axis(range(100, 140)))  # other labels: by place, as everywhere in scikit-learn


def test_errors_name_the_columns_of_a_frame():
    table = pd.DataFrame({"mass": np.arange(1.0, 41), "kind": 1.0})
    for call in (solve, ArithmeticRegressor().fit):
        with pytest.raises(ValueError, match="rows 3 of columns mass"):
            call(table.assign(mass=table.mass.where(table.index != 3)), table.mass)
    with pytest.raises(ValueError, match=r"'u' at \(0, 1\), in column kind"):
        solve(table.assign(kind="u"), table.mass)


def given(folder, text):
    file = folder / "t.csv"
    file.write_text(text, encoding="utf-8")
    return file


@pytest.mark.parametrize(
    ("text", "first"),
    [
        (" m , y \n 1.5 , 3 \n 2.5 , 5 \n", [1.5, 2.5]),  # spaces beside the separator
        ("m;y\n1 250,5;3\n2 500,5;4\n", [1250.5, 2500.5]),
        ("m;y\n1'250.5;3\n2\u202f500.5;4\n", [1250.5, 2500.5]),
        ("m;y\n1,250.5;3\n1,002,500.5;4\n", [1250.5, 1002500.5]),
        ("m,y\n\u22121.5,3\n2,4\n", [-1.5, 2]),
        ("m y\n1.5D+03 3\n2.0d-1 4\n", [1500, 0.2]),
        ("m,y\nTrue,3\nFALSE,4\n", [1, 0]),
    ],
)
def test_numbers_are_read_as_they_are_written(tmp_path, text, first):
    table = read_table(given(tmp_path, text), "y")
    assert table.names == ["m"]
    np.testing.assert_array_equal(table.X[:, 0], first)
    assert not table.notes


def test_a_comma_that_may_mark_thousands_is_pointed_at(tmp_path):
    table = read_table(given(tmp_path, "n;y\n1;1,250\n2;2,500\n"), "y")
    assert table.notes == ["column y: 1,250 was read with a decimal comma, as 1.25"]
    assert not read_table(given(tmp_path, "n;y\n1;1,250\n2;2,5\n"), "y").notes


def test_errors_about_a_file_say_what_was_left_out(tmp_path):
    with pytest.raises(ValueError, match=r"no column of numbers besides 'y'.*column p holds text \('1%'\)"):
        read_table(given(tmp_path, "p,y\n1%,3\n2%,4\n"), "y")
    with pytest.raises(ValueError, match=r"column 'y': '\$3' is not a number.*only 1 of 6 rows hold numbers"):
        read_table(given(tmp_path, "x,y\n1,2\n" + "1,$3\n" * 5), "y")
    notes = read_table(given(tmp_path, "x,y,\n1,3,\n2,4,\n"), "y").notes
    assert notes == ["a column without a name is mostly empty, so it was left out"]


# How answers read.


def test_a_refusal_says_why():
    rng = np.random.default_rng(0)
    nothing = solve(rng.normal(size=(200, 2)), rng.normal(size=200), effort="quick")
    assert nothing.status is Status.NONE
    assert nothing.evidence.notes[0].endswith("better than their mean")
    assert "at the rows it was fitted to" in nothing.accuracy
    few = solve(rng.normal(size=(15, 2)), rng.normal(size=15), effort="quick")
    assert few.evidence.notes[0].endswith("the rows are too few to see how well this predicts others")


def test_the_accuracy_of_a_law_in_noise_is_told_in_units_of_the_noise():
    rng, (a, b) = drawn(9, (1, 5), (1, 5), rows=200)
    noisy = solve(np.column_stack([a, b]), a * b * (1 + 0.01 * rng.normal(size=200)))
    assert noisy.exact
    assert noisy.accuracy == f"largest error {noisy.evidence.backward_error:.2g} times the noise"
    assert "backward error" in solve(np.column_stack([a, b]), a * b).accuracy


def test_an_approximation_does_not_claim_to_explain_all():
    _, (x, z) = drawn(10, (1, 5), (1, 5), rows=200)
    solution = solve(np.column_stack([x, z]), x * z * (1 + 1e-4 * np.sin(3 * x)), effort="quick")
    assert solution.status is Status.APPROXIMATION
    assert "explains all but" in solution.evidence.notes[0]
