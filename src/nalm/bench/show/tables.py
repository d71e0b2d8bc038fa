"""Tables of a study's entries, for a terminal (rich), a page (Markdown), a paper (LaTeX): one layout, three forms."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from nalm.bench.results.summary import CellSummary
from nalm.bench.study import Published, Study, steps_of

if TYPE_CHECKING:
    from rich.console import RenderableType

MARK = "≠"  # our interval and the published one do not overlap


def _short(value: float) -> str:
    """A rate in at most four characters: .88, 1.00."""
    return f"{value:.2f}".removeprefix("0") if value < 0.995 else "1.00"


def _success(entry: CellSummary) -> list[str]:
    lines = [_short(entry.success.estimate), f"{_short(entry.success.low)}-{_short(entry.success.high)}"]
    if entry.published and entry.published.success is not None:
        lines.append(f"({_short(entry.published.success)}){MARK if entry.disagrees else ''}")
    return lines


def _steps(entry: CellSummary) -> list[str]:
    if entry.solved_at is None:
        return ["-"]
    lines = [f"{entry.solved_at.estimate:,.0f}"]
    if entry.published and entry.published.solved_at is not None:
        lines.append(f"({entry.published.solved_at:,.0f})")
    return lines


def _sparsity(entry: CellSummary) -> list[str]:
    return ["-"] if entry.sparsity is None else [f"{entry.sparsity.estimate:.0e}"]


def _said(name: str, published: Published) -> float | None:
    return published.measures.get(name)


def _measure(name: str, entry: CellSummary) -> list[str]:
    found = entry.measures.get(name)
    if found is None:
        return ["-"]
    said = _said(name, entry.published) if entry.published else None
    lines = [f"{100 * found.estimate:.1f}"]
    if entry.runs > 1:
        lines.append(f"±{100 * (found.high - found.estimate):.1f}")
    return [*lines, *([] if said is None else [f"({100 * said:.1f})"])]


class Panel(NamedTuple):
    """One of a study's tables: its title, what stands in a cell, how its numbers were made from the runs, and which
    published number stands in brackets."""

    title: str
    content: Callable[[CellSummary], list[str]]
    method: str
    said: Callable[[Published], float | None] | None = None

    def heading(self, entries: Sequence[CellSummary]) -> str:
        """The title, and what brackets mean where there are any."""
        bracketed = self.said and any(e.published and self.said(e.published) is not None for e in entries)
        return f"{self.title}, published in brackets" if bracketed else self.title


PANELS = (
    Panel("Success rate", _success, "95 % Wilson interval below each rate", attrgetter("success")),
    Panel("Steps to solve", _steps, "mean over the solved runs, - where there is none", attrgetter("solved_at")),
    Panel(
        "Sparsity error",
        _sparsity,
        "maximum-likelihood mean of a beta distribution over the solved runs, - where there is none or no grid",
    ),
)


def panels(study: Study) -> list[Panel]:
    """The field's three, and one for each further measure of the study: a share in per cent."""
    further = [
        Panel(
            f"{name.replace('_', ' ')}, %",
            partial(_measure, name),
            "mean ± standard error of all runs",
            partial(_said, name),
        )
        for name in study.measured
    ]
    return [*PANELS, *further]


def _grid(
    study: Study, entries: Sequence[CellSummary], content: Callable[[CellSummary], list[str]]
) -> Iterator[list[list[str]]]:
    """Ranges go down and units across: names of units are short, so nine of them fit a terminal."""
    by_key = {(e.row, e.column): e for e in entries}
    for column in study.columns:
        cells = [by_key.get((row, column)) for row in study.rows]
        if any(cells):
            yield [[column], *([""] if cell is None else content(cell) for cell in cells)]


def basis(study: Study, entries: Sequence[CellSummary]) -> str:
    """What every number stands on: seeds and steps."""
    fewest, most = min(e.runs for e in entries), max(e.runs for e in entries)
    seeds = f"{fewest} to {most} seeds" if fewest < most else f"{most} seed{'s' if most > 1 else ''}"
    shown = {(e.row, e.column) for e in entries}
    steps = steps_of(cell for cell in study.cells if (cell.row, cell.column) in shown)
    return f"{seeds} per cell, {steps} steps"


def footnotes(study: Study, entries: Sequence[CellSummary]) -> list[str]:
    """What a reader must know, and where the published numbers stand."""
    lines = [f"Reproduces: {study.reproduces}."] if study.reproduces else []
    sources = dict.fromkeys(e.published.source for e in entries if e.published and e.published.source)
    if sources:
        lines.append(f"Published: {'; '.join(sources)}. {MARK} marks intervals that do not overlap.")
    return [*lines, *study.notes]


def rich_tables(study: Study, entries: Sequence[CellSummary], width: int) -> Iterator[RenderableType]:
    """One table per panel, split into several where its units are too many for `width` characters."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    for panel in panels(study):
        yield Text(f"{study.title}: {panel.heading(entries)}", style="bold")
        lines = list(_grid(study, entries, panel.content))
        for chosen in _columns_that_fit(study.rows, lines, width):
            table = Table(box=box.SIMPLE_HEAD, padding=0, show_edge=False)
            table.add_column("", style="bold", no_wrap=True)
            for number in chosen:
                table.add_column(study.rows[number], justify="right", overflow="fold")
            for name, *cells in lines:
                table.add_row(*name, *("\n".join(cells[number]) for number in chosen))
            yield table
        yield Text(f"{basis(study, entries)}; {panel.method}.\n", style="italic")


def _columns_that_fit(units: Sequence[str], lines: Sequence[Sequence[Sequence[str]]], width: int) -> list[list[int]]:
    """Places of units, in groups that fit beside the names of the lines: at least one in each group."""

    def widest(column: int) -> int:
        return max((len(text) for line in lines for text in line[column]), default=0)

    groups: list[list[int]] = [[]]
    room = width - widest(0)
    for number, unit in enumerate(units):
        needed = 1 + max(len(unit), widest(number + 1))
        if groups[-1] and needed > room:
            groups.append([])
            room = width - widest(0)
        groups[-1].append(number)
        room -= needed
    return groups


def markdown_tables(study: Study, entries: Sequence[CellSummary]) -> str:
    """The same tables as Markdown, each with what it stands on below, and the footnotes at the end."""
    parts = [markdown_panel(study, entries, panel) for panel in panels(study)]
    notes = "\n".join(f"- {line}" for line in footnotes(study, entries))
    return "\n\n".join([*parts, *([notes] if notes else [])])


def markdown_panel(study: Study, entries: Sequence[CellSummary], panel: Panel) -> str:
    """One of them."""
    head = ["", *study.rows]
    lines = ["| " + " | ".join(map(_cell, head)) + " |", "|" + "---|" * len(head)]
    for row in _grid(study, entries, panel.content):
        lines.append("| " + " | ".join("<br>".join(map(_cell, lines_)) for lines_ in row) + " |")
    return f"**{panel.heading(entries)}**\n\n" + "\n".join(lines) + f"\n\n{basis(study, entries)}; {panel.method}."


def _cell(text: str) -> str:
    """A name inside a Markdown table: what would end the cell or begin a tag is written as an entity."""
    return text.replace("|", "&#124;").replace("<", "&lt;").replace("\n", " ")


def latex_tables(study: Study, entries: Sequence[CellSummary]) -> str:
    """The same tables for a paper, with what each stands on in its caption; sources are comments above them."""
    notes = [f"% {line}" for line in footnotes(study, entries)]
    parts = ["\n".join(notes)] if notes else []
    return "\n\n".join([*parts, *(_latex_panel(study, entries, panel) for panel in panels(study))])


def _latex_panel(study: Study, entries: Sequence[CellSummary], panel: Panel) -> str:
    lines = [" & ".join(map(_escaped, ["", *study.rows]))]
    for (name,), *cells in _grid(study, entries, panel.content):
        # braces: a name that begins with "[" would be an argument of the line break before it
        stacked = (r"\shortstack{" + r"\\".join(f"{{{_escaped(text)}}}" for text in cell) + "}" for cell in cells)
        lines.append(" & ".join([f"{{{_escaped(name)}}}", *stacked]))
    head, *body = [line + r" \\" for line in lines]
    caption = f"{study.title}: {panel.heading(entries)}. {basis(study, entries)}; {panel.method}."
    return "\n".join(
        [
            r"\begin{table}",
            r"\centering",
            rf"\caption{{{_escaped(caption)}}}",
            rf"\begin{{tabular}}{{l{'r' * len(study.rows)}}}",
            *(r"\toprule", head, r"\midrule", *body, r"\bottomrule"),
            r"\end{tabular}",
            r"\end{table}",
        ]
    )


_LATEX = {character: f"\\{character}" for character in "&%$#_{}"} | {
    "\\": r"\textbackslash{}",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    **{"•": r"$\bullet$", "≠": r"$\neq$", "±": r"$\pm$", "−": "$-$", "×": r"$\times$", "·": r"$\cdot$", "→": r"$\to$"},
    **{"<": "$<$", ">": "$>$", "|": "$|$", "\n": " "},
}


def _escaped(text: str) -> str:
    """A name or number as LaTeX prints it."""
    return "".join(_LATEX.get(character, character) for character in text)
