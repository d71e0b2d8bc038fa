"""A published figure or table as data: a grid of models, tasks and recipes, with the published numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from nalm.bench.find import nearest
from nalm.bench.method import Descent, Method, Rule, Solve
from nalm.bench.run import Model, Run, single
from nalm.bench.task import Task
from nalm.core.arguments import Count, Seeds, check_fields, checks_arguments
from nalm.core.notebook import table
from nalm.core.recipe import Recipe

if TYPE_CHECKING:
    import pandas

Row = tuple[Model, Recipe | Method]
"""A line of a study before it meets its columns; a recipe stands for descent by it."""
SolvedIn = Callable[[str], bool]
"""Whether a run counts as solved in the column of that name."""
UNFRAMED = ("run", "weights", "curve")
"""What of a record does not fit a cell of a table."""
QUICK_SEEDS = 5
QUICK_STEPS = 5_000


@runtime_checkable
class Records(Protocol):
    """What keeps finished runs and finds them by id: a `Store`."""

    def records(self, *, id: Sequence[str]) -> list[dict[str, Any]]:
        """Those of these runs that are kept."""


@dataclass(frozen=True)
class Published:
    """What a source says about a cell. Only what it says: the rest is None.

    Args:
        success: the rate, with `seeds` runs behind it.
        measures: what else was measured, by the name of its column in results; see `Study.measured`.
        source: where the number stands.
    """

    success: float | None = None
    solved_at: float | None = None
    sparsity: float | None = None
    seeds: int = 25
    source: str = ""
    measures: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Cell:
    """One entry of the grid: which row and column, and what is trained there.

    >>> from nalm.bench.run import single
    >>> from nalm.bench.tasks.arithmetic import RANGES, SingleModule
    >>> task = SingleModule(*RANGES["U[1,2)"])
    >>> Cell("NMU", "U[1,2)", single("NMU", 2), task, Rule(steps=100)).method.steps
    100
    """

    row: str
    column: str
    model: Model
    task: Task
    method: Method
    every: Count = 1_000
    retire: bool = False

    def __post_init__(self) -> None:
        check_fields(self)

    def run(self, seed: int, study: str = "") -> Run:
        """The cell's run for a seed."""
        return Run(self.model, self.task, self.method, seed, self.every, self.retire, study)

    @checks_arguments
    def ids(self, seeds: Seeds) -> list[str]:
        """Names of the cell's runs for the first seeds, as `run(seed).id` but a hundred times faster."""
        return self.run(0).ids(range(seeds))

    def quick(self) -> Cell:
        """The same in fewer steps, with ten evaluations; schedules keep their place."""
        steps = min(self.method.steps, QUICK_STEPS)
        return replace(self, method=self.method.scaled(steps), every=max(1, steps // 10))


@dataclass(frozen=True)
class Study:
    """A named grid.

    Args:
        name: as typed on the command line, for example "single-module/mul".
        title: one line for lists and figures.
        reproduces: which published figure or table.
        published: by (row, column).
        notes: what a reader must know to compare, shown under the table.
        measured: further columns of results that are shown, each as the mean over seeds.

    >>> from nalm.bench.run import single
    >>> from nalm.bench.tasks.arithmetic import RANGES, SingleModule
    >>> columns = {label: SingleModule(*RANGES[label]) for label in ("U[1,2)", "U[-2,2)")}
    >>> cells = cells_over([(single("NMU", 2), Recipe(steps=5_000))], columns)
    >>> study = Study("mine/first", "My first study", "nothing published", cells, seeds=10)
    >>> len(list(study.runs()))
    20
    """

    name: str
    title: str
    reproduces: str
    cells: tuple[Cell, ...]
    seeds: Seeds = 25
    published: Mapping[tuple[str, str], Published] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    measured: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def rows(self) -> list[str]:
        """Row labels in order."""
        return list(dict.fromkeys(cell.row for cell in self.cells))

    @property
    def columns(self) -> list[str]:
        """Column labels in order."""
        return list(dict.fromkeys(cell.column for cell in self.cells))

    def runs(self) -> Iterator[tuple[Cell, Run]]:
        """All runs, cell by cell."""
        return ((cell, cell.run(seed, self.name)) for cell in self.cells for seed in range(self.seeds))

    @property
    def hint(self) -> str:
        """One line that who runs it for the first time may be glad of."""
        return ""

    def judged(self, records: Iterable[Mapping[str, Any]]) -> Iterator[tuple[Mapping[str, Any], SolvedIn]]:
        """Each record, with a function that says whether it counts as solved in a column.

        One at a time, for there may be very many; a study that compares runs with each other looks at all first.
        """
        return ((record, partial(_as_recorded, bool(record["solved"]))) for record in records)

    def of_data(self, data: str) -> Study:
        """The same on other data, for studies that have a choice."""
        raise ValueError(f"{self.name} draws its numbers itself; --data is for studies on images.")

    def for_epochs(self, epochs: int) -> Study:
        """The same for another number of epochs, for studies with data that can be gone through."""
        raise ValueError(f"{self.name} counts steps on fresh numbers; --epochs is for studies on images.")

    def ids(self) -> list[str]:
        """Names of all runs, in the order of `runs`."""
        return [name for cell in self.cells for name in cell.ids(self.seeds)]

    def frame(self, kept: Records | Iterable[Mapping[str, Any]]) -> pandas.DataFrame:
        """The finished runs of this study as a pandas DataFrame, a line for each, with the row and column it is for.

        Args:
            kept: a `Store`, or records as `train` gives them.

        >>> from nalm.bench.studies import find_study
        >>> study = find_study("single-module/mul").only(["NMU"], ["U[1,2)"])
        >>> record = {"id": study.ids()[0], "unit": "NMU", "seed": 0, "solved": True, "solved_at": 3000}
        >>> study.frame([record]).groupby(["row", "column"])["solved"].mean().tolist()
        [1.0]
        """
        try:
            import pandas
        except ImportError:
            raise ImportError("Study.frame needs pandas: pip install 'nalm[sklearn]'") from None
        records = kept.records(id=self.ids()) if isinstance(kept, Records) else list(kept)
        by_id = {record["id"]: (record, solved) for record, solved in self.judged(records)}
        lines = [
            {
                "row": cell.row,
                "column": cell.column,
                **{name: value for name, value in record.items() if name not in UNFRAMED},
                "solved": solved(cell.column),
            }
            for cell in self.cells
            for run in cell.ids(self.seeds)
            if run in by_id
            for record, solved in [by_id[run]]
        ]
        return pandas.DataFrame(lines)

    def _repr_html_(self) -> str:
        """In a notebook: what is compared with what, and how to run and see it."""
        facts = [
            ("reproduces", self.reproduces),
            ("rows", ", ".join(self.rows)),
            ("columns", ", ".join(self.columns)),
            ("runs", f"{len(self.cells) * self.seeds:,}: {self.seeds} seeds in each of {len(self.cells)} cells"),
            ("steps", steps_of(self.cells)),
            ("run it", f"nalm run {self.name}"),
            ("see it", f"nalm show {self.name}"),
        ]
        return table((self.name, self.title), facts)

    def quick(self) -> Study:
        """A taste: fewer seeds and steps; its runs have ids of their own."""
        cells = tuple(cell.quick() for cell in self.cells)
        return replace(self, cells=cells, seeds=min(self.seeds, QUICK_SEEDS), published={})

    def retiring(self) -> Study:
        """The same with runs that stop once they are done; they have ids of their own."""
        note = "Runs stop once they are solved, on the grid and past every ramp; the published ones train on."
        cells = tuple(replace(cell, retire=True) for cell in self.cells)
        return replace(self, cells=cells, notes=(note, *self.notes))

    @checks_arguments
    def trained(self, way: str) -> Study:
        """Only the rows trained in one way: "published", "lgn" (the local Gauss-Newton rule) or "solver"."""
        cells = tuple(cell for cell in self.cells if cell.method.way == way)
        if not cells:
            ways = dict.fromkeys(cell.method.way for cell in self.cells)
            raise ValueError(f"{self.name} has no rows trained by {way!r}. {nearest(way, ways)}")
        return replace(self, cells=cells)

    @checks_arguments
    def only(self, rows: Sequence[str] = (), columns: Sequence[str] = ()) -> Study:
        """Some rows and columns; a row that is a file reference (`my_file.py:MyUnit`) is added as a new one."""
        study, chosen = self, []
        for name in [rows] if isinstance(rows, str) else rows:
            if ":" in name:
                study = study._with_unit(name)
            chosen.append(study.row_called(name))
        ranges = {_loose(column): column for column in study.columns}
        kept = [
            _pick(column, ranges, f"range in {self.name}")
            for column in ([columns] if isinstance(columns, str) else columns)
        ]
        cells = [c for c in study.cells if (not chosen or c.row in chosen) and (not kept or c.column in kept)]
        return replace(study, cells=tuple(cells))

    @checks_arguments
    def row_called(self, name: str) -> str:
        """The row of that name, whatever its case and spaces; a file reference is the row of that unit."""
        if ":" in name:
            return next(cell.row for cell in reversed(self.cells) if cell.model.layers[0].unit == name)
        return _pick(name, {_loose(row): row for row in self.rows}, f"unit in {self.name}")

    def label_for(self, reference: str) -> str:
        """The name of the row of a user's own unit, told apart from a row that has the same name."""
        path, _, name = reference.rpartition(":")
        labels = (name, f"{name} ({Path(path).name})", f"{name} ({path})")
        return next(label for label in labels if label not in self.rows or label == labels[-1])

    def _with_unit(self, reference: str) -> Study:
        """With the rows of a unit of the user's own."""
        cells, label = [], self.label_for(reference)
        for column in self.columns:
            like = next(cell for cell in self.cells if cell.column == column)
            model = single(reference, like.task.in_features, like.task.out_features, label=label)
            recipe = model.layers[0].recipe
            method = Descent(replace(recipe, steps=max(recipe.steps, like.method.steps)))
            cells.append(replace(like, row=label, model=model, method=method))
        return replace(self, cells=(*self.cells, *cells))


def steps_of(cells: Iterable[Cell]) -> str:
    """How long the cells train, in words: "500", "1 or 500", "1, 500 or 50,000"."""
    *counts, longest = [f"{count:,}" for count in sorted({cell.method.steps for cell in cells})]
    return f"{', '.join(counts)} or {longest}" if counts else longest


def _as_recorded(solved: bool, _column: str) -> bool:
    return solved


def _loose(name: str) -> str:
    return name.lower().replace(" ", "")


def _pick(name: str, valid: Mapping[str, str], what: str) -> str:
    if _loose(name) not in valid:
        raise ValueError(f"There is no {what} called {name!r}. {nearest(name, valid.values())}")
    return valid[_loose(name)]


def other_ways(*models: Model, steps: int = 500, samples: int = 256) -> list[Row]:
    """Rows that train the same models by the local Gauss-Newton rule, and by the solver on one batch of `samples`."""
    methods: tuple[Method, ...] = (Rule(steps), Solve(samples))
    return [(replace(model, label=f"{model.label} {method.way}"), method) for method in methods for model in models]


@checks_arguments
def cells_over(rows: Iterable[Row], columns: Mapping[str, Task], every: Count = 1_000) -> tuple[Cell, ...]:
    """The full grid of models and tasks; a recipe stands for descent by it. Other ways than the published need few
    steps: their runs are evaluated often, and stop once they are solved on the grid.

    >>> from nalm.bench.run import single
    >>> from nalm.bench.tasks.arithmetic import RANGES, SingleModule
    >>> columns = {label: SingleModule(*RANGES[label]) for label in ("U[1,2)", "U[-2,2)")}
    >>> cells = cells_over([(single("NMU", 2), Recipe(steps=5_000))], columns)
    >>> [(cell.row, cell.column) for cell in cells]
    [('NMU', 'U[1,2)'), ('NMU', 'U[-2,2)')]
    """
    cells = []
    for model, way in rows:
        method = Descent(way) if isinstance(way, Recipe) else way
        short = method.way != "published"
        marks = max(1, method.steps // 40) if short else every
        cells += [Cell(model.label, column, model, task, method, marks, short) for column, task in columns.items()]
    return tuple(cells)
