"""`nalm list`: what there is to run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

import typer

from nalm.cli.screen import out

if TYPE_CHECKING:
    from rich.table import Table

    from nalm.bench.study import Study

Words = Annotated[
    list[str] | None,
    typer.Argument(help="Only lines with all of these words, for example: division, NMU, or thesis 'table 7.3'."),
]


def list_all(words: Words = None) -> None:
    """List all units, tasks and studies, or those whose line has all the words given."""
    import nalm.bench.tasks
    from nalm.bench.find import import_all, meant, subclasses
    from nalm.bench.studies import studies
    from nalm.bench.task import SampledTask
    from nalm.units import catalogue

    import_all(nalm.bench.tasks)
    units = [(name, unit.operations, _first_sentence(unit)) for name, unit in sorted(catalogue().items())]
    tasks = [
        (task.__name__, _first_sentence(task))
        for task in dict.fromkeys(subclasses(SampledTask))  # type: ignore[type-abstract]
        if not getattr(task.target, "__isabstractmethod__", False)
        and task.__module__.startswith("nalm.bench.tasks.")
        and not task.__name__.startswith("_")
    ]
    listed = [(name, str(_runs(study)), f"{study.title}: {study.reproduces}") for name, study in studies().items()]
    tables = [
        *_table("Units", ("unit", "computes", "what it is"), units, words or ()),
        *_table("Tasks", ("task", "what it is"), tasks, words or ()),
        *_table("Studies", ("study", "runs", "what it is, and what it reproduces"), listed, words or ()),
    ]
    if not tables:
        names = [row[0] for row in (*units, *tasks, *listed)]
        sought = words or [""]
        suggestion = meant(sought[0], names) or "Without words, nalm list shows all."
        raise ValueError(f"No line has {' and '.join(map(repr, sought))}. {suggestion}")
    out.page(*tables[:-1])


def _runs(study: Study) -> int:
    """How many runs a study has; cells may share them."""
    return len({cell.run(0).id for cell in study.cells}) * study.seeds


def _table(
    title: str, heads: tuple[str, ...], rows: Iterable[tuple[str, ...]], words: Iterable[str]
) -> list[Table | str]:
    """The rows that have all the words, and an empty line; nothing if there are none.

    The first column is what a user types: it is never cut; the others wrap.
    """
    from rich.table import Table

    table = Table(title=title, title_justify="left", title_style="bold", box=None, padding=(0, 2, 0, 0))
    for head in heads:
        first = head == heads[0]
        table.add_column(head, no_wrap=first, overflow="fold", justify="right" if head == "runs" else "left")
    sought = [word.casefold() for word in words]
    for row in rows:
        line = " ".join(row).casefold()
        if all(word in line for word in sought):
            table.add_row(*row)
    return [table, ""] if table.row_count else []


def _first_sentence(thing: type) -> str:
    return " ".join((thing.__doc__ or "").strip().split("\n\n")[0].split())
