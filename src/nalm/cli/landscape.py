"""`nalm landscape`, `starts`, `weights`: draw loss surfaces, where training ends, and the path of a run's weights."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from nalm.cli.common import Quick, StudyName, chosen_study

console = Console(highlight=False)
Output = Annotated[Path, typer.Option("--output", "-o", help="Ends in .pdf, .png or .svg.")]


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    for command in (landscape, starts, weights):
        app.command()(command)


def landscape(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            help="nac-1e-07, nac-0.1, nac-1, nmu, real-npu, nru, nmru (two layers, one sample) or nmu-pair (the NMU's "
            "local optimum); all by default."
        ),
    ] = None,
    output: Output = Path("landscape.png"),
) -> None:
    """Draw published loss surfaces: the squared error over two weights."""
    from nalm.bench.landscape import LANDSCAPES, find_landscape
    from nalm.bench.show.drawings import draw_landscapes
    from nalm.bench.show.figures import save

    save(draw_landscapes([find_landscape(name) for name in names or LANDSCAPES]), output)
    console.print(f"{output} written.")


def starts(
    output: Output = Path("starts.png"),
    steps: Annotated[int, typer.Option(min=1, help="Steps of SGD from each start.")] = 2_500,
    count: Annotated[int, typer.Option(min=2, help="Starts per axis.")] = 21,
) -> None:
    """Draw from which starts an NMU and an sNMU learn -2 times -1.8."""
    from nalm.bench.landscape import from_every_start
    from nalm.bench.show.drawings import draw_starts
    from nalm.bench.show.figures import save

    results = {
        "NMU": from_every_start(steps=steps, count=count),
        "sNMU": from_every_start((1.0, 5.0), steps=steps, count=count),
    }
    save(draw_starts(results), output)
    for label, result in results.items():
        console.print(f"{label}: {result.solved.mean():.0%} of {count**2} starts end at (1, 1).")
    console.print(f"{output} written.")


def weights(
    study: StudyName,
    unit: Annotated[str, typer.Option("--unit", "-u", help="The study's row.")],
    range: Annotated[str, typer.Option("--range", "-r", help="The study's column, for example 'U[1,2)'.")],
    seed: Annotated[int, typer.Option(min=0)] = 0,
    quick: Quick = False,
    output: Output = Path("weights.png"),
) -> None:
    """Train one run of a study again and draw the path of its weights."""
    from nalm.bench.landscape import weight_path
    from nalm.bench.show.drawings import draw_path
    from nalm.bench.show.figures import save

    chosen = chosen_study(study, [unit], [range], None, quick)
    (cell,) = chosen.cells
    steps, values = weight_path(cell.run(seed))
    save(draw_path(steps, values, f"{cell.row}, {cell.column}, seed {seed}"), output)
    console.print(f"{output} written.")
