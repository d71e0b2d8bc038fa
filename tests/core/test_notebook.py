"""What a notebook shows of units and expressions; names that look like markup stay text."""

from __future__ import annotations

import contextlib

import pytest
import sympy
import torch

import nalm
from nalm.core.notebook import latex, mathml, table
from nalm.units import catalogue
from tests.units.by_hand import put

HOSTILE = ["<img src=x onerror=alert(1)>", r"a$\href{javascript:alert(1)}{b}$", "</math><script>x</script>"]


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_is_text_in_mathml_and_in_tables(name: str) -> None:
    shown = mathml(sympy.Symbol(name) ** 2 + sympy.Symbol("b"))
    for tag in ("<img", "<script", "</script"):
        assert tag not in shown
    assert shown.count("</math>") == 1
    assert "<img" not in table([name], [[name]])
    assert "<script" not in table([name], [[name]])


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_is_text_in_latex(name: str) -> None:
    source = latex(sympy.Symbol(name))
    commands = source.removeprefix(r"\mathrm{").removesuffix("}")
    assert r"\href" not in commands
    for position, character in enumerate(commands):
        if character in "${}":  # dollars and braces of the name are escaped
            assert commands[position - 1] == "\\"


def test_ordinary_names_look_as_sympy_prints_them() -> None:
    assert latex(sympy.Symbol("v_0") * sympy.Symbol("alpha")) == r"\alpha v_{0}"
    assert latex(sympy.Symbol("mass (kg)")) == r"\mathrm{mass\ (kg)}"
    assert "<msub><mi>v</mi><mi>0</mi></msub>" in mathml(sympy.Symbol("v_0"))
    assert mathml(sympy.Symbol("mass (kg)")) == '<math display="block"><mi>mass (kg)</mi></math>'
    two = mathml(sympy.Symbol("a b") / sympy.Symbol("c d"))
    assert two.index("a b") < two.index("c d")


def test_a_unit_shows_its_formula_and_where_each_weight_stands() -> None:
    shown = put(nalm.NAU(2, 2), W=[[1.0, 0.75], [-1.0, 1e-6]])._repr_html_()
    assert "<p>NAU(2, 2)</p>" in shown
    assert shown.count("<math") == 2
    assert "<mn>0.75</mn>" in shown
    assert "<td>1 0.75; -1 1e-06</td><td>-1, 0, 1</td><td>2.5e-01</td><td>3 of 4</td>" in shown


def test_a_stack_shows_the_weights_inside_and_a_weight_without_a_grid() -> None:
    shown = nalm.Chain(nalm.NAU(3, 2, seed=0), nalm.NMU(2, 1, seed=0))._repr_html_()
    assert "<td>layers.0.W</td>" in shown
    assert "<td>layers.1.W</td>" in shown
    free = nalm.InputGated(nalm.NAU(2, 1), nalm.NMU(2, 1))._repr_html_()
    assert "<td>any value</td><td>-</td><td>-</td>" in free


@pytest.mark.parametrize(
    ("unit", "reason"),
    [
        (nalm.NMU(2, 1, runs=(3,), seed=0), "take one run out"),
        (put(nalm.NMU(2, 1), W=[float("nan"), 1.0]), "the training diverged"),
        (nalm.NMU(100, 1, seed=0), "100 inputs: nalm.read gives it"),
        (nalm.Fold(nalm.NMU(2, 1, seed=0)), "any number of inputs"),
    ],
    ids=["runs", "nan", "wide", "fold"],
)
def test_a_unit_without_a_formula_to_show_says_why(unit: nalm.Unit, reason: str) -> None:
    shown = unit._repr_html_()
    assert reason in shown
    assert "<math" not in shown
    assert "<table>" in shown


def test_many_weights_are_told_by_their_shape() -> None:
    assert "<td>1 x 100</td>" in nalm.NMU(100, 1, seed=0)._repr_html_()
    assert "<td>1 x 17</td>" in nalm.NMU(17, 1, seed=0)._repr_html_()
    assert "<td>1 x 16</td>" not in nalm.NMU(16, 1, seed=0)._repr_html_()


def test_a_formula_of_more_than_twelve_inputs_is_not_typeset() -> None:
    assert "<math" in nalm.NMU(12, 1, seed=0)._repr_html_()
    assert "<math" not in nalm.NMU(13, 1, seed=0)._repr_html_()


def test_an_expression_is_shortened_to_be_looked_at_and_whole_numbers_stay() -> None:
    a, b = sympy.symbols("a b")
    expression = nalm.Expression((0.123456789 * a + 2 * b**2 / 3,), (a, b))
    assert str(expression.shortened()) == "0.1235*a + 2*b**2/3"
    assert str(expression.shortened(2)) == "0.12*a + 2*b**2/3"
    assert "0.123456" in str(expression)


def test_a_decision_is_typeset() -> None:
    a, b = sympy.symbols("a b")
    decision = nalm.Decision((a & ~b, b), (a, b))
    assert decision._repr_latex_() == r"$\displaystyle a \wedge \neg b \\ b$"


def test_a_notebook_leaves_the_unit_as_it_is() -> None:
    unit = nalm.SNMU(2, 1, seed=0).train()
    before = unit.W.clone()
    unit._repr_html_()
    assert unit.training
    assert torch.equal(unit.W, before)


@pytest.mark.parametrize("name", sorted(catalogue()))
def test_every_unit_can_be_shown(name: str) -> None:
    options = {"hidden": (3,)} if name == "MLP" else {}  # SymPy takes seconds for a hundred
    for sizes in ((2, 1), (2, 2), (1, 1)):
        with contextlib.suppress(ValueError):
            assert "<table>" in catalogue()[name](*sizes, seed=0, **options)._repr_html_()
            return
    pytest.fail(f"{name} could not be built")
