"""The README is run: its code blocks, top to bottom, print what it says they print."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import Any

import pytest
import torch

import nalm

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
PYTHON_THEN_OUTPUT = re.compile(r"```python\n(.*?)```\n\n```\n(.*?)```", re.S)


def test_code_blocks_print_what_the_readme_says() -> None:
    examples = PYTHON_THEN_OUTPUT.findall(README)
    assert len(examples) == README.count("```python") >= 2
    names: dict[str, object] = {}
    for code, expected in examples:
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            exec(code, names)
        assert output.getvalue() == expected


def test_the_example_script_is_the_first_code_block() -> None:
    code, _ = PYTHON_THEN_OUTPUT.findall(README)[0]
    assert (ROOT / "examples" / "readme.py").read_text(encoding="utf-8") == code


def test_the_readme_is_short_and_names_units_that_exist() -> None:
    assert len(README.splitlines()) <= 120
    listed = README[README.index("## Units") : README.index("[docs/units.md]")]
    named = re.findall(r"`(?:baselines\.)?(\w+)`", listed)
    assert len(named) >= 25
    for name in named:
        assert issubclass(getattr(nalm, name, None) or getattr(nalm.baselines, name), nalm.Unit)


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/index.md", "docs/units.md"])
def test_links_lead_to_files(page: str) -> None:
    path = ROOT / page
    for link in re.findall(r"\]\(([^)#]+)\)", path.read_text(encoding="utf-8")):
        assert link.startswith("https://") or (path.parent / link).exists(), link


def test_the_code_of_the_solver_page_runs() -> None:
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "solver.md").read_text(encoding="utf-8"), re.S)
    names: dict[str, Any] = {}
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        for code in blocks:
            exec(code, names)
    assert str(names["solution"].expression) == "M*m/r**2"
    assert names["model"].exact_
    assert "NRU" in output.getvalue()


def test_the_unit_in_contributing_works() -> None:
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"), re.S)
    (code,) = [block for block in blocks if "class SquaredSum" in block]
    names: dict[str, Any] = {"__name__": "contributing"}
    exec(code, names)
    unit = names["SquaredSum"](2, 1, runs=(3,), seed=0).snapped()
    assert unit(torch.ones(5, 2)).shape == (3, 5, 1)
    expression = nalm.read(unit[1])
    assert expression.exact
    assert expression.residual(torch.randn(5, 2)) < 1e-6
