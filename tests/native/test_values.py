"""The graph of a step before it is code: what is folded, what is one value, between which numbers a value lies."""

from __future__ import annotations

import math

import numpy as np
import pytest

from nalm.native.bounds import bounds
from nalm.native.values import Graph, Varies, is_number, number, reachable, split


def test_constants_are_folded_in_float32() -> None:
    g = Graph()
    third = g.apply("div", g.constant(1.0), g.constant(3.0))
    assert third.op == "constant"
    assert number(third) == np.float32(1 / 3)
    assert is_number(third, np.float32(1 / 3))
    assert not is_number(g.constant(True), 1.0)
    assert (g.constant(0.0).kind, g.constant(False).kind) == ("float", "bool")  # although 0 == False
    assert number(g.apply("lt", g.constant(1.0), g.constant(2.0))) is True
    assert number(g.constant(1e40)) == np.inf


def test_equal_expressions_are_one_value_and_some_commute() -> None:
    g = Graph()
    a, b = g.make("leaf", data="a", varies=Varies.RUN), g.make("leaf", data="b", varies=Varies.SAMPLE)
    assert g.apply("add", a, b) is g.apply("add", b, a)
    assert g.apply("sub", a, b) is not g.apply("sub", b, a)
    assert g.apply("add", a, b).varies == Varies.RUN | Varies.SAMPLE
    total = g.reduce("sum_samples", (g.apply("add", a, b),), Varies.SAMPLE, (1,))
    assert (total.varies, total.level, a.level) == (Varies.RUN, 1, 0)
    product = g.apply("mul", a, b)
    assert split(product) == (a, b)
    assert split(b) == (None, b)
    assert split(a) == (a, None)
    assert [value.uid for value in reachable([product])] == [a.uid, b.uid, product.uid]


def test_between_which_numbers_a_value_lies() -> None:
    g = Graph()
    leaf, draw = g.make("leaf", data="x"), g.make("draw", data="u")
    two = g.constant(2.0)
    assert bounds(leaf) == (-math.inf, math.inf)
    assert bounds(two) == (2, 2)
    assert bounds(draw) == (0, 1)
    assert bounds(g.apply("sigmoid", leaf)) == (0, 1)
    assert bounds(g.apply("exp", leaf)) == (0, math.inf)
    assert bounds(g.apply("add", draw, two)) == (2, 3)
    assert bounds(g.apply("min", draw, g.constant(0.5))) == (0, 0.5)
    assert bounds(g.apply("max", leaf, two)) == (2, math.inf)
    assert bounds(g.apply("mul", leaf, leaf)) == (0, math.inf)
    assert bounds(g.apply("mul", leaf, two)) == (-math.inf, math.inf)


@pytest.mark.parametrize(("least", "expected"), [(0.5, 0.5 * 0.999), (3.0, 0.999)])
def test_a_gate_stays_between_what_it_lets_through_and_one(least: float, expected: float) -> None:
    g = Graph()
    gate = g.make("draw", data="g")
    through = g.apply("max", g.make("leaf", data="v"), g.constant(least))
    closed = g.apply("sub", g.constant(1.0), gate)
    mixed = g.apply("add", g.apply("mul", gate, through), closed)
    assert bounds(mixed)[0] == pytest.approx(expected)
    free = g.make("leaf", data="h")  # no gate: it may be anything
    other = g.apply("add", g.apply("mul", free, through), g.apply("sub", g.constant(1.0), free))
    assert bounds(other)[0] == -math.inf
