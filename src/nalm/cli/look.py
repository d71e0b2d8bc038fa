"""`nalm list`, `show`, `figure`, `compare`: see what there is and what came out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from nalm.cli.common import (
    DEFAULT_STORE,
    Data,
    Epochs,
    Quick,
    Ranges,
    Retire,
    Seeds,
    StorePath,
    StudyName,
    Units,
    Way,
    chosen_study,
    rows_of,
)

console = Console(highlight=False)


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command("list")(list_all)
    for command in (show, figure, compare):
        app.command()(command)


def list_all() -> None:
    """List all units, tasks and studies, one line each."""
    import nalm.bench.tasks
    from nalm.bench.find import import_all, subclasses
    from nalm.bench.studies import studies
    from nalm.bench.task import Task
    from nalm.units import catalogue

    units = Table("unit", "computes", "what it is", title="Units", title_justify="left", box=None)
    for name, unit in sorted(catalogue().items()):
        units.add_row(name, unit.operations, _first_sentence(unit))
    import_all(nalm.bench.tasks)
    tasks = Table("task", "what it is", title="Tasks", title_justify="left", box=None)
    for task in subclasses(Task):  # type: ignore[type-abstract]
        if task.__module__.startswith("nalm.bench.tasks.") and not task.__name__.startswith("_"):
            tasks.add_row(task.__name__, _first_sentence(task))
    listed = Table("study", "runs", "what it is", "reproduces", title="Studies", title_justify="left", box=None)
    for name, study in studies().items():
        listed.add_row(name, str(_runs(study)), study.title, study.reproduces)
    for table in (units, tasks, listed):
        console.print(table, "")


def _runs(study: Any) -> int:
    """How many runs a study has; cells may share them."""
    return len({cell.run(0).id for cell in study.cells}) * int(study.seeds)


def _first_sentence(thing: type) -> str:
    return " ".join((thing.__doc__ or "").strip().split("\n\n")[0].split())


def show(
    study: StudyName,
    unit: Units = None,
    range: Ranges = None,
    seeds: Seeds = None,
    quick: Quick = False,
    retire: Retire = False,
    recipe: Way = None,
    data: Data = None,
    epochs: Epochs = None,
    store: StorePath = DEFAULT_STORE,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Print Markdown tables, as on the results pages.")
    ] = False,
) -> None:
    """Show a study: success with its 95 % interval, steps to solve and sparsity error, published values beside."""
    from nalm.bench.results.summary import summarise
    from nalm.bench.show.tables import markdown_tables, rich_tables

    chosen = chosen_study(study, unit, range, seeds, quick, retire, recipe, data, epochs)
    entries = summarise(chosen, rows_of(chosen, store))
    if not entries:
        raise ValueError(f"{store} holds no run of {study} with these options yet; start with: nalm run {study}")
    if markdown:
        print(markdown_tables(chosen, entries))
        return
    for table in rich_tables(chosen, entries):
        console.print(table, "")


def figure(
    study: StudyName,
    output: Annotated[Path, typer.Option("--output", "-o", help="Ends in .pdf, .png or .svg.")],
    unit: Units = None,
    range: Ranges = None,
    seeds: Seeds = None,
    quick: Quick = False,
    retire: Retire = False,
    recipe: Way = None,
    data: Data = None,
    epochs: Epochs = None,
    store: StorePath = DEFAULT_STORE,
) -> None:
    """Draw the field's figure of a study: success, steps to solve and sparsity error per range."""
    from nalm.bench.results.summary import summarise
    from nalm.bench.show.figures import points, save, three_panel

    chosen = chosen_study(study, unit, range, seeds, quick, retire, recipe, data, epochs)
    entries = summarise(chosen, rows_of(chosen, store))
    if not entries:
        raise ValueError(f"{store} holds no run of {study} with these options yet; start with: nalm run {study}")
    save(three_panel(points(entries), chosen.columns, chosen.rows, title=chosen.title), output)
    console.print(f"{output} written.")


def compare(
    study: StudyName,
    unit: Annotated[list[str], typer.Option("--unit", "-u", help="Two rows of the study: --unit A --unit B.")],
    range: Ranges = None,
    seeds: Seeds = None,
    quick: Quick = False,
    retire: Retire = False,
    recipe: Way = None,
    data: Data = None,
    epochs: Epochs = None,
    store: StorePath = DEFAULT_STORE,
) -> None:
    """Compare two units on the same seeds: difference of success with its 95 % interval (Tango) and McNemar's p."""
    from nalm.bench.results.summary import compare as paired

    names = [part for text in unit for part in text.split(",") if part]
    if len(names) != 2:
        raise ValueError(f"compare takes two units, got {len(names)}: --unit A --unit B")
    chosen = chosen_study(study, names, range, seeds, quick, retire, recipe, data, epochs)
    first, second = (next(r for r in chosen.rows if _same(r, name)) for name in names)
    table = Table("range", "difference", "95 % interval", "p", f"only {first}", f"only {second}")
    for column, result in paired(chosen, rows_of(chosen, store), first, second).items():
        d: Any = result.difference
        table.add_row(
            column,
            f"{d.estimate:+.2f}",
            f"{d.low:+.2f} to {d.high:+.2f}",
            f"{result.p_value:.3f}",
            str(result.only_first),
            str(result.only_second),
        )
    table.title = f"{chosen.title}: success of {first} minus {second}, same seeds"
    console.print(table)


def _same(row: str, name: str) -> bool:
    plain = name.rpartition(":")[2].lower().replace(" ", "")
    return row.lower().replace(" ", "") == plain
