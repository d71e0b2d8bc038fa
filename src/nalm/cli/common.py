"""Options that several commands share, and where rows come from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

StudyName = Annotated[str, typer.Argument(help="A study as `nalm list` names it, for example single-module/mul.")]
Units = Annotated[
    list[str] | None,
    typer.Option(
        "--unit", "-u", help="Rows to keep; repeat or separate by commas. `my_file.py:MyUnit` adds your own unit."
    ),
]
Ranges = Annotated[list[str] | None, typer.Option("--range", "-r", help="Columns to keep, for example 'U[1,2)'.")]
Seeds = Annotated[int | None, typer.Option(min=1, help="Seeds per cell; by default as published.")]
Quick = Annotated[bool, typer.Option("--quick", help="A taste in seconds: 5 seeds, at most 5,000 steps.")]
Retire = Annotated[
    bool,
    typer.Option("--retire", help="Stop runs that are solved, on the grid and past their ramp; published ones run on."),
]
Way = Annotated[
    str | None,
    typer.Option("--recipe", help="Only rows trained this way: published, lgn (local Gauss-Newton rule) or solver."),
]
Data = Annotated[
    str | None, typer.Option("--data", help="Images to use: digits (bundled, by default) or mnist (11 MB to load).")
]
Epochs = Annotated[int | None, typer.Option(min=1, help="Epochs of a study on images; by default as published.")]
StorePath = Annotated[
    Path, typer.Option("--store", "-s", help="Where finished runs are kept; a .csv or .csv.gz table can be shown too.")
]
DEFAULT_STORE = Path("runs.db")


def chosen_study(
    name: str,
    units: list[str] | None,
    ranges: list[str] | None,
    seeds: int | None,
    quick: bool,
    retire: bool = False,
    way: str | None = None,
    data: str | None = None,
    epochs: int | None = None,
) -> Any:
    """The study with the command's selections applied."""
    from dataclasses import replace

    from nalm.bench.studies import find_study

    rows = [part for text in units or [] for part in text.split(",") if part]
    study = find_study(name).only(rows, _ranges(ranges or []))
    if way:
        study = study.trained(way)
    if data:
        study = study.of_data(data)
    if quick:
        study = study.quick()
    if epochs:
        study = study.for_epochs(epochs)
    if retire:
        study = study.retiring()
    return replace(study, seeds=seeds) if seeds else study


def _ranges(texts: list[str]) -> list[str]:
    """Split at commas between ranges but not inside one: 'U[1,2),U[-2,2)'."""
    return [part for text in texts for part in text.replace("),", ")|").split("|") if part]


def rows_of(study: Any, path: Path) -> list[dict[str, Any]]:
    """The study's finished runs from a store or a table."""
    from nalm.bench.results.store import Store, read_table

    ids = [run.id for _, run in study.runs()]
    if path.name.endswith((".csv", ".csv.gz")):
        wanted = set(ids)
        return [row for row in read_table(path) if row["id"] in wanted]
    with Store(path, readonly=True) as store:
        return store.records(id=ids)
