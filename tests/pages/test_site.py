"""The documentation site builds without a warning, and its examples are shown as code."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pages.doctests import fenced

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_the_site_builds_strictly() -> None:
    pytest.importorskip("zensical", reason="zensical is not installed: pip install -e '.[dev]'")
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--clean"]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stdout + built.stderr
    page = (ROOT / "site" / "reference" / "library.html").read_text(encoding="utf-8")
    assert "nalm.Unit" in page
    assert "&gt;&gt;&gt;" in page


def test_examples_are_fenced_once_and_text_is_left_alone() -> None:
    text = "Text.\n\n>>> a = 1\n>>> a\n1\n\nMore.\n\n>>> b\n2"
    assert fenced(text).count("```pycon") == 2
    assert fenced("No example.") == "No example."


def test_formulas_become_mathml_and_prices_do_not() -> None:
    markdown = pytest.importorskip(
        "markdown", reason="the documentation tools are not installed: pip install -e '.[dev]'"
    )
    html = markdown.markdown("The sum $\\sum_i w_i x_i$, and $5 or $6.", extensions=["pages.mathml"])
    assert html.count("<math") == 1
    assert "∑" in html or "&#x02211;" in html
    assert "$5 or $6" in html
