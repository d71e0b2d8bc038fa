"""`nalm run`: train a study's missing runs, with progress, resumable at any moment."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

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
)

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
    data: Data = None,
    epochs: Epochs = None,
    store: StorePath = DEFAULT_STORE,
    engine: Annotated[str, typer.Option(help="auto, native or torch; auto takes native wherever it can.")] = "auto",
    device: Annotated[str, typer.Option(help="cpu, cuda, ... (anything but cpu uses the torch engine).")] = "cpu",
    threads: Annotated[int, typer.Option(min=1, help="Threads to train with.")] = os.cpu_count() or 1,
    cluster: Annotated[
        str | None, typer.Option(help="Train on Dask: local:N for N worker processes, or a scheduler's address.")
    ] = None,
) -> None:
    """Train every run of a study that the store does not hold yet.

    Stop it with Ctrl-C, or kill it: what is finished is kept, and the same command continues.
    """
    import torch

    from nalm.bench.engine.options import Options
    from nalm.bench.results.store import Store

    torch.set_num_threads(threads)
    if engine not in ("auto", "native", "torch"):
        raise ValueError(f"There is no engine {engine!r}. Valid names: auto, native, torch.")
    chosen = chosen_study(study, unit, range, seeds, quick, retire, recipe, data, epochs)
    runs = list({r.id: r for _, r in chosen.runs()}.values())  # cells may share runs
    with Store(store) as kept:
        missing = set(kept.missing([r.id for r in runs]))
        todo = [r for r in runs if r.id in missing]
        console.print(
            f"[bold]{chosen.name}[/]: {chosen.title}. {len(runs)} runs, {len(runs) - len(todo)} already kept."
        )
        options = Options(engine=engine, device=device, threads=threads)  # type: ignore[arg-type]
        try:
            done = _train(todo, kept, options, cluster)
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
    hint += (f" --data {data}" if data else "") + (f" --epochs {epochs}" if epochs else "")
    console.print(f"See them: [cyan]nalm show {study}{hint}{_elsewhere(store)}[/]")


def _elsewhere(store: Path) -> str:
    return "" if store == DEFAULT_STORE else f" --store {store}"


def _train(todo: list[Any], kept: Any, options: Any, cluster: str | None) -> list[dict[str, Any]]:
    from nalm.bench.engine.train import train

    with _Bar(todo) as bar:
        options.progress = bar.moved
        options.say = lambda line: bar.progress.console.print(f"[yellow]{escape(line)}[/]")
        if cluster is None:
            return [bar.finished(row) for row in train(todo, kept, options)]
        from nalm.bench.engine.cluster import connected, train_on

        with connected(cluster) as client:
            return [bar.finished(row, alone=True) for row in train_on(client, todo, kept, options)]


class _Bar:
    """The progress bar. It counts runs by the share of their steps that is done, so that it moves within a cohort."""

    def __init__(self, todo: list[Any]) -> None:
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("runs  {task.fields[speed]}  solved {task.fields[solved]}"),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
        )
        self.progress = Progress(*columns, console=console, transient=True)
        self.bar = self.progress.add_task("", total=len(todo), speed="", solved="0")
        self.work = sum(r.method.steps for r in todo) or 1
        self.steps = {r.id: r.method.steps for r in todo}
        self.done = self.solved = 0

    def __enter__(self) -> _Bar:
        self.progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.progress.stop()

    def moved(self, heard: Any) -> None:
        """After each evaluation of a group that trains here."""
        first = heard.runs[0]
        label = f"{first.model.label} {first.task.operation} {heard.note}".rstrip()
        self._advance(heard.advanced * len(heard.runs), label, heard.solved)

    def finished(self, row: dict[str, Any], alone: bool = False) -> dict[str, Any]:
        """After each run; `alone` if it trained elsewhere, so that nothing was heard of it before."""
        self.solved += bool(row["solved"])
        if alone:
            self._advance(self.steps[row["id"]], f"{row['unit']} {row['operation']}", 0)
        return row

    def _advance(self, steps: int, label: str, solved: int) -> None:
        self.done += steps
        task = self.progress.tasks[0]
        self.progress.update(
            self.bar,
            completed=int((task.total or 0) * self.done / self.work),
            description=label,
            speed=f"{self.done / (task.elapsed or 1e-9) / 1e6:.2f} M steps/s",
            solved=str(self.solved + solved),
        )
