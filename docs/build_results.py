"""Builds the results pages: `python docs/build_results.py` turns each docs/results/*.in.md into the page beside it.

A template is Markdown with lines of the form

    {{ table STUDY }}            the study's tables, ours beside published
    {{ figure STUDY }}           the field's three-panel figure, written to docs/results/figures/
    {{ run EXPRESSION }}         what a Python function `module:function` returns, for anything else

Numbers come from the committed tables in results/: a study named chapter/name is read from results/chapter.csv.gz.
"""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path

from nalm.bench.results.store import read_table
from nalm.bench.results.summary import Entry, summarise
from nalm.bench.show.figures import points, save, three_panel
from nalm.bench.show.tables import markdown_tables
from nalm.bench.studies import find_study
from nalm.bench.study import Study

ROOT = Path(__file__).resolve().parent.parent
PAGES = ROOT / "docs" / "results"


def entries_of(name: str) -> tuple[Study, list[Entry]]:
    """A study and its counted cells from the committed table of its chapter."""
    study = find_study(name)
    table = ROOT / "results" / f"{name.partition('/')[0]}.csv.gz"
    entries = summarise(study, read_table(table))
    if not entries:
        raise SystemExit(f"{table} holds no run of {name}; run the study and export it there.")
    return study, entries


def table(name: str) -> str:
    """The study's tables."""
    return markdown_tables(*entries_of(name))


def figure(name: str) -> str:
    """The study's figure, drawn and linked."""
    study, entries = entries_of(name)
    path = PAGES / "figures" / f"{name.replace('/', '-')}.svg"
    save(three_panel(points(entries), study.columns, study.rows, title=study.title), path)
    return f"![{study.title}](figures/{path.name})"


def run(reference: str) -> str:
    """What `module:function` returns."""
    module, _, function = reference.partition(":")
    return str(getattr(importlib.import_module(module), function)())


def build(template: Path) -> Path:
    """One page."""
    commands = {"table": table, "figure": figure, "run": run}
    text = re.sub(
        r"^\{\{ (\w+) (\S+) \}\}$",
        lambda match: commands[match[1]](match[2]),
        template.read_text(encoding="utf-8"),
        flags=re.M,
    )
    page = template.with_name(template.name.replace(".in.md", ".md"))
    page.write_text(text, encoding="utf-8")
    return page


if __name__ == "__main__":
    wanted = sys.argv[1:]
    for source in sorted(PAGES.glob("*.in.md")):
        if not wanted or source.name.removesuffix(".in.md") in wanted:
            print(build(source).relative_to(ROOT))
