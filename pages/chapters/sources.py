"""Every figure and table of the sources: which study shows it, how complete it is, and what came out."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from nalm.bench.results.summary import CellSummary
from nalm.bench.studies import studies
from nalm.bench.study import Study
from pages.committed import DOCS, counted
from pages.markdown import markdown_table

LIST = Path(__file__).parent.parent / "sources.csv"
SOURCES = {
    "thesis": "Mistry 2023 (thesis)",
    "sNMU": "Mistry et al. 2022 (stochastic NMU)",
    "division": "Mistry et al. 2022 (division)",
    "NAU/NMU": "Madsen and Johansen 2020 (NAU and NMU)",
    "first lessons": "the student project of the first lessons",
    "Hill Space": "DuJardin 2025 (Hill Space)",
}
PAGE = "page:"  # what no study trains stands on a page of its own


@dataclass(frozen=True)
class Item:
    """One line of pages/sources.csv."""

    source: str
    item: str
    shows: str
    studies: tuple[str, ...]
    reason: str

    @property
    def page(self) -> str | None:
        """The page that shows it without a study."""
        first = self.studies[0] if self.studies else ""
        return first.removeprefix(PAGE) if first.startswith(PAGE) else None


def items() -> list[Item]:
    """The list, in the order of the sources."""
    with LIST.open(encoding="utf-8", newline="") as file:
        lines = csv.DictReader(file)
        return [Item(x["source"], x["item"], x["shows"], tuple(x["studies"].split()), x["reason"]) for x in lines]


def everything() -> str:
    """One table per source."""
    parts = []
    for source, title in SOURCES.items():
        lines = [_line(item) for item in items() if item.source == source]
        parts.append(f"## {title}\n\n{markdown_table(['item', 'shows', 'study', 'state', 'verdict'], lines)}")
    return "\n\n".join(parts)


def counts() -> str:
    """How many items are in which state."""
    states = [_line(item)[3] for item in items()]
    kinds = ("full", "fewer", "shown", "to be run", "to be shown", "not reproduced")
    told = ", ".join(f"{sum(s.startswith(kind) for s in states)} {kind}" for kind in kinds)
    return f"{len(states)} entries: {told}."


def _line(item: Item) -> list[str]:
    if item.page:
        shown = _mentions(item)
        where = f"[{item.page}](../{item.page}.md)" if shown else item.page
        return [item.item, item.shows, where, "shown" if shown else "to be shown", ""]
    if not item.studies:
        return [item.item, item.shows, "-", f"not reproduced: {item.reason}", ""]
    known = studies()
    found = [(known[name], counted(name)) for name in item.studies if name in known]
    names = ", ".join(f"`{name}`" for name in item.studies)
    if not any(entries for _, entries in found):
        return [item.item, item.shows, names, _state_of_smaller(item), ""]
    return [item.item, item.shows, names, _state(found), _verdict([e for _, entries in found for e in entries])]


def _mentions(item: Item) -> bool:
    """Whether the page names the item; a page that does not name it does not show it."""
    path = DOCS / f"{item.page}.md"
    if not path.exists():
        return False
    text = " ".join(path.read_text(encoding="utf-8").split())
    return f"{item.source}, {item.item}" in text


def _state(found: list[tuple[Study, list[CellSummary]]]) -> str:
    """Full, or which part of the study's own seeds and cells is there."""
    cells = sum(len({(cell.row, cell.column) for cell in study.cells}) for study, _ in found)
    run = sum(len(entries) for _, entries in found)
    fewest = [(min(e.runs for e in entries), study.seeds) for study, entries in found if entries]
    seeds = min(fewest, key=lambda pair: pair[0] / pair[1])
    missing = list(_missing(cells - run, *seeds))
    return "full" if not missing else f"fewer: {', '.join(missing)}"


def _state_of_smaller(item: Item) -> str:
    """What is there of studies that were not run as published: their smaller ones, if those were."""
    known = studies()
    smaller = [f"{name}{ending}" for name in item.studies for ending in ("-small", "-short")]
    shown = [f"`{name}`" for name in smaller if name in known and counted(name)]
    return f"fewer steps: {', '.join(shown)}" if shown else "to be run"


def _missing(cells: int, seeds: int, wanted: int) -> Iterator[str]:
    if seeds < wanted:
        yield f"{seeds} of {wanted} seeds"
    if cells:
        yield f"{cells} cells not run"


def _verdict(entries: list[CellSummary]) -> str:
    """How many published rates lie inside our intervals, or overlap with them."""
    compared = [e for e in entries if e.published and e.published.success is not None]
    if not compared:
        return "published without numbers"
    apart = [e for e in compared if e.disagrees]
    if not apart:
        return f"agrees: {len(compared)} of {len(compared)} rates"
    shown = ", ".join(f"{e.row} on {e.column}" for e in apart[:3]) + (", ..." if len(apart) > 3 else "")
    return f"{len(compared) - len(apart)} of {len(compared)} rates agree; apart: {shown}"
