"""`python -m pages.build [NAME ...]` writes every page of docs/ that has a template, or only the named ones.

A template is Markdown with Jinja expressions; pages/templates/results/losses.md becomes docs/results/losses.md:

    {{ table("single-module/mul") }}      the study's tables, ours beside published
    {{ more_seeds("single-module/mul") }} success on all seeds that were run, where they are more than published
    {{ figure("single-module/mul") }}     the field's three-panel figure, written to docs/results/figures/
    {{ division.gold_errors() }}          what a function of pages/chapters/division.py returns, for anything else

Numbers come from the committed measurements in results/.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
from pathlib import Path

import jinja2

from pages import chapters
from pages.committed import DOCS, ROOT
from pages.markdown import figure, more_seeds, table

TEMPLATES = Path(__file__).with_name("templates")


def environment() -> jinja2.Environment:
    """Jinja with the functions that templates may call; a misspelt name is an error."""
    found = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        undefined=jinja2.StrictUndefined,
        autoescape=False,
        keep_trailing_newline=True,
    )
    modules = {
        m.name: importlib.import_module(f"{chapters.__name__}.{m.name}")
        for m in pkgutil.iter_modules(chapters.__path__)
    }
    found.globals |= {"table": table, "more_seeds": more_seeds, "figure": figure, **modules}
    return found


def templates() -> list[Path]:
    """Every template, relative to the folder of templates, which is also the page's place in docs/."""
    return sorted(path.relative_to(TEMPLATES) for path in TEMPLATES.rglob("*.md"))


def rendered(template: Path) -> str:
    """One page as text; its figures are drawn on the way."""
    return environment().get_template(template.as_posix()).render()


def main(wanted: list[str]) -> None:
    """Write the pages."""
    for template in templates():
        if not wanted or template.stem in wanted:
            page = DOCS / template
            page.write_text(rendered(template), encoding="utf-8")
            print(page.relative_to(ROOT))


if __name__ == "__main__":
    main(sys.argv[1:])
