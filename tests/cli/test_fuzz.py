"""A small share of the random command lines, tables and files; see `fuzz` for many."""

from __future__ import annotations

import pytest
from hypothesis import seed

from tests.cli.fuzz import TRIALS, many

SHARE = {"lines": 60, "tables": 10, "units": 8, "results": 20, "stores": 15}


@pytest.mark.parametrize("kind", TRIALS)
def test_every_command_ends_with_a_sentence(kind: str) -> None:
    seed(0)(many(kind, SHARE[kind]))()
