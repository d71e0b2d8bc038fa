"""`nalm solve`: from a file of numbers to its exact formula."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from nalm.solver.solution import Solution


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command("solve")(solve_command)


def solve_command(
    data: Annotated[Path, typer.Argument(help="A CSV, TSV or Parquet file with named columns.")],
    target: Annotated[str, typer.Option(help="The column to explain.")],
    noise: Annotated[float | None, typer.Option(help="Relative noise of the target; leave out if unknown.")] = None,
    effort: Annotated[str, typer.Option(help="quick, normal or high.")] = "normal",
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON only.")] = False,
    export: Annotated[Path | None, typer.Option(help="Write the formula as a Python function to this file.")] = None,
    onnx: Annotated[Path | None, typer.Option(help="Write the formula as an ONNX model to this file.")] = None,
) -> None:
    """Find the exact formula behind a table of numbers, or say that there is none in the shapes known."""
    from rich.console import Console

    from nalm.solver.data.files import read_table
    from nalm.solver.formula.onnx_graph import write_onnx
    from nalm.solver.show import as_record, candidate_table, python_function
    from nalm.solver.solve import solve

    console = Console(stderr=as_json)
    X, y, names = read_table(data, target)
    with console.status("reading") as status:
        solution = solve(
            X, y, names=names, noise=noise, effort=effort, report=lambda shape: status.update(f"trying: {shape}")
        )
    if export is not None:
        export.write_text(python_function(solution), encoding="utf-8")
    if onnx is not None:
        write_onnx(solution.chosen.formula, len(solution.names), onnx)
    if as_json:
        print(json.dumps(as_record(solution, target), ensure_ascii=False, indent=1))
        return
    _print(console, solution, target, [file for file in (export, onnx) if file])
    console.print(candidate_table(solution))


def _print(console: Console, solution: Solution, target: str, written: list[Path]) -> None:
    from rich.text import Text

    console.print(Text(f"{target} = {solution.expression}", style="bold"))
    evidence = solution.evidence
    console.print(
        Text(
            f"{solution.status}; backward error {evidence.backward_error:.2g}, {evidence.samples} rows, "
            f"{solution.seconds:.2f} s"
        )
    )
    for constant in evidence.constants:
        console.print(Text(f"constant {constant.value:.8g} ± {constant.deviation:.1g}"))
    for note in evidence.notes:
        console.print(Text(f"note: {note}"))
    for file in written:
        console.print(Text(f"written: {file}"))
