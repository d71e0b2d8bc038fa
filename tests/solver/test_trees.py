"""Trees, peeled targets and their meetings, on a few rows that one can check by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from nalm.solver.data.problem import Problem
from nalm.solver.formula.algebra import Constant, Input, product, real_constants, total
from nalm.solver.formula.calculus import evaluate
from nalm.solver.settings import SETTINGS
from nalm.solver.shapes.trees import meet as meeting
from nalm.solver.shapes.trees import search, split
from nalm.solver.shapes.trees.forest import (
    BINARY,
    Forest,
    Op,
    Trees,
    _all_pairs,
    _sound,
    applied,
    combined,
    joined,
    keys,
    leaves,
    roots,
    targets,
)
from nalm.solver.shapes.trees.meet import Seen, Side, _expanded, affine, meet, plain, scaled, shifted
from nalm.solver.shapes.trees.peel import Peels
from nalm.solver.shapes.trees.search import _grown, _Meeting, _meetings, _side, probe_rows, tree
from nalm.solver.shapes.trees.split import ProbeValues, _Eliminated, _median, factors_in_front, splits

ROUNDING = SETTINGS.rounding
PROBES = np.random.default_rng(0).uniform(1, 2, (12, 2))
ALL = np.arange(2)


def trees_of(values: list[list[float]], error: float = 0.0) -> Trees:
    table = np.array(values)
    blank = np.full(len(table), -1)
    return Trees(
        table, np.full(table.shape, error), np.zeros(len(table), np.int8), blank, blank, np.ones(len(table), np.int8)
    )


# -- trees ---------------------------------------------------------------------------------------------------------


def test_leaves_are_the_inputs_and_one_with_the_error_of_rounding() -> None:
    found = leaves(np.array([[-2.0, 3.0], [4.0, 5.0]]))
    np.testing.assert_array_equal(found.values, [[2.0, -4.0], [3.0, 5.0], [1.0, 1.0]])
    np.testing.assert_array_equal(found.errors, ROUNDING * np.array([[2.0, 4.0], [3.0, 5.0], [0.0, 0.0]]))
    assert found.sign.tolist() == [-1, 1, 1]
    assert found.left.tolist() == [0, 1, 2]


def test_targets_are_the_target_its_square_and_the_root_of_a_positive_one() -> None:
    y = np.array([4.0, 9.0])
    found = targets(y, noise=0.01)
    assert found.op.tolist() == [Op.LEAF, Op.SQUARE, Op.ROOT]
    np.testing.assert_allclose(found.values, [[4.0, 9.0], [16.0, 81.0], [2.0, 3.0]])
    error = (ROUNDING + 0.01) * y
    np.testing.assert_allclose(found.errors, [error, 2 * y * error, error / [4.0, 6.0]])
    assert targets(np.array([0.0, 1.0]), 0.0).op.tolist() == [Op.LEAF, Op.SQUARE]


@pytest.mark.parametrize(("u", "v"), [(3.0, 2.0), (-3.0, 2.0), (0.25, -8.0)])
def test_errors_of_combined_trees_are_those_of_first_order(u: float, v: float) -> None:
    du, dv = 1e-4 * abs(u), 3e-4 * abs(v)
    one, other = trees_of([[u, 2 * u]]), trees_of([[v, 5 * v]])
    one, other = replace(one, errors=np.full((1, 2), du)), replace(other, errors=np.full((1, 2), dv))
    found = joined(combined(one, other, np.array([0]), np.array([0]), (10, 20)))
    ways = {
        Op.PLUS: lambda a, b: a + b,
        Op.MINUS: lambda a, b: a - b,
        Op.TIMES: lambda a, b: a * b,
        Op.OVER: lambda a, b: a / b,
        Op.UNDER: lambda a, b: b / a,
    }
    assert found.op.tolist() == list(BINARY)
    assert (set(found.left), set(found.right)) == ({10}, {20})
    for row, op in enumerate(BINARY):
        for column, (a, b) in enumerate(((u, v), (2 * u, 5 * v))):
            value = ways[op](a, b)
            assert found.values[row, column] * found.sign[row] == pytest.approx(value)
            moved = max(abs(ways[op](a + s * du, b + t * dv) - value) for s in (1, -1) for t in (1, -1))
            assert found.errors[row, column] == pytest.approx(moved, rel=2e-3)
        assert found.values[row, 0] > 0


def test_trees_without_value_and_those_of_rounding_are_dropped() -> None:
    largest = SETTINGS.largest_value
    found = _sound(trees_of([[1.0, 2.0], [np.inf, 1.0], [np.nan, 1.0], [largest, 1.0], [0.9 * largest, 1.0]], 1e-9))
    assert found.tolist() == [0, 4]
    error = 1.0 / SETTINGS.clear  # one is just not clear of it
    found = _sound(trees_of([[1.0, 1.0, 1.0], [1.1, 1.0, 1.0], [1.1, 1.0, 1.1]], error))
    assert found.tolist() == [2]  # more than half of the values must be clear
    even = _sound(trees_of([[1.1, 1.0], [1.1, -1.1]], error))
    assert even.tolist() == [1]


def test_trees_stand_one_probe_after_another_in_memory() -> None:
    forest = Forest(np.random.default_rng(0).uniform(1, 2, (12, 2)), np.arange(2))
    forest.grow()
    forest.grow()
    for level in forest.levels:
        assert level.values.flags.f_contiguous
        assert level.errors.flags.f_contiguous


def test_roots_are_of_trees_that_are_positive_everywhere() -> None:
    found = roots(trees_of([[0.25, 9.0], [4.0, -9.0], [4.0, 0.0], [16.0, 25.0]], 0.1), start=7)
    np.testing.assert_allclose(found.values, [[0.5, 3.0], [4.0, 5.0]])
    np.testing.assert_allclose(found.errors, [[0.1, 0.1 / 6], [0.0125, 0.01]])
    assert found.left.tolist() == [7, 10]
    assert set(found.op) == {Op.ROOT}


def test_keys_are_equal_for_equal_functions_and_differ_by_the_place_of_a_value() -> None:
    close = keys(
        np.array([[1.0, 2.0, 3.0, 9.0], [1.0 + 1e-12, 2.0, 3.0, 7.0], [2.0, 1.0, 3.0, 9.0], [1.0, 2.0, 4.0, 9.0]])
    )
    assert close[0] == close[1]
    assert len(set(close.tolist())) == 3
    assert len(set(keys(np.random.default_rng(0).random((5000, 3))).tolist())) == 5000


def test_a_forest_holds_every_tree_of_few_leaves_once() -> None:
    forest = Forest(PROBES, ALL)
    assert len(forest.levels[0]) == 3
    assert forest.pairs() == 9
    forest.grow()
    listed = {repr(forest.formula(k)) for k in range(forest.starts[1], forest.starts[1] + len(forest.levels[1]))}
    assert len(listed) == len(forest.levels[1])
    # of a, b, 1: roots; a+b, a+1, b+1, 2a, 2b, 2; a-b, a-1, b-1; ab, a², b²; a/b, b/a, 1/a, 1/b
    assert len(forest.levels[1]) == 2 + 6 + 3 + 3 + 4
    assert forest.starts == [0, 3]
    assert forest.pairs() == 3 * len(forest.levels[1])
    forest.grow()
    assert forest.starts[2] == 3 + len(forest.levels[1])
    for number in (*range(21), forest.starts[2], forest.starts[2] + 50):
        values = evaluate(forest.formula(number), PROBES)
        level = int(np.searchsorted(forest.starts, number, side="right")) - 1
        np.testing.assert_allclose(values, forest.levels[level].values[number - forest.starts[level]], rtol=1e-12)
    first, second = len(forest.levels[0]), len(forest.levels[1])
    assert forest.pairs() == first * len(forest.levels[2]) + second**2
    assert isinstance(Forest(PROBES, ALL, full=False).formula(2), Constant)


def test_a_forest_that_is_not_full_lists_of_four_leaves_only_two_and_two() -> None:
    part = Forest(PROBES[:, :1], ALL[:1], full=False)
    full = Forest(PROBES[:, :1], ALL[:1], full=True)
    for forest in (part, full):
        forest.grow()
        forest.grow()
    assert part.pairs() == len(part.levels[1]) ** 2
    assert full.pairs() == len(part.levels[1]) ** 2 + 2 * len(part.levels[2])
    for forest in (part, full):
        forest.grow()
    assert len(part.levels[3]) < len(full.levels[3])


def test_pairs_of_one_list_come_once_and_of_two_lists_all() -> None:
    i, j = _all_pairs(3, 3, same=True)
    assert list(zip(i.tolist(), j.tolist(), strict=True)) == [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)]
    i, j = _all_pairs(2, 3, same=False)
    assert list(zip(i.tolist(), j.tolist(), strict=True)) == [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]


def test_operations_are_written_as_they_are_computed() -> None:
    a, b = Input(0), Input(1)
    assert applied(Op.PLUS, a, b) == total([(Fraction(1), a), (Fraction(1), b)])
    assert applied(Op.MINUS, a, b) == total([(Fraction(1), a), (Fraction(-1), b)])
    assert applied(Op.TIMES, a, b) == product([(a, 1), (b, 1)])
    assert applied(Op.OVER, a, b) == product([(a, 1), (b, -1)])
    assert applied(Op.UNDER, a, b) == product([(b, 1), (a, -1)])


# -- peels ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sign", [1, -1])
def test_what_is_peeled_is_put_back_by_its_formula(sign: int) -> None:
    """Given what a peeled target equals, the formula of y is the one that gives y."""
    forest = Forest(PROBES, ALL)
    forest.grow()
    y = sign * (PROBES[:, 0] * 3 + 0.7 * PROBES[:, 1])
    peels = Peels(y, 0.0, forest)
    assert peels.pairs() == (3 if sign > 0 else 2) * 3
    peels.grow()
    assert peels.starts == [0, len(peels.levels[0])]
    peels.grow()
    column = np.column_stack([PROBES, np.zeros(12)])
    for level, step in ((0, 1), (1, 1), (2, 23)):
        trees = peels.levels[level]
        for row in range(0, len(trees), step):
            column[:, 2] = trees.values[row]
            with np.errstate(all="ignore"):
                found = evaluate(peels.formula(peels.starts[level] + row, Input(2)), column)
            np.testing.assert_allclose(found, y, rtol=1e-9)


def test_several_leaves_are_peeled_at_once_from_the_levels_before() -> None:
    forest = Forest(PROBES[:, :1], ALL[:1])
    forest.grow()
    y = 3 * PROBES[:, 0] + 0.7
    peels = Peels(y, 0.0, forest)
    for _ in range(3):
        peels.grow()
    sizes = [len(level) for level in peels.levels]
    assert peels.pairs() == sizes[3] * len(forest.levels[0]) + sizes[2] * len(forest.levels[1])
    column = np.column_stack([PROBES[:, 0], np.zeros(12)])
    for row in range(0, sizes[3], 101):
        column[:, 1] = peels.levels[3].values[row]
        with np.errstate(all="ignore"):
            found = evaluate(peels.formula(peels.starts[3] + row, Input(1)), column)
        np.testing.assert_allclose(found, y, rtol=1e-9)


def test_targets_that_were_only_multiplied_and_divided_keep_a_factor_free() -> None:
    forest = Forest(PROBES, ALL)
    peels = Peels(-PROBES[:, 0] * 3 - 0.7, 0.0, forest)
    peels.grow()
    peels.grow()
    assert peels.multiplicative(0).tolist() == [0, 1]
    scaling = {Op.TIMES, Op.OVER, Op.UNDER}
    for level in (1, 2):
        trees = peels.levels[level]
        pure = []
        for row in range(len(trees)):
            number, ops = peels.starts[level] + row, []
            while True:
                op, left, *_ = peels._row(number)
                if left < 0:
                    break
                ops.append(Op(op))
                number = left
            if set(ops) <= scaling:
                pure.append(row)
        assert peels.multiplicative(level).tolist() == pure
        assert 0 < len(pure) < len(trees)


# -- views and meetings --------------------------------------------------------------------------------------------


def test_views_leave_out_what_is_free() -> None:
    values, errors = np.array([[2.0, 4.0, 8.0], [-1.0, -2.0, 5.0]]), np.array([[0.1, 0.2, 0.4], [0.1, 0.1, 0.1]])
    assert plain(values, errors) == (values, errors)
    seen, bound = scaled(values, errors)
    np.testing.assert_allclose(seen, [[2.0, 4.0], [2.0, -5.0]])
    np.testing.assert_allclose(bound, [[(0.2 + 2 * 0.1) / 2, (0.4 + 4 * 0.1) / 2], [0.1 + 2 * 0.1, 0.1 + 5 * 0.1]])
    seen, bound = shifted(values, errors)
    np.testing.assert_allclose(seen, [[2.0, 6.0], [1.0, -6.0]])
    np.testing.assert_allclose(bound, [[0.3, 0.5], [0.2, 0.2]])
    seen, bound = affine(values, errors)
    np.testing.assert_allclose(seen, [[3.0], [-6.0]])
    np.testing.assert_allclose(bound, [[(0.5 + 3 * 0.3) / 2], [(0.2 + 6 * 0.2) / 1]])


def test_what_is_blunt_is_not_compared() -> None:
    sharp = SETTINGS.sharp
    trees = trees_of([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0], [np.nan, 1.0, 1.0]])
    trees = replace(trees, errors=np.array([[0.99 * sharp] * 3, [1.01 * sharp] * 3, [0.0] * 3]))
    assert Seen(trees, 5, plain).rows.tolist() == [0]
    later = replace(trees.at(np.array([0])), errors=np.array([[0.0, 3.01 * sharp, 0.0]]))
    side = Seen(later, 5, plain)
    assert np.isnan(side.keys(np.array([0]), None)[0]).all()  # blunt at another probe
    assert np.isfinite(side.keys(np.array([0]), 3)[0]).all()
    assert side.numbers(np.array([0])) == [5]
    assert len(Seen(trees_of([[1.0], [2.0]]), 0, scaled).rows) == 0  # no probe is left to compare


def test_trees_meet_targets_within_the_slack_of_their_bounds() -> None:
    values = [[1.0, 5.0, 7.0, 2.0], [1.0, 5.0, 8.0, 2.0], [3.0, 1.0, 1.0, 4.0]]
    error = 1e-5
    trees, near = Seen(trees_of(values, error), 100, plain), 2 * SETTINGS.slack * error
    for factor, met in ((0.99, [(100, 200), (102, 201)]), (1.01, [(102, 201)])):
        moved = [[1.0 + factor * near, 5.0, 7.0, 2.0], [3.0, 1.0, 1.0, 4.0]]
        assert sorted(meet(trees, Seen(trees_of(moved, error), 200, plain))) == met
        moved = [[1.0, 5.0, 7.0, 2.0 - factor * near], [3.0, 1.0, 1.0, 4.0]]
        assert sorted(meet(trees, Seen(trees_of(moved, error), 200, plain))) == met
    itself = Seen(trees_of([[1.0, 2.0], [4.0, 5.0], [1.0, 2.0], [1.0, 2.0]], error), 0, plain)
    assert sorted(meet(itself, itself)) == [(2, 0), (3, 0), (3, 2)]
    empty = Seen(trees_of([[np.nan, 1.0]]), 0, plain)
    assert not list(meet(trees, empty)) + list(meet(empty, trees))


@pytest.mark.parametrize(
    ("chunk", "many", "trees"),
    [(2_000_000, 500, 1000), (3, 500, 1000), (1, 500, 1000), (2_000_000, 0, 1000), (9, 0, 0)],
)
def test_meetings_do_not_depend_on_how_many_are_looked_at_at_once(
    monkeypatch: pytest.MonkeyPatch, chunk: int, many: int, trees: int
) -> None:
    rng = np.random.default_rng(1)
    values = rng.uniform(1, 2, (40, 6))
    values[10:20, :1] = values[:10, :1]  # their first keys meet, the others do not
    values[20:24] = values[:4]
    wanted = [(i, j) for j in range(40) for i in range(40) if np.array_equal(values[i], values[j])]
    monkeypatch.setattr(meeting, "SETTINGS", replace(SETTINGS, meet_chunk=chunk))
    monkeypatch.setattr(meeting, "MANY_PAIRS", many)
    monkeypatch.setattr(meeting, "MANY_TREES", trees)
    one, other = (Seen(trees_of(values.tolist(), 1e-9), 0, plain) for _ in range(2))
    assert sorted(meet(one, other)) == sorted(wanted)
    monkeypatch.setattr(meeting, "SETTINGS", replace(SETTINGS, most_met=1))
    few = [pair for pair in wanted if pair[0] == pair[1] and not (pair[0] < 20 or pair[0] < 24)]
    assert sorted(meet(one, other)) == sorted(few)  # a window of two is too wide now


def test_keys_around_some_others_are_ordered_and_no_more_than_these() -> None:
    side = Seen(trees_of([[5.0, 1.0], [1.0, 1.0], [2.5, 1.0], [2.0, 1.0], [9.0, 1.0]]), 0, plain)
    order, first = side.around(np.array([2.25, 8.5]), 0.25)
    assert (order.tolist(), first.tolist()) == ([3, 2], [2.0, 2.5])
    order, first = side.around(np.array([1.0, 8.5]), 0.5)
    assert (order.tolist(), first.tolist()) == ([1, 4], [1.0, 9.0])


def test_windows_are_expanded_to_pairs() -> None:
    order = np.array([3, 1, 2, 0])
    i, j = _expanded(order, np.array([1, 0, 2]), np.array([2, 0, 1]), begin=10)
    assert list(zip(i.tolist(), j.tolist(), strict=True)) == [(1, 10), (2, 10), (2, 12)]


def test_a_few_blunt_trees_are_met_only_where_they_are_near() -> None:
    """The window is as wide as nine in ten of the bounds."""

    class Plain(Side):
        def keys(self, compared: np.ndarray, probes: int | None) -> tuple[np.ndarray, np.ndarray]:
            return self.first[compared, None], np.full((len(compared), 1), np.inf)

        def numbers(self, compared: np.ndarray) -> list[int]:
            return compared.tolist()

    first, bound = np.arange(10.0), np.array([0.1] * 9 + [50.0])
    target = Plain(np.arange(1), np.array([4.0]), np.array([0.2]))
    assert [i for i, _ in meet(Plain(np.arange(10), first, bound), target)] == list(range(10))
    # 3 * (0.2 + 0.1) reaches no neighbour once the blunt one is beyond nine in ten
    eleven = Plain(np.arange(20), np.arange(20.0), np.array([0.1] * 19 + [50.0]))
    assert [i for i, _ in meet(eleven, target)] == [4]


# -- the search ----------------------------------------------------------------------------------------------------


def test_probes_are_the_rows_whose_inputs_lie_furthest_apart() -> None:
    table = np.array([[2.0, 2.1], [5.0, 9.0], [3.0, 1.01], [0.01, 3.0], [2.0, 4.0]])
    # gaps of a row with 1, in shares of its largest: 0.05, 0.44, ~0, 0.003, 0.25
    shares = [[0.1 / 2.1, 1 / 2.1], [4 / 9, 4 / 9, 1 / 9], [0.01 / 3], [0.01 / 3], [0.25, 0.5]]
    order = np.argsort([-min(row) for row in shares], kind="stable")
    assert probe_rows(table, 5).tolist() == order.tolist()
    assert len(probe_rows(PROBES)) == SETTINGS.probes


def test_a_level_is_grown_while_the_budget_lasts() -> None:
    forest = Forest(PROBES, ALL)
    assert not _grown(forest, 2, 8)
    assert _grown(forest, 1, 0)
    assert _grown(forest, 2, 9)
    assert len(forest.levels) == 2
    peels = Peels(PROBES[:, 0] + 0.3, 0.0, forest)
    assert _grown(peels, 0, 0)
    assert not _grown(peels, 1, 8)
    assert _grown(peels, 1, 9)
    assert len(peels.levels) == 2


@pytest.mark.parametrize(
    ("view", "factor", "offset"),
    [(plain, 1.0, 0.0), (scaled, 2.7, 0.0), (shifted, 1.0, 0.41), (shifted, -1.0, 9.3), (affine, 2.7, 0.41)],
)
def test_each_view_finds_its_free_numbers(view: meeting.View, factor: float, offset: float) -> None:
    forest = Forest(PROBES, ALL)
    forest.grow()
    y = factor * PROBES[:, 0] * PROBES[:, 1] + offset
    peels = Peels(y, 0.0, forest)
    found = _Meeting(forest, peels, 1, 0, _side)
    assert found.size == len(forest.levels[1]) + len(peels.levels[0])
    proposed = list(found.formulas(view))
    assert proposed
    assert min(float(np.max(np.abs(evaluate(f, PROBES) - y))) for f in proposed) < 1e-6
    numbers = {plain: 0, scaled: 1, shifted: 1, affine: 2}[view]
    assert {len(real_constants(f)) for f in proposed} == {numbers}


def test_a_tree_search_goes_through_all_views_in_turn() -> None:
    x = np.random.default_rng(5).uniform(1, 2, (30, 2))
    laws = {
        "plain": x[:, 0] / (x[:, 1] + x[:, 0] ** 2),
        "scaled": 2.34 * x[:, 0] / (x[:, 1] + x[:, 0] ** 2),
        "split": 2.34 * (x[:, 0] * x[:, 1] - x[:, 0] / x[:, 1]),
        "affine": 2.34 * x[:, 0] / x[:, 1] - 1.21,
    }
    for y in laws.values():
        groups = list(tree(Problem(x, y), ALL, most_leaves=5, budget=100_000))
        errors = [float(np.max(np.abs(evaluate(f, x) - y))) for group in groups for f in group]
        assert min(errors) < 1e-6
    small = Problem(x, 2.34 * x[:, 0] * x[:, 1])
    found = [f for group in tree(small, ALL, most_leaves=2, budget=100) for f in group]
    assert min(float(np.max(np.abs(evaluate(f, x) - small.y))) for f in found) < 1e-6


def test_only_seven_leaves_need_all_trees_of_four(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bool] = []

    def kept(probed: bytes, columns: tuple[int, ...], full: bool) -> Forest:
        asked.append(full)
        return Forest(np.frombuffer(probed).reshape(-1, len(columns)), np.array(columns), full)

    monkeypatch.setattr(search, "_kept_forest", kept)
    problem = Problem(PROBES, PROBES[:, 0])
    for most in (6, 7):
        list(tree(problem, ALL, most, budget=1))
    assert asked == [False, True]
    assert not list(tree(problem, ALL, 5, budget=8))  # nothing is grown, and nothing met
    assert max(map(sum, _meetings(5))) == 5
    assert list(_meetings(3)) == [(2, 0), (2, 1), (3, 0)]


# -- splits --------------------------------------------------------------------------------------------------------


def test_medians_are_of_the_values_that_count() -> None:
    values = np.array([[5.0, 1.0, 3.0, 9.0], [5.0, 1.0, 3.0, 9.0], [5.0, 1.0, 3.0, 9.0], [2.0, 7.0, 8.0, 1.0]])
    counted = np.array([[True] * 4, [True, True, True, False], [False] * 4, [False, True, False, False]])
    found = _median(values, counted)
    assert found[[0, 1, 3]].tolist() == [4.0, 3.0, 7.0]
    assert math.isnan(found[2])


def probe_values(*rows: list[float], error: float = 0.0) -> ProbeValues:
    return ProbeValues(np.array(rows), np.full((len(rows), len(rows[0])), error))


def test_a_factor_in_front_is_the_same_at_every_probe() -> None:
    u = [3.0, 5.0, 6.0, 8.0, 7.0, 9.0]
    v = [1.0, 2.0, 4.0, 5.0, 1.0, 3.0]
    error = 1e-6
    plus, minus = (2.5 * (np.array(u) + s * np.array(v)) for s in (1, -1))
    off = plus.copy()
    off[2] *= 1.001
    signs, factors = factors_in_front(
        probe_values(u, u, u, error=error),
        probe_values(v, v, v, error=error),
        probe_values(plus.tolist(), minus.tolist(), off.tolist(), error=error),
    )
    assert signs.tolist() == [1, -1, 0]
    assert factors[:2] == pytest.approx([2.5, 2.5])
    # The spread of the factor at a probe that its errors explain, and the typical one beside it.
    below = np.array(u) + np.array(v)
    spread = SETTINGS.slack * (2 * error / below + error / plus)
    for factor, same in ((0.98, 1), (1.02, 0)):
        moved = plus.copy()
        moved[2] *= 1 + factor * (spread[2] + np.median(spread))
        found = factors_in_front(
            probe_values(u, error=error), probe_values(v, error=error), probe_values(moved.tolist(), error=error)
        )
        assert found[0].tolist() == [same]
    few = SETTINGS.split_probes
    blunt = np.full(6, error)
    for count, same in ((6 - few, 1), (7 - few, 0)):  # so many probes that say nothing are too many
        blunt[:count] = 0.1
        sides = (ProbeValues(np.array([u]), blunt[None]), ProbeValues(np.array([v]), blunt[None]))
        assert factors_in_front(*sides, probe_values(plus.tolist(), error=error))[0].tolist() == [same]


def test_the_factor_is_eliminated_by_the_ratios_of_the_target() -> None:
    rng = np.random.default_rng(2)
    u, v = rng.uniform(1, 2, 8), rng.uniform(1, 2, 8)
    target = trees_of([(3.3 * (u + v)).tolist(), (3.3 * (u - v)).tolist()], 1e-7)
    trees = trees_of([u.tolist(), v.tolist()], 1e-8)
    side = _Eliminated(trees, target)
    assert side.rows.tolist() == [0, 1, 2, 3]
    seen, bounds = side.keys(np.arange(4), None)
    np.testing.assert_allclose(seen[0], seen[1], rtol=1e-6)  # u and -v
    np.testing.assert_allclose(seen[2], seen[3], rtol=1e-6)  # u and v
    assert seen.shape == (4, SETTINGS.split_probes)
    assert side.keys(np.arange(4), 2)[0].shape == (4, 2)
    t = target.values[0]
    ratio = t[1:6] / t[0]
    by_hand = 1e-8 + ratio * 1e-8 + np.abs(u[0]) * (1e-7 + ratio * 1e-7) / t[0]
    np.testing.assert_allclose(bounds[0], by_hand)
    np.testing.assert_allclose(side.bound[0], by_hand[0] / abs(u[1] - ratio[0] * u[0]))
    np.testing.assert_allclose(side.first[:2], np.log(np.abs(seen[:2, 0])))
    np.testing.assert_allclose(side.first[2:], np.log(np.abs(seen[2:, 0])) + split.APART)
    assert side.numbers(np.array([2])) == [2]
    assert len(_Eliminated(trees_of([[1.0], [2.0]]), trees_of([[3.0]])).rows) == 0
    multiple = trees_of([(2 * target.values[0]).tolist()], 1e-8)
    assert len(_Eliminated(multiple, target.at(np.array([0]))).rows) == 0  # nothing but rounding is left of it


@pytest.mark.parametrize("sign", [1, -1])
def test_every_split_gives_the_target_also_of_what_was_peeled(sign: int) -> None:
    forest = Forest(PROBES, ALL)
    forest.grow()
    a, b = PROBES.T
    y = 2.34 * (a * b + sign * np.sqrt(a)) / b  # of y, and of y times a tree
    peels = Peels(y, 0.0, forest)
    peels.grow()
    by_level = []
    for peeled in (0, 1):
        rows = peels.multiplicative(peeled)
        found = [f for group in split._split(forest, peels, peeled, rows, [(2, 1), (2, 2)]) for f in group]
        with np.errstate(all="ignore"):
            errors = [float(np.max(np.abs(evaluate(f, PROBES) / y - 1))) for f in found]
        assert all(error < 1e-4 for error in errors)
        by_level.append(len(errors))
    assert by_level[1] > by_level[0]


def test_splits_are_of_parts_within_reach(monkeypatch: pytest.MonkeyPatch) -> None:
    forest = Forest(PROBES, ALL)
    for _ in range(3):
        forest.grow()
    peels = Peels(PROBES[:, 0] + 0.3, 0.0, forest)
    peels.grow()
    asked: list[tuple[int, list[tuple[int, int]]]] = []
    monkeypatch.setattr(split, "_split", lambda _, __, peeled, ___, parts: asked.append((peeled, parts)) or iter(()))
    list(splits(forest, peels, 5, 10**9))
    assert asked == [
        (0, [(2, 1), (2, 2), (3, 1), (3, 2), (4, 1)]),
        (1, [(2, 1), (2, 2), (3, 1), (3, 2), (3, 3), (4, 1), (4, 2)]),
    ]
    asked.clear()
    list(splits(forest, peels, 4, 10**9))
    assert asked == [(0, [(2, 1), (2, 2), (3, 1)]), (1, [(2, 1), (2, 2), (3, 1), (3, 2), (4, 1)])]
    asked.clear()
    few = 3 * len(forest.levels[1])  # targets times trees that are affordable
    list(splits(forest, peels, 7, math.ceil(few / SETTINGS.split_share)))
    assert asked[0] == (0, [(2, 1), (2, 2)])
    peels.grow()
    peels.grow()
    asked.clear()
    list(splits(forest, peels, 7, 10**9))
    assert [peeled for peeled, _ in asked] == [0, 1, 2]
    asked.clear()
    list(splits(forest, peels, 6, 10**9))
    assert [peeled for peeled, _ in asked] == [0, 1]
    assert joined([forest.levels[0], forest.levels[1]]).values.shape[0] == forest.starts[2]
