"""Physical units: what does not balance is not claimed, and numbers are given their units."""

from fractions import Fraction

import numpy as np
import pytest

from nalm.solver import Status, solve
from nalm.solver.data.dimensions import dimensions
from nalm.solver.formula.algebra import ONE, Applied, Input, product, total
from nalm.solver.formula.functions import Function

pytest.importorskip("pint")

# A limit of time raises wherever Python happens to be, also in a callback of garbage that earlier tests left: there
# it is ignored with a warning, and raised again a moment later.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

X = np.random.default_rng(0).uniform(1, 2, (100, 3))
M, V, R = (Input(i) for i in range(3))
UNITS = {"m": "kg", "v": "m/s", "r": "m", "y": "newton"}
ONCE, HALF = Fraction(1), Fraction(1, 2)
FORCE = product([(M, 1), (V, 2), (R, -1)])


@pytest.mark.parametrize(
    ("formula", "balances"),
    [
        (FORCE, True),
        (product([(M, 1), (V, 2), (R, -2)]), False),
        (total([(Fraction(3), product([(M, 1), (V, 1)]))]), True),  # 3 per second
        (total([(2.5, product([(M, 1), (V, 1)]))]), True),
        (total([(ONCE, FORCE), (HALF, FORCE)]), True),
        (total([(ONCE, FORCE), (HALF, M)]), False),
        (total([(ONCE, FORCE), (0.37, M)]), True),  # 0.37 newton per kilogram
        (total([(ONCE, FORCE), (Fraction(5), ONE)]), True),  # 5 newton
        (total([(ONCE, M), (ONCE, ONE)]), False),
        (product([(total([(ONCE, M), (ONCE, R)]), 1), (V, 1)]), False),
        (total([(2.0, product([(total([(ONCE, M), (ONCE, R)]), 1)]))]), False),
        (product([(FORCE, 1), (Applied(Function.SIN, product([(R, 1), (M, -1)])), 1)]), False),
        (product([(FORCE, 1), (Applied(Function.SIN, total([(2.0, R)])), 1)]), True),
        (Applied(Function.ABS, FORCE), True),
        (product([(total([(Fraction(2), product([(M, 1), (R, -1)])), (Fraction(2), ONE)]), 1), (R, 1)]), False),
        (total([(Fraction(7), FORCE), (Fraction(2), M)]), False),
    ],
)
def test_what_balances(formula, balances):
    assert dimensions(UNITS, ["m", "v", "r"]).balance(formula) is balances


def test_a_law_that_balances_is_claimed_and_one_that_does_not_is_not():
    y = X[:, 0] * X[:, 1] ** 2 / X[:, 2]
    assert solve(X, y, names=["m", "v", "r"], units=UNITS, effort="quick").status is Status.EXACT
    wrong = solve(X, X[:, 0] + X[:, 2], names=["m", "v", "r"], units=UNITS, effort="quick")
    assert wrong.status not in (Status.EXACT, Status.REAL)
    assert solve(X, X[:, 0] + X[:, 2], names=["m", "v", "r"], effort="quick").status is Status.EXACT


def test_what_does_not_balance_is_not_even_proposed():
    table = dimensions(UNITS, ["m", "v", "r"])
    for y in (X[:, 0] + X[:, 2], X[:, 0] * X[:, 1] + X[:, 2] ** 2, np.sin(X[:, 0]) + X[:, 1]):
        solution = solve(X, y, names=["m", "v", "r"], units=UNITS, max_seconds=5)
        assert solution.tried
        assert all(table.balance(verdict.candidate.formula) for verdict in (*solution.tried, solution.verdict))


def test_the_constant_has_a_unit():
    solution = solve(
        X, 6.674 * X[:, 0] * X[:, 1] / X[:, 2] ** 2, names=["m", "M", "r"], effort="quick",
        units={"m": "kg", "M": "kg", "r": "m", "y": "newton"},
    )  # fmt: skip
    assert solution.status is Status.REAL
    assert "the number 6.674 is in m²·N/kg²" in solution.evidence.notes


def test_unknown_units_and_columns_are_named():
    with pytest.raises(ValueError, match="'parsnip' of 'm'"):
        dimensions({"m": "parsnip"}, ["m"])
    with pytest.raises(ValueError, match="'q'"):
        dimensions({"q": "kg"}, ["m"])
    assert dimensions(None, ["m"]) is None
    assert dimensions({"m": "kg"}, ["m", "n"]).balance(total([(ONCE, Input(0)), (ONCE, Input(1))]))
