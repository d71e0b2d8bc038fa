"""Logic units read as logic: trained gates become Boolean formulas, registers become relations."""

from __future__ import annotations

import itertools

import pytest
import torch
from sympy import And, Eq, Ge, Gt, Le, Lt, Ne, Not, Or, Symbol, false, true

import nalm
from tests.units.by_hand import put

A, B = Symbol("a", real=True), Symbol("b", real=True)
LINES = torch.tensor(list(itertools.product([0.0, 1.0], repeat=2)), dtype=torch.float64)
ON, OFF = 9.0, -9.0


def rule(
    negated: list[list[float]], used: list[list[float]], output: list[float], block: str = "both", inputs: int = 2
) -> nalm.Unit:
    return put(nalm.NLRL(inputs, len(output), block=block), n_hat=negated, A=used, s_hat=output)


@pytest.mark.parametrize(
    ("block", "output", "expected"),
    [
        ("both", OFF, And(A, Not(B))),
        ("both", ON, Or(A, Not(B))),
        ("and", OFF, And(A, Not(B))),
        ("and", ON, Or(Not(A), B)),
        ("or", OFF, Or(A, Not(B))),
        ("or", ON, And(Not(A), B)),
    ],
)
def test_one_rule(block: str, output: float, expected: object) -> None:
    unit = rule([[OFF, ON]], [[0.9, 0.8]], [output], block)
    decision = nalm.read_logic(unit, ["a", "b"])
    assert decision.outputs == (expected,)
    assert decision.disagreement(LINES) == 0


def test_unused_inputs_are_left_out_and_empty_rules_are_constant() -> None:
    assert nalm.read_logic(rule([[OFF, ON]], [[0.9, 0.1]], [OFF]), ["a", "b"]).outputs == (A,)
    assert nalm.read_logic(rule([[OFF, ON]], [[0.1, 0.1]], [OFF]), ["a", "b"]).outputs == (true,)
    assert nalm.read_logic(rule([[OFF, ON]], [[0.1, 0.1]], [ON]), ["a", "b"]).outputs == (false,)


def test_two_layers_are_exclusive_or() -> None:
    first = rule([[OFF, ON], [ON, OFF]], [[1.0, 1.0], [1.0, 1.0]], [OFF, OFF])
    second = rule([[OFF, OFF]], [[1.0, 1.0]], [ON])
    decision = nalm.read_logic(nalm.Chain(first, second), ["a", "b"])
    assert decision.outputs == (Or(And(A, Not(B)), And(B, Not(A))),)
    assert decision.disagreement(LINES) == 0
    wrong = nalm.read_logic(second, ["a", "b"])
    assert wrong.disagreement(LINES) == 0
    assert str(wrong) == "a | b"


def register(sign: float, zero: float, shift: float, first: int = 0) -> nalm.Unit:
    chosen = [[0.0, 9.0] if first else [9.0, 0.0]]
    other = [[9.0, 0.0] if first else [0.0, 9.0]]
    return put(nalm.NSR(2, 2), V1_hat=chosen, V2_hat=other, w_sign=[sign], w_zero=[zero], b=[shift])


@pytest.mark.parametrize(
    ("sign", "zero", "shift", "expected"),
    [
        (9, 0, -4, Gt(A, B)),
        (-9, 0, -4, Lt(A, B)),
        (9, 0, 4, Ge(A, B)),
        (-9, 0, 4, Le(A, B)),
        (0, 9, 0, Eq(A, B)),
        (0, -9, 0, Ne(A, B)),
        (0, 0, 4, true),
        (0, 0, -4, false),
    ],
)
def test_relations(sign: float, zero: float, shift: float, expected: object) -> None:
    x = torch.tensor(list(itertools.product([-5.0, 0.0, 5.0], repeat=2)), dtype=torch.float64)
    decision = nalm.read_logic(register(sign, zero, shift), ["a", "b"])
    assert decision.outputs[0] == expected
    assert decision.outputs[1] == Not(expected)
    assert decision.disagreement(x) == 0
    assert nalm.read_logic(register(0.01 * sign, 0.01 * zero, 0.01 * shift), ["a", "b"]).outputs[0] == expected


def test_inputs_may_be_called_like_functions_of_numpy() -> None:
    x = torch.tensor(list(itertools.product([-5.0, 0.0, 5.0], repeat=2)), dtype=torch.float64)
    assert nalm.read_logic(register(-4, 4, 1), ["less", "less_equal"]).disagreement(x) == 0
    unit = rule([[OFF, ON]], [[1.0, 1.0]], [ON])
    assert nalm.read_logic(unit, ["logical_or", "logical_not"]).disagreement(LINES) == 0


def test_the_order_of_operands_and_redundant_pairs() -> None:
    assert nalm.read_logic(register(9, 0, -4, first=1), ["a", "b"]).outputs[0] == Gt(B, A)
    both = nalm.NSR(2, 2, redundancy=2)
    put(
        both,
        V1_hat=[[[9.0, 0.0]], [[0.0, 9.0]]],
        V2_hat=[[[0.0, 9.0]], [[9.0, 0.0]]],
        w_sign=[[3.0], [-9.0]],  # the second pair is turned round, and agrees
        w_zero=[[0.0], [0.0]],
        b=[[-2.0], [-2.0]],
    )
    assert nalm.read_logic(both, ["a", "b"]).outputs[0] == Gt(A, B)
    three = nalm.NSR(3, 2, redundancy=2)
    put(three, V1_hat=[[9.0, 0, 0], [0, 9.0, 0]], V2_hat=[[0, 9.0, 0], [0, 0, 9.0]])
    with pytest.raises(ValueError, match="compare different inputs"):
        nalm.read_logic(three)


def test_units_that_decide_nothing_say_so() -> None:
    with pytest.raises(TypeError, match="NMU decides nothing"):
        nalm.read_logic(nalm.NMU(2, 1))
    with pytest.raises(ValueError, match="has 2 inputs, but 3 names"):
        nalm.read_logic(nalm.NLRL(2, 1), ["a", "b", "c"])
    with pytest.raises(ValueError, match="nothing to compare"):
        nalm.Decision((A,), (A,)).disagreement(LINES)


def test_a_choice_is_two_sums_and_a_condition() -> None:
    unit = nalm.NSRChoice(2, 1)
    put(unit.condition, V1_hat=[[40.0, 0]], V2_hat=[[0, 40.0]], w_sign=[40.0], w_zero=[0.0], b=[0.0])
    put(unit.first, W=[1, -1])
    put(unit.second, W=[-1, 1])
    x = torch.tensor([[3.0, 5.0], [5.0, 3.0], [-2.0, -9.0]], dtype=torch.float64)
    torch.testing.assert_close(unit.double()(x), (x[:, :1] - x[:, 1:]).abs())
    assert str(nalm.read(unit.first, ["a", "b"])) == "a - b"


def test_a_loop_finds_the_minimum_and_another_counts() -> None:
    loop = nalm.RecurrentNSR(4, 1)
    (cell,) = loop.cells
    put(cell.condition, V1_hat=[[40.0, 0]], V2_hat=[[0, 40.0]], w_sign=[-40.0], w_zero=[0.0], b=[0.0])
    put(cell.first, W=[1, 0])
    put(cell.second, W=[0, 1])
    x = torch.tensor([[3.0, 5.0, -2.0, 7.0], [1.0, 9.0, 8.0, 4.0]], dtype=torch.float64)
    torch.testing.assert_close(loop.double()(x), torch.tensor([[-2.0], [1.0]], dtype=torch.float64))
    count = nalm.NSRCount(4, 1)
    put(count.condition, V1_hat=[[40.0, 0]], V2_hat=[[0, 40.0]], w_sign=[0.0], w_zero=[40.0], b=[0.0])
    put(count.gain, W=[1, 0])
    y = torch.tensor([[3.0, 3.0, 1.0, 3.0], [1.0, 9.0, 8.0, 4.0]], dtype=torch.float64)
    torch.testing.assert_close(count.double()(y), torch.tensor([[2.0], [0.0]], dtype=torch.float64))
    with pytest.raises(ValueError, match="at least 2"):
        nalm.NSRCount(1, 1)
