"""Tables as people have them, with a few digits: the formula is found, and nothing is claimed that is not there."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from nalm.solver import Status, solve
from nalm.solver.data.problem import Problem
from nalm.solver.verdict.print import as_printed

Table = np.ndarray


def decimals(values: Table, digits: int) -> Table:
    return np.round(values, digits)


def significant(values: Table, digits: int) -> Table:
    return np.array([float(f"{v:.{digits}g}") for v in values.ravel()]).reshape(values.shape)


LAWS: dict[str, Callable[[Table], Table]] = {
    "x0*x2**2/(2*x1)": lambda x: 0.5 * x[0] * x[2] ** 2 / x[1],
    "x0*x1/(x0 + x1)": lambda x: x[0] * x[1] / (x[0] + x[1]),
    "x2*(x0 + x1)": lambda x: (x[0] + x[1]) * x[2],
    "x0 - x1 + 2*x2": lambda x: x[0] - x[1] + 2 * x[2],
}


@pytest.mark.parametrize("written", [decimals, significant])
@pytest.mark.parametrize("digits", [3, 4, 5])
@pytest.mark.parametrize("law", LAWS)
def test_laws_are_read_from_printed_tables(law: str, digits: int, written: Callable[[Table, int], Table]) -> None:
    X = np.random.default_rng([digits, len(law)]).uniform(1, 9, (80, 4))
    solution = solve(written(X, digits), written(LAWS[law](X.T), digits))
    assert solution.status is Status.EXACT
    found, truth = solution.predict(10 * X), LAWS[law](10 * X.T)
    assert np.allclose(found, truth, rtol=1e-9)
    assert solution.evidence.backward_error < 1.02
    assert "few digits" in solution.evidence.notes[0]


def test_degrees() -> None:
    celsius = np.random.default_rng(0).uniform(-40, 40, (50, 1)).round(1)
    solution = solve(celsius, (1.8 * celsius[:, 0] + 32).round(1), names=["c"])
    assert solution.status in (Status.EXACT, Status.REAL)
    assert solution.predict([[1000.0]]) == pytest.approx([1832.0])


OTHERS: dict[str, Callable[[Table], Table]] = {
    "exponential": lambda x: np.exp(x[0]) * x[1],
    "sine": lambda x: np.sin(x[0]) * x[1],
    "real power": lambda x: x[0] ** 1.37 * x[1],
    "four constants": lambda x: (1.3 * x[0] + 2.7 * x[1] + 0.11) / (0.93 * x[1] + 0.37),
    "bell": lambda x: np.exp(-(x[0] ** 2) / 2) + x[1],
}


NARROW, WIDE = (1.0, 1.2), (1.0, 3.0)
PRINTS = [(name, bounds, digits) for name in OTHERS for bounds, digits in ((NARROW, 3), (WIDE, 2), (WIDE, 4))]


@pytest.mark.parametrize(
    ("name", "bounds", "digits", "effort"),
    # What is thought of print comes before the deep searches, so one of the list goes through those as well.
    [*((*case, "quick") for case in PRINTS), ("real power", NARROW, 3, "normal")],
)
def test_what_is_no_arithmetic_is_claimed_only_if_it_is_the_law(
    name: str, bounds: tuple[float, float], digits: int, effort: str
) -> None:
    X = np.random.default_rng([digits, len(name)]).uniform(*bounds, (100, 3))
    solution = solve(decimals(X, digits), decimals(OTHERS[name](X.T), digits), effort=effort)
    if solution.status in (Status.EXACT, Status.REAL):
        assert name in ("exponential", "sine", "bell")
        within = 1e-9 if solution.exact else 1e-2
        np.testing.assert_allclose(solution.predict(1.5 * X), OTHERS[name](1.5 * X.T), rtol=within)


def test_whole_numbers_and_full_targets_are_not_printed() -> None:
    whole = np.arange(1.0, 21.0).reshape(10, 2)
    assert as_printed(Problem(whole, whole[:, 0] * whole[:, 1])) is None
    settings = np.random.default_rng(0).uniform(1, 2, (20, 2)).round(1)
    assert as_printed(Problem(settings, settings[:, 0] / settings[:, 1])) is None


def test_half_units_follow_the_digits() -> None:
    X = np.array([[0.25, 1.0], [1.5, 2.0], [12.75, 3.0], [100.0, 4.0], [7.0, 5.0]])
    y = np.array([0.0123, 4.56, 789.0, 12300.0, 1.11])
    printed = as_printed(Problem(X, y))
    assert printed is not None
    assert printed.printed is not None
    assert printed.printed[:, 0] == pytest.approx([0.005] * 5)
    assert printed.printed[:, 1].tolist() == [0.0] * 5
    assert printed.printed[:, 2] == pytest.approx([5e-5, 5e-3, 0.5, 50.0, 5e-3])
