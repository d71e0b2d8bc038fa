"""Every Python snippet of the documentation runs, top to bottom of its page, and prints what the page says."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest
import torch

from pages.script import SCRIPT, TUTORIAL, script

ROOT = Path(__file__).parents[2]
SNIPPET = re.compile(r"^```python\n(.*?)^```\n(?:\n```\n(.*?)^```$)?", re.S | re.M)
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
WITH_CODE = [page for page in PAGES if "```python" in page.read_text(encoding="utf-8")]


def run(page: Path) -> list[tuple[str, str]]:
    """What each snippet with an output below it printed, and what the page says."""
    names: dict[str, object] = {"__name__": "page"}
    compared = []
    for code, said in SNIPPET.findall(page.read_text(encoding="utf-8")):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, str(page), "exec"), names)
        if said:
            compared.append((printed.getvalue(), said))
    return compared


@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")  # of torch's exporter
@pytest.mark.parametrize("page", WITH_CODE, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_a_page_does_what_it_says(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    torch.manual_seed(0)
    for printed, said in run(page):
        assert printed == said


def test_pages_have_snippets_with_output() -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in WITH_CODE)
    assert sum(bool(said) for _, said in SNIPPET.findall(text)) >= 5


def test_the_tutorial_as_a_program_is_its_page() -> None:
    """The page's code is run above; the program is the same code."""
    page = TUTORIAL.read_text(encoding="utf-8")
    program = script(page)
    assert SCRIPT.read_text(encoding="utf-8") == program, "run `python -m pages.script`"
    assert all(code in program for code, _ in SNIPPET.findall(page))
