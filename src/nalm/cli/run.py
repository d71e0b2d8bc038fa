"""`nalm run`: train a study's missing runs, with progress, resumable at any moment."""

from __future__ import annotations

import contextlib
import os
from collections import Counter
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from nalm.cli.options import Selection, takes_selection
from nalm.cli.progress import Bar, Stop
from nalm.cli.screen import counted, out, styled

if TYPE_CHECKING:
    from nalm.bench.engine.options import Options, Progress
    from nalm.bench.results.store import Store
    from nalm.bench.run import Run

MOST_THREADS = 1_024  # more than any machine has cores; thousands end in a segmentation fault


class Engine(StrEnum):
    """What trains."""

    AUTO = "auto"
    NATIVE = "native"
    TORCH = "torch"


@takes_selection
def run(
    selection: Selection,
    engine: Annotated[Engine, typer.Option(help="What trains; auto takes native wherever it can.")] = Engine.AUTO,
    device: Annotated[str, typer.Option(help="cpu, cuda, ... (anything but cpu uses the torch engine).")] = "cpu",
    threads: Annotated[
        int | None, typer.Option(min=1, max=MOST_THREADS, help="Threads to train with; by default all cores.")
    ] = None,
    cluster: Annotated[
        str | None, typer.Option(help="Train on Dask: local:N for N worker processes, or a scheduler's address.")
    ] = None,
) -> None:
    """Train every run of a study that the store does not hold yet.

    Stop it with Ctrl-C, or kill it: what is finished is kept, and the same command continues.
    """
    import torch

    from nalm.bench.engine.options import Options
    from nalm.bench.own import check_model
    from nalm.bench.results.store import Store

    _check_device(device)
    cores = threads or os.cpu_count() or 1
    torch.set_num_threads(cores)
    study = selection.chosen()
    for model, task in {cell.row: (cell.model, cell.task) for cell in study.cells}.values():
        if any(":" in layer.unit for layer in model.layers):
            check_model(model, task)
    runs = list({r.id: r for _, r in study.runs()}.values())  # cells may share runs
    with Store(selection.store) as kept:
        missing = set(kept.missing([r.id for r in runs]))
        todo = [r for r in runs if r.id in missing]
        out.say(f"{study.name}: {study.title}. {counted(len(runs), 'run')}, {len(runs) - len(todo)} already kept.")
        if study.hint:
            out.say(study.hint)
        options = Options(engine=engine.value, device=device, threads=cores)
        try:
            trained = _train(todo, kept, options, cluster)
        except KeyboardInterrupt:
            left = len(kept.missing([r.id for r in runs]))
            out.say(
                f"Stopped. {len(runs) - left} of {len(runs)} runs are kept in {selection.store}; run it again to go on."
            )
            raise typer.Exit(130) from None
        place = kept.path  # another one than asked for, if that was lost on the way
    if count := trained["runs"]:
        lost = f", {trained['lost']} stopped at weights that are not finite" if trained["lost"] else ""
        out.say(f"{counted(count, 'run')} trained, {trained['solved']} solved{lost}, kept in {place}.")
    out.say(f"See them: nalm {selection.words('show')}", "cyan")


def _check_device(device: str) -> None:
    """Say that a device is not there before anything is trained."""
    import torch

    try:
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise ValueError(
            f"--device {device} cannot be used here: {reason}. Leave it out to train on the CPU."
        ) from None


def _train(todo: list[Run], kept: Store, options: Options, cluster: str | None) -> Counter[str]:
    """Train what is to do; returns how many runs were trained, how many of them are solved, and how many were lost."""
    from nalm.bench.engine.train import train

    with Stop() as stop, Bar(todo, out) as bar:

        def moved(heard: Progress) -> None:
            bar.moved(heard)
            stop.check()

        options.progress = moved
        options.say = lambda line: bar.progress.console.print(styled(line, "yellow"))
        kept.say = options.say
        trained: Counter[str] = Counter()
        with contextlib.ExitStack() as stack:
            if cluster is None:
                records = train(todo, kept, options)
            else:
                from nalm.bench.engine.cluster import connected, train_on

                records = train_on(stack.enter_context(connected(cluster)), todo, kept, options)
            for record in records:
                bar.finished(record, alone=cluster is not None)
                lost = record.get("nonfinite_step") is not None
                trained.update(
                    runs=1, solved=int(record["solved"]), lost=int(lost)
                )  # the first is kept as it is: not True
                if cluster is not None:
                    stop.check()
        return trained
