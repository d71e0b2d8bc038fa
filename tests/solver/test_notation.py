"""How formulas are written."""

from __future__ import annotations

import pytest
import sympy

from nalm.solver.formula.notation import neat

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
