"""A small share of the adversarial benchmark: what is claimed of targets made to be claimed wrongly must be right."""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

FILE = Path(__file__).parents[2] / "benchmarks" / "adversary.py"


def loaded() -> Any:
    spec = importlib.util.spec_from_file_location("adversary", FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["adversary"] = module
    spec.loader.exec_module(module)
    return module


adversary = loaded()


MOST_ROWS = 300
"""Of a case: those of thousands take most of the time, and the benchmark has them."""


@pytest.mark.parametrize("family", adversary.FAMILIES, ids=adversary.name_of)
def test_no_claim_is_wrong(family: Any) -> None:
    number = adversary.FAMILIES.index(family)  # and so another range than that of the family before
    case = adversary.case_of(family, number, seed=11)
    case = replace(case, X=case.X[:MOST_ROWS], y=case.y[:MOST_ROWS])
    outcome = adversary.run(case, effort="quick", limit=120)
    assert outcome.word != "wrong", (number, outcome.text)


def test_cases_are_made_again_from_their_numbers_and_a_third_is_reserved() -> None:
    first, second = (adversary.case_of(adversary.smooth, 3, seed=5) for _ in range(2))
    np.testing.assert_array_equal(first.y, second.y)
    assert len(adversary.RESERVED) == len(adversary.FAMILIES) // 3


def test_a_wider_case_has_columns_that_its_law_does_not_read() -> None:
    case = adversary.case_of(adversary.near_law, 3, seed=5)
    wide = adversary.widened(case, 4)
    assert wide.X.shape == (len(case.X), case.X.shape[1] + 4)
    assert len(np.unique(wide.X[:, -1])) == len(case.X)
    np.testing.assert_array_equal(wide.truth(wide.X), case.truth(case.X))


def test_the_judge_knows_right_from_wrong() -> None:
    from nalm.solver import solve

    rng = np.random.default_rng(0)
    X = rng.uniform(1, 2, (50, 2))
    solution = solve(X, X[:, 0] * X[:, 1])
    assert adversary.right(adversary.Case(X, solution.predict(X), lambda Z: Z[:, 0] * Z[:, 1]), solution)
    assert not adversary.right(adversary.Case(X, solution.predict(X), lambda Z: 1.001 * Z[:, 0] * Z[:, 1]), solution)
    assert not adversary.right(adversary.Case(X, solution.predict(X), None), solution)
