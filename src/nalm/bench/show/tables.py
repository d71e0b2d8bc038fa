"""Tables of a study's entries, for a terminal (rich) and for a page (Markdown). One layout, two renderings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from nalm.bench.results.summary import Entry
from nalm.bench.study import Study

if TYPE_CHECKING:
    from rich.table import Table

MARK = "≠"  # our interval and the published one do not overlap


def _short(value: float) -> str:
    """A rate in at most four characters: .88, 1.00."""
    return f"{value:.2f}".removeprefix("0") if value < 0.995 else "1.00"


def _success(entry: Entry) -> list[str]:
    lines = [_short(entry.success.estimate), f"{_short(entry.success.low)}-{_short(entry.success.high)}"]
    if entry.published and entry.published.success is not None:
        lines.append(f"({_short(entry.published.success)}){MARK if entry.disagrees else ''}")
    return lines


def _steps(entry: Entry) -> list[str]:
    if entry.solved_at is None:
        return ["-"]
    lines = [f"{entry.solved_at.estimate:,.0f}"]
    if entry.published and entry.published.solved_at is not None:
        lines.append(f"({entry.published.solved_at:,.0f})")
    return lines


def _sparsity(entry: Entry) -> list[str]:
    return ["-"] if entry.sparsity is None else [f"{entry.sparsity.estimate:.0e}"]


def _measure(name: str, entry: Entry) -> list[str]:
    found = entry.measures.get(name)
    if found is None:
        return ["-"]
    said = entry.published.measures.get(name) if entry.published else None
    lines = [f"{100 * found.estimate:.1f}"]
    if entry.runs > 1:
        lines.append(f"±{100 * (found.high - found.estimate):.1f}")
    return [*lines, *([] if said is None else [f"({100 * said:.1f})"])]


Panel = tuple[str, Callable[[Entry], list[str]]]
PANELS: tuple[Panel, ...] = (
    ("Success rate, 95 % Wilson interval, (published)", _success),
    ("Steps to solve, mean over solved runs, (published)", _steps),
    ("Sparsity error, mean over solved runs", _sparsity),
)


def panels(study: Study) -> list[Panel]:
    """The field's three, and one for each further measure of the study: a share in per cent."""
    further = [
        (f"{name.replace('_', ' ')}, %, ± standard error, (published)", partial(_measure, name))
        for name in study.measured
    ]
    return [*PANELS, *further]


def _grid(study: Study, entries: Sequence[Entry], content: Callable[[Entry], list[str]]) -> Iterator[list[list[str]]]:
    """Ranges go down and units across: names of units are short, so nine of them fit a terminal."""
    by_key = {(e.row, e.column): e for e in entries}
    for column in study.columns:
        cells = [by_key.get((row, column)) for row in study.rows]
        if any(cells):
            yield [[column], *([""] if cell is None else content(cell) for cell in cells)]


def footnotes(study: Study, entries: Sequence[Entry]) -> list[str]:
    """What a reader must know, and where the published numbers stand."""
    runs = sorted({e.runs for e in entries})
    seeds = f"{runs[0]}" if len(runs) == 1 else f"{runs[0]} to {runs[-1]}"
    shown = {(e.row, e.column) for e in entries}
    steps = sorted({cell.method.steps for cell in study.cells if (cell.row, cell.column) in shown})
    lines = [f"{seeds} seeds per cell, {' or '.join(f'{s:,}' for s in steps)} steps. Reproduces: {study.reproduces}."]
    sources = dict.fromkeys(e.published.source for e in entries if e.published and e.published.source)
    if sources:
        lines.append(f"Published: {'; '.join(sources)}. {MARK} marks intervals that do not overlap.")
    return [*lines, *study.notes]


def rich_tables(study: Study, entries: Sequence[Entry]) -> Iterator[Table]:
    """One table per panel; the last one carries the footnotes."""
    from rich import box
    from rich.table import Table

    shown = panels(study)
    for number, (title, content) in enumerate(shown):
        caption = "\n".join(footnotes(study, entries)) if number == len(shown) - 1 else None
        table = Table(title=f"{study.title}: {title}", title_justify="left", caption=caption, box=box.SIMPLE_HEAD)
        table.caption_justify, table.padding, table.pad_edge = "left", (0, 0, 0, 1), False
        table.add_column("", style="bold", no_wrap=True)
        for row in study.rows:
            table.add_column(row, justify="right")
        for line in _grid(study, entries, content):
            table.add_row(*("\n".join(lines) for lines in line))
        yield table


def markdown_tables(study: Study, entries: Sequence[Entry]) -> str:
    """The same tables as Markdown, with the footnotes below."""
    parts = []
    for title, content in panels(study):
        head = ["", *study.rows]
        lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
        for row in _grid(study, entries, content):
            lines.append("| " + " | ".join("<br>".join(lines_) for lines_ in row) + " |")
        parts.append(f"**{title}**\n\n" + "\n".join(lines))
    notes = "\n".join(f"- {line}" for line in footnotes(study, entries))
    return "\n\n".join([*parts, notes])
