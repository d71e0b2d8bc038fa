"""The documentation site builds without a warning and works offline, from files; its examples are shown as code."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from pages.doctests import fenced
from tests.browser import CHROMIUM, MISSING, OPTIONS, PATIENCE

ROOT = Path(__file__).parents[2]
SITE = ROOT / "site"

PHONE, DESKTOP = 390, 1280
WIDE = ("index", "concepts", "units", "which-unit", "compare", "reference/library", "reference/command-line")
VISITED = (*WIDE, "results/index", "results/single-module", "results/two-layer", "how-to/watch", "playground/index")


@pytest.mark.slow
def test_the_site_builds_strictly_and_works_as_files_without_a_network() -> None:
    pytest.importorskip("zensical", reason="zensical is not installed: pip install -e '.[dev]'")
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--clean"]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stdout + built.stderr
    page = (SITE / "reference" / "library.html").read_text(encoding="utf-8")
    assert "nalm.Unit" in page
    assert "&gt;&gt;&gt;" in page

    playwright = pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed: pip install playwright"
    )
    if CHROMIUM is None:
        pytest.skip(f"the site was built, but {MISSING}")
    with playwright.sync_playwright() as browsers:
        browser = browsers.chromium.launch(executable_path=CHROMIUM, args=OPTIONS)
        for name in VISITED:
            with opened(browser, name, PHONE, "dark") as page:
                assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), f"{name} is too wide"
        with opened(browser, "index", DESKTOP, "light") as page:
            light = page.evaluate("getComputedStyle(document.body).backgroundColor")
        with opened(browser, "index", DESKTOP, "dark") as page:
            assert page.evaluate("getComputedStyle(document.body).backgroundColor") != light
            page.keyboard.press("/")
            page.wait_for_timeout(500)  # the field takes the keys once it is open
            page.keyboard.type("singularities")
            page.locator("mark").first.wait_for()  # a word found, in a page that was not opened
        browser.close()


@contextmanager
def opened(browser: Any, name: str, width: int, scheme: str) -> Iterator[Any]:
    """A page of the site, opened as a file with the network off; what it complains about fails the test."""
    context = browser.new_context(viewport={"width": width, "height": 844}, color_scheme=scheme, offline=True)
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("requestfailed", lambda request: complaints.append(request.url))
    page.goto((SITE / f"{name}.html").as_uri())
    yield page
    context.close()
    assert not complaints, f"{name}: {complaints}"


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
