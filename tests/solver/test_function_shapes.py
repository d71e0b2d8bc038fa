"""Shapes with functions: scans, what is left beside a line, phases, profiles and curves, against values by hand."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement

import numpy as np
import pytest
from scipy import stats

from nalm.solver.data.problem import Problem
from nalm.solver.formula.algebra import (
    ONE,
    Applied,
    Formula,
    Input,
    WeightedSum,
    inputs,
    product,
    real_constants,
    total,
)
from nalm.solver.formula.calculus import evaluate
from nalm.solver.formula.functions import Function
from nalm.solver.settings import SETTINGS
from nalm.solver.shapes.composite import SmallTrees, product_with_factors, sum_with_trees
from nalm.solver.shapes.functions import inside as inside_of
from nalm.solver.shapes.functions.around import _LOGISTIC, _columns_below, around, sharp
from nalm.solver.shapes.functions.changing import _left as left_by_line
from nalm.solver.shapes.functions.changing import changing_line
from nalm.solver.shapes.functions.curves import (
    _centres_and_widths,
    _Curves,
    _damped,
    _families,
    _growth,
    _Left,
    _of_each,
    _peak,
    _proposed,
    _rates,
    _shifted_power,
    _step,
    _strongest,
    _turns,
    _two_exponentials,
    _two_waves,
    _waves_multiplied,
    curves,
)
from nalm.solver.shapes.functions.features import _arguments, distinct, features, finite_features
from nalm.solver.shapes.functions.inside import _every, _explained, _most_telling, _others, _roots
from nalm.solver.shapes.functions.line import Beside, Line, fitted_beside, lines_of, rows_beside
from nalm.solver.shapes.functions.of_curve import OUTERS, of_curve
from nalm.solver.shapes.functions.of_curve import _arguments as arguments_of_curve
from nalm.solver.shapes.functions.product import product_with_functions
from nalm.solver.shapes.functions.profile import (
    PROFILES,
    _correlation,
    _grid_monomials,
    _halves,
    _left,
    _monomials,
    _Near,
    _scale_scan,
    _values,
    _with_profile,
    beside_powers,
    logarithms,
)
from nalm.solver.shapes.functions.profile import _Scan as ProfileScan
from nalm.solver.shapes.functions.sum import _powers, _terms, sum_with_functions
from nalm.solver.shapes.functions.wave import _Scan, turned, waves
from nalm.solver.shapes.shape import Groups

RNG = np.random.default_rng(0)
X = RNG.uniform(1, 2, (60, 2))
ONES = np.ones(60)
ONE_COLUMN = np.arange(1)
BOTH = np.arange(2)
ALL = tuple(Function)


def nearest(groups: Iterable[Iterable[Formula]], problem: Problem) -> float:
    """The smallest error of all that is proposed, in the spread of the target."""
    with np.errstate(all="ignore"):
        errors = [float(np.max(np.abs(evaluate(f, problem.X) - problem.y))) for group in groups for f in group]
    return min((e for e in errors if np.isfinite(e)), default=np.inf) / float(np.ptp(problem.y))


# -- beside a line -------------------------------------------------------------------------------------------------


def test_terms_beside_a_line_are_fitted_and_the_line_kept_where_it_matters() -> None:
    problem = Problem(X, 2.5 * np.sin(3 * X[:, 0]) + 1.5 - 0.7 * X[:, 1])
    (line,) = lines_of(problem)
    assert line.columns.shape == (60, 3)
    assert [a.columns.shape[1] for a in lines_of(replace(problem, noise=0.1))] == [1, 3]
    found = fitted_beside(line, ONE, ONES, [np.sin(3 * X[:, 0])])
    assert found is not None
    assert found.weights == pytest.approx([2.5])
    assert [(pytest.approx(w), t) for w, t in found.line] == [(1.5, ONE), (-0.7, Input(1))]
    wave = Applied(Function.SIN, Input(0))
    both, alone = found.formulas([(2.5, wave)])
    assert alone == total([(2.5, wave)])
    assert inputs(both) == {0, 1}
    (times,) = Beside((1.0,), (), Input(1)).formulas([(2.5, wave)])
    assert times == total([(2.5, product([(Input(1), 1), (wave, 1)]))])
    behind = fitted_beside(line, Input(0), X[:, 0], [np.sin(3 * X[:, 0]) / X[:, 0]])
    assert behind is not None
    assert behind.weights == pytest.approx([2.5])
    assert behind.factor == Input(0)
    assert fitted_beside(line, ONE, ONES, [np.where(X[:, 0] > 1.9, np.inf, 1.0)]) is None
    largest = SETTINGS.largest_weight
    for factor, cancels in ((0.9, False), (1.1, True)):  # terms much larger than what they add up to
        alike = np.column_stack([X[:, 0], X[:, 0] + X[:, 1] / (factor * largest)])
        y = alike @ [-1.0, 1.0] * factor * largest
        size = np.max(np.abs(alike[:, 1])) * factor * largest / np.max(np.abs(y))
        assert (fitted_beside(Line(np.ones((60, 1)), y, ONES), ONE, ONES, list(alike.T)) is None) == (size > largest)
        assert (size > largest) == cancels


def test_a_part_of_a_line_matters_from_four_deviations_and_a_share_on() -> None:
    sign = np.where(np.arange(60) % 2, 1.0, -1.0)
    design = np.column_stack([np.cos(X[:, 0]), np.ones(60), X])
    noise = sign - design @ np.linalg.lstsq(design, sign, rcond=None)[0]
    deviation = math.sqrt(noise @ noise / 56 * np.linalg.inv(design.T @ design)[3, 3])
    for factor, matters in ((1.01, True), (0.99, False)):
        weight = factor * SETTINGS.significant * deviation
        y = design @ [1e3, 1e3, 1e3, weight] + noise
        found = fitted_beside(Line(design[:, 1:], y, ONES), ONE, ONES, [design[:, 0]])
        assert found is not None
        assert (Input(1) in [term for _, term in found.line]) == (matters and weight * 2 > SETTINGS.close * 3e3)
        y = design @ [1.0, 0.0, 0.0, 0.0]
        y = y + factor * SETTINGS.close * np.max(np.abs(y)) / np.max(X[:, 1]) * X[:, 1]
        found = fitted_beside(Line(design[:, 1:], y, ONES), ONE, ONES, [design[:, 0]])
        assert found is not None
        assert (len(found.line) == 1) == matters


def test_rows_for_a_scan_are_as_many_as_asked_for_and_one_for_each_column_of_the_line() -> None:
    line = np.column_stack([np.ones(60), X])
    rows, basis = rows_beside(line, 20, 0)
    assert len(rows) == 23
    np.testing.assert_allclose(basis.T @ basis, np.eye(3), atol=1e-12)
    left = line[rows] - basis @ (basis.T @ line[rows])
    assert np.max(np.abs(left)) < 1e-12


# -- waves ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("phase", [0.0, math.pi / 2, math.pi, -math.pi / 2, -math.pi, 0.3, -2.0])
def test_two_weights_are_one_wave_with_or_without_a_phase(phase: float) -> None:
    sine, cosine = 2.5 * math.cos(phase), 2.5 * math.sin(phase)
    u = np.linspace(-1, 1, 9)[:, None]
    wanted = sine * np.sin(3 * u[:, 0]) + cosine * np.cos(3 * u[:, 0])
    found = list(turned(Input(0), 3.0, (sine, cosine), 0.0))
    assert len(found) == (2 if abs(phase / (math.pi / 2) % 1) < 1e-9 else 1)
    for size, wave in found:
        np.testing.assert_allclose(size * evaluate(wave, u), wanted, atol=1e-12)
    assert len(real_constants(found[-1][1])) == (2 if phase else 1)
    assert not list(turned(Input(0), 3.0, (0.0, 0.0), 0.0))


def test_a_phase_is_a_quarter_turn_within_what_the_data_tell() -> None:
    for blur in (0.0, 0.05):
        reach = SETTINGS.wave_phase + blur
        for factor, count in ((0.99, 2), (1.01, 1)):
            phase = math.pi / 2 + factor * reach
            assert len(list(turned(Input(0), 1.0, (math.cos(phase), math.sin(phase)), blur))) == count


@pytest.mark.parametrize("function", [Function.SIN, Function.EXP, Function.TANH, Function.LOG])
def test_what_a_wave_leaves_is_that_of_a_regression(function: Function) -> None:
    problem = Problem(X, np.exp(X[:, 0]) + X[:, 1] ** 3)
    line = np.column_stack([np.ones(60), X])
    weights = np.linspace(1, 2, 60)
    scan = _Scan(Line(line * weights[:, None], problem.y * weights, weights), X[:, 0], function, rows=30, seed=0)
    scales, factor = np.array([0.7, 2.2]), X[:, 1]
    left = scan._left(factor, scan.waves(scales))
    for k, scale in enumerate(scales):
        argument = scale * X[scan.rows, 0]
        waves_of = {
            Function.SIN: [np.sin(argument), np.cos(argument)],
            Function.EXP: [np.exp(argument)],
            Function.TANH: [np.tanh(argument)],
            Function.LOG: [np.log(1 + argument)],
        }[function]
        weighted = weights[scan.rows]
        y = problem.y[scan.rows] * weighted
        base = line[scan.rows] * weighted[:, None]
        rest = y - base @ np.linalg.lstsq(base, y, rcond=None)[0]
        design = np.column_stack([base, *(factor[scan.rows] * weighted * w for w in waves_of)])
        more = y - design @ np.linalg.lstsq(design, y, rcond=None)[0]
        assert left[k] == pytest.approx(np.linalg.norm(more) / np.linalg.norm(rest), rel=1e-6)
    nothing = _Scan(Line(line, X[:, 0], ONES), X[:, 0], function, rows=30, seed=0)
    assert np.max(np.abs(nothing.rest)) <= 1
    far = X[:, 0] + (1e6 if function is Function.SIN else 0)  # float32 has no digits left for the turns of this
    rough = _Scan(Line(line, problem.y, ONES), far, function, rows=30, seed=0, rough=True)
    exact = _Scan(Line(line, problem.y, ONES), far, function, rows=30, seed=0)
    np.testing.assert_allclose(
        rough._left(factor, rough.waves(scales)), exact._left(factor, exact.waves(scales)), atol=1e-4
    )
    assert rough.precision == ("float32" if function is Function.SIN else "float64")
    factors = np.stack([np.ones(60), factor, 1e200 * factor, 0 * factor])
    for one, several in zip(factors, exact._left_roughly(factors, exact.waves(scales)), strict=True):
        np.testing.assert_allclose(several, exact._left(one, exact.waves(scales)), atol=1e-6)
    slow = np.array([1e-7])  # a line but for rounding: what is new in it is chance, and must not look like a find
    assert np.all(exact._left_roughly(factors[:1], exact.waves(slow)) == 1)


LAWS_OF_WAVES = {
    "sine with a phase": lambda a, b: 2 + b - 3 * np.sin(5 * a + 0.4),
    "times a column": lambda a, b: 2 + b * np.sin(5 * a + 0.4),
    "over a column": lambda a, b: 2 + np.sin(5 * a + 0.4) / b,
    "exponential": lambda a, b: 2 - b + 3 * np.exp(-2.3 * a),
    "tanh": lambda a, b: 2 - b + 3 * np.tanh(1.3 * a),
    "logarithm": lambda a, b: b * np.log(1 + 2.3 * a),
}


@pytest.mark.parametrize("law", LAWS_OF_WAVES)
def test_waves_are_proposed_beside_a_line(law: str) -> None:
    problem = Problem(X, LAWS_OF_WAVES[law](*X.T))
    function = {"exponential": Function.EXP, "tanh": Function.TANH, "logarithm": Function.LOG}.get(law, Function.SIN)
    assert (
        nearest(waves(problem, BOTH if "column" in law or law == "logarithm" else BOTH[:1], (function,)), problem)
        < 1e-4
    )
    if "column" in law:
        assert nearest(waves(problem, BOTH, (function,), multiplied=False), problem) > 1e-3
    assert not [f for group in waves(problem, BOTH, (Function.ABS,)) for f in group]


@pytest.mark.parametrize("size", [1e-27, 1e30])
@pytest.mark.parametrize("along", [1e-25, 1.0, 1e25])
def test_what_a_wave_or_a_curve_reads_may_have_any_size(size: float, along: float) -> None:
    table = X * [along, size]
    wave, damped = np.sin(5 * X[:, 0] + 0.4), np.exp(-1.4 * X[:, 0]) * np.sin(9.3 * X[:, 0] + 0.4)
    for search, factor in ((waves, wave), (curves, damped)):
        problem = Problem(table, 2 * size + table[:, 1] * factor)
        assert nearest(search(problem, BOTH, (Function.SIN, Function.COS, Function.EXP)), problem) < 1e-4


def test_waves_need_rows_and_points() -> None:
    def proposed(problem: Problem) -> bool:
        return any(True for group in waves(problem, ONE_COLUMN, (Function.SIN,)) for _ in group)

    y = 2 + 3 * np.sin(5 * X[:, 0])
    fewest = 2 + SETTINGS.spare_rows
    assert proposed(Problem(X[:fewest], y[:fewest]))
    assert not proposed(Problem(X[: fewest - 1], y[: fewest - 1]))
    for points, found in ((SETTINGS.wave_points, True), (SETTINGS.wave_points - 1, False)):
        level = np.column_stack([1 + np.arange(60) % points / 12, X[:, 1]])
        assert proposed(Problem(level, 2 + 3 * np.sin(5 * level[:, 0]))) == found


# -- a line that changes -------------------------------------------------------------------------------------------


def test_a_line_may_change_along_an_exponential_or_a_power() -> None:
    t, a = X[:, 0], X[:, 1]
    for y in (a + (3 - a) * np.exp(-2.2 * t), a * t**1.7 + 2 * t**1.7 - a):
        assert nearest(changing_line(Problem(X, y), BOTH, ALL), Problem(X, y)) < 1e-4
    problem = Problem(X, a + (3 - a) * np.exp(-2.2 * t))
    assert not list(changing_line(problem, BOTH, (Function.LOG,)))
    assert not list(changing_line(problem, ONE_COLUMN, ALL))
    fewest = 2 * 3 + SETTINGS.spare_rows
    assert list(changing_line(problem.of_rows(slice(0, fewest)), BOTH, ALL))
    assert not list(changing_line(problem.of_rows(slice(0, fewest - 1)), BOTH, ALL))
    table = np.column_stack([np.ones(60), X])
    left = left_by_line(table, t, problem.y, np.array([-2.2, 1.0]))
    assert left[0] < 1e-6
    design = np.column_stack([table, table * np.exp(t)[:, None]])
    rest = problem.y - design @ np.linalg.lstsq(design, problem.y, rcond=None)[0]
    assert left[1] == pytest.approx(np.linalg.norm(rest) / np.linalg.norm(problem.y - problem.y.mean()), rel=1e-4)


# -- curves of two numbers -----------------------------------------------------------------------------------------

x, z = X.T
CURVES = {
    "damped": (lambda p: _damped(p, Input(0), Input(0)), lambda a, b: np.exp(a * x) * np.sin(b * x + 0.4), (-1.4, 9.3)),
    "damped by another": (
        lambda p: _damped(p, Input(1), Input(0)),
        lambda a, b: np.exp(a * z) * np.sin(b * x + 0.4),
        (-1.4, 9.3),
    ),
    "two exponentials": (
        lambda p: _two_exponentials(p, Input(0)),
        lambda a, b: np.exp(a * (x - 1)) - 2 * np.exp(b * (x - 2)),
        (-9.1, 7.2),
    ),
    "two waves": (lambda p: _two_waves(p, Input(0)), lambda a, b: np.sin(a * x) + 0.6 * np.cos(b * x), (17.2, 6.7)),
    "waves multiplied": (
        lambda p: _waves_multiplied(p, Input(0), Input(1)),
        lambda a, b: np.sin(a * x + 0.3) * np.sin(b * z + 0.5),
        (7.3, 4.4),
    ),
    "a wave that travels": (
        lambda p: _waves_multiplied(p, Input(0), Input(1)),
        lambda a, b: np.sin(a * x - b * z + 0.3),
        (7.3, 4.4),
    ),
    "shifted power": (lambda p: _shifted_power(p, 0), lambda a, b: (x + a) ** b, (-0.7, -1.7)),
    "peak": (lambda p: _peak(p, 0), lambda a, b: np.exp(-(((x - a) / b) ** 2)), (1.44, 0.23)),
    "step": (lambda p: _step(p, 0), lambda a, b: 1 / (1 + np.exp(-(x - a) / b)), (1.44, 0.07)),
}


@pytest.mark.parametrize("name", CURVES)
def test_curves_are_found_by_a_scan_refined_and_written(name: str) -> None:
    family_of, curve, (a, b) = CURVES[name]
    problem = Problem(X, 1.5 + 0.3 * z + 2 * curve(a, b))
    (line,) = lines_of(problem)
    family: _Curves = family_of(problem)
    left = _Left(problem, line, ONES, family, 60)
    assert np.linalg.norm(left._left(np.array([[a, b]]))) < 1e-6  # the curve itself leaves nothing
    starts = left.starts()
    assert 0 < len(starts) <= SETTINGS.curve_starts
    pairs, errors = left.refined(starts)
    assert min(errors) < 1e-4
    best = pairs[np.argmin(errors)]
    assert {round(abs(v), 2) for v in best} == {round(abs(a), 2), round(abs(b), 2)}
    assert nearest([_proposed(problem, line, ONE, family)], problem) < 1e-4
    off = np.array([[1.1 * a, 0.9 * b]])
    parts = family.parts(off[:, :1], off[:, 1:], X)
    design = np.column_stack([line.columns, *(part[0] for part in parts)])
    rest = problem.y - design @ np.linalg.lstsq(design, problem.y, rcond=None)[0]
    beside = problem.y - line.columns @ np.linalg.lstsq(line.columns, problem.y, rcond=None)[0]
    share = np.linalg.norm(rest) / np.linalg.norm(beside)
    assert np.linalg.norm(left._left(off)) == pytest.approx(share, rel=1e-6)


def test_starts_are_apart_from_each_other_and_near() -> None:
    problem = Problem(X, X[:, 0] ** 2)
    (line,) = lines_of(problem)
    family = _peak(problem, 0)
    left = _Left(problem, line, ONES, family, 60)
    errors = np.linalg.norm(left._left(family.pairs), axis=1)
    order = np.argsort(errors, kind="stable")
    taken: list[np.ndarray] = []
    for k in order:
        pair = family.pairs[k]
        near = any(np.all(np.abs(pair / other - 1) <= SETTINGS.curve_apart) for other in taken)
        if errors[k] < SETTINGS.wave_close and not near and len(taken) < SETTINGS.curve_starts:
            taken.append(pair)
    np.testing.assert_array_equal(left.starts(), np.array(taken))
    assert left.worth == SETTINGS.curve_left
    loud = _Left(replace(problem, noise=0.01), line, ONES, family, 60)
    rest = problem.y - line.columns @ np.linalg.lstsq(line.columns, problem.y, rcond=None)[0]
    share = SETTINGS.far_off * 0.01 * np.linalg.norm(problem.y) / np.linalg.norm(rest)
    assert loud.worth == pytest.approx(max(SETTINGS.curve_left, share))
    assert share > SETTINGS.curve_left
    noise = _Left(problem, replace(line, y=RNG.normal(size=60)), ONES, family, 60)
    assert noise.starts().shape == (0, 2)


def test_numbers_that_start_curves_go_with_the_range_of_their_argument() -> None:
    table = np.column_stack([np.linspace(3, 7, 60), X[:, 1]])
    problem = Problem(table, X[:, 0])
    rates = _rates(problem, Input(0))
    low, high, count = SETTINGS.rate_scan
    assert len(rates) == 2 * count
    assert (rates[0], rates[count], rates[-1]) == pytest.approx((-high / 4, low / 4, high / 4))
    assert np.all(np.diff(rates) > 0)
    turns = _turns(problem, Input(0))
    assert (turns[0], turns[1]) == pytest.approx((0.25, 0.5))
    assert turns[-1] == pytest.approx(99 / 4)
    constant = Problem(np.ones((60, 1)), X[:, 0])
    assert _turns(constant, Input(0))[0] == 1.0
    assert _rates(constant, Input(0))[-1] == pytest.approx(high)
    pairs = _centres_and_widths(problem, 0)
    assert len(pairs) == SETTINGS.centres * SETTINGS.width_scan[2]
    assert (pairs[0, 1], pairs[-1, 1]) == pytest.approx((SETTINGS.width_scan[0] * 4, SETTINGS.width_scan[1] * 4))
    assert np.mean(pairs[:, 0]) == pytest.approx(5.0)
    assert np.min(pairs[:, 0]) == pytest.approx(np.quantile(table[:, 0], 0.5 / SETTINGS.centres))
    shifts = np.unique(_shifted_power(problem, 0).pairs[:, 0])
    assert (shifts[0], shifts[-1]) == pytest.approx((SETTINGS.shift_scan[0] * 4 - 3, SETTINGS.shift_scan[1] * 4 - 3))
    np.testing.assert_allclose(_growth(np.array([[2.0]]), np.array([1.0, 3.0])), [[math.exp(-4), 1.0]])
    calls: list[int] = []
    found = _of_each(np.array([[2.0], [3.0], [2.0]]), lambda n: calls.append(len(n)) or n * np.ones(4))
    assert found[:, 0].tolist() == [2, 3, 2]
    assert calls == [2]
    wave = Problem(X, np.sin(9 * X[:, 0]))
    turns = _turns(wave, Input(0))
    strongest = _strongest(wave, Input(0), turns)
    assert len(strongest) == SETTINGS.strongest
    assert abs(strongest[0] - 9) < 2.5


def test_families_of_curves_are_those_of_one_input_first_and_of_the_functions_asked_for() -> None:
    problem = Problem(X, X[:, 0])
    assert len(list(_families(problem, [0], logarithms=True))) == 9
    assert len(list(_families(problem, [0], logarithms=False))) == 7
    assert len(list(_families(problem, [0, 1], logarithms=True))) == 2 * 9 + 4 + 1
    around_zero = Problem(X - 1.5, X[:, 0])
    assert len(list(_families(around_zero, [0], logarithms=True))) == 7
    assert len(list(curves(problem, BOTH, (Function.EXP,)))) == 2 * (1 + 1) * 3  # alone, and times each input
    fewest = 2 + SETTINGS.spare_rows
    assert list(curves(problem.of_rows(slice(0, fewest)), ONE_COLUMN, (Function.EXP,)))
    assert not list(curves(problem.of_rows(slice(0, fewest - 1)), ONE_COLUMN, (Function.EXP,)))


# -- profiles beside powers ----------------------------------------------------------------------------------------


def test_the_correlation_of_a_profile_or_its_error_in_one_power() -> None:
    rest, left = RNG.normal(size=20), RNG.normal(size=(20, 3))
    fresh, height = np.linalg.norm(left, axis=0), float(np.linalg.norm(rest))
    free = _correlation(rest @ left, fresh, height, None)
    np.testing.assert_allclose(free, [abs(rest @ c) / np.linalg.norm(c) / height for c in left.T])
    for power in (1, -2):
        errors = [np.sum((rest - power * c) ** 2) / height**2 for c in left.T]
        np.testing.assert_allclose(
            _correlation(rest @ left, fresh, height, power), np.sqrt(np.maximum(1 - np.array(errors), 0))
        )


def test_a_rough_scan_sees_what_a_precise_one_sees_and_says_where_it_cannot() -> None:
    problem = Problem(X, X[:, 1] / np.expm1(1.3 * X[:, 0] / X[:, 1]))
    values = np.column_stack([X[:, 0] / X[:, 1], X[:, 0], 1e-5 * X[:, 1], X[:, 0] - X[3, 0]])
    rough, scan = (ProfileScan(problem, values, kind) for kind in ("float32", "float64"))
    profile, scales, which = PROFILES[1], np.array([1.3, 0.7, 1.0, 1.0]), np.arange(4)
    for powers in ((None,), (1, -1)):
        precise = scan.errors(profile, scales, which, powers)
        assert precise.shape == (len(powers), 4)
        np.testing.assert_allclose(rough.errors(profile, scales, which, powers)[:, :2], precise[:, :2], atol=1e-4)
        np.testing.assert_allclose(scan.errors(profile, scales, which[1:2], powers), precise[:, 1:2])
    assert precise[1, 0] < 1e-6 < 0.1 < precise[1, 1]  # it is the inverse of the first
    # Of a small argument's exp(u) - 1 little more than log(u) is there, and of a zero's nothing.
    assert rough.errors(profile, scales, which, (None,))[0, 2] == 0 < scan.errors(profile, scales, which, (None,))[0, 2]
    assert rough.errors(profile, scales, which, (None,))[0, 3] == np.inf
    assert rough.errors(profile, scales, which[:0], (None,)).shape == (1, 0)


def test_scales_are_scanned_about_the_typical_size_of_each_monomial() -> None:
    values = np.column_stack([np.full(5, 2.0), np.array([-1e-3, 1e-3, 1e-3, 5.0, 1e-4])])
    scales = np.array(list(_scale_scan(values)))
    low, high, count = SETTINGS.profile_scan
    assert scales.shape == (count, 2)
    np.testing.assert_allclose(scales[[0, -1]], [[low / 2, low / 1e-3], [high / 2, high / 1e-3]])


def test_logarithms_have_the_weight_that_the_noise_leaves_them() -> None:
    problem = Problem(X, X[:, 0] * 10, additive=2.0)
    base, target = logarithms(problem)
    weight = problem.y / (problem.y + 2)
    np.testing.assert_allclose(target, np.log(problem.y) * weight)
    np.testing.assert_allclose(base, np.column_stack([np.log(X), np.ones(60)]) * weight[:, None])
    assert _left(np.ones((3, 1)), np.arange(3.0)) == np.inf
    assert _left(np.ones((4, 1)), np.arange(4.0)) == pytest.approx(math.sqrt(5))
    found = _halves(np.ones((60, 1)), np.log(X), np.log(X) @ [1.5, -2.0] + 7)
    np.testing.assert_array_equal(found, [1.5, -2.0])


def test_monomials_of_the_grid_have_every_sign_and_a_square() -> None:
    found = list(_grid_monomials([0, 1, 2]))
    assert len(found) == 2 * 26 + 6 * 4 + 3 * 2
    ratio = product([(Input(0), 1), (Input(2), -1)])
    assert ratio in found
    assert product([(Input(0), 2), (Input(2), -2)]) in found
    assert product([(Input(1), -2), (Input(0), 1)]) in found or product([(Input(0), 1), (Input(1), -2)]) in found
    gap = total([(Fraction(1), Input(0)), (Fraction(-1), Input(2))])
    assert product([(gap, 2), (Input(1), -2)]) in found
    assert product([(gap, 1), (Input(1), -1)]) in found
    assert len(list(_grid_monomials([0]))) == 4


def test_the_values_of_monomials_are_those_of_their_formulas() -> None:
    listed, usual = _monomials((0, 2, 1))
    assert listed[:usual] == tuple(_grid_monomials([0, 2, 1]))
    assert len(listed) == usual + 6 * 4
    table = np.random.default_rng(3).normal(size=(20, 3))
    wanted = np.stack([evaluate(formula, table) for formula in listed], axis=1)
    np.testing.assert_allclose(_values(listed, table), wanted, rtol=1e-12)


@pytest.mark.parametrize("place", range(len(PROFILES)))
def test_each_profile_is_found_beside_powers(place: int) -> None:
    profile, scale = PROFILES[place], 1.37
    h = evaluate(profile.formula(WeightedSum(((scale, Input(0)),))), X)
    problem = Problem(X, 2.2 * X[:, 1] ** 1.5 / X[:, 0] * h)
    monomial = Input(0)
    near = _Near(0.0, profile, 1.02 * scale if place else 1.0, monomial, None)  # of exp the scale is an exponent
    found = list(_with_profile(problem, near))
    assert found
    assert nearest([found], problem) < 1e-6
    one = evaluate(profile.formula(Input(0)), X)
    whole = Problem(X, 2.2 * X[:, 1] ** 1.5 / X[:, 0] * one)
    assert len(real_constants(next(_with_profile(whole, replace(near, scale=1.0))))) == 1
    squared = Problem(X, 2.2 * X[:, 1] ** 1.5 / h**2)
    assert nearest([_with_profile(squared, near)], squared) < 1e-6
    if place:
        in_power = list(_with_profile(squared, replace(near, power=-2)))
        assert nearest([in_power], squared) < 1e-6
    odd = Problem(X, X[:, 1] ** 0.3 * h)
    assert not list(_with_profile(odd, near))  # no exponent near a half one


def test_profiles_are_looked_for_where_all_is_positive_and_rows_allow() -> None:
    def proposed(problem: Problem) -> list[Formula]:
        return [f for group in beside_powers(problem, BOTH) for f in group]

    y = X[:, 1] / np.expm1(1.3 * X[:, 0] / X[:, 1])
    assert nearest([proposed(Problem(X, y))], Problem(X, y)) < 1e-6
    fewest = 2 + SETTINGS.spare_rows
    assert proposed(Problem(X[:fewest], y[:fewest]))
    assert not proposed(Problem(X[: fewest - 1], y[: fewest - 1]))
    assert not proposed(Problem(X, np.where(np.arange(60) == 5, 0.0, y)))
    assert not proposed(Problem(np.where(X[3, 0] == X, 0.0, X), y))
    assert not proposed(Problem(X, X[:, 0] ** 2 * X[:, 1]))  # powers alone leave nothing


# -- features ------------------------------------------------------------------------------------------------------


def test_features_are_functions_of_small_trees_each_once() -> None:
    arguments = list(_arguments([0, 1, 2]))
    assert len(arguments) == 3 * (1 + 3 + 4 + 1 + 1 + 2) + 3 * 7 + 6 * 2 + 3
    assert len(set(arguments)) == len(arguments)
    listed = features(BOTH, (Function.SIN, Function.ASIN, Function.ABS))
    assert sum(f.function is Function.ASIN for f in listed) == 2
    assert sum(f.function is Function.ABS for f in listed) == 3
    found = finite_features(X, (0, 1), (Function.SIN, Function.LOG))
    for k in range(0, len(found.formulas), 5):
        np.testing.assert_allclose(found.values[:, k], evaluate(found.formulas[k], X))
    values = np.column_stack([X[:, 0], -X[:, 0], X[:, 0] * (1 + 1e-13), np.ones(60), np.full(60, np.nan), X[:, 1]])
    assert distinct(values).tolist() == [0, 5]
    assert distinct(np.column_stack([X[:, 0], X[:, 0] * (1 + 1e-7)])).tolist() == [0, 1]
    assert finite_features(X, (0, 1), ()).formulas == ()


def test_the_most_telling_features_explain_more_than_chance() -> None:
    table = np.random.default_rng(3).uniform(1, 2, (200, 2))
    seen = finite_features(table, (0, 1), (Function.SIN, Function.COS, Function.EXP))
    wave = Applied(Function.SIN, product([(Input(0), 3)]))
    y = table[:, 1] * evaluate(wave, table)
    telling = _most_telling(Problem(table, y), seen)
    assert telling[0] == wave
    assert len(telling) <= 2 * SETTINGS.telling_features
    assert not _most_telling(Problem(table, np.random.default_rng(4).normal(size=200)), seen)
    few = Problem(table[:12], y[:12])
    cut = replace(seen, values=seen.values[:12])
    assert len(_most_telling(few, cut)) == SETTINGS.telling_features  # too few rows to ask
    values, multiples = seen.values[:, :3].T, np.column_stack([np.ones(200), table])
    basis = np.linalg.qr(np.column_stack([multiples, table**2]))[0]
    rest = y - basis @ (basis.T @ y)
    found = _explained(values, multiples, basis, rest[None])
    for k in range(3):
        design = values[k][:, None] * multiples
        design = design - basis @ (basis.T @ design)
        left = rest - design @ np.linalg.lstsq(design, rest, rcond=None)[0]
        assert found[0, k] == pytest.approx(rest @ rest - left @ left, rel=1e-4)


def test_the_chance_of_a_feature_is_that_of_an_f_test_among_all(monkeypatch: pytest.MonkeyPatch) -> None:
    table = np.random.default_rng(3).uniform(1, 2, (100, 1))
    seen = finite_features(table, (0,), (Function.SIN, Function.COS))
    y = np.random.default_rng(6).normal(size=100)
    quadratic = np.column_stack([np.ones(100), table, table**2])
    chances = []
    for target in (y, y**2):
        rest = target - quadratic @ np.linalg.lstsq(quadratic, target, rcond=None)[0]
        each = []
        for feature in seen.values.T:
            design = np.column_stack([quadratic, quadratic * feature[:, None]])
            left = target - design @ np.linalg.lstsq(design, target, rcond=None)[0]
            gain = rest @ rest - left @ left
            each.append(float(stats.f.sf((gain / 3) / (left @ left / 94), 3, 94)) * len(seen.formulas))
        chances.append(min(each))
    for factor, told in ((1.05, True), (0.95, False)):
        level = factor * min(chances)
        monkeypatch.setattr(inside_of, "SETTINGS", replace(SETTINGS, telling_chance=level))
        assert bool(_most_telling(Problem(table, y), seen)) == told


def test_views_of_a_feature_take_the_inputs_it_does_not_read() -> None:
    table = np.column_stack([X, X[:, 0] - 1.5])
    problem = Problem(table, X[:, 0])
    assert _others(problem, frozenset({1})) == [Input(0), Input(2)]
    assert _every(problem, frozenset({0, 1})) == [Input(2), Input(0), Input(1)]
    assert _roots(problem, frozenset({2})) == [product([(Input(i), Fraction(1, 2))]) for i in (0, 1)]
    assert _roots(problem, frozenset({0})) == []


def test_sums_with_functions_list_the_likeliest_terms_first() -> None:
    powers_of = list(_powers([0, 1]))
    assert len(powers_of) == 2 * 6 + 1 + 2 * 3
    assert powers_of[-1] == product([(total([(Fraction(1), ONE), (Fraction(1), product([(Input(1), 4)]))]), -1)])
    chosen = (Function.SIN, Function.EXP)
    terms = _terms((0, 1), (0,), chosen)
    kept, values = terms.finite(X, 300)
    assert len(kept.chosen) == values.shape[1] <= 300
    for k in range(0, values.shape[1], 37):
        np.testing.assert_allclose(values[:, k], evaluate(kept.formula(k), X))
    written = {terms.formula(k) for k in range(len(terms.chosen))}
    assert product([(Input(0), -1), (Applied(Function.SIN, Input(1)), 1)]) in written or (
        product([(Applied(Function.SIN, Input(1)), 1), (Input(0), -1)]) in written
    )
    assert product([(Applied(Function.SIN, Input(0)), 1), (Input(1), -1)]) not in written  # where it may be 0
    sines = [Applied(Function.SIN, product([(Input(i), e)])) for i in (0, 1) for e in (1, 2, 3)]
    assert {product([(f, 1), (g, 1)]) for f, g in combinations_with_replacement(sines, 2)} <= written
    assert product([(sines[0], 2), (sines[4], 1)]) in written
    assert product([(sines[0], 1), (sines[4], 2)]) in written
    law = Problem(X, 2 * X[:, 0] - np.sin(X[:, 0]) * np.exp(X[:, 1]) + 3 * X[:, 1] ** 5)
    assert nearest(sum_with_functions(law, BOTH, chosen), law) < 1e-6
    fewest = 3 + SETTINGS.spare_rows
    assert list(sum_with_functions(law.of_rows(slice(0, fewest)), BOTH, chosen))
    assert not list(sum_with_functions(law.of_rows(slice(0, fewest - 1)), BOTH, chosen))
    assert len(list(sum_with_functions(law, BOTH, chosen))) == 2  # beside a line, and beside a cubic in each
    cubic = 4 + 3 + SETTINGS.spare_rows
    assert len(list(sum_with_functions(law.of_rows(slice(0, cubic - 1)), BOTH, chosen))) == 1


def test_products_with_functions_are_sums_of_logarithms() -> None:
    law = Problem(X, 3.3 * np.sqrt(X[:, 0]) * np.sin(X[:, 1]) / (X[:, 0] + X[:, 1]))
    assert nearest(product_with_functions(law, BOTH, (Function.SIN,)), law) < 1e-9
    fewest = 2 + SETTINGS.spare_rows

    def proposed(problem: Problem) -> list[Formula]:
        return [f for group in product_with_functions(problem, BOTH, (Function.SIN,)) for f in group]

    assert proposed(law.of_rows(slice(0, fewest)))
    assert not proposed(law.of_rows(slice(0, fewest - 1)))
    assert not proposed(law.of_target(np.where(np.arange(60) == 3, 0.0, law.y)))


# -- around --------------------------------------------------------------------------------------------------------


def test_sharp_rows_are_the_half_whose_noise_is_least_enlarged() -> None:
    target, slope = X[:, 0].copy(), np.linspace(-6, -1, 60)
    problem = Problem(X, 10 * X[:, 1], additive=0.1, noise=0.01)
    blurs = (0.1 + 0.01 * problem.y) / np.abs(slope)
    kept = np.sort(np.argsort(blurs)[:30])
    seen, undone = sharp(problem, target, slope)
    np.testing.assert_array_equal(undone, target[kept])
    assert (seen.noise, seen.additive) == (0.0, pytest.approx(np.median(blurs[kept])))
    np.testing.assert_array_equal(seen.X, X[kept])
    target[:45] = np.nan
    assert len(sharp(problem, target, slope)[1]) == 15
    target[45] = np.inf
    assert sharp(problem, target, slope)[0] is problem  # fewer than a quarter


def test_a_function_stands_around_what_its_inverse_takes_the_target_to() -> None:
    seen: list[Problem] = []

    def arithmetic(problem: Problem) -> Groups:
        seen.append(problem)
        yield iter([Input(0)])

    y = np.exp(2 * X[:, 0])
    found = [f for group in around(Problem(X, y), BOTH, (Function.EXP,), arithmetic, arithmetic) for f in group]
    assert [p.columns for p in seen] == [2, 2, 4, 4]  # plain and with logarithms, each with both kinds of shapes
    np.testing.assert_allclose(seen[0].y, 2 * X[:, 0])
    np.testing.assert_allclose(seen[2].X[:, 2:], np.log(X))
    assert Applied(Function.EXP, Input(0)) in found
    seen.clear()
    share = 1 / (1 + np.exp(X[:, 0] - 1.2))
    list(around(Problem(X, share), BOTH, (Function.EXP,), arithmetic, arithmetic))
    assert [p.columns for p in seen] == [2, 2, 4, 4, 2, 4]  # and the logistic function
    np.testing.assert_allclose(seen[-1].y, X[:, 0] - 1.2)
    u = np.array([-2.0, 0.3])
    step = 1e-6
    np.testing.assert_allclose(
        _LOGISTIC.slope(u), (_LOGISTIC.value(u + step) - _LOGISTIC.value(u - step)) / (2 * step), rtol=1e-8
    )
    np.testing.assert_allclose(evaluate(_LOGISTIC.formula(Input(0)), u[:, None]), _LOGISTIC.value(u))
    seen.clear()
    assert not list(
        around(Problem(X, X[:, 0]), BOTH, (Function.SIN,), arithmetic, arithmetic)
    )  # beyond 1 there is none
    assert not list(around(Problem(X, np.full(60, 0.5)), BOTH, (Function.SIN,), arithmetic, arithmetic))
    assert len(list(_columns_below(Problem(X, y), BOTH, Function.ASIN))) == 5
    turned_one = list(_columns_below(Problem(X, y), BOTH, Function.ASIN))[3]
    assert turned_one == [Input(0), Applied(Function.SIN, Input(1))]
    assert len(list(_columns_below(Problem(X - 3, y), BOTH, Function.EXP))) == 1


def test_what_stands_around_a_curve_is_undone() -> None:
    u = np.array([0.4, 1.7])
    for outer in OUTERS:
        y = evaluate(outer.around(Input(0)), u[:, None])
        np.testing.assert_allclose(outer.undone(y), u)
        ahead = evaluate(outer.around(Input(0)), (u + 1e-6)[:, None])
        np.testing.assert_allclose(outer.slope(u), (ahead - y) / 1e-6, rtol=1e-4)
    t = X[:, 0]
    laws = {
        "saturating": 1 / (0.3 + 2 * np.exp(-3 * t)),
        "stretched": np.exp(-1.3 * t**1.7),
        "root": np.sqrt(2 + np.exp(1.5 * t)),
        "gaussian": 3 + 2 * np.exp(-1.5 * t**2),
        "inverse": 3 + np.exp(2.5 / t),
    }
    for y in laws.values():
        assert nearest(of_curve(Problem(X, y), ONE_COLUMN, ALL), Problem(X, y)) < 2e-4
    assert len(list(arguments_of_curve(Problem(X, t), 0, OUTERS[0], logarithms=True))) == 3
    assert len(list(arguments_of_curve(Problem(X, t), 0, OUTERS[1], logarithms=True))) == 4
    assert len(list(arguments_of_curve(Problem(X - 1.5, t), 0, OUTERS[1], logarithms=True))) == 3
    assert len(list(arguments_of_curve(Problem(np.where(X > 1.9, 0, X), t), 0, OUTERS[1], logarithms=True))) == 2


# -- composites ----------------------------------------------------------------------------------------------------


def test_small_trees_have_the_values_of_their_formulas_and_stand_in_products_and_sums() -> None:
    problem = Problem(X, X[:, 0])
    trees = SmallTrees(problem, BOTH)
    for k in range(0, len(trees), 13):
        np.testing.assert_allclose(np.abs(evaluate(trees[k], X)), np.abs(trees.values[:, k]), rtol=1e-9)
    factors = Problem(X, 1.7 * X[:, 0] ** 2 * np.sqrt(X[:, 1] ** 2 - X[:, 0] + 2 * X[:, 0]) / (X[:, 0] + 1))
    assert nearest(product_with_factors(factors, BOTH), factors) < 1e-9
    sums = Problem(X, 1.7 + X[:, 0] - 2.5 * X[:, 1] / (X[:, 0] + 1) + X[:, 0] * X[:, 1])
    assert nearest(sum_with_trees(sums, BOTH), sums) < 1e-9
    for shape in (product_with_factors, sum_with_trees):
        law = factors if shape is product_with_factors else sums
        assert any(True for group in shape(law.of_rows(slice(0, 10)), BOTH) for _ in group)
        assert not any(True for group in shape(law.of_rows(slice(0, 9)), BOTH) for _ in group)
    assert not [f for g in product_with_factors(factors.of_target(np.where(X[:, 0] > 1.9, 0, 1.0)), BOTH) for f in g]
