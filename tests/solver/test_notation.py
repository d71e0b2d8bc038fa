"""How formulas are written."""

from __future__ import annotations

import math

import numpy as np
import pytest
import sympy

from nalm.solver import Status, solve
from nalm.solver.formula.notation import neat
from nalm.solver.formula.recognised import NAMED, _simplest_first, recognised

A, B = sympy.symbols("a b")


@pytest.mark.parametrize(
    ("long", "short"),
    [
        ("sqrt(a**2 - 2*a*b + b**2)", "Abs(a - b)"),
        ("sqrt(4*a**2 + 24*a*b + 36*b**2)", "2*Abs(a + 3*b)"),
        ("b*sqrt(a**4)", "a**2*b"),
        ("a**2 + 2*a*b + b**2", "(a + b)**2"),
    ],
)
def test_the_shortest_way_to_write_a_formula_is_taken(long: str, short: str) -> None:
    written = neat(sympy.sympify(long, evaluate=False))
    assert sympy.simplify(written.subs({A: -3, B: 2}) - sympy.sympify(long).subs({A: -3, B: 2})) == 0
    assert str(written) == short


@pytest.mark.parametrize("kept", ["sqrt(a**2 + b**2)", "sqrt(a*b)", "sqrt(a**2 + 1.5*a*b)", "exp(a)/b"])
def test_what_has_no_shorter_form_stays_as_it_is(kept: str) -> None:
    assert str(neat(sympy.sympify(kept))) == kept


@pytest.mark.parametrize(
    ("value", "deviation", "name"),
    [
        (2 * math.pi, 1e-9, "2*pi"),
        (-4 * math.pi / 3, 1e-9, "-4*pi/3"),
        (math.pi + 2e-9, 1e-9, "pi"),
        (math.pi + 6e-9, 1e-9, ""),
        (3.1416, 1e-12, ""),  # as somebody typed it
        (3.1416, 1e-5, "pi"),
        (3.1416, 1e-4, ""),  # so much is chance
        (11 * math.pi / 12, 1e-5, ""),  # and a long fraction sooner than a short one
        (11 * math.pi / 12, 1e-9, "11*pi/12"),
        (math.e / 2, 1e-9, "E/2"),
        (1.5, 1e-12, ""),
    ],
)
def test_a_number_is_called_by_its_name_only_if_that_is_no_chance(value: float, deviation: float, name: str) -> None:
    assert recognised(value, deviation) == name


def test_every_number_with_a_name_is_written_as_what_it_is() -> None:
    assert len(_simplest_first()) > 1000
    for number, text in _simplest_first()[::17]:
        assert float(sympy.sympify(text)) == pytest.approx(number, rel=1e-14)
    assert {recognised(number, 1e-14) for number in NAMED.values()} == set(NAMED)


def test_random_numbers_have_no_name() -> None:
    numbers = np.exp(np.random.default_rng(0).uniform(-3, 3, 2000))
    assert not any(recognised(float(number), 1e-8 * float(number)) for number in numbers)


def test_a_law_with_pi_is_written_with_it() -> None:
    X = np.random.default_rng(0).uniform(1, 3, (60, 2))
    found = solve(X, X[:, 0] / (4 * np.pi * X[:, 1] ** 2), names=["L", "d"])
    assert found.status is Status.REAL  # a fitted number all the same
    assert str(found.expression) == "L/(4*pi*d**2)"
    assert "recognised as 1/(4*pi)" in str(found)
    np.testing.assert_allclose(found.expression.numpy()(X)[:, 0], found.predict(X), rtol=1e-11)
