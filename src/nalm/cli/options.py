"""What commands have in common: which runs of which study are meant, and where finished runs are."""

from __future__ import annotations

import functools
import inspect
import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from nalm.bench.results.writing import READABLE_TABLES

if TYPE_CHECKING:
    from nalm.bench.results.summary import CellSummary
    from nalm.bench.study import Study

DEFAULT_STORE = Path("runs.db")
MOST_SEEDS = 10_000  # with nine ranges and seven units already 630,000 runs
ALL = "all"  # as a unit: every row that the study has
FIGURES = (".pdf", ".png", ".svg")

Figure = Annotated[Path, typer.Option("--output", "-o", help="The file to draw; ends in .pdf, .png or .svg.")]


def kept_records(path: Path) -> list[dict[str, Any]]:
    """All finished runs of a store or a table."""
    from nalm.bench.results.store import Store

    if path.name.endswith(READABLE_TABLES):
        return _of_table(path)
    with Store(path, readonly=True) as store:
        return store.records()


def outcomes(path: Path, ids: Sequence[str]) -> Iterator[dict[str, Any]]:
    """What came out of the runs with these ids, from a store or a table, one at a time."""
    from nalm.bench.results.store import Store

    if path.name.endswith(READABLE_TABLES):
        wanted = set(ids)
        yield from (row for row in _of_table(path) if row["id"] in wanted)
    else:
        with Store(path, readonly=True) as store:
            yield from store.outcomes(ids)


def _of_table(path: Path) -> list[dict[str, Any]]:
    from nalm.bench.results.store import read_table

    table = read_table(path)
    for needed in ("id", "solved"):
        if any(row.get(needed) is None for row in table):
            raise ValueError(f"{path} is not a table of runs: {needed!r} is missing in at least one line")
    return table


def study_names() -> list[str]:
    """For the shell's completion."""
    from nalm.bench.studies import studies

    return list(studies())


@dataclass(frozen=True)
class Selection:
    """Which runs are meant. Every field is an option of the commands that `takes_selection`."""

    study: Annotated[
        str,
        typer.Argument(
            help="A study as `nalm list` names it, for example single-module/mul, or one of your own: "
            "`my_study.py:STUDY`, or `my_task.py:MyTask` with --unit.",
            autocompletion=study_names,
        ),
    ]
    unit: Annotated[
        list[str] | None,
        typer.Option(
            "--unit",
            "-u",
            help="Only these units; repeat or separate by commas. `my_file.py:MyUnit` is a unit of your own, and "
            "`all,my_file.py:MyUnit` puts it beside all others.",
        ),
    ] = None
    range: Annotated[
        list[str] | None, typer.Option("--range", "-r", help="Only these ranges, for example 'U[1,2)'.")
    ] = None
    seeds: Annotated[
        int | None, typer.Option("--seeds", min=1, max=MOST_SEEDS, help="Seeds per cell; by default as published.")
    ] = None
    quick: Annotated[
        bool,
        typer.Option(
            "--quick", help="A taste, mostly in seconds: 5 seeds, at most 5,000 steps (images: 1 seed, 4 epochs)."
        ),
    ] = False
    retire: Annotated[
        bool,
        typer.Option(
            "--retire",
            help="Stop a run once it is solved, on its grid and past the rise of its penalty; published runs go on.",
        ),
    ] = False
    recipe: Annotated[
        str | None,
        typer.Option(
            "--recipe",
            help="Only rows trained this way: published, lgn (Gauss-Newton rule), formula (formula learner) or solver.",
        ),
    ] = None
    steps: Annotated[
        int | None,
        typer.Option(
            "--steps", min=1, max=10**9, help="Train so many steps; penalties still begin where they were published."
        ),
    ] = None
    rate: Annotated[float | None, typer.Option("--rate", help="Another learning rate than the recipe's.")] = None
    batch: Annotated[
        int | None, typer.Option("--batch", min=1, max=10**6, help="Another batch size than the recipe's.")
    ] = None
    ranges: Annotated[
        list[str] | None,
        typer.Option("--ranges", help="Other ranges than the study's, to train and to test on: 'U[1,2):U[2,6)'."),
    ] = None
    data: Annotated[
        str | None,
        typer.Option("--data", help="Images to use: digits (bundled, by default) or mnist (11 MB to load)."),
    ] = None
    epochs: Annotated[
        int | None, typer.Option("--epochs", min=1, help="Epochs of a study on images; by default as published.")
    ] = None
    store: Annotated[
        Path,
        typer.Option("--store", "-s", help="Where finished runs are kept; a .csv or .csv.gz table can be shown too."),
    ] = DEFAULT_STORE

    @property
    def units(self) -> list[str]:
        """The rows asked for, one by one."""
        return _names("--unit", self.unit)

    def chosen(self) -> Study:
        """The study with the selection applied."""
        from nalm.bench.changes import Changes

        study, rows = self._found()
        if self.data:
            study = study.of_data(self.data)
        rows = [row for name in rows for row in (study.rows if name == ALL else [name])]
        study = study.only(rows, _names("--range", self.range))
        if self.recipe:
            study = study.trained(self.recipe)
        if self.quick:
            study = study.quick()
        if self.epochs:
            study = study.for_epochs(self.epochs)
        if self.retire:
            study = study.retiring()
        study = Changes(self.steps, self.rate, self.batch, _names("--ranges", self.ranges)).applied(study)
        return replace(study, seeds=self.seeds) if self.seeds else study

    def _found(self) -> tuple[Study, list[str]]:
        """The study of the catalogue or of a user's file, and the rows to choose from it."""
        for name in (self.study, *self.units):
            if name.endswith(".py"):
                raise ValueError(f"{name} is a file; say which name in it is meant: {name}:NAME")
        if ":" not in self.study:
            from nalm.bench.studies import find_study

            return find_study(self.study), self.units
        from nalm.bench.own import study_from_file

        study = study_from_file(self.study, self.units)
        made_for_units = study.name == self.study  # of a task: it has exactly the units asked for
        return study, [] if made_for_units else self.units

    def outcomes(self, study: Study) -> Iterator[dict[str, Any]]:
        """What came out of the study's finished runs, from the store or the table."""
        return outcomes(self.store, study.ids())

    def entries(self, study: Study) -> list[CellSummary]:
        """The study's cells, counted; an error if there is none."""
        from nalm.bench.results.summary import summarise

        entries = summarise(study, self.outcomes(study))
        if not entries:
            raise self.nothing()
        return entries

    def nothing(self) -> ValueError:
        """What to say when the store holds none of the runs."""
        table = self.store.name.endswith(READABLE_TABLES)  # which runs are not added to
        run = replace(self, store=DEFAULT_STORE) if table else self
        return ValueError(f"{self.store} holds no run of these yet; start with: nalm {run.words('run')}")

    def words(self, command: str) -> str:
        """The command line that asks another command for the same runs."""
        return shlex.join([command, self.study, *self._options()])

    def _options(self) -> Iterator[str]:
        for field in fields(self):
            value, flag = getattr(self, field.name), f"--{field.name}"
            if field.name == "study" or value == field.default:
                continue
            for part in value if isinstance(value, list) else [value]:
                yield from [flag] if part is True else [flag, str(part)]


def takes_selection(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of `Selection` in place of its first parameter."""
    hints = get_type_hints(Selection, include_extras=True)
    own_hints = get_type_hints(command, include_extras=True)
    shared = [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if field.name == "study" else field.default,
            annotation=hints[field.name],
        )
        for field in fields(Selection)
    ]
    own = [
        p.replace(kind=p.KEYWORD_ONLY, annotation=own_hints[p.name])
        for p in inspect.signature(command).parameters.values()
    ]

    @functools.wraps(command)
    def wrapped(**values: Any) -> None:
        selection = Selection(**{field.name: values.pop(field.name) for field in fields(Selection)})
        command(selection, **values)

    # what the library that builds the command line looks at
    parameters = [*shared, *own[1:]]
    wrapped.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    wrapped.__annotations__ = {p.name: p.annotation for p in parameters}
    return wrapped


def _names(option: str, texts: list[str] | None) -> list[str]:
    """Split at commas between names but not inside brackets: 'U[1,2),U[-2,2)', 'NMU,sNMU [1,5]'."""
    between = re.compile(r",(?![^\[(]*[\])])")  # no bracket closes after it that has not opened after it
    names = [[part.strip() for part in between.split(text) if part.strip()] for text in texts or []]
    if not all(names):  # a script's variable that is not set must not mean the whole study
        raise ValueError(f"{option} is empty; name at least one, or leave the option out for all of them.")
    return [name for own in names for name in own]
