"""How a search goes on and ends, with shapes and verdicts made by hand; formulas, tables and units below it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from nalm.solver import outliers, search
from nalm.solver.clock import OutOfTime
from nalm.solver.data.columns import standard, tied
from nalm.solver.data.digits import _coarsest, full, marks
from nalm.solver.data.dimensions import dimensions
from nalm.solver.data.problem import Problem, once_for_table, spread
from nalm.solver.data.rows import _some, chunks, gathered
from nalm.solver.formula.algebra import (
    ONE,
    Applied,
    Constant,
    Formula,
    Input,
    PowerProduct,
    WeightedSum,
    exponential,
    functions,
    product,
    real_constants,
    size,
    total,
    with_real_coefficients,
)
from nalm.solver.formula.bounds import NumberRange, _bounds
from nalm.solver.formula.calculus import (
    argument_bends,
    coefficient_moves,
    evaluate,
    exponent_moves,
    freedoms,
    gradients,
)
from nalm.solver.formula.functions import Function
from nalm.solver.formula.recognised import _simplest_first, recognised
from nalm.solver.outliers import _at_most_rows, without_outliers
from nalm.solver.search import _first, climb, searched_within
from nalm.solver.settings import SETTINGS
from nalm.solver.shapes.catalogue import EFFORTS, _first_of, _trees
from nalm.solver.shapes.shape import EVERY, Cost, Effort, Groups, Scope, Shape
from nalm.solver.units.fill import _negated, _slices
from nalm.solver.units.stack import NoStackError, _height, _scaled_sum, stack
from nalm.solver.units.wiring import Kind, parts, placed, wires_below
from nalm.solver.verdict.candidate import Candidate, Finding, Status, Verdict
from nalm.solver.verdict.everywhere import Contradictions

X = np.random.default_rng(0).uniform(1, 2, (60, 2))
PROBLEM = Problem(X, X[:, 0])
SCOPE = Scope(PROBLEM, Effort())


def formula(k: int) -> Formula:
    return total([(Fraction(k), Input(0))])


def shape(*groups: list[int], name: str = "by hand", blurred: Cost | None = None) -> Shape:
    def propose(_: Scope) -> Groups:
        for group in groups:
            yield (formula(k) for k in group)

    return Shape(name, Cost.CLOSED_FORM, propose, blurred)


@pytest.fixture
def statuses(monkeypatch: pytest.MonkeyPatch) -> dict[int, Status]:
    """What a judge says to each multiple of the input; nothing by default."""
    said: dict[int, Status] = {}

    def judge(_: Problem, judged: Formula, name: str) -> Verdict:
        number = int(judged.terms[0][0]) if isinstance(judged, WeightedSum) else 1
        return Verdict(Candidate(judged, name, 0.5, 0.1), said.get(number, Status.NONE))

    monkeypatch.setattr(search, "judge", judge)
    return said


# -- the search ----------------------------------------------------------------------------------------------------


def multiples(tried: list[Verdict]) -> list[int]:
    return [int(v.candidate.formula.terms[0][0]) if isinstance(v.candidate.formula, WeightedSum) else 1 for v in tried]


def test_a_search_ends_with_the_group_of_the_first_find(statuses: dict[int, Status]) -> None:
    statuses[4] = Status.EXACT
    met: list[Verdict] = []
    names: list[str] = []
    shapes = [shape([2, 3], name="a"), shape([4, 5, 6], [7], name="b"), shape([8], name="c")]
    assert multiples(climb(SCOPE, shapes, names.append, met)) == [2, 3, 4, 5, 6]
    assert names == ["a", "b"]
    assert multiples(met) == [2, 3, 4]
    many = list(range(5, 5 + 2 * SETTINGS.rivals))
    assert len(climb(SCOPE, [shape([4, *many])])) == 1 + SETTINGS.rivals


def test_a_shape_is_left_after_so_many_in_vain_and_all_after_so_many_undecided(statuses: dict[int, Status]) -> None:
    long = list(range(2, 2 + SETTINGS.judged_in_vain + 50))
    statuses[long[-1]] = Status.EXACT
    found = climb(SCOPE, [shape(long), shape([9999])])
    assert len(found) == SETTINGS.judged_in_vain + 1
    for k in range(2, 200):
        statuses[k] = Status.AMBIGUOUS
    ten = [shape(list(range(2 + 10 * s, 12 + 10 * s))) for s in range(9)]
    assert len(climb(SCOPE, ten)) == SETTINGS.undecided


def test_where_data_are_blurred_a_shape_proposes_its_first_formulas_only() -> None:
    group = list(range(2, 2 + 3 * SETTINGS.blurred_group))
    plain = shape(*[group] * 200)
    (proposed,) = _first(plain).groups(SCOPE)
    listed = [int(f.terms[0][0]) for f in proposed if isinstance(f, WeightedSum)]
    assert listed[: SETTINGS.blurred_group + 1] == [*group[: SETTINGS.blurred_group], 2]
    assert len(listed) == SETTINGS.blurred_proposals
    (proposed,) = _first(shape(*[group] * 200, blurred=Cost.DEEP)).groups(SCOPE)
    assert len(list(proposed)) == SETTINGS.blurred_function_proposals


def test_a_claim_that_time_cut_short_is_only_ambiguous(monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(verdicts: list[Verdict]) -> Any:
        def searched(*args: Any) -> Finding:
            args[-1].extend(verdicts)
            raise OutOfTime

        return searched

    exact = Verdict(Candidate(Input(0), "s", 0.5, 0.0), Status.EXACT)
    none = Verdict(Candidate(Input(1), "s", 0.5, 0.001), Status.NONE)
    for verdicts, status in (([exact, none], Status.AMBIGUOUS), ([none], Status.NONE)):
        monkeypatch.setattr(search, "searched", stopped(verdicts))
        bent = Problem(X, np.sin(20 * X[:, 0]))  # which no line is near
        found = searched_within(100.0, bent, Effort(), False, lambda _: None)
        assert found.verdict.status is status
        assert found.verdict.reasons[0] == "the search was stopped by its limit of time"
        assert len(found.tried) == len(verdicts)
        assert found.verdict.candidate.formula == verdicts[0].candidate.formula


@pytest.fixture
def stages(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Which stages of a search are gone through, and after which noise is thought of."""
    gone: list[str] = []

    def climbed(_: Scope, shapes: list[Shape], *__: Any) -> list[Verdict]:
        gone.append("/".join(sorted({s.cost.name for s in shapes})))
        return [Verdict(Candidate(Input(1), "s", 9.0, 0.5), Status.NONE)]

    def blurred(exact: Finding, *_: Any) -> Finding:
        gone.append("noise")
        return exact

    monkeypatch.setattr(search, "climb", climbed)
    monkeypatch.setattr(search, "_blurred", blurred)
    monkeypatch.setattr(search, "levels_off", lambda _: False)
    monkeypatch.setattr(search, "telling", lambda _: None)
    return gone


def test_stages_go_from_cheap_to_deep_and_noise_is_thought_of_in_between(
    stages: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(effort: Effort, known: bool) -> list[str]:
        stages.clear()
        search.searched(PROBLEM, effort, known, lambda _: None)
        return list(stages)

    cheap, deep = "CLOSED_FORM/ITERATION", EFFORTS["normal"]
    assert run(deep, True) == [cheap, "SHALLOW", "DEEP"]
    assert run(deep, False) == [cheap, "noise", "SHALLOW", "noise", "DEEP", "noise"]
    assert run(EFFORTS["quick"], False) == [cheap, "noise", "SHALLOW"]
    assert run(replace(deep, costs=Cost.ITERATION), False) == [cheap]
    monkeypatch.setattr(search, "levels_off", lambda _: True)
    assert run(deep, False) == [cheap, "noise", "SHALLOW", "noise", "noise", "DEEP"]  # noise is likely: first
    among: list[list[str]] = []
    monkeypatch.setattr(search, "climb", lambda _, shapes, *__: among.append([s.name for s in shapes]) or [])
    monkeypatch.setattr(search, "telling", lambda _: ())  # the target passes for noise
    run(deep, True)
    assert among[-1] == ["wave"]
    assert len(among[0]) > 1
    monkeypatch.setattr(search, "telling", lambda _: (0,))  # one column tells of it, and leaves noise
    run(deep, False)
    assert among[-1] == []
    run(deep, True)  # of noise that is known, so that laws are searched for as without any
    assert len(among[-1]) > 1


def test_what_is_ambiguous_under_noise_is_kept_while_nothing_exact_is_found(
    stages: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    doubtful = Verdict(Candidate(Input(0), "s", 0.5, 0.0), Status.AMBIGUOUS)
    monkeypatch.setattr(search, "_blurred", lambda exact, *_: replace(exact, verdict=doubtful))
    found = search.searched(PROBLEM, EFFORTS["normal"], False, lambda _: None)
    assert found.verdict is doubtful
    quick = search.searched(PROBLEM, replace(EFFORTS["normal"], costs=Cost.SHALLOW), False, lambda _: None)
    assert quick.verdict.status is Status.NONE  # that of the cheap shapes is not believed, and the next did not ask
    claimed = Verdict(Candidate(Input(0), "s", 0.5, 0.0), Status.EXACT)
    monkeypatch.setattr(search, "_blurred", lambda exact, *_: replace(exact, verdict=claimed))
    stages.clear()
    assert search.searched(PROBLEM, EFFORTS["normal"], False, lambda _: None).verdict is claimed
    assert stages == ["CLOSED_FORM/ITERATION"]


# -- wrong rows ----------------------------------------------------------------------------------------------------


def test_a_law_at_most_rows_is_one_at_nineteen_of_twenty() -> None:
    law = Verdict(Candidate(Input(0), "s", 0.5, 0.0), Status.EXACT)
    for wrong, found in ((3, True), (4, False)):  # of sixty
        y = X[:, 0].copy()
        y[:wrong] += 1
        assert (_at_most_rows(Problem(X, y), law) is not None) == found
    few = Problem(X[:20], np.where(np.arange(20) == 3, 9.0, X[:20, 0]))
    other = Verdict(Candidate(Constant(Fraction(1)), "s", 0.5, 0.0), Status.EXACT)
    assert _at_most_rows(few, other) is None


def test_outliers_are_looked_for_where_rows_are_twice_those_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[int] = []

    def climbed(scope: Scope, _: list[Shape]) -> Iterator[Verdict]:
        drawn.append(scope.problem.rows)
        return iter(())

    monkeypatch.setattr(outliers, "climb", climbed)
    none = Verdict(Candidate(Input(1), "s", 9.0, 0.5), Status.NONE)

    def draws(rows: int, columns: int, status: Status = Status.NONE, noise: float = 0.0) -> list[int]:
        drawn.clear()
        table = np.random.default_rng(1).random((rows, columns))
        problem = Problem(table, np.arange(float(rows)))
        finding = Finding(replace(problem, noise=noise), (), replace(none, status=status))
        assert without_outliers(finding, gathered(problem), list(range(columns)), None) is finding
        return list(drawn)

    assert draws(24, 2) == [12] * SETTINGS.outlier_draws
    assert draws(23, 2) == []
    assert draws(36, 6) == [18] * SETTINGS.outlier_draws  # three for each column
    assert draws(35, 6) == []
    assert draws(36, 6, Status.AMBIGUOUS) == []
    assert draws(36, 6, Status.AMBIGUOUS, noise=0.01) == [18] * SETTINGS.outlier_draws  # what looks like noise may be
    listed = Contradictions(tuple(range(9)), 200, fits=False).named
    assert listed.endswith("0, 1, 2, 3, 4, 5, 6, 7 ...")
    assert Contradictions(tuple(range(8)), 200, fits=False).named.endswith("6, 7")


# -- the catalogue -------------------------------------------------------------------------------------------------


def test_trees_that_a_deeper_search_contains_are_left_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    from nalm.solver.shapes import catalogue

    asked: list[int] = []
    monkeypatch.setattr(catalogue, "tree", lambda *_, most_leaves, **__: asked.append(most_leaves) or iter(()))

    def searched(leaves: int, columns: dict[int, int]) -> bool:
        asked.clear()
        list(_trees(leaves).groups(Scope(PROBLEM, Effort(tree_columns=columns))))
        return asked == [leaves]

    assert searched(4, {4: 5})
    assert not searched(4, {4: 5, 5: 2})  # two columns: the deeper one has room for them
    assert searched(4, {4: 5, 5: 1})
    assert searched(4, {4: 5, 5: EVERY})
    assert searched(5, {5: 5, 6: 2})  # the shallow one comes long before
    assert not searched(6, {4: 5})
    assert [_trees(n).cost for n in (4, 5, 6, 7)] == [Cost.SHALLOW, Cost.SHALLOW, Cost.DEEP, Cost.DEEP]


def test_a_problem_seen_through_functions_is_asked_for_few_formulas() -> None:
    many = [list(range(2, 100))]
    two = [shape(*many, name="a"), shape(*many, name="b", blurred=Cost.DEEP)]
    found = [list(group) for group in _first_of(two)(PROBLEM)]
    assert [len(group) for group in found] == [SETTINGS.functional_proposals] * 2
    noisy = [list(group) for group in _first_of(two)(replace(PROBLEM, noise=0.1))]
    assert [len(group) for group in noisy] == [SETTINGS.functional_proposals_blurred]
    order = Scope(Problem(X, X[:, 1]), Effort())
    assert order.columns(1).tolist() == [1]
    assert order.columns(EVERY).tolist() == [0, 1]


# -- data ----------------------------------------------------------------------------------------------------------


def test_results_for_tables_are_kept_for_the_last_ones() -> None:
    calls: list[int] = []
    kept = once_for_table(2)(lambda table, k: calls.append(k) or float(table[0, 0]) + k)
    tables = [np.array([[float(i)]]) for i in range(3)]
    assert [kept(t, 1) for t in tables] == [1.0, 2.0, 3.0]
    assert kept(tables[2], 1) == 3.0
    assert kept(tables[1], 1) == 2.0
    assert len(calls) == 3
    kept(tables[0], 1)  # was the oldest of three
    assert len(calls) == 4
    kept(tables[2], 1)  # is by now
    assert len(calls) == 5


def test_rows_are_drawn_in_their_order_and_all_if_there_are_no_more() -> None:
    assert spread(5, 5, 0).tolist() == [0, 1, 2, 3, 4]
    drawn = spread(100, 20, 3)
    assert len(set(drawn.tolist())) == 20
    assert np.all(np.diff(drawn) > 0)
    assert not np.array_equal(drawn, spread(100, 20, 4))
    big = Problem(np.arange(100_001.0)[:, None], np.arange(100_001.0))
    assert [some.rows for some in chunks(big)] == [50_000, 50_000, 1]
    some, weights = _some(Problem(np.arange(50.0)[:, None], -np.arange(50.0)), np.arange(50.0), 10)
    assert 10 >= some.rows >= 8
    assert {0.0, 49.0} <= set(some.X[:, 0])
    np.testing.assert_array_equal(weights, some.X[:, 0])


def test_columns_are_standard_whatever_their_size() -> None:
    table = np.column_stack([X[:, 0] * 1e300, X[:, 1] * 1e-300, np.full(60, 5.0), np.zeros(60)])
    z = standard(table)
    np.testing.assert_allclose(z.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(z.std(axis=0), [1, 1, 0, 0], atol=1e-12)
    np.testing.assert_allclose(z[:, 0], (X[:, 0] - X[:, 0].mean()) / X[:, 0].std(), atol=1e-9)


def test_columns_are_tied_by_a_combination_that_never_changes() -> None:
    table = np.column_stack([X, X[:, 0] * 1e-3 + 7, np.random.default_rng(5).random(60)])
    (note,) = tied(Problem(table, X[:, 0]), ["a", "b", "c", "d"])
    assert note.startswith("columns a, c determine each other")
    nearly = table.copy()
    nearly[:, 2] += 1e-8 * np.sin(40 * X[:, 1])  # a hundred-thousandth of its spread
    assert tied(Problem(nearly, X[:, 0]), ["a", "b", "c", "d"]) == []
    few = Problem(table[:6], X[:6, 0])
    assert len(tied(few, ["a", "b", "c", "d"])) == 1
    assert tied(few.of_rows(slice(0, 5)), ["a", "b", "c", "d"]) == []
    assert tied(Problem(X[:, :0], X[:, 0]), []) == []


def test_only_a_number_in_front_of_all_or_an_offset_carries_a_unit() -> None:
    table = dimensions({"m": "kg", "n": "kg", "y": "N"}, ["m", "n"])
    assert table is not None
    m, n = Input(0), Input(1)
    alone = total([(Fraction(2), m)])
    assert len(list(table.of_numbers(alone))) == 1
    assert table.balance(alone)
    both = total([(Fraction(2), m), (Fraction(3), n)])
    assert list(table.of_numbers(both)) == []
    assert not table.balance(both)
    fitted = total([(2.5, m), (Fraction(4), ONE)])
    assert [number for number, _ in table.of_numbers(fitted)] == [2.5, Fraction(4)]
    assert table.balance(fitted)


def test_digits_are_the_fewest_that_keep_every_number() -> None:
    zero = np.zeros(2)
    found = _coarsest(np.array([0.25, 1.5]), zero, 0)
    assert found is not None
    assert found.tolist() == [0.005, 0.005]
    assert _coarsest(np.array([0.25, math.pi]), zero, 0) is None
    assert marks(np.array([-1.0, 1.0, 1.0]))
    assert marks(np.array([0.0, -1.0]))
    assert not marks(np.array([0.0, 2.0]))
    assert not marks(np.array([0.0, 1.0, -1.0]))
    assert not full(np.array([0.1, 0.25, 1e-5]))
    exact = Problem(np.arange(60.0)[:, None], np.sqrt(np.arange(60.0) + 0.5))
    assert exact.rounding == SETTINGS.fine_rounding  # whole inputs were set
    assert Problem(X.astype(np.float32).astype(float), X[:, 0]).rounding == SETTINGS.rounding


def test_noise_must_fit_in_the_mean_square_and_inputs_carry_no_more_than_a_share() -> None:
    rows = 50
    table, law = np.ones((rows, 1)), Constant(Fraction(0))
    most = 1 + 4 * math.sqrt(2 / rows)
    for factor, holds in ((0.999, True), (1.001, False)):
        y = np.full(rows, math.sqrt(factor * most))
        assert Problem(table, y, additive=1.0).holds(law) == holds
    cancelling = Problem(np.full((5, 1), 1e9), np.array([1.0, 2.0, 3.0, 4.0, 5.0]))
    by_input = np.ones((5, 1))
    carried = SETTINGS.most_carried * np.maximum(cancelling.y, 3.0)
    np.testing.assert_allclose(cancelling.tolerance(by_input), SETTINGS.rounding * cancelling.y + carried)
    pole = product([(total([(Fraction(1), Input(0)), (Fraction(-1), ONE)]), -1)])
    assert np.isinf(Problem(np.ones((5, 1)), np.ones(5)).errors(pole)).all()
    nothing = Problem(np.ones((5, 1)), np.zeros(5))
    assert nothing.blur == 0
    assert replace(nothing, additive=2.0).blur == 2.0
    assert nothing.errors(Constant(Fraction(0))).tolist() == [0.0] * 5


# -- formulas ------------------------------------------------------------------------------------------------------

FORMULAS: list[Formula] = [
    total([(2.5, product([(Input(0), Fraction(3, 2)), (Input(1), -1)])), (-1.5, ONE)]),
    product([(total([(1.5, Input(0)), (Fraction(2), Input(1))]), -2), (Input(0), 1)]),
    Applied(Function.SIN, total([(1.3, Input(0)), (0.4, ONE)])),
    product([(Applied(Function.EXP, WeightedSum(((0.7, Input(1)),))), 1), (Input(0), 2)]),
    total([(Fraction(1), Applied(Function.LOG, Input(0))), (2.5, product([(Input(1), 2)]))]),
]


@pytest.mark.parametrize("law", FORMULAS)
def test_derivatives_are_those_of_differences(law: Formula) -> None:
    from nalm.solver.formula.algebra import with_constants

    value, by_input, by_constant = gradients(law, X)
    np.testing.assert_allclose(value, evaluate(law, X))
    step = 1e-6
    for i in range(2):
        moved = X.copy()
        moved[:, i] += step
        np.testing.assert_allclose(by_input[:, i], (evaluate(law, moved) - value) / step, rtol=1e-4, atol=1e-5)
    constants = real_constants(law)
    for k in range(len(constants)):
        changed = [c + step * (j == k) for j, c in enumerate(constants)]
        slope = (evaluate(with_constants(law, changed), X) - value) / step
        np.testing.assert_allclose(by_constant[:, k], slope, rtol=1e-4, atol=1e-5)


def test_what_exponents_and_arguments_move() -> None:
    x, z = X.T
    (one,) = exponent_moves(Input(0), X)
    np.testing.assert_allclose(one.move, x * np.log(x))
    assert (one.exponent, one.plain) == (1, True)
    moves = exponent_moves(WeightedSum(((3.0, product([(Input(0), 2), (Input(1), -1)])),)), X)
    np.testing.assert_allclose(moves[0].move, 3 * x**2 / z * np.log(x))
    np.testing.assert_allclose(moves[1].move, 3 * x**2 / z * np.log(z))
    assert [m.plain for m in moves] == [True, True]
    assert exponent_moves(total([(Fraction(1), Input(0)), (Fraction(1), Input(1))]), X) == []  # a line in a sum
    inner = product([(total([(Fraction(1), product([(Input(0), 2)])), (Fraction(1), Input(1))]), Fraction(1, 2))])
    outer, square = exponent_moves(inner, X)
    root = np.sqrt(x**2 + z)
    np.testing.assert_allclose(outer.move, root * np.log(x**2 + z))
    np.testing.assert_allclose(square.move, x**2 * np.log(x) / (2 * root))
    assert (outer.plain, square.plain) == (False, False)
    (bend,) = argument_bends(WeightedSum(((2.0, Applied(Function.SIN, total([(Fraction(3), Input(0))]))),)), X)
    np.testing.assert_allclose(bend.argument, 3 * x)
    np.testing.assert_allclose(bend.by_square, 2 * np.cos(3 * x) * 9 * x**2)
    np.testing.assert_allclose(bend.by_cube, 2 * np.cos(3 * x) * 27 * x**3)
    inside = argument_bends(product([(Applied(Function.SIN, Applied(Function.EXP, Input(0))), 2), (Input(1), 1)]), X)
    np.testing.assert_allclose(inside[0].by_square, z * 2 * np.sin(np.exp(x)) * np.cos(np.exp(x)) * np.exp(2 * x))
    np.testing.assert_allclose(inside[1].by_square, z * 2 * np.sin(np.exp(x)) * np.cos(np.exp(x)) * np.exp(x) * x**2)
    moves_of = coefficient_moves(total([(Fraction(2), Input(0)), (Fraction(3), Input(1))]), X)
    np.testing.assert_allclose(moves_of, X)


def test_freedoms_are_a_factor_coefficients_and_exponents() -> None:
    x, z = X.T
    value, moves = freedoms(total([(Fraction(2), Input(0)), (Fraction(3), Input(1))]), X)
    np.testing.assert_allclose(value, 2 * x + 3 * z)
    np.testing.assert_allclose(moves, np.column_stack([value, 2 * x * np.log(x), 3 * z * np.log(z), 3 * z]))
    value, moves = freedoms(product([(total([(Fraction(1), Input(0)), (Fraction(1), Input(1))]), 2)]), X)
    u = x + z
    wanted = [u**2, 2 * u * x * np.log(x), 2 * u * z * np.log(z), 2 * u * z, u**2 * np.log(u)]
    np.testing.assert_allclose(moves, np.column_stack(wanted))
    value, moves = freedoms(Applied(Function.EXP, product([(Input(0), 2)])), X)
    np.testing.assert_allclose(moves, np.exp(x**2)[:, None] * np.column_stack([np.ones(60), x**2, x**2 * np.log(x)]))
    at_zero = freedoms(Input(0), np.array([[0.0], [2.0]]))[1]
    np.testing.assert_allclose(at_zero, [[0.0, 0.0], [2.0, 2 * math.log(2)]])


def test_formulas_are_written_in_one_way() -> None:
    x, z = Input(0), Input(1)
    both = total([(Fraction(1), x), (Fraction(1), z)])
    assert total([(Fraction(2), both), (Fraction(-2), x)]) == WeightedSum(((Fraction(2), z),))
    assert total([(2.5, both)]) == WeightedSum(((2.5, both),))  # one fitted number, not two
    assert total([(Fraction(1), x), (Fraction(-1), x)]) == Constant(Fraction(0))
    assert total([(Fraction(4), ONE)]) == Constant(Fraction(4))
    negative = WeightedSum(((Fraction(-1), x), (Fraction(-2), z)))
    flipped = WeightedSum(((Fraction(1), x), (Fraction(2), z)))
    assert product([(negative, 2)]) == PowerProduct(((flipped, Fraction(2)),))
    assert product([(negative, -1)]) == WeightedSum(((Fraction(-1), PowerProduct(((flipped, Fraction(-1)),))),))
    twice = WeightedSum(((Fraction(-2), x),))
    assert product([(twice, 3)]) == WeightedSum(((Fraction(-8), PowerProduct(((x, Fraction(3)),))),))
    assert product([(twice, Fraction(1, 2))]) == PowerProduct(((twice, Fraction(1, 2)),))  # no root of -2
    assert product([(x, 2), (x, -2)]) == Constant(Fraction(1))
    assert product([(ONE, Fraction(1, 2)), (x, 1)]) == x  # and no fitted 1.0
    assert product([(product([(x, 2)]), Fraction(1, 2))]) == PowerProduct(((product([(x, 2)]), Fraction(1, 2)),))
    root = product([(WeightedSum(((Fraction(4), x),)), Fraction(1, 2))])
    assert real_constants(root) == [2.0]
    assert product([(Constant(Fraction(-4)), Fraction(1, 2))]) == PowerProduct(
        ((Constant(Fraction(-4)), Fraction(1, 2)),)
    )
    moved = exponential(WeightedSum(((math.log(3.0), ONE), (2.0, x))))
    assert isinstance(moved, WeightedSum)
    assert moved.terms[0][0] == pytest.approx(3.0)
    assert isinstance(exponential(WeightedSum(((701.0, ONE), (2.0, x)))), Applied)
    assert isinstance(exponential(WeightedSum(((699.0, ONE), (2.0, x)))), WeightedSum)
    assert exponential(WeightedSum(((1.0, x), (2.0, z)))) == Applied(Function.EXP, WeightedSum(((1.0, x), (2.0, z))))
    assert functions(Applied(Function.SIN, Applied(Function.EXP, x))) == 2
    assert [size(f) for f in (x, total([(Fraction(-1), x), (Fraction(2), z)]), product([(x, -1), (z, 2)]))] == [1, 3, 3]


def test_bounds_of_sums_and_products_are_sharp_for_inputs_that_stand_once() -> None:
    low, high = np.array([1.0, -2.0]), np.array([3.0, 5.0])
    x, z = Input(0), Input(1)
    assert _bounds(total([(Fraction(2), x), (Fraction(-1), z), (Fraction(1), ONE)]), low, high) == NumberRange(
        -2.0, 9.0
    )
    assert _bounds(product([(x, -1), (z, 1)]), low, high) == NumberRange(-2.0, 5.0)
    assert _bounds(product([(x, 2), (z, 2)]), low, high) == NumberRange(0.0, 225.0)
    assert _bounds(product([(z, -1)]), low, high) is None
    assert _bounds(total([(Fraction(1), Applied(Function.LOG, z))]), low, high) is None


def test_coefficients_are_set_free_once_each() -> None:
    x, z = Input(0), Input(1)
    ratio = product([(total([(Fraction(2), x), (Fraction(3), z)]), -1)])
    assert len(real_constants(with_real_coefficients(ratio))) == 2  # the front, and one of the two inside
    inside = Applied(Function.SIN, total([(Fraction(2), x), (Fraction(3), z)]))
    assert len(real_constants(with_real_coefficients(inside))) == 3
    grown = Applied(Function.EXP, total([(Fraction(2), x), (Fraction(3), ONE)]))
    assert len(real_constants(with_real_coefficients(grown))) == 2  # a factor in front would be the constant inside
    power = Applied(
        Function.EXP, WeightedSum(((1.5, Applied(Function.LOG, total([(Fraction(2), x), (Fraction(1), ONE)]))),))
    )
    assert len(real_constants(with_real_coefficients(power))) == 3
    fitted = product([(WeightedSum(((1.5, x), (2.5, z))), 2)])
    assert len(real_constants(with_real_coefficients(fitted))) == 2


def test_numbers_are_recognised_while_that_is_no_chance() -> None:
    first, text = _simplest_first()[0]
    assert (first, text) == (math.pi, "pi")
    most = SETTINGS.named_chance / 2 / SETTINGS.fraction_reach * math.pi  # the deviation at which the first is chance
    assert recognised(math.pi, 0.99 * most) == "pi"
    assert recognised(math.pi, 1.01 * most) == ""
    reach = SETTINGS.fraction_reach * 1e-9
    assert recognised(-math.pi + 0.99 * reach, 1e-9) == "-pi"
    assert recognised(-math.pi + 1.01 * reach, 1e-9) == ""
    assert recognised(math.pi * (1 + 0.9e-12), 0.0) == "pi"
    assert recognised(3 * math.pi / 4, 1e-12) == "3*pi/4"
    assert recognised(2 / math.sqrt(math.pi), 1e-12) == "2/sqrt(pi)"


# -- units ---------------------------------------------------------------------------------------------------------


def test_wires_are_copied_as_often_as_some_output_needs_them() -> None:
    x, z = Input(0), Input(1)
    assert wires_below([[(x, 2), (z, -1)], [(x, -3)]]) == [x, x, x, z]
    assert placed([(x, 2)], [x, z, x]) == {0: 1, 2: 1}
    assert placed([(x, -2)], [x, z, x]) == {0: -1, 2: -1}
    assert placed([(x, 3)], [x, z, x]) is None
    assert placed([(x, 2)], [x, z], (0, 1, 2)) == {0: 2}
    assert placed([(x, -1)], [x], (0, 1)) is None
    assert parts(total([(Fraction(1, 2), x), (Fraction(1), z)]), Kind.SUM) is None
    assert parts(ONE, Kind.PRODUCT) == []
    assert parts(ONE, Kind.SUM) == [(ONE, 1)]
    assert parts(product([(x, Fraction(1, 2))]), Kind.PRODUCT) is None
    assert _slices([(x, 2), (z, -1)]) == [
        (total([(Fraction(1), x), (Fraction(-1), z)]), 1),
        (x, 1),
    ]
    assert _negated([(x, 2), (z, 3)]) == [(x, 2), (total([(Fraction(-1), z)]), 3)]
    assert _negated([(x, 2)]) is None


def test_stacks_take_whole_numbers_up_to_so_many_copies() -> None:
    x, z = Input(0), Input(1)
    most = SETTINGS.most_copies
    _scaled_sum([(Fraction(most), x)])
    with pytest.raises(NoStackError, match="too large"):
        _scaled_sum([(Fraction(most + 1), x)])
    with pytest.raises(NoStackError, match="too large"):
        _scaled_sum([(Fraction(1, most + 1), x)])
    thirds = _scaled_sum([(Fraction(1, 2), x), (Fraction(2, 3), z)])
    np.testing.assert_allclose(evaluate(thirds, X), X @ [1 / 2, 2 / 3])
    assert [_height(f) for f in (x, ONE, total([(Fraction(2), x), (Fraction(1), ONE)]))] == [0, 1, 2]
    import torch

    laws = [
        total([(Fraction(2), x), (Fraction(-1, 2), z)]),
        product([(total([(Fraction(1), x), (Fraction(2), ONE)]), 2), (z, -1)]),
        total([(Fraction(3), product([(x, 2)])), (Fraction(-1), z), (Fraction(1), ONE)]),
    ]
    for law in laws:
        unit = stack(law, 2).double()
        with torch.no_grad():
            computed = unit(torch.tensor(X))[:, 0].numpy()
        np.testing.assert_allclose(computed, evaluate(law, X), rtol=1e-5)
