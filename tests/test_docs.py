"""The docs are run: the generated page is current, and every example in a docstring works."""

from __future__ import annotations

import doctest
import importlib
import importlib.util
import pkgutil
from pathlib import Path

import pytest

import nalm

ROOT = Path(__file__).parent.parent
MODULES = sorted(m.name for m in pkgutil.walk_packages(nalm.__path__, "nalm.") if not m.name.endswith("__main__"))


def test_the_table_of_units_is_up_to_date() -> None:
    spec = importlib.util.spec_from_file_location("generate_units", ROOT / "docs" / "generate_units.py")
    assert spec is not None
    assert spec.loader is not None
    generate = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generate)
    page = generate.page()
    assert generate.PAGE.read_text(encoding="utf-8") == page, "run `make docs`"
    assert "| [NMU](#nmu) | `*` | kept | W: 0, 1 | 2 |" in page


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples(name: str) -> None:
    results = doctest.testmod(importlib.import_module(name))
    assert results.failed == 0


def test_there_are_examples() -> None:
    found = [doctest.DocTestFinder().find(importlib.import_module(name)) for name in MODULES]
    assert sum(bool(example.examples) for examples in found for example in examples) >= 30
