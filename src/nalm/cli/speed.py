"""`nalm speed`: run-steps per second on this machine, against the plain PyTorch loop; images per second of networks."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from nalm.cli.run import Engine
from nalm.cli.screen import out


class What(StrEnum):
    """What is timed."""

    UNITS = "units"
    MNIST = "mnist"


def speed(
    what: Annotated[What, typer.Argument(help="Steps of single units, or images of whole networks.")] = What.UNITS,
    engine: Annotated[Engine, typer.Option(help="The engine to time.")] = Engine.AUTO,
    unit: Annotated[str | None, typer.Option("--unit", "-u", help="Only this unit.")] = None,
    seconds: Annotated[float, typer.Option(min=0.01, max=3600, help="Time per measurement.")] = 0.5,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print a Markdown table.")] = False,
) -> None:
    """Measure training speed on one thread: this engine, the plain one-run PyTorch loop, and their ratio."""
    if what is What.MNIST:
        _images()
    else:
        _units(engine, unit, seconds, markdown)


def _images() -> None:
    from rich.table import Table

    from nalm.bench.vision.speed import BATCH, measure

    rates = measure()
    table = Table("way", "images/s", title=f"One thread, batches of {BATCH} pairs, per second of processor time")
    table.add_row("plain loop with a DataLoader", f"{rates.plain:,.0f}")
    table.add_row("nalm", f"{rates.ours:,.0f}")
    table.add_row("ratio", f"{rates.ratio:.1f}x")
    out.print(table)


def _units(engine: Engine, unit: str | None, seconds: float, markdown: bool) -> None:
    from rich.live import Live
    from rich.table import Table

    from nalm.bench.speed import cases, measure

    chosen = [c for c in cases() if unit is None or c.model.label.lower() == unit.lower()]
    if not chosen:
        raise ValueError(
            f"There is no case {unit!r}. Valid names: {', '.join(sorted({c.model.label for c in cases()}))}."
        )
    head = ["unit", "inputs", "runs", "engine, M run-steps/s", "plain loop, k steps/s", "ratio", "build, s"]
    table = Table(*head, title="One thread, batch 128, whole step with draws, per second of processor time")
    lines = []
    with Live(table, console=out, transient=markdown):
        for case in chosen:
            t = measure(case, engine.value, seconds)
            row = [t.label, str(t.inputs), str(t.runs), f"{t.engine / 1e6:.2f}", f"{t.plain / 1e3:.2f}"]
            lines.append([*row, f"{t.ratio:,.0f}x", f"{t.build_seconds:.2f}"])
            table.add_row(*lines[-1])
    if markdown:
        out.say("| " + " | ".join(head) + " |\n|" + "---|" * len(head))
        out.say("\n".join("| " + " | ".join(line) + " |" for line in lines))
