"""Tables of whole numbers and of marks: what a row tells is little, and a rule is claimed once enough rows show it."""

from __future__ import annotations

from itertools import product as every

import numpy as np
import pytest

from nalm.solver import Status, solve
from nalm.solver.data.digits import marks, whole
from nalm.solver.data.problem import Problem
from nalm.solver.formula.algebra import Input, product
from nalm.solver.formula.calculus import evaluate
from nalm.solver.formula.notation import show
from nalm.solver.settings import SETTINGS
from nalm.solver.shapes.marks import rule_of_marks
from nalm.solver.verdict.certainty import doubt, evidence_bits

CLAIMS = (Status.EXACT, Status.REAL)
RULES = {
    "and": (lambda a, b, _: a * b, "x0*x1"),
    "xor": (lambda a, b, _: (a + b) % 2, "-2*x0*x1 + x0 + x1"),
    "or": (lambda a, b, c: np.maximum(np.maximum(a, b), c), "x0*x1*x2 - x0*x1 - x0*x2 + x0 - x1*x2 + x1 + x2"),
    "majority": (lambda a, b, c: (a + b + c > 1) * 1.0, "-2*x0*x1*x2 + x0*x1 + x0*x2 + x1*x2"),
}


def table(rows: int, columns: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 2, (rows, columns)).astype(np.float64)


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_of_marks_is_claimed_when_rows_show_it_and_not_before(rule: str) -> None:
    law, written = RULES[rule]
    many, few = table(300, 9), np.array(list(every((0.0, 1.0), repeat=3)))
    found = solve(many, law(*many.T[:3]), names=[f"x{i}" for i in range(9)])
    assert found.status is Status.EXACT
    assert str(found.expression) == written
    assert solve(few, law(*few.T)).status not in CLAIMS  # eight rows are eight bits


@pytest.mark.parametrize("seed", range(4))
def test_nothing_is_claimed_of_random_marks(seed: int) -> None:
    X = table(8 + 4 * seed, 8, seed)
    assert solve(X, np.random.default_rng(seed + 50).integers(0, 2, len(X)).astype(np.float64)).status not in CLAIMS


def test_the_columns_that_decide_are_found_and_no_more_of_them() -> None:
    X = 2 * table(60, 6) - 1
    (group,) = rule_of_marks(Problem(X, X[:, 1] * X[:, 4]), np.arange(6))
    assert [show(formula) for formula in group] == ["x1*x4"]
    (group,) = rule_of_marks(Problem(X, np.maximum(X[:, 1], X[:, 4])), np.arange(6))
    (formula,) = group
    np.testing.assert_allclose(evaluate(formula, X), np.maximum(X[:, 1], X[:, 4]))
    assert not list(rule_of_marks(Problem(X, X[:, 1] + 0.5), np.arange(6)))  # no whole number
    assert not list(rule_of_marks(Problem(X[:6], np.arange(6.0)), np.arange(6)))  # nothing decides it
    decided = table(200, 6)[:, : SETTINGS.marks_in_rule + 1]
    assert not list(rule_of_marks(Problem(decided, decided.sum(axis=1) % 2), np.arange(decided.shape[1])))


def test_a_row_of_marks_tells_one_bit_and_one_of_larger_whole_numbers_more() -> None:
    X = table(64, 3)
    distinct = len(np.unique(X, axis=0))
    formula = product([(Input(0), 1), (Input(1), 1)])
    spread = np.std(X[:, 0] * X[:, 1])
    assert evidence_bits(Problem(X, X[:, 0] * X[:, 1]), formula) == pytest.approx(distinct * np.log2(2 * spread + 1))
    large = np.random.default_rng(0).integers(1, 50, (20, 2)).astype(np.float64)
    bits = evidence_bits(Problem(large, large[:, 0] * large[:, 1]), formula)
    assert bits == pytest.approx(20 * np.log2(2 * np.std(large[:, 0] * large[:, 1]) + 1))
    real = large + 0.25
    assert evidence_bits(Problem(real, real[:, 0] * real[:, 1] / 3), formula) > 1.5 * bits


def test_rows_that_repeat_what_is_read_count_only_for_a_truth_table() -> None:
    X = np.column_stack([table(200, 1)[:, 0], np.random.default_rng(1).integers(0, 40, 200)]).astype(np.float64)
    assert doubt(Problem(X, X[:, 0]), Input(0)) == ""
    assert "too few rows" in doubt(Problem(X, 0.5 * X[:, 0]), Input(0))  # no whole number
    X[:, 0] *= 2  # a measure
    assert "too few rows" in doubt(Problem(X, X[:, 0]), Input(0))


@pytest.mark.parametrize("rows", [6, 20])
def test_whole_numbers_need_more_rows_than_measured_ones(rows: int) -> None:
    X = np.random.default_rng(3).integers(0, 10, (rows, 2)).astype(np.float64)
    claimed = solve(X, X[:, 0] + X[:, 1]).status in CLAIMS
    assert claimed == (rows == 20)
    measured = X + np.random.default_rng(4).uniform(0, 1, X.shape)
    assert solve(measured, measured[:, 0] + measured[:, 1]).status is Status.EXACT


def test_marks_and_whole_numbers() -> None:
    assert marks(np.array([0.0, 1.0, 1.0]))
    assert marks(np.array([-1.0, 1.0]))
    assert not marks(np.array([0.0, 2.0]))
    assert not marks(np.array([0.0, 1.0, -1.0]))
    assert whole(np.array([3.0, -4.0]))
    assert not whole(np.array([3.0, 0.5]))
