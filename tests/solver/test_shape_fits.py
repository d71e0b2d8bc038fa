"""The fits behind arithmetic shapes: their bounds, gauges and statistics on small tables with known answers."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

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
from nalm.solver.shapes import factored, flexible, linear, power_laws, products
from nalm.solver.shapes.approximation import approximations, fitted_sum, rounded
from nalm.solver.shapes.beam import Beam, _largest
from nalm.solver.shapes.beam import sparse_sums as beam_sums
from nalm.solver.shapes.beside import powers, supports
from nalm.solver.shapes.combine import _plausible, _significant, _with_factor, combinations, grid_sum
from nalm.solver.shapes.derived import derived
from nalm.solver.shapes.factored import (
    _assembled,
    _gauged,
    _table,
    _unwhitened,
    _whiten,
    _Whitened,
    product_of_sums,
    quotient_of_sums,
)
from nalm.solver.shapes.flexible import Terms, _about_middle, _invertible, _of_column, paired_terms, saturating_terms
from nalm.solver.shapes.forms import _explained as explained_form
from nalm.solver.shapes.forms import _forms, monomial_times_form
from nalm.solver.shapes.linear import _well_determined, gram_inverse, least_squares, left_beside, snap
from nalm.solver.shapes.marks import _polynomial, _truth_table, rule_of_marks
from nalm.solver.shapes.marquardt import _damped_step, _jacobian, _misfit, _stalled, balanced, minimise
from nalm.solver.shapes.monomials import dictionary, sum_of_products
from nalm.solver.shapes.null_vector import _ratio, in_ratios, null_vector
from nalm.solver.shapes.polynomials import _choices, _monomials, polynomial, rational
from nalm.solver.shapes.power import IDENTITY, TargetPower, usable_powers
from nalm.solver.shapes.power_laws import _Descent, _nearest, _starts, sum_of_power_laws
from nalm.solver.shapes.products import _exponents, _signed, product_of_powers
from nalm.solver.shapes.quadratic import _has_one_null_vector, _root, _terms, _that_matter, root_of_quadratic
from nalm.solver.shapes.screen import _affordable, _correlated, _ranks, _regressed
from nalm.solver.shapes.sums import _mostly_explained, sparse_sums, sum_of_inputs, sum_of_powers

RNG = np.random.default_rng(0)
X = RNG.uniform(1, 2, (40, 3))
COLUMNS = np.arange(3)


def nearest(groups: object, problem: Problem) -> float:
    """The smallest error of all that is proposed, in the largest target."""
    found = [f for group in groups for f in group]  # type: ignore[attr-defined]
    errors = [float(np.max(np.abs(evaluate(f, problem.X) - problem.y))) for f in found]
    return min((e for e in errors if np.isfinite(e)), default=np.inf) / float(np.max(np.abs(problem.y)))


# -- linear algebra ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("columns", [SETTINGS.many_columns - 1, SETTINGS.many_columns])
def test_few_and_many_columns_are_solved_alike(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    A, b = RNG.normal(size=(60, columns)), RNG.normal(size=60)
    triangular: list[int] = []
    solve = linear.linalg.solve_triangular
    monkeypatch.setattr(
        linear.linalg, "solve_triangular", lambda a, *rest, **k: triangular.append(len(a)) or solve(a, *rest, **k)
    )
    np.testing.assert_allclose(least_squares(A, b), np.linalg.lstsq(A, b, rcond=None)[0], atol=1e-9)
    np.testing.assert_allclose(gram_inverse(A), np.diag(np.linalg.inv(A.T @ A)), rtol=1e-9)
    assert triangular == ([] if columns < SETTINGS.many_columns else [columns] * 2)
    twice = A.copy()
    twice[:, 0] = twice[:, 1]
    fitted = least_squares(twice, b)  # no triangle is well determined; the smallest weights are taken
    assert fitted[0] == pytest.approx(fitted[1])
    assert np.isfinite(gram_inverse(twice)).all()
    wide = A[: columns - 1]
    np.testing.assert_allclose(wide @ least_squares(wide, b[: columns - 1]), b[: columns - 1], atol=1e-8)
    assert np.isinf(gram_inverse(np.where(A[0, 0] == A, np.nan, A))).all()


def test_a_triangle_is_well_determined_by_its_diagonal() -> None:
    least = SETTINGS.well_determined
    assert _well_determined(np.diag([1.0, -1.01 * least]))
    assert not _well_determined(np.diag([1.0, 0.99 * least]))


@pytest.mark.parametrize("rows", [8, 9, 30])  # few directions beside the base, as many as its columns take, many
def test_what_is_left_beside_a_base_has_the_same_length_either_way(rows: int) -> None:
    base, values = RNG.normal(size=(rows, 3)), RNG.normal(size=(rows, 2))
    left = left_beside(base)(values)
    by_hand = values - base @ np.linalg.lstsq(base, values, rcond=None)[0]
    np.testing.assert_allclose(left.T @ left, by_hand.T @ by_hand, atol=1e-12)
    assert len(left) == (rows - 3 if rows - 3 < 6 else rows)


def test_weights_close_to_the_grid_are_rounded_at_once_and_others_half_by_half(monkeypatch: pytest.MonkeyPatch) -> None:
    A = RNG.normal(size=(30, 5))
    asked: list[int] = []
    solve = linear.least_squares
    monkeypatch.setattr(linear, "least_squares", lambda a, b: asked.append(a.shape[1]) or solve(a, b))
    truth = np.array([1.0, -2.0, 3.0, 0.0, 5.0])
    near = A @ (truth + 0.9 * SETTINGS.snapped)
    assert snap(A, near).tolist() == truth.tolist()
    assert asked == [5]
    asked.clear()
    assert snap(A, A @ (truth + np.array([0.2, 0.0, 0.0, 0.0, 0.0]))).tolist() == truth.tolist()
    assert asked[:2] == [5, 2]  # three of five first
    assert snap(A, A @ (truth / 2 + 0.0001), step=0.5).tolist() == (truth / 2).tolist()


def test_a_box_and_the_smallest_sum_are_linear_programs() -> None:
    A = np.array([[1.0, 2.0, 1.0]])
    boxed = linear._smallest_sum(A, np.array([2.5]), (0, 1))
    assert boxed == pytest.approx([0.0, 1.0, 0.5], abs=1e-4) or boxed == pytest.approx([0.5, 1.0, 0.0], abs=1e-4)
    assert linear._smallest_sum(A, np.array([-2.5]), (0, 1)) is None
    signed = linear._smallest_sum(A, np.array([-2.5]), (-1, 1))
    assert signed is not None
    assert signed[1] == pytest.approx(-1.0, abs=1e-4)
    assert linear._smallest_sum(A, np.array([8.0]), (None, None)) == pytest.approx([0.0, 4.0, 0.0], abs=1e-4)


# -- combinations --------------------------------------------------------------------------------------------------


def test_a_sum_is_plausible_while_it_leaves_little() -> None:
    A, b = np.eye(4), np.full(4, 10.0)
    for factor, plausible in ((0.99, True), (1.01, False)):
        assert _plausible(A, b, b * (1 + factor * 0.05), 0.05) == plausible
    assert not _plausible(A, b, np.array([np.nan, 1, 1, 1]), 9.0)
    assert not _plausible(A, np.zeros(4), np.ones(4), 0.05)


def test_weights_matter_from_four_deviations_and_a_share_of_the_largest_on() -> None:
    sign = np.where(np.arange(40) % 2, 1.0, -1.0)
    A = np.column_stack([np.linspace(1, 2, 40), np.where(np.arange(40) % 4 < 2, 1.0, -1.0)])
    A = np.linalg.qr(A)[0]
    A /= np.max(np.abs(A), axis=0)
    noise = sign - A @ np.linalg.lstsq(A, sign, rcond=None)[0]
    deviation = np.linalg.norm(noise) / math.sqrt(38) * math.sqrt(gram_inverse(A)[1])
    for factor, matters in ((1.01, True), (0.99, False)):
        fitted = np.array([1000.0, factor * SETTINGS.significant * deviation])
        assert _significant(A, A @ fitted + noise, fitted).tolist() == [True, matters]
        share = np.array([1.0, -factor * SETTINGS.negligible_weight])
        assert _significant(A, A @ share, share).tolist() == [True, matters]
        huge = A * [1e200, 1e-200]
        small = share / [1e200, 1e-200]
        assert _significant(huge, A @ share, small).tolist() == [True, matters]
        assert _significant(A, 1e200 * (A @ share + 1e-9 * noise), 1e200 * share).tolist() == [True, matters]


def test_one_real_factor_is_shared_by_whole_ratios() -> None:
    a, b = Input(0), Input(1)
    grid, free = list(_with_factor([a, b], np.array([2.5, -5.0])))
    assert grid == WeightedSum(((2.5, total([(Fraction(1), a), (Fraction(-2), b)])),))
    assert free == total([(2.5, a), (-5.0, b)])
    assert len(list(_with_factor([a, b], np.array([2.5, 5.0 * (1 + 0.9e-3)])))) == 2
    assert len(list(_with_factor([a, b], np.array([2.5, 5.0 * (1 + 1.1e-3)])))) == 1
    assert len(list(_with_factor([a, b], np.array([1.0, 49.0])))) == 2
    assert len(list(_with_factor([a, b], np.array([1.0, 50.0])))) == 1
    assert list(_with_factor([a], np.array([2.5]))) == [total([(2.5, a)])]
    many = [Input(i) for i in range(13)]
    assert len(list(_with_factor(many, np.pi ** np.linspace(0.1, 1, 13)))) == 0
    assert len(list(_with_factor(many[:12], np.pi ** np.linspace(0.1, 1, 12)))) == 1


def test_combinations_are_read_only_where_rows_allow_and_something_is_explained() -> None:
    features: list[Formula] = [Input(i) for i in range(3)]
    plain = np.ones(40)
    assert not list(combinations(features, X[:2], X[:2, 0], plain[:2]))
    assert list(combinations(features, X[:3], X[:3, 0], plain[:3]))
    assert not list(combinations(features, np.where(X > 1.9, np.inf, X), X[:, 0], plain))
    halves = next(combinations(features, X, X @ [0.5, -1.5, 2.0], plain))
    assert halves == total([(Fraction(1, 2), Input(0)), (Fraction(-3, 2), Input(1)), (Fraction(2), Input(2))])
    large = [f for f in combinations(features, X, 1001 * X[:, 0], plain) if not real_constants(f)]
    assert large == []  # a larger weight is a sign of columns that cancel
    assert next(combinations(features, X, 1000 * X[:, 0], plain)) == total([(Fraction(1000), Input(0))])
    loud = X[:, 0] * (1 + 0.2 * np.where(np.arange(40) % 2, 1, -1))
    assert not list(combinations(features, X, loud, plain))
    assert list(combinations(features, X, loud, plain, blur=0.1))
    weights = np.where(np.arange(40) < 20, 1.0, 0.0)  # rows of no weight are not asked
    broken = np.where(np.arange(40) < 20, X[:, 0], 99.0)
    assert next(combinations(features, X, broken, weights)) == Input(0)
    assert grid_sum(features, np.array([0.5, 0.0, -1.0])) == total(
        [(Fraction(1, 2), Input(0)), (Fraction(-1), Input(2))]
    )


# -- beams ---------------------------------------------------------------------------------------------------------


def test_what_pairs_explain_follows_from_least_squares() -> None:
    A = RNG.normal(size=(20, 6))
    A /= np.linalg.norm(A, axis=0)
    A[:, 5] = A[:, 4]
    b = RNG.normal(size=20)
    b /= np.linalg.norm(b)
    explained = Beam(A, b)._explained(A.T @ b, slice(0, 6), slice(0, None))
    for i in range(6):
        for j in range(6):
            if i == j or {i, j} == {4, 5}:
                assert explained[i, j] == -1
            else:
                left = np.linalg.lstsq(A[:, [i, j]], b, rcond=None)[1][0]
                assert explained[i, j] == pytest.approx(1 - left)
    assert Beam(A[:, :5], b).least_error() == pytest.approx(math.sqrt(np.linalg.lstsq(A[:, :5], b, rcond=None)[1][0]))
    assert Beam(A[:6], b[:6]).least_error() == 0.0
    assert Beam(A[:7, :5], b[:7]).least_error() > 0


@pytest.mark.parametrize("width", [1, 3, 20])
def test_a_beam_keeps_the_best_sums_of_each_length(width: int) -> None:
    A = np.random.default_rng(7).normal(size=(15, 7))
    A /= np.linalg.norm(A, axis=0)
    b = np.random.default_rng(8).normal(size=15)
    b /= np.linalg.norm(b)

    def left(support: tuple[int, ...]) -> float:
        return math.sqrt(np.linalg.lstsq(A[:, list(support)], b, rcond=None)[1][0])

    beam = Beam(A, b)
    chosen, errors = beam.lengthened(1, width)
    assert [tuple(s) for s in chosen] == sorted([(i,) for i in range(7)], key=left)[:width]
    assert errors == pytest.approx([left(tuple(s)) for s in chosen])
    chosen, errors = beam.lengthened(2, width)
    pairs = sorted([(i, j) for i in range(7) for j in range(i + 1, 7)], key=left)
    assert [tuple(s) for s in chosen] == pairs[:width]
    kept = [tuple(int(i) for i in s) for s in chosen]
    chosen, errors = beam.lengthened(3, width)
    longer = sorted({tuple(sorted((*pair, k))) for pair in kept for k in range(7) if k not in pair}, key=left)
    assert tuple(chosen[0]) == longer[0]
    assert {tuple(int(i) for i in s) for s in chosen} >= set(longer[: width // 2])  # whichever pair they extend
    assert errors == pytest.approx([left(tuple(int(i) for i in s)) for s in chosen])
    assert len(chosen) <= 2 * width
    assert np.all(np.diff(errors) >= 0)


@pytest.mark.parametrize("size", [2, 3])
def test_the_last_sums_of_a_beam_are_those_worth_a_fit(size: int) -> None:
    A = np.random.default_rng(7).normal(size=(15, 7))
    A /= np.linalg.norm(A, axis=0)
    b = A[:, :size].sum(axis=1) + 0.3 * np.random.default_rng(8).normal(size=15)
    b /= np.linalg.norm(b)

    def last(target: np.ndarray, worth: float) -> tuple[list[list[int]], np.ndarray]:
        beam = Beam(A, target)
        for shorter in range(1, size):
            beam.lengthened(shorter, 20)
        chosen, errors = beam.lengthened(size, 20, worth)
        return chosen.tolist(), errors

    every, errors = last(b, np.inf)
    some, few = last(b, (errors[2] + errors[3]) / 2)
    assert some == every[:3]
    np.testing.assert_allclose(few, errors[:3])
    assert last(b, 1e-9)[0] == []
    whole = A[:, :size].sum(axis=1)
    for share, found in ((0.9, 1), (1.1, 0)):  # where a Gram matrix may be wrong, the fit decides
        off = whole / np.linalg.norm(whole) + share * SETTINGS.beam_blunt * _beside(A[:, :size])
        assert len(last(off / np.linalg.norm(off), 1e-9)[0]) == found


def _beside(columns: np.ndarray) -> np.ndarray:
    """A direction of length one at right angles to the columns."""
    return np.asarray(np.linalg.qr(np.column_stack([columns, np.arange(len(columns)) ** 2.0]))[0][:, -1])


def test_pairs_are_ranked_over_blocks_of_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    from nalm.solver.shapes import beam as beams

    A = np.random.default_rng(9).normal(size=(20, 9))
    A /= np.linalg.norm(A, axis=0)
    b = A[:, 2] + A[:, 8]
    whole = Beam(A, b / np.linalg.norm(b)).lengthened(2, 12)[0]
    monkeypatch.setattr(beams, "SETTINGS", replace(SETTINGS, beam_block=2))
    assert Beam(A, b / np.linalg.norm(b)).lengthened(2, 12)[0].tolist() == whole.tolist()
    assert _largest(np.array([3.0, 9.0, 1.0, 7.0]), 2).tolist() == [1, 3]
    assert _largest(np.array([3.0, 9.0]), 5).tolist() == [1, 0]


def test_sparse_sums_are_proposed_fewest_terms_first_where_rows_are_left_over() -> None:
    features = [*(product([(Input(i), 2)]) for i in range(3)), ONE]
    values = np.column_stack([X**2, np.ones(40)])
    y = X[:, 0] ** 2 - 3 * X[:, 2] ** 2
    groups = list(beam_sums(Problem(X, y), features, values, IDENTITY, terms=3, width=10))
    assert len(groups) == 3
    found = [list(group) for group in groups]
    assert found[0] == []
    law = found[1][0]
    assert isinstance(law, WeightedSum)
    assert set(law.terms) == {(Fraction(1), features[0]), (Fraction(-3), features[2])}
    assert not list(beam_sums(Problem(X, RNG.normal(size=40)), features, values, IDENTITY, terms=3, width=10))
    few = Problem(X[:4], y[:4])
    assert len(list(beam_sums(few, features, values[:4], IDENTITY, terms=3, width=10))) == 2  # two rows more than terms
    broken = np.column_stack([values, np.full(40, np.nan), np.zeros(40)])
    more = [*features, Input(0), Input(1)]
    again = [list(g) for g in beam_sums(Problem(X, y), more, broken, IDENTITY, terms=2, width=10)]
    assert again[1][0] == found[1][0]
    assert not list(beam_sums(Problem(X, np.zeros(40)), features, values, IDENTITY, terms=2, width=10))


# -- powers of the target ------------------------------------------------------------------------------------------


def test_powers_of_the_target_are_usable_by_its_signs_and_zeros() -> None:
    def usable(*y: float) -> list[int]:
        return [p.power for p in usable_powers(Problem(np.ones((len(y), 1)), np.array(y)))]

    assert usable(1.0, 2.0) == [1, -1, 2, -2]
    assert usable(-1.0, -2.0) == [1, -1, 2, -2]
    assert usable(-1.0, 2.0) == [1, -1]
    assert usable(0.0, 2.0) == [1, 2]
    assert usable(0.0, -2.0) == [1, 2]
    assert usable(1e200, 1.0) == [1, -1, -2]


@pytest.mark.parametrize("power", [1, -1, 2, -2])
def test_errors_of_a_power_count_as_those_of_the_target(power: int) -> None:
    y = np.array([0.5, 1.0, 4.0])
    weights = TargetPower(power).weights(y)
    moved = 1e-7 * (y + np.sqrt(np.mean(y**2)))
    change = np.abs(TargetPower(power).target(y + moved) - TargetPower(power).target(y)) * weights
    assert change == pytest.approx([change[0]] * 3, rel=1e-5)
    assert np.max(weights) == 1
    assert np.max(TargetPower(power).weights(1e6 * y)) == 1
    if power == 2:
        assert TargetPower(2).weights(np.array([0.0, 1.0]))[0] == 0.0


def test_a_power_is_taken_back_with_the_sign_of_the_target() -> None:
    signed = np.column_stack([X[:, 0], -X[:, 1]])
    square = product([(Input(0), 2), (Input(1), 2)])
    root = TargetPower(2).formula(square, Problem(signed, X[:, 0] * X[:, 1]))
    np.testing.assert_allclose(evaluate(root, signed), X[:, 0] * X[:, 1])
    below = TargetPower(2).formula(square, Problem(signed, -X[:, 0] * X[:, 1]))
    np.testing.assert_allclose(evaluate(below, signed), -X[:, 0] * X[:, 1])
    assert TargetPower(2).formula(product([(Input(0), 2)]), Problem(X, X[:, 0])) == Input(0)
    assert TargetPower(-1).formula(Input(0), Problem(X, 1 / X[:, 0])) == product([(Input(0), -1)])
    assert TargetPower(-1).formula(Input(0), Problem(X, -1 / X[:, 0])) == product([(Input(0), -1)])
    assert IDENTITY.formula(Input(0), Problem(X, -X[:, 0])) == Input(0)


# -- products of sums ----------------------------------------------------------------------------------------------


def test_whitened_columns_are_orthogonal_and_their_weights_are_taken_back() -> None:
    table = X * [1.0, 1e9, 1e-9]
    features, triangle = _whiten(table)
    np.testing.assert_allclose(features.T @ features, 40 * np.eye(3), atol=1e-9)
    np.testing.assert_allclose(features @ triangle, table)
    weights = np.array([1.0, 2e-9, 3e9])
    np.testing.assert_allclose(_unwhitened(triangle, triangle @ weights), weights, rtol=1e-9)
    both = np.column_stack([weights, -weights])
    np.testing.assert_allclose(_unwhitened(triangle, triangle @ both), both, rtol=1e-9)


def test_a_start_has_the_sign_and_the_size_of_the_target() -> None:
    fit = _Whitened(X, -5 * X[:, 0] * X[:, 1], np.ones(40))
    assert np.max(np.abs(fit.target)) == 1
    raw = fit._raw_start(2, np.random.default_rng(0))
    assert np.max(np.abs(np.linalg.solve(fit.triangle, raw.T))) <= math.sqrt(6 / 5)
    for sign in (1, -1):
        start = raw.copy()
        start[0] *= sign
        values = np.prod(fit._aligned(start) @ fit.features.T, axis=0)
        assert np.mean(values * fit.target) > 0
        assert np.mean(values**2) == pytest.approx(np.mean(fit.target**2))


def test_gauged_factors_are_whole_where_they_nearly_are() -> None:
    near = SETTINGS.gauge_reach
    first, second = np.array([4.0, 2.0 * (1 + 0.9 * near), 0.0]), np.array([3.0, -2.0, 1.0])
    whole, real = _gauged([first, second], (1, 1))
    np.testing.assert_array_equal(whole[0], [2.0, 1.0, 0.0])
    np.testing.assert_array_equal(whole[1], [3.0, -2.0, 1.0])
    assert whole[2] == pytest.approx(4 * 3 / (2 * 3))
    np.testing.assert_allclose(real[1], second / 3)
    assert real[2] == pytest.approx(12.0)
    quotient, _ = _gauged([first, second], (1, -1))
    assert quotient[2] == pytest.approx(4 / 3 / (2 / 3))
    off = np.array([4.0, 2.0 * (1 + 1.1 * near), 0.0])
    assert len(list(_gauged([off, second], (1, 1)))) in (1, 2)
    apart = np.array([1.0, 0.4, 0.0])
    assert len(list(_gauged([apart, second], (1, 1)))) == 1
    assert not list(_gauged([np.zeros(3), second], (1, 1)))
    assert not list(_gauged([np.full(3, np.inf), second], (1, 1)))


def test_few_real_weights_may_stand_inside_the_factors() -> None:
    terms: list[Formula] = [Input(i) for i in range(5)]
    near = 0.9 * SETTINGS.whole_weight
    (found,) = _assembled([np.array([1.0, near, 0, 0, 0]), np.array([0, 1, 1, 0, 0])], (1, -1), 2.5, terms)
    below = total([(Fraction(1), Input(1)), (Fraction(1), Input(2))])
    assert found == WeightedSum(((2.5, product([(Input(0), 1), (below, -1)])),))
    for count in (SETTINGS.real_in_sums, SETTINGS.real_in_sums + 1):
        factor = np.array([1.0] + [0.5] * count + [0.0] * (4 - count))
        assert len(list(_assembled([factor], (1,), 2.5, terms))) == (count == SETTINGS.real_in_sums)
    assert not list(_assembled([np.array([3.0, 0, 0, 0, 0])[:1], np.zeros(1)], (1, 1), 2.5, terms[:1]))


def test_products_and_quotients_of_sums_are_found_where_rows_allow() -> None:
    y = (X[:, 0] + 2 * X[:, 1]) * (X[:, 2] - X[:, 0])
    assert nearest(product_of_sums(Problem(X, y)), Problem(X, y)) < 1e-9
    inverse = Problem(X, 1 / y)
    assert nearest(product_of_sums(inverse), inverse) < 1e-9
    fewest = 2 * 3 * 2 + 4
    assert list(product_of_sums(Problem(X[:fewest], y[:fewest])))
    assert not list(product_of_sums(Problem(X[: fewest - 1], y[: fewest - 1])))
    shifted = Problem(X, (X[:, 0] + 1) * (X[:, 1] - X[:, 2] + 2))
    assert nearest(product_of_sums(shifted, affine=True), shifted) < 1e-9
    three = Problem(X, y * (X[:, 1] + X[:, 2]))
    assert nearest(product_of_sums(three, k=3), three) < 1e-9
    quotient = Problem(X, (X[:, 0] + 2 * X[:, 1]) / (X[:, 2] - 3 * X[:, 0]))
    assert nearest(quotient_of_sums(quotient), quotient) < 1e-9
    assert [len(list(group)) > 0 for group in quotient_of_sums(quotient.of_rows(slice(0, 10)))] == [True]
    assert [len(list(group)) > 0 for group in quotient_of_sums(quotient.of_rows(slice(0, 9)))] == [False]
    assert [list(group) for group in quotient_of_sums(Problem(X, RNG.normal(size=40)))] == [[]]
    ratios = Problem(X, (0.81 * X[:, 0] + 2) / (X[:, 1] + 0.37))
    proposed = [f for group in quotient_of_sums(ratios, affine=True) for f in group]
    exact = [f for f in proposed if not real_constants(f)]
    assert exact
    np.testing.assert_allclose(evaluate(exact[0], X), ratios.y)
    table, terms = _table(ratios, affine=True)
    assert (table.shape, terms[-1]) == ((40, 4), ONE)


def test_a_fit_of_many_factors_has_as_many_starts_as_its_work_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    monkeypatch.setattr(_Whitened, "solutions", lambda _, __, starts, *___: asked.append(starts) or iter(()))
    one_start = 40 * (2 * 3) ** 2
    monkeypatch.setattr(factored, "SETTINGS", replace(SETTINGS, factor_work=2.5 * one_start))
    list(product_of_sums(Problem(X, X[:, 0]), starts=8))
    assert asked == [2, 2]  # of the target and its inverse
    asked.clear()
    monkeypatch.setattr(factored, "SETTINGS", SETTINGS)
    list(product_of_sums(Problem(X, X[:, 0] - 1.5), starts=8))
    assert asked == [8, 8]


def test_features_beside_a_base_are_near_up_to_a_share_of_the_target_or_rounding() -> None:
    base, wave = np.column_stack([np.ones(40), X[:, 0]]), np.sin(9 * X[:, 1])
    bump = np.where(np.arange(40) % 2, 1.0, -1.0)
    taken = np.column_stack([base, wave])
    bump = bump - taken @ np.linalg.lstsq(taken, bump, rcond=None)[0]
    left = wave - base @ np.linalg.lstsq(base, wave, rcond=None)[0]
    for size in (1e-6, 1.0, 1e6):
        for factor, near in ((0.98, True), (1.02, False)):
            share = factor * 0.1
            noise = share / math.sqrt(1 - share**2) * np.linalg.norm(left) / np.linalg.norm(bump)
            target = size * (3 + X[:, 0] + wave + noise * bump)
            assert bool(list(supports(base, wave[:, None], target, 1, 0.1, rounded=0.0))) == near


def test_a_spectral_start_lies_in_the_span_of_the_factors() -> None:
    table = np.random.default_rng(3).normal(size=(400, 8))
    truth = np.zeros((3, 8))
    truth[0, :2], truth[1, 2:4], truth[2, 4:6] = 1.0, [1, -1], 1.0
    fit = _Whitened(table, np.prod(table @ truth.T, axis=1), np.ones(400))
    otherwise = np.zeros((3, 8))
    start = fit._spectral_start(3, np.random.default_rng(0), otherwise)
    error = minimise(fit.features, fit.target, fit.row_weights, start)[1]
    assert error < 1e-6
    few = _Whitened(table[:9, :3], fit.target[:9], np.ones(9))
    assert few._spectral_start(3, np.random.default_rng(0), otherwise) is otherwise


# -- descents ------------------------------------------------------------------------------------------------------


def test_the_jacobian_of_a_product_of_forms_is_its_derivative() -> None:
    factors = RNG.normal(size=(3, 3))
    weights = RNG.uniform(1, 2, 40)
    forms, misfit = _misfit(X, X[:, 0], weights, factors)
    np.testing.assert_allclose(misfit, weights * (X[:, 0] - np.prod(X @ factors.T, axis=1)))
    jacobian = _jacobian(X, weights, forms)
    for k in range(9):
        moved = factors.copy()
        moved.flat[k] += 1e-6
        slope = (misfit - _misfit(X, X[:, 0], weights, moved)[1]) / 1e-6
        np.testing.assert_allclose(jacobian[:, k], slope, rtol=1e-4, atol=1e-5)
    curvature, slope = jacobian.T @ jacobian, jacobian.T @ misfit
    by_hand = np.linalg.solve(curvature + 0.1 * np.trace(curvature) / 9 * np.eye(9), slope)
    np.testing.assert_allclose(_damped_step(curvature, slope, 0.1), by_hand)
    assert not _damped_step(-np.eye(2), np.ones(2), 1e-3).any()


def test_factors_shorter_than_one_are_balanced_as_well() -> None:
    np.testing.assert_allclose(balanced(np.array([[0.3, 0.4], [0.0, 0.02]])), [[0.06, 0.08], [0.0, 0.1]])


def test_powers_keep_the_sign_of_whole_exponents_and_take_the_size_only_below_roots() -> None:
    signed = Problem(X - [1.5, 0.0, 0.0], X[:, 0])
    (plain,) = powers(signed, [], np.array([3.0, 0.5, 0.0, 0.0]))
    assert "ABS" not in repr(plain)
    (root,) = powers(signed, [], np.array([0.5, 1.0, 0.0, 0.0]))
    assert "ABS" in repr(root)
    near = SETTINGS.nearly_half
    assert list(powers(signed, [], np.array([1 + 0.99 * near, 0, 0, 0])))
    assert not list(powers(signed, [], np.array([1 + 1.01 * near, 0, 0, 0])))
    assert list(powers(replace(signed, noise=near), [], np.array([1 + 1.9 * near, 0, 0, 0])))
    most = SETTINGS.highest_exponent
    assert list(powers(signed, [], np.array([0, most, 0, 0.0])))
    assert not list(powers(signed, [], np.array([0, most + 0.5, 0, 0.0])))


def test_a_descent_has_stalled_if_it_gained_little_for_long() -> None:
    steps, gain = SETTINGS.stall_steps, SETTINGS.stall_gain
    for last, stalled in ((1 - 0.9 * gain, True), (1 - 1.1 * gain, False)):
        history = [1.0] * steps + [last]
        assert _stalled(history) == stalled
    assert not _stalled([1.0] * steps)
    assert not _stalled([9.0, *([1.0] * steps)])
    assert _stalled([9.0, *([1.0] * (steps + 1))])


def test_a_sum_of_power_laws_is_descended_on_its_exponents() -> None:
    logs = np.log(X)
    y = 2 * X[:, 0] ** 1.5 / X[:, 1] + 3 * X[:, 2] ** 2
    truth = np.array([[1.5, -1.0, 0.0], [0.0, 0.0, 2.0]])
    descent = _Descent(logs, y, np.ones(40), (truth + 0.2)[None])
    (found,) = list(descent.solutions(1e-4))
    np.testing.assert_allclose(found, truth, atol=1e-4)
    terms, weights, left = descent._projected(truth[None])
    assert np.linalg.norm(left) < 1e-9
    weight = 1 / (np.abs(y) + np.median(np.abs(y)))
    columns = np.column_stack([X[:, 0] ** 1.5 / X[:, 1], X[:, 2] ** 2]) * weight[:, None]
    np.testing.assert_allclose(terms[0], columns / columns.max(axis=0))
    np.testing.assert_allclose(weights[0], [2, 3] * columns.max(axis=0), rtol=1e-9)
    flat = _Descent(logs, y, np.ones(40), truth[None] + 0.5)
    steps = flat._steps(*flat._projected(truth[None] + 1e-3), np.array([0.0]))
    np.testing.assert_allclose(steps[0], -1e-3, rtol=0.05)  # Gauss-Newton goes back at once
    assert np.max(np.abs(flat._steps(*flat._projected(truth[None] + 5), np.array([0.0])))) <= SETTINGS.longest_step
    damped = flat._steps(*flat._projected(truth[None] + 1e-3), np.array([1e3]))
    assert np.max(np.abs(damped)) < 1e-5
    assert not list(_Descent(logs, RNG.normal(size=40), np.ones(40), truth[None]).solutions(1e-4))


def test_descents_start_around_the_nearest_power_law_and_every_third_anywhere() -> None:
    logs = np.log(X)
    near = _nearest(logs, -3 * X[:, 0] ** 2 / X[:, 1])
    np.testing.assert_allclose(near, [2, -1, 0], atol=0.02)  # a thousandth of the median is added
    made = _starts(np.array([100.0, 50.0]), 6000, 2, np.random.default_rng(0))
    assert made.shape == (6000, 2, 2)
    anywhere = made[::3]
    assert np.std(anywhere) == pytest.approx(SETTINGS.start_anywhere, rel=0.05)
    assert np.abs(np.mean(anywhere)) < 0.1
    around = np.concatenate([made[1:900:3], made[2:900:3]]) - [100.0, 50.0]
    far = np.concatenate([made[5100::3][1:], made[5101::3]]) - [100.0, 50.0]
    assert np.std(around) == pytest.approx(0.36, rel=0.1)  # near at first
    assert np.std(made[5101::3] - [100.0, 50.0]) > 2
    assert far.shape[1:] == (2, 2)


def test_power_laws_are_proposed_with_two_terms_before_three_where_rows_allow() -> None:
    y = 2 * X[:, 0] ** 1.5 / X[:, 1] + 3 * X[:, 2] ** 2
    assert nearest(sum_of_power_laws(Problem(X, y), COLUMNS), Problem(X, y)) < 1e-6
    rows = 2 * 4 + SETTINGS.spare_rows
    assert len(list(sum_of_power_laws(Problem(X[:rows], y[:rows]), COLUMNS))) == 4  # one for each power of the target
    assert not list(sum_of_power_laws(Problem(X[: rows - 1], y[: rows - 1]), COLUMNS))
    three = 3 * 4 + SETTINGS.spare_rows
    assert len(list(sum_of_power_laws(Problem(X[:three], y[:three]), COLUMNS))) == 8
    signed = np.column_stack([X[:, :2], X[:, 2] - 1.5])
    last = Problem(signed, 2 * X[:, 0] ** 1.5 + 3 * X[:, 1] ** 2 * signed[:, 2])
    assert nearest(sum_of_power_laws(last, COLUMNS), last) < 1e-6
    turning = Problem(X, X[:, 0] ** 2 + 3 * X[:, 1] * np.cos(X[:, 2]))
    found = power_laws.power_laws_with_function(turning, COLUMNS, (Function.COS,))
    assert nearest(found, turning) < 1e-6
    between = Problem(X, X[:, 0] ** 2 + 3 * X[:, 0] * np.cos(X[:, 1] - X[:, 2]))
    assert nearest(power_laws.power_laws_with_function(between, COLUMNS, (Function.COS,)), between) < 1e-6
    squared = Problem(X, X[:, 0] ** 2 + 3 * X[:, 1] * np.sin(X[:, 2]) ** 2)
    assert nearest(power_laws.power_laws_with_function(squared, COLUMNS, (Function.SIN,)), squared) < 1e-6


# -- products ------------------------------------------------------------------------------------------------------


def test_exponents_are_whole_or_simple_fractions_with_and_without_a_factor() -> None:
    logs, plain = np.log(X), np.ones(40)
    near = 0.9 * SETTINGS.nearly_whole
    assert next(_exponents(logs, logs @ [2.0, -1.0, 0.0], plain, 0)) == (2, -1, 0)
    thirds = next(_exponents(logs, logs @ [1 / 3, -2 / 3, 0.0], plain, 0))
    assert thirds == (Fraction(1, 3), Fraction(-2, 3), 0)
    behind = [e for e in _exponents(logs, logs @ [2.0, -1.0, 0.0] + 0.7, plain, 0) if e == (2, -1, 0)]
    assert behind
    assert next(_exponents(logs, logs @ [2 + near, -1.0, 0.0], plain, 0)) == (2, -1, 0)
    assert next(_exponents(logs, logs @ [2.5 + near, -1.0, 0.0], plain, 0)) == (Fraction(5, 2), -1, 0)
    between = list(_exponents(logs, logs @ [2 + 1.2 * SETTINGS.nearly_whole, -1.0, 0.0], plain, 0))
    assert between[0] == (2, -1, 0)  # far from simple ones, but a law: rounded one after another
    assert list(_exponents(logs[:, :0], logs[:, 0], plain, 0)) == [()]
    half = np.where(np.arange(40) < 20, 1.0, 0.0)
    wrong = np.where(np.arange(40) < 20, logs @ [2.0, -1.0, 0.0], 99.0)
    assert next(_exponents(logs, wrong, half, 0)) == (2, -1, 0)
    assert next(_exponents(logs[:4], logs[:4] @ [2.0, 0.0, 0.0], plain[:4], 0)) == (2, 0, 0)  # fewer rows: sparse ones


def test_signs_of_a_product_come_from_odd_exponents_and_marks() -> None:
    signed = np.column_stack([X[:, 0], X[:, 1] - 1.5, np.where(np.arange(40) % 2, 1.0, -1.0)])
    y = -2 * signed[:, 0] * signed[:, 1] * signed[:, 2]
    plain, fitted = _signed(signed, y, {0: Fraction(1), 1: Fraction(1)}, np.array([2]))
    body = product([(Input(0), 1), (Input(1), 1), (Input(2), 1)])
    assert plain == total([(Fraction(-1), body)])
    assert real_constants(fitted) == pytest.approx([-2.0])
    small = list(_signed(signed, y / 10, {0: Fraction(1), 1: Fraction(1)}, np.array([2])))
    assert real_constants(small[1]) == pytest.approx([-0.2])
    even = list(_signed(signed, 3 * signed[:, 0] * signed[:, 1] ** 2, {0: Fraction(1), 1: Fraction(2)}, np.array([2])))
    assert even[0] == product([(Input(0), 1), (Input(1), 2)])
    assert not list(_signed(signed, y, {1: Fraction(1, 2)}, np.array([2])))
    roots = list(_signed(signed, np.sqrt(signed[:, 0]), {0: Fraction(1, 2), 1: Fraction(0)}, np.array([2])))
    assert roots[0] == product([(Input(0), Fraction(1, 2))])
    odd = np.where(np.arange(40) == 3, -y, y)
    assert not list(_signed(signed, odd, {0: Fraction(1), 1: Fraction(1)}, np.array([2])))  # no signs explain it


def test_products_of_powers_pass_over_zeros() -> None:
    table = np.column_stack([X[:, 0], np.where(np.arange(40) % 4 == 0, 0.0, X[:, 1]), X[:, 2]])
    y = table[:, 0] * table[:, 1] ** 2
    assert nearest(product_of_powers(Problem(table, y)), Problem(table, y)) < 1e-12
    apart = Problem(table, X[:, 0] ** 2)  # a column that is 0 where the target is not has no exponent
    assert nearest(product_of_powers(apart), apart) < 1e-12
    two = np.zeros(40)
    two[:2] = 1.0
    assert [list(g) for g in product_of_powers(Problem(X, two))] == [[]]
    two[2] = 1.0
    assert [len(list(g)) > 0 for g in product_of_powers(Problem(X, two))] == [True]
    most = products.LARGEST_EXPONENT
    high = Problem(X[:, :1], X[:, 0] ** most)
    assert nearest(product_of_powers(high), high) < 1e-9
    assert (
        nearest(product_of_powers(high.of_target(X[:, 0] ** (most + 1))), high.of_target(X[:, 0] ** (most + 1))) > 1e-3
    )


# -- null vectors --------------------------------------------------------------------------------------------------


def test_null_vectors_are_read_in_simple_ratios() -> None:
    columns = np.column_stack([X, X @ [2.0, -0.5, 0.81]]) * [1.0, 1e8, 1.0, 1e-8]
    null = null_vector(columns)
    np.testing.assert_allclose(null / null[3] * [1.0, 1e8, 1.0, 1e-8] * 1e8 / 1e0, [-2, 0.5, -0.81, 1.0], rtol=1e-5)
    assert null_vector(np.column_stack([X, np.zeros(40)])).shape == (0,)
    assert null_vector(np.zeros((5, 0))).shape == (0,)
    assert in_ratios(np.array([2.0, 0.0, -1.62])) == [1, 0, Fraction(-81, 100)]
    assert in_ratios(np.zeros(0)) == []
    assert _ratio(1 / 100) == Fraction(1, 100)
    assert _ratio(1 / 101) == 1 / 101
    near = SETTINGS.ratio_reach
    assert _ratio(0.5 * (1 + 0.9 * near)) == Fraction(1, 2)
    assert _ratio(0.5 * (1 + 1.1 * near)) != Fraction(1, 2)
    assert _ratio(1000.01) == Fraction(100001, 100) or isinstance(_ratio(1000.01), float)
    assert isinstance(_ratio(1001.01), float)  # a numerator times a denominator beyond what is simple
    assert _ratio(999.5) == Fraction(1999, 2)
    reals = [math.pi, math.e, math.sqrt(2), math.sqrt(3)]
    assert len(in_ratios(np.array([1.0, 2.0, *reals[:3]]))) == 5
    assert in_ratios(np.array([1.0, 2.0, *reals])) == []


def test_roots_of_quadratics_are_found_by_their_null_vector() -> None:
    laws = [
        np.sqrt(X[:, 0] ** 2 + X[:, 1]) - X[:, 2],  # (-B ± sqrt(...)) with B/2 whole
        -X[:, 0] - np.sqrt(X[:, 0] ** 2 + X[:, 1]),
        (-X[:, 0] + np.sqrt(X[:, 0] ** 2 + 4 * X[:, 1] * X[:, 2])) / (2 * X[:, 1]),
    ]
    for y in laws:
        problem = Problem(X, y)
        (group,) = root_of_quadratic(problem, COLUMNS)
        (found,) = list(group)
        assert not real_constants(found)
        np.testing.assert_allclose(evaluate(found, X), y, rtol=1e-9)
    (nothing,) = root_of_quadratic(Problem(X, RNG.normal(size=40)), COLUMNS)
    assert not list(nothing)
    (linear_only,) = root_of_quadratic(Problem(X, X[:, 0]), COLUMNS)
    assert not list(linear_only)
    terms, powers = _terms([0, 2])
    assert len(terms) == 3 + 3 + 3 + 3
    assert powers.tolist() == [0.0] * 6 + [1.0] * 3 + [2.0] * 3
    fewest = math.ceil(SETTINGS.rows_per_coefficient * 12)
    y = np.sqrt(X[:, 0] ** 2 + X[:, 1]) - X[:, 0]
    for rows, kept in ((fewest, True), (fewest - 1, False)):  # without enough rows the last column is left out
        (group,) = root_of_quadratic(Problem(X[:rows], y[:rows]), COLUMNS[:2])
        assert bool(list(group)) == kept


def test_the_columns_of_a_null_vector_are_those_with_a_share_in_it() -> None:
    table = np.column_stack([X, X[:, 0] - 3 * X[:, 2]])
    assert _that_matter(table).tolist() == [0, 2, 3]
    assert _that_matter(np.column_stack([X, np.zeros(40)])).tolist() == []
    problem = Problem(X, X[:, 0])
    assert _has_one_null_vector(problem, table)
    assert not _has_one_null_vector(problem, X)
    assert not _has_one_null_vector(problem, np.column_stack([table, X[:, 1] - X[:, 0]]))  # two are no proof
    A, B, C = Input(0), Input(1), ONE  # y² + b y + a
    y = (-X[:, 1] + np.sqrt(np.maximum(X[:, 1] ** 2 - 4 * (X[:, 0] - 3), 0))) / 2
    lower = total([(Fraction(1), A), (Fraction(-3), ONE)])
    (root,) = _root(Problem(X, y), lower, B, C)
    np.testing.assert_allclose(evaluate(root, X), y)


# -- sums, forms, polynomials --------------------------------------------------------------------------------------


def test_sums_have_a_constant_where_a_row_is_left_for_it() -> None:
    y = X @ [2.0, 0.0, -1.0] + 7
    for rows, found in ((6, True), (5, False)):
        (group,) = sum_of_inputs(Problem(X[:rows], y[:rows]))
        assert any(ONE in {t for _, t in f.terms} for f in group if isinstance(f, WeightedSum)) == found
    wide = RNG.normal(size=(9, 12))
    (group,) = sum_of_inputs(Problem(wide, wide[:, 3] - 2 * wide[:, 7]))
    assert total([(Fraction(1), Input(3)), (Fraction(-2), Input(7))]) in list(group)


def test_guesses_from_few_rows_are_rounded_where_they_nearly_are_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    from nalm.solver.shapes import sums

    features: list[Formula] = [Input(i) for i in range(6)]
    values = RNG.normal(size=(5, 6))
    target = 3 * values[:, 1]
    near = SETTINGS.guessed_whole

    def proposed(*guess: float) -> list[Formula]:
        monkeypatch.setattr(sums, "sparse_weights", lambda *_: [np.array(guess)])
        return list(sparse_sums(values, target, features, 0))

    exact = total([(Fraction(3), Input(1))])
    assert proposed(0, 3 + 0.9 * near, 0, 0, 0, 0) == [exact, exact]
    assert proposed(0, 3 + 1.1 * near, 0, 0, 0, 0) == [exact]  # from its support alone
    assert proposed(0, 0, 0, 0, 0, 0) == []
    assert proposed(1.3, 1.3, 1.3, 1.3, 0, 0) == []  # a support of four needs six rows
    assert len(proposed(0, 1.3, 1.3, 1.3, 0, 0)) == 1
    assert proposed(1.3 * 0.99 * near, 1.3, 0, 0, 0, 0) == [exact]
    assert len(inputs(proposed(1.3 * 1.01 * near, 1.3, 0, 0, 0, 0)[0])) == 1


def test_sums_of_powers_are_proposed_for_every_power_of_the_target() -> None:
    for y in (
        1 / (1 / X[:, 0] + 1 / X[:, 1]),
        np.sqrt(X[:, 0] ** 2 + 3 * X[:, 2] ** 2),
        X[:, 0] ** 3 - X[:, 1] ** 3 + 2,
    ):
        assert nearest(sum_of_powers(Problem(X, y)), Problem(X, y)) < 1e-9
    cube = X[:6, 0] ** 3
    assert list(sum_of_powers(Problem(X[:6], cube)))
    assert not list(sum_of_powers(Problem(X[:5], cube[:5])))
    table = np.column_stack([X, np.ones(40)])
    bump = RNG.normal(size=40)
    bump -= table @ np.linalg.lstsq(table, bump, rcond=None)[0]
    for factor, near in ((0.99, True), (1.01, False)):
        line = X[:, 0] - X[:, 0].mean()
        size = factor * 0.1 * np.linalg.norm(line) / math.sqrt(1 - (factor * 0.1) ** 2) / np.linalg.norm(bump)
        targets = np.column_stack([5 + line + size * bump, 5 + line])
        assert _mostly_explained(table, targets, 0.1).tolist() == [near, True]
        assert _mostly_explained(table, 1e200 * targets, 0.1).tolist() == [near, True]
        assert _mostly_explained(table, 1e-200 * targets, 0.1).tolist() == [near, True]
    assert _mostly_explained(table, np.zeros((40, 1)), 0.1).tolist() == [True]


def test_forms_are_explained_by_one_projection_whatever_their_sizes() -> None:
    values = np.column_stack([X, np.ones(40)]) * [1e150, 1.0, 1e-150, 1.0]
    bump = RNG.normal(size=40)
    targets = np.column_stack([X @ [1.0, 2.0, 3.0], X[:, 0] + 0.1 * bump, 1e200 * X[:, 1], X[:, 2]])
    assert explained_form(values, targets, 1e-4) == [0, 2, 3]
    broken = np.where(np.arange(40)[:, None] == 39, np.inf, targets)
    assert explained_form(values, broken, 1e-4) == []
    late = targets.copy()
    late[2 * 4 + SETTINGS.ranking_rows :, 1] = 0  # later rows are not asked
    late[: 2 * 4 + SETTINGS.ranking_rows, 1] = X[: 2 * 4 + SETTINGS.ranking_rows, 1]
    assert explained_form(values, late, 1e-4) == [0, 1, 2, 3]


def test_a_monomial_stands_in_front_of_a_form() -> None:
    laws = [
        X[:, 0] * (X[:, 1] ** 2 - 2 * X[:, 2] ** 2) / X[:, 0] ** 2,
        X[:, 0] * (3 / X[:, 1] - 1 / X[:, 2]),
        np.sqrt(X[:, 0] * X[:, 1] + 2 * X[:, 2] ** 2),
        1 / (X[:, 0] * (X[:, 1] + X[:, 2] + 1)),
    ]
    for y in laws:
        assert nearest(monomial_times_form(Problem(X, y), COLUMNS), Problem(X, y)) < 1e-9
    plain = list(_forms(Problem(X, X[:, 0]), [0, 2], plain=True))
    assert [len(features) for features, _ in plain] == [3, 3, 3, 3, 3]
    np.testing.assert_allclose(plain[1][1], np.column_stack([1 / X[:, [0, 2]], np.ones(40)]))
    np.testing.assert_allclose(plain[4][1], np.column_stack([X[:, 0] ** 2, X[:, 0] * X[:, 2], X[:, 2] ** 2]))
    assert len(list(_forms(Problem(X, X[:, 0]), [0, 2], plain=False))) == 1
    assert not list(_forms(Problem(X, X[:, 0]), [], plain=True))
    assert len(list(_forms(Problem(X[:7], X[:7, 0]), [0, 2], plain=True))) == 4
    assert len(list(_forms(Problem(X[:6], X[:6, 0]), [0, 2], plain=True))) == 0
    assert len(list(_forms(Problem(X[:11], X[:11, 0]), [0, 2], plain=False))) == 1
    assert len(list(_forms(Problem(X[:10], X[:10, 0]), [0, 2], plain=False))) == 0
    zero = np.where(np.arange(40)[:, None] == 3, [0.0, 1.0, 1.0], X)
    assert len(list(monomial_times_form(Problem(zero, X[:, 0]), COLUMNS))) == 4  # not with the column that has a zero


def test_polynomials_and_their_quotients_of_each_degree_are_found() -> None:
    monomials = list(_monomials([0, 2], 3))
    assert len(monomials) == 2 + 3 + 4
    assert product([(Input(0), 1), (Input(2), 2)]) in monomials
    assert [len(c) for c in _choices(np.array([2, 0, 1]), {1: 9, 2: 5, 4: 3})] == [1, 2]
    assert list(_choices(np.array([2, 0, 1]), {2: 5})) == [[0, 2]]
    x = np.linspace(1, 2, 60)[:, None]
    nine = Problem(x, 3 * x[:, 0] ** 9 - x[:, 0] ** 2)
    assert nearest(polynomial(nine, np.arange(1)), nine) < 1e-9
    quotient = Problem(x, (x[:, 0] ** 3 - 2) / (x[:, 0] ** 2 + 3 * x[:, 0]))
    assert nearest(rational(quotient, np.arange(1)), quotient) < 1e-7
    two = Problem(X, X[:, 0] ** 4 + 2 * X[:, 1] ** 2 * X[:, 0])
    assert nearest(polynomial(two, COLUMNS[:2]), two) < 1e-9
    three = Problem(x[:3], x[:3, 0] ** 2)
    assert not list(polynomial(three, np.arange(1)))  # 1.25 rows for each of three numbers
    assert list(polynomial(Problem(x[:4], x[:4, 0] ** 2), np.arange(1)))
    ten = Problem(x[::6], (x[::6, 0] ** 2 + 2) / (x[::6, 0] ** 2 - 5 * x[::6, 0]))  # rows for the second degree only
    assert nearest(rational(ten, np.arange(1)), ten) < 1e-7
    apart = Problem(X, (X[:, 0] ** 3 + X[:, 1]) / (X[:, 1] ** 2 + X[:, 2]))
    assert nearest(rational(apart, COLUMNS), apart) < 1e-6


def test_monomials_of_a_dictionary_have_the_values_of_their_formulas() -> None:
    found = dictionary((0, 1, 2))
    values = found.values(X)
    assert len(found.formulas) == 1 + 3 * 7 + 3 * 16 + 8
    assert len(set(found.formulas)) == len(found.formulas)
    for k in range(0, len(found.formulas), 7):
        np.testing.assert_allclose(values[:, k], evaluate(found.formulas[k], X))
    assert all(len(inputs(f)) <= 2 for f in dictionary(tuple(range(SETTINGS.triple_columns + 1))).formulas)
    law = Problem(X, X[:, 0] ** 2 / X[:, 1] - 3 * X[:, 0] * X[:, 1] * X[:, 2])
    assert nearest(sum_of_products(law, COLUMNS), law) < 1e-9


# -- marks ---------------------------------------------------------------------------------------------------------


def test_a_truth_table_has_one_target_for_each_combination() -> None:
    marks = np.array([[0, 0], [0, 1], [1, 0], [1, 1], [1, 0]], dtype=float)
    target = _truth_table(marks, np.array([5.0, 6.0, 7.0, 8.0, 7.0]))
    assert target is not None
    assert target.tolist() == [5, 6, 7, 8]
    assert _truth_table(marks, np.array([5.0, 6.0, 7.0, 8.0, 9.0])) is None
    assert _truth_table(marks[:3], np.array([5.0, 6.0, 7.0])) is None
    signs = 2 * marks - 1
    rule = _polynomial([0, 2], np.array([[-1.0, -1.0], [1.0, 1.0]]), np.array([5.0, 6.0, 7.0, 9.0]))
    table = np.column_stack([signs[:4, 0], np.zeros(4), signs[:4, 1]])
    np.testing.assert_allclose(evaluate(rule, table), [5, 6, 7, 9])
    assert not real_constants(rule)


def test_a_rule_has_as_few_marks_as_decide() -> None:
    bits = np.array([[i >> k & 1 for k in range(4)] for i in range(16)], dtype=float)
    (group,) = rule_of_marks(Problem(bits, bits[:, 2]), np.arange(4))
    assert list(group) == [Input(2)]
    parity = bits.sum(axis=1) % 2
    (group,) = rule_of_marks(Problem(bits, parity), np.arange(4))
    (rule,) = list(group)
    np.testing.assert_allclose(evaluate(rule, bits), parity)
    assert not list(rule_of_marks(Problem(bits, parity / 3), np.arange(4)))
    five = np.array([[i >> k & 1 for k in range(5)] for i in range(32)], dtype=float)
    assert not list(rule_of_marks(Problem(five, five.sum(axis=1) % 2), np.arange(5)))
    assert not list(rule_of_marks(Problem(X, np.ones(40)), COLUMNS))


# -- the order of columns ------------------------------------------------------------------------------------------


def test_one_regression_ranks_columns_where_rows_and_columns_allow() -> None:
    fewest = 3 + 6 + SETTINGS.ranking_rows
    assert _affordable(np.ones((fewest + 1, 3)))
    assert not _affordable(np.ones((fewest, 3)))
    assert _affordable(np.ones((9999, SETTINGS.regressed_columns)))
    assert not _affordable(np.ones((9999, SETTINGS.regressed_columns + 1)))


def test_columns_score_by_their_strongest_term() -> None:
    z = RNG.normal(size=(300, 4))
    z = (z - z.mean(axis=0)) / z.std(axis=0)
    pair = z[:, 2] * z[:, 3]
    t = 0.5 * z[:, 0] + 2 * (pair - pair.mean())
    np.testing.assert_allclose(_regressed(z, t), [0.25, 0, 4, 4], atol=1e-20)
    both = np.stack([t, 3 * z[:, 1]], axis=1)
    np.testing.assert_allclose(_regressed(z, both), [0.25, 9, 4, 4])
    found = _correlated(z, t)
    linear_part = np.linalg.lstsq(z, t, rcond=None)[0]
    left = t - z @ linear_part
    products_of = {(i, j): z[:, i] * z[:, j] - np.mean(z[:, i] * z[:, j]) for i in range(4) for j in range(4)}
    scores = [
        max(linear_part[i] ** 2, *((p @ left) ** 2 / (p @ p) / 300 for (a, _), p in products_of.items() if a == i))
        for i in range(4)
    ]
    np.testing.assert_allclose(found, scores, rtol=1e-6)
    few = z[:24]
    few_scores = _correlated(few, t[:24])
    by_hand = [
        max(
            (few[:, i] @ t[:24] / 24) ** 2,
            *(
                float((few[:, i] * few[:, j]) @ t[:24] - (few[:, i] @ few[:, j]) * np.mean(t[:24])) ** 2
                / float(np.sum((few[:, i] * few[:, j]) ** 2) - (few[:, i] @ few[:, j]) ** 2 / 24)
                / 24
                for j in range(4)
            ),
        )
        for i in range(4)
    ]
    np.testing.assert_allclose(few_scores, by_hand)
    still = _correlated(np.column_stack([few, np.zeros(24)]), t[:24])  # a column that never changes
    np.testing.assert_allclose(still, [*by_hand, 0.0])
    assert _ranks(np.array([10.0, 30.0, 20.0])).tolist() == pytest.approx([-math.sqrt(1.5), math.sqrt(1.5), 0.0])
    assert _ranks(np.ones(3)).tolist() == [0, 0, 0]


# -- flexible terms ------------------------------------------------------------------------------------------------


def test_a_column_has_an_inverse_where_it_is_away_from_zero_and_not_nearly_straight() -> None:
    spread, pole = SETTINGS.scales_spread, SETTINGS.pole_distance
    assert _invertible(np.array([1.0, 1.01 * spread]))
    assert not _invertible(np.array([1.0, 0.99 * spread]))
    assert _invertible(np.array([-1.01 * spread, -1.0]))
    assert not _invertible(np.array([-1.0, 2.0]))
    near = pole / (1 + pole)  # of 1: a tenth of the range away from zero
    assert _invertible(np.array([1.01 * near, 1.0]))
    assert not _invertible(np.array([0.98 * near, 1.0]))


def test_the_middle_of_a_column_is_a_number_of_few_digits() -> None:
    assert _about_middle(0, np.array([10.0, 14.0, 18.1])) == total([(Fraction(1), Input(0)), (Fraction(-14), ONE)])
    assert _about_middle(0, np.array([0.12, 0.16, 0.19])) == total([(Fraction(1), Input(0)), (-0.16, ONE)])
    assert _about_middle(1, np.array([-1.0, 1.1])) == Input(1)
    assert _about_middle(0, np.array([1234.0, 1834.0])) == total([(Fraction(1), Input(0)), (Fraction(-1500), ONE)])


def test_terms_of_a_column_go_to_its_levels_and_its_signs() -> None:
    def powers_of(x: np.ndarray) -> list[Formula]:
        return list(_of_column(0, x))

    assert powers_of(np.array([0.0, 1.0, 0.0])) == [Input(0)]
    around = np.linspace(-1, 1, 9)
    assert powers_of(around) == [Input(0), *(product([(Input(0), k)]) for k in range(2, SETTINGS.highest_power + 1))]
    assert powers_of(np.array([-1.0, 0.0, 1.0])) == [Input(0), product([(Input(0), 2)])]  # a parabola through three
    middle = total([(Fraction(1), Input(0)), (Fraction(-3), ONE)])
    found = powers_of(np.linspace(1, 5, 9))
    assert product([(middle, 2)]) in found
    for exponent in (-1, -2, Fraction(1, 2)):
        assert product([(Input(0), exponent)]) in found
    below = powers_of(-np.linspace(1, 5, 9))
    assert product([(Input(0), -2)]) in below
    assert product([(Input(0), Fraction(1, 2))]) not in below


def test_pairs_and_saturating_terms_have_no_pole() -> None:
    table = np.column_stack([np.linspace(1, 5, 9), np.linspace(-1, 1, 9), np.linspace(2, 9, 9)[::-1]])
    problem = Problem(table, table[:, 0])
    found = paired_terms(problem, [0, 1])
    assert product([(Input(1), 1), (Input(0), -1)]) in found.formulas
    assert product([(Input(0), 1), (Input(1), -1)]) not in found.formulas
    middle = total([(Fraction(1), Input(0)), (Fraction(-3), ONE)])
    assert product([(middle, 1), (Input(1), 1)]) in found.formulas
    np.testing.assert_allclose(found.values[:, 0], table[:, 0] * table[:, 1])
    both_ways = paired_terms(problem, [0, 2]).formulas
    assert product([(Input(2), 1), (Input(0), -1)]) in both_ways
    assert product([(Input(0), 1), (Input(2), -1)]) in both_ways
    terms = saturating_terms(problem, [0, 1, 2])
    shares = len(SETTINGS.saturating_shares)
    assert len(terms.formulas) == shares * (2 + 2)  # of one, and of two with either sign
    half = float(f"{1 / np.quantile(1 / table[:, 0], SETTINGS.saturating_shares[0]):.2g}")
    np.testing.assert_allclose(terms.values[:, 0], 1 / (1 + half / table[:, 0]))
    for k, inverse in ((2, 1 / (table[:, 0] * table[:, 2])), (3, table[:, 2] / table[:, 0])):
        half = float(f"{1 / np.quantile(inverse, SETTINGS.saturating_shares[0]):.2g}")
        np.testing.assert_allclose(terms.values[:, k * shares], 1 / (1 + half * inverse))
    both = Terms(found.formulas[:1], found.values[:, :1]) + terms
    assert both.values.shape == (9, 1 + len(terms.formulas))
    assert both.named([0]) == [found.formulas[0]]


def test_a_chosen_term_explains_most_and_chance_ends_the_choice() -> None:
    z = np.random.default_rng(4).normal(size=(200, 30))
    formulas = tuple(Input(i) for i in range(30))
    y = 3 * z[:, 4] + z[:, 9] + 0.5 * np.random.default_rng(5).normal(size=200)
    root = np.full(200, math.sqrt(1 / 200))
    terms, chosen = flexible._chosen(Problem(z, y), root, Terms(formulas, z), [], 30)
    assert chosen[:2] == [4, 9]
    columns = [np.column_stack([np.ones(200), z[:, chosen[:k]]]) for k in range(len(chosen) + 1)]
    left = [float(np.linalg.lstsq(c, y, rcond=None)[1][0]) for c in columns]
    chance = [before - after < 2 * math.log(30) * before / 200 for before, after in pairwise(left)]
    assert sum(chance) == SETTINGS.chance_terms
    assert chance[-1]  # with the last of them the choice ends
    exact = flexible._chosen(Problem(z, 3 * z[:, 4]), root, Terms(formulas, z), [], 30)[1]
    assert exact == [4]
    assert flexible._chosen(Problem(z, y), root, Terms(formulas, z), [], 1)[1] == [4]
    more, chosen = flexible._chosen(Problem(z, z[:, 4] * z[:, 9]), root, Terms(formulas[:10], z[:, :10]), [9], 8)
    assert len(more.formulas) > 10
    weights = np.where(np.arange(200) < 100, 1.0, 0.0)
    half = np.where(np.arange(200) < 100, z[:, 7], z[:, 8])
    assert flexible._chosen(Problem(z, half), np.sqrt(weights / 100), Terms(formulas, z), [], 5)[1] == [7]
    sums = flexible.sparse_sums(Problem(z, half), weights, Terms(formulas, z), [], 5)
    np.testing.assert_allclose(sums.values[1], z[:, 7], atol=1e-9)
    np.testing.assert_allclose(sums.values[0], np.mean(half[:100]))
    assert len(terms.formulas) == 30


def test_a_fitted_sum_has_weights_in_the_digits_that_they_are_known_to() -> None:
    noise = 0.1 * np.random.default_rng(6).normal(size=40)
    problem = Problem(X, 2.123 * X[:, 0] - 0.7 + noise)
    found = fitted_sum(problem, [Input(0)], np.ones(40))
    design = np.column_stack([X[:, 0], np.ones(40)])
    fitted = np.linalg.lstsq(design, problem.y, rcond=None)[0]
    left = problem.y - design @ fitted
    noise = np.sqrt(left @ left / 38)
    first = rounded(float(fitted[0]), float(noise * np.sqrt(np.linalg.inv(design.T @ design)[0, 0])))
    second = rounded(float(np.mean(problem.y - first * X[:, 0])), float(noise / np.sqrt(40)))  # once the first is fixed
    assert found == total([(first, Input(0)), (second, ONE)])
    double = fitted_sum(problem, [Input(0)], np.full(40, 2.0))
    assert double == found
    lines = list(approximations(Problem(X[:8], X[:8, 0])))
    assert len(lines) == 2  # the mean, and a line of four numbers: two rows for each
    assert len(list(approximations(Problem(X[:7], X[:7, 0])))) == 1


def test_derived_problems_take_formulas_back() -> None:
    found = derived(Problem(X, X[:, 0]), [product([(Input(1), 2)]), Applied(Function.LOG, Input(2))])
    assert found is not None
    np.testing.assert_allclose(found.problem.X, np.column_stack([X[:, 1] ** 2, np.log(X[:, 2])]))
    (back,) = found.back([total([(Fraction(2), Input(0)), (Fraction(1), Input(1))])])
    np.testing.assert_allclose(evaluate(back, X), 2 * X[:, 1] ** 2 + np.log(X[:, 2]))
    below = total([(Fraction(1), Input(0)), (Fraction(-2), ONE)])
    assert derived(Problem(X, X[:, 0]), [Applied(Function.LOG, below)]) is None
    assert derived(Problem(X, X[:, 0]), [Input(0)], np.full(40, np.inf)) is None
