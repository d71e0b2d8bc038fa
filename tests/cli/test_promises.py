"""Each promise in docs/reliability.md names a test that is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8").partition("## How it is made")[0]
PROMISES = [line for line in PAGE.splitlines() if line.startswith("| ") and line != "| promise | proved by |"]
REFERENCE = re.compile(r"`([\w/]*test_\w+\.py)(?:::(test_\w+))?`")


def test_the_page_has_promises() -> None:
    assert len(PROMISES) > 25


@pytest.mark.parametrize("line", PROMISES, ids=lambda line: line[2:50])
def test_a_promise_names_a_test_that_is_there(line: str) -> None:
    references = REFERENCE.findall(line.split(" | ")[-1])
    assert references
    for file, name in references:
        path = ROOT / (file if "/" in file else f"tests/bench/results/{file}")
        assert path.is_file(), file
        assert f"def {name or 'test_'}" in path.read_text(encoding="utf-8"), f"{file}::{name}"
