"""`nalm report`: one page of everything a store holds, to be opened in a browser."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nalm.cli.screen import out
from nalm.cli.writing import Force, write_file

if TYPE_CHECKING:
    from nalm.bench.study import Study


def report(
    store: Annotated[
        list[Path] | None,
        typer.Option("--store", "-s", help="A store, or a table (.csv, .csv.gz); may be given more than once."),
    ] = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="Ends in .html.")] = Path("report.html"),
    force: Force = False,
) -> None:
    """Write one page of all studies in a store: overview, figures, every seed's curve, weights and formula.

    It is one file that opens without a network; `nalm report -s results/single-module.csv.gz` shows committed runs.
    """
    from nalm.bench.report.page import report_page
    from nalm.bench.studies import studies
    from nalm.cli.options import DEFAULT_STORE

    sources = store or [DEFAULT_STORE]
    records = [record for source in sources for record in _with_curves(source)]
    names = {record["id"] for record in records}
    found = _with_any(studies().values(), names)
    if names.difference(*(own for _, own in found)):  # naming the runs of the quick ones, too, takes time
        found += _with_any((replace(s.quick(), name=f"{s.name} --quick") for s in studies().values()), names)
    # studies share runs: one that has only some of the runs of another was not asked for
    shown = [study for study, own in found if not any(own < other for _, other in found)]
    page = report_page(shown, records, ", ".join(str(source) for source in sources))
    write_file(output, lambda path: path.write_text(page, encoding="utf-8"), force, (".html",), sources)
    out.say(f"{output} written ({len(page) / 1e3:,.0f} kB). Open it in a browser.")


def _with_any(studies: Iterable[Study], names: set[str]) -> list[tuple[Study, set[str]]]:
    """The studies that have any of these runs, and which."""
    found = ((study, names.intersection(study.ids())) for study in studies)
    return [(study, own) for study, own in found if own]


def _with_curves(source: Path) -> list[dict[str, Any]]:
    """The finished runs of a store with their learning curves; a table holds none."""
    from nalm.bench.report.content import RUNS_WITH_CURVES
    from nalm.bench.results.store import Store
    from nalm.bench.results.writing import READABLE_TABLES
    from nalm.cli.options import kept_records

    records = kept_records(source)
    if source.name.endswith(READABLE_TABLES) or len(records) > RUNS_WITH_CURVES:
        return records
    with Store(source, readonly=True) as store:
        return [{**record, "curve": store.curve(record["id"])} for record in records]
