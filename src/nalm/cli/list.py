"""`nalm list`: what there is to run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nalm.cli.screen import out

if TYPE_CHECKING:
    from rich.table import Table

    from nalm.bench.study import Study


def list_all() -> None:
    """List all units, tasks and studies, one line each."""
    import nalm.bench.tasks
    from nalm.bench.find import import_all, subclasses
    from nalm.bench.studies import studies
    from nalm.bench.task import SampledTask
    from nalm.units import catalogue

    units = _table("Units", "unit", "computes", "what it is")
    for name, unit in sorted(catalogue().items()):
        units.add_row(name, unit.operations, _first_sentence(unit))
    import_all(nalm.bench.tasks)
    tasks = _table("Tasks", "task", "what it is")
    for task in dict.fromkeys(subclasses(SampledTask)):  # type: ignore[type-abstract]
        complete = not getattr(task.target, "__isabstractmethod__", False)
        if complete and task.__module__.startswith("nalm.bench.tasks.") and not task.__name__.startswith("_"):
            tasks.add_row(task.__name__, _first_sentence(task))
    listed = _table("Studies", "study", "runs", "what it is, and what it reproduces")
    for name, study in studies().items():
        listed.add_row(name, str(_runs(study)), f"{study.title}: {study.reproduces}")
    out.page(units, "", tasks, "", listed)


def _runs(study: Study) -> int:
    """How many runs a study has; cells may share them."""
    return len({cell.run(0).id for cell in study.cells}) * study.seeds


def _table(title: str, typed: str, *others: str) -> Table:
    """The first column is what a user types: it is never cut; the others wrap."""
    from rich.table import Table

    table = Table(title=title, title_justify="left", title_style="bold", box=None, padding=(0, 2, 0, 0))
    table.add_column(typed, no_wrap=True)
    for other in others:
        table.add_column(other, overflow="fold", justify="right" if other == "runs" else "left")
    return table


def _first_sentence(thing: type) -> str:
    return " ".join((thing.__doc__ or "").strip().split("\n\n")[0].split())
