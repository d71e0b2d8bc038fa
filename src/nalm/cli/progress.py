"""What is seen of a training, and how it is stopped."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

from nalm.cli.screen import Screen, visible

if TYPE_CHECKING:
    from nalm.bench.engine.options import Progress
    from nalm.bench.run import Run


class Stop:
    """Ctrl-C during training: the first asks for a stop after the current evaluation, the second stops at once."""

    def __init__(self) -> None:
        self.asked = False

    def __call__(self, *_: Any) -> None:
        self.asked = True
        signal.signal(signal.SIGINT, self.before)
        os.write(2, b"\nStopping after this evaluation; Ctrl-C again stops at once. Finished runs are kept.\n")

    def __enter__(self) -> Self:
        self.before = signal.signal(signal.SIGINT, self)
        return self

    def __exit__(self, *_: object) -> None:
        signal.signal(signal.SIGINT, self.before)

    def check(self) -> None:
        """Called where training may stop."""
        if self.asked:
            raise KeyboardInterrupt


class Bar:
    """The progress bar. It counts runs by the share of their steps that is done, so that it moves within a cohort."""

    def __init__(self, todo: Sequence[Run], screen: Screen) -> None:
        import rich.progress
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )

        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("runs  {task.fields[speed]}  solved {task.fields[solved]}", markup=False),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
        )
        self.progress = rich.progress.Progress(*columns, console=screen, transient=True)
        self.bar = self.progress.add_task("", total=len(todo), speed="", solved="0")
        self.work = sum(r.method.steps for r in todo) or 1
        self.steps = {r.id: r.method.steps for r in todo}
        self.done = self.solved = 0

    def __enter__(self) -> Self:
        self.progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.progress.stop()

    def moved(self, heard: Progress) -> None:
        """After each evaluation of a group that trains here."""
        first = heard.runs[0]
        label = f"{first.model.label} {first.task.operation} {heard.note}".rstrip()
        self._advance(heard.advanced * len(heard.runs), label, heard.solved)

    def finished(self, row: dict[str, Any], alone: bool = False) -> None:
        """After each run; `alone` if it trained elsewhere, so that nothing was heard of it before."""
        self.solved += bool(row["solved"])
        if alone:
            self._advance(self.steps[row["id"]], f"{row['unit']} {row['operation']}", 0)

    def _advance(self, steps: int, label: str, solved: int) -> None:
        self.done += steps
        task = self.progress.tasks[0]
        self.progress.update(
            self.bar,
            completed=len(self.steps) * self.done // self.work,
            description=visible(label),
            speed=f"{self.done / (task.elapsed or 1e-9) / 1e6:.2f} M steps/s",
            solved=str(self.solved + solved),
        )
