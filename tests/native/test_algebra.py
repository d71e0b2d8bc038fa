"""Rewriting: each rule gives an equal value that costs a loop less."""

from __future__ import annotations

from nalm.native.algebra import Algebra
from nalm.native.values import Value, Varies


def leaf(g: Algebra, name: str, varies: Varies) -> Value:
    return g.make("leaf", data=name, varies=varies)


def summed(g: Algebra, value: Value) -> Value:
    return g.reduce("sum_samples", (value,), Varies.SAMPLE, (1,))


def test_two_sums_over_the_samples_become_one() -> None:
    g = Algebra()
    v, w = (leaf(g, name, Varies.SAMPLE) for name in "vw")
    c, y = (leaf(g, name, Varies.RUN) for name in "cy")
    both = g.add(summed(g, v), summed(g, w))
    assert (both.op, both.args, both.data) == ("sum_samples", (v, w), (1, 1))
    assert g.sub(summed(g, v), summed(g, w)).data == (1, -1)
    scaled = g.add(g.mul(c, summed(g, v)), g.mul(c, summed(g, w)))
    assert scaled is g.mul(c, both), "a factor of both stands in front"
    opposite = g.add(g.mul(c, summed(g, v)), g.mul(g.neg(c), summed(g, w)))
    assert opposite is g.mul(c, g.sub(summed(g, v), summed(g, w)))
    assert g.add(g.add(y, summed(g, v)), summed(g, w)) is g.add(y, both), "also within a longer sum"
    other = g.add(g.mul(c, summed(g, v)), g.mul(y, summed(g, w)))
    assert other.op == "add", "different factors stay apart"


def test_numbers_of_the_run_are_gathered_in_front_of_what_varies() -> None:
    g = Algebra()
    p, b = (leaf(g, name, Varies.RUN) for name in "pb")
    v = leaf(g, "v", Varies.SAMPLE)
    for total in (g.add(g.add(p, v), b), g.add(b, g.add(p, v))):
        assert set(total.args) == {g.add(p, b), v}
    assert set(g.sub(g.add(p, v), b).args) == {g.sub(p, b), v}


def test_what_only_the_seed_decides_is_added_and_multiplied_once_per_seed() -> None:
    g = Algebra()
    p, q, s = (leaf(g, name, Varies.RUN) for name in "pqs")
    r, t = (leaf(g, name, Varies.SAMPLE) for name in "rt")
    first, second = g.add(p, g.mul(q, r)), g.add(s, g.mul(q, t))
    total = g.add(first, second)
    assert set(total.args) == {g.add(p, s), g.mul(q, g.add(r, t))}
    a = leaf(g, "a", Varies.NOWHERE)
    assert set(g.mul(a, first).args) == {g.mul(a, p), g.make("mul", (q, g.mul(a, r)))}


def test_a_factor_without_samples_moves_to_the_front() -> None:
    g = Algebra()
    c, d = (leaf(g, name, Varies.RUN) for name in "cd")
    v, w = (leaf(g, name, Varies.SAMPLE) for name in "vw")
    assert g.mul(g.mul(c, v), g.mul(d, w)).args == (g.mul(c, d), g.mul(v, w))
    assert g.div(g.mul(c, v), w).args == (c, g.div(v, w))
    assert g.div(v, g.constant(4.0)) is g.mul(g.constant(0.25), v), "by a power of two is exact"
    assert g.div(v, g.constant(3.0)).op == "div"


def test_a_function_of_a_choice_is_a_choice_of_results() -> None:
    g = Algebra()
    a, b = (leaf(g, name, Varies.RUN) for name in "ab")
    v = leaf(g, "v", Varies.SAMPLE)
    condition = g.apply("lt", v, g.constant(0.0))
    chosen = g.function("exp", g.select(condition, a, b))
    assert chosen is g.select(condition, g.function("exp", a), g.function("exp", b))
    kept = g.function("exp", g.select(condition, v, b))
    assert kept.op == "exp", "a choice of what varies is computed first"
    assert g.select(g.constant(True), a, b) is a
    assert g.select(condition, a, a) is a
