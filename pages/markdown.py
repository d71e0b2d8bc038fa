"""The pieces every page is made of: a table, a picture, a study's tables and its figure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from nalm.bench.show.figures import save, study_figure
from nalm.bench.show.tables import PANELS, markdown_panel, markdown_tables
from pages.committed import DOCS, entries_of, extended

FIGURES = DOCS / "results" / "figures"


def markdown_table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """A plain Markdown table."""
    rows = [head, ["---"] * len(head), *lines]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def picture(figure: Any, name: str, text: str, folder: str = "") -> str:
    """Save a figure beside the results pages; the link to it. A page elsewhere gives the way to docs/results/."""
    FIGURES.mkdir(parents=True, exist_ok=True)
    save(figure, FIGURES / name)
    return f"![{text}]({folder}figures/{name})"


def table(study: str) -> str:
    """The study's tables, ours beside the published numbers."""
    return markdown_tables(*entries_of(study))


def more_seeds(study: str) -> str:
    """Success on every seed that was run, where that is more than the published protocol has."""
    chosen, entries = extended(study)
    if not entries:
        return ""
    return f"The same study on more seeds than published:\n\n{markdown_panel(chosen, entries, PANELS[0])}"


def figure(study: str) -> str:
    """The field's three-panel figure of a study."""
    chosen, entries = entries_of(study)
    drawn = study_figure(chosen, entries)
    return picture(drawn, f"{study.replace('/', '-')}.svg", chosen.title)
