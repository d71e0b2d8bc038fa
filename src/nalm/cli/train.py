"""`nalm run`: train a study's missing runs, with progress, resumable at any moment."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from nalm.cli.common import DEFAULT_STORE, Quick, Ranges, Retire, Seeds, StorePath, StudyName, Units, Way, chosen_study

console = Console()


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command()(run)


def run(
    study: StudyName,
    unit: Units = None,
    range: Ranges = None,
    seeds: Seeds = None,
    quick: Quick = False,
    retire: Retire = False,
    recipe: Way = None,
    store: StorePath = DEFAULT_STORE,
    engine: Annotated[str, typer.Option(help="auto, native or torch; auto takes native wherever it can.")] = "auto",
    device: Annotated[str, typer.Option(help="cpu, cuda, ... (anything but cpu uses the torch engine).")] = "cpu",
    threads: Annotated[int, typer.Option(min=1, help="Threads of the native engine.")] = os.cpu_count() or 1,
) -> None:
    """Train every run of a study that the store does not hold yet.

    Stop it with Ctrl-C, or kill it: what is finished is kept, and the same command continues.
    """
    from nalm.engine.train import Options
    from nalm.store import Store

    if engine not in ("auto", "native", "torch"):
        raise ValueError(f"There is no engine {engine!r}. Valid names: auto, native, torch.")
    chosen = chosen_study(study, unit, range, seeds, quick, retire, recipe)
    runs = [r for _, r in chosen.runs()]
    with Store(store) as kept:
        missing = set(kept.missing([r.id for r in runs]))
        todo = [r for r in runs if r.id in missing]
        console.print(
            f"[bold]{chosen.name}[/]: {chosen.title}. {len(runs)} runs, {len(runs) - len(todo)} already kept."
        )
        options = Options(engine=engine, device=device, threads=threads)  # type: ignore[arg-type]
        try:
            done = _train(todo, kept, options)
        except KeyboardInterrupt:
            left = len(kept.missing([r.id for r in runs]))
            console.print(
                f"\nStopped. {len(runs) - left} of {len(runs)} runs are kept in {store}; run it again to go on."
            )
            raise typer.Exit(130) from None
    solved = sum(bool(row["solved"]) for row in done)
    if done:
        console.print(f"{len(done)} runs trained, {solved} solved, kept in {store}.")
    hint = " --quick" * quick + " --retire" * retire + (f" --recipe {recipe}" if recipe else "")
    console.print(f"See them: [cyan]nalm show {study}{hint}{_elsewhere(store)}[/]")


def _elsewhere(store: Path) -> str:
    return "" if store == DEFAULT_STORE else f" --store {store}"


def _train(todo: list[Any], kept: Any, options: Any) -> list[dict[str, Any]]:
    from nalm.engine.train import train

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("runs  {task.fields[speed]}  solved {task.fields[solved]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    done: list[dict[str, Any]] = []
    work = sum(r.recipe.steps for r in todo)
    with Progress(*columns, console=console, transient=True) as progress:
        # the bar counts runs by the share of their steps that is done, so that it moves within a cohort
        bar = progress.add_task("", total=len(todo), speed="", solved="0")
        state = {"steps": 0}

        def moved(cohort: Any, steps: int) -> None:
            state["steps"] += steps * len(cohort.runs)
            elapsed = progress.tasks[0].elapsed or 1e-9
            solved = sum(bool(row["solved"]) for row in done) + cohort.solved
            label = f"{cohort.runs[0].model.label} {cohort.runs[0].task.operation}"
            progress.update(
                bar,
                completed=int(len(todo) * state["steps"] / max(work, 1)),
                description=label,
                speed=f"{state['steps'] / elapsed / 1e6:.2f} M steps/s",
                solved=str(solved),
            )

        options.progress = moved
        options.say = lambda line: progress.console.print(f"[yellow]{line}[/]")
        for row in train(todo, kept, options):
            done.append(row)
    return done
