"""What the README promises: output below every example, units that exist, links that lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import torch

import nalm

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
PYTHON_THEN_OUTPUT = re.compile(r"```python\n(.*?)```\n\n```\n(.*?)```", re.S)


def test_every_code_block_shows_its_output() -> None:
    """Whether it really prints that is seen where the snippets of all pages run: tests/pages/test_snippets.py."""
    assert len(PYTHON_THEN_OUTPUT.findall(README)) == README.count("```python") >= 2


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
