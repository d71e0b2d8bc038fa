"""`nalm solve`: from a file of numbers to its exact formula."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nalm.cli.screen import out, print_json, problems, styled
from nalm.cli.writing import Force, check_file, write_file

if TYPE_CHECKING:
    from nalm.solver.solution import Solution

PYTHON, ONNX = (".py",), (".onnx",)


def solve(
    data: Annotated[
        Path, typer.Argument(help="A CSV, TSV, Excel or Parquet file (also .csv.gz) with named columns; - for stdin.")
    ],
    target: Annotated[
        str | None, typer.Option(help="The column to explain; leave it out to see which columns there are.")
    ] = None,
    columns: Annotated[
        list[str] | None, typer.Option(help="The columns to explain it with; repeat or separate by commas.")
    ] = None,
    drop: Annotated[list[str] | None, typer.Option(help="Columns not to use; repeat or separate by commas.")] = None,
    dropna: Annotated[
        bool,
        typer.Option("--dropna/--keepna", help="Leave out rows in which a cell is not a number, or refuse the table."),
    ] = True,
    noise: Annotated[
        float | None,
        typer.Option(help="Relative noise of the target: 0.01 for one per cent; estimated if you leave it out."),
    ] = None,
    effort: Annotated[str, typer.Option(help="How far to search before giving up: quick, normal or high.")] = "normal",
    units: Annotated[list[str] | None, typer.Option(help="Physical units of columns, as in m=kg,r=m,F=newton.")] = None,
    max_seconds: Annotated[
        float | None, typer.Option(min=0.0, help="Stop the search after so many seconds, with the best found.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON only.")] = False,
    export: Annotated[
        Path | None, typer.Option(help="Write the formula as a Python function to this file; ends in .py.")
    ] = None,
    onnx: Annotated[
        Path | None, typer.Option(help="Write the formula as an ONNX model to this file; ends in .onnx.")
    ] = None,
    force: Force = False,
) -> None:
    """Find the exact formula behind a table of numbers, or say that there is none in the shapes known."""
    for file, endings in ((export, PYTHON), (onnx, ONNX)):
        if file is not None:
            check_file(file, force, endings, [data])
    from nalm.solver.data.files import read_table
    from nalm.solver.formula.onnx_graph import write_onnx
    from nalm.solver.show import as_record, candidate_table, python_function
    from nalm.solver.solve import solve as solve_table

    table = read_table(data, target, _listed(columns), _listed(drop), dropna)
    assert target is not None, "read_table refuses that"
    with problems.status(styled("reading", "")) as status:
        solution = solve_table(
            table.X,
            table.y,
            names=table.names,
            noise=noise,
            effort=effort,
            units=_units(units, target),
            max_seconds=max_seconds,
            report=lambda shape: status.update(styled(f"trying: {shape}", "")),
        )
    solution = solution.with_notes(table.notes)
    if export is not None:
        source = python_function(solution)
        write_file(export, lambda file: file.write_text(source, encoding="utf-8"), force, PYTHON, [data])
    if onnx is not None:
        formula, inputs = solution.chosen.formula, len(solution.names)
        write_file(onnx, lambda file: write_onnx(formula, inputs, file), force, ONNX, [data])
    if as_json:
        print_json(as_record(solution, target))
        return
    _print(solution, target, [file for file in (export, onnx) if file])
    out.print(candidate_table(solution))


def _listed(texts: list[str] | None) -> list[str]:
    """
    >>> _listed(["a, b", "c"])
    ['a', 'b', 'c']
    """
    return [name.strip() for text in texts or [] for name in text.split(",") if name.strip()]


def _units(pairs: list[str] | None, target: str) -> dict[str, str]:
    """
    >>> _units(["m=kg, F=newton"], "F")
    {'m': 'kg', 'y': 'newton'}
    """
    from nalm.solver.data.dimensions import TARGET

    split = [pair.partition("=") for pair in _listed(pairs)]
    if wrong := [name for name, equals, _ in split if not equals]:
        raise ValueError(f"--units takes name=unit, separated by commas; got {', '.join(map(repr, wrong))}")
    return {TARGET if name.strip() == target else name.strip(): unit.strip() for name, _, unit in split}


def _print(solution: Solution, target: str, written: list[Path]) -> None:
    from nalm.solver.verdict.candidate import Status

    meaning = {
        Status.EXACT: "the rows prove this formula, and no number in it was fitted",
        Status.REAL: "the rows prove this formula; its numbers were fitted",
        Status.AMBIGUOUS: "this formula fits, but these rows do not prove it",
        Status.APPROXIMATION: "no law was found; this formula predicts, but it is no law",
        Status.NONE: "no law was found, and no formula that predicts better than the mean",
    }
    out.say(f"{target} = {solution.expression}", "bold")
    evidence = solution.evidence
    out.say(f"{solution.status}: {meaning[solution.status]}")
    out.say(f"{solution.accuracy}, {evidence.samples} rows, {solution.seconds:.2f} s")
    for constant in evidence.constants if solution.status is not Status.APPROXIMATION else ():
        out.say(f"constant {constant.value:.8g} ± {constant.deviation:.1g}")
    for note in evidence.notes:
        out.say(f"note: {note}")
    for file in written:
        out.say(f"written: {file}")
