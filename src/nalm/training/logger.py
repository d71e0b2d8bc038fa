"""How far the units of a model have come, written down while you train: to a CSV file or to TensorBoard."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor, nn

from nalm.core.arguments import Count, NotNegative, checks_arguments
from nalm.core.expression import ON_GRID
from nalm.core.portrait import MOST_INPUTS
from nalm.core.reading import layers_of, read


@runtime_checkable
class SummaryWriter(Protocol):
    """What is asked of a writer; `torch.utils.tensorboard.SummaryWriter` offers it."""

    def add_scalar(self, tag: str, scalar_value: float, global_step: int) -> None:
        """Keep a number of a step."""

    def add_text(self, tag: str, text_string: str, global_step: int) -> None:
        """Keep a text of a step."""


class UnitLogger:
    """Writes down, in a loop of your own, how far the units of a model have come.

    For each unit, or stack of units, it notes three things: `distance`, the largest distance of a weight to its grid;
    `on_grid`, the share of weights that have arrived; and `formula`, what it computes so far. A name in front tells
    which part of the model is meant, as in `head.distance`.

    Args:
        model: anything that contains units, at any depth.
        to: the name of a CSV file, or a `torch.utils.tensorboard.SummaryWriter`.
        every: steps between two notes; the calls between them cost nothing.
        within: weights nearer than this to their grid count as arrived, and are read as the grid value.
        append: go on with a file that is there, after a restart; otherwise such a file is an error.

    >>> import nalm, pathlib, tempfile, torch
    >>> model = torch.nn.Sequential(nalm.NAU(3, 2, seed=0), nalm.NMU(2, 1, seed=0)).eval()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "run.csv")
    ...     log = nalm.UnitLogger(model, path, every=10)
    ...     for step in range(20):
    ...         log(step, loss=1 / (1 + step))  # in the loop, after optimizer.step()
    ...     print(path.read_text().splitlines()[0])
    step,loss,distance,on_grid,formula
    """

    @checks_arguments
    def __init__(
        self,
        model: nn.Module,
        to: str | PathLike[str] | SummaryWriter,
        *,
        every: Count = 100,
        within: NotNegative = ON_GRID,
        append: bool = False,
    ) -> None:
        self.parts = dict(_parts(model, ""))
        if not self.parts:
            raise ValueError(f"{type(model).__name__} contains no nalm unit, so there is nothing to log.")
        self.every = every
        self.within = within
        self._notes: _Notes = _Table(Path(to), append) if isinstance(to, str | PathLike) else _Board(to)

    def __call__(self, step: int, **numbers: float | Tensor) -> None:
        """Note how the units stand, and any numbers of your own: `log(step, loss=loss)`. Call it in every step."""
        if step % self.every == 0:
            own = {name: float(torch.as_tensor(number).detach()) for name, number in numbers.items()}
            self._notes.add(step, {**own, **self.standing()})

    def standing(self) -> dict[str, float | str]:
        """How the units stand now, as it would be written down."""
        found: dict[str, float | str] = {}
        for path, part in self.parts.items():
            front = f"{path}." if path else ""
            distances = [
                weight.distance(value).reshape(-1)
                for unit in layers_of(part)
                for _, weight, value in unit.named_weights()
                if weight.grid is not None
            ]
            if distances:
                arrived = sum(int((d <= self.within).sum()) for d in distances)
                found[f"{front}distance"] = max(float(d.max()) for d in distances)
                found[f"{front}on_grid"] = arrived / sum(d.numel() for d in distances)
            found[f"{front}formula"] = self._formula(part)
        return found

    def _formula(self, part: nn.Module) -> str:
        """What a part computes, as far as it can be said: not of a cohort, of very many inputs, or once it diverged."""
        if layers_of(part)[0].in_features > MOST_INPUTS:
            return ""
        try:
            return str(read(part, within=self.within).shortened())
        except (TypeError, ValueError):
            return ""


def _parts(module: nn.Module, path: str) -> Iterator[tuple[str, nn.Module]]:
    """The largest parts that can be read as one, with the way to them."""
    try:
        layers_of(module)
    except TypeError:
        for name, child in module.named_children():
            yield from _parts(child, f"{path}.{name}".lstrip("."))
    else:
        yield path, module


class _Notes(Protocol):
    def add(self, step: int, values: Mapping[str, float | str]) -> None: ...


class _Table:
    """A CSV file to which a line is added at a time; what was written stays, whatever happens to the process."""

    def __init__(self, path: Path, append: bool) -> None:
        self.path = path
        self.columns = _head(path) if append and path.exists() else []
        if path.exists() and not append:
            raise FileExistsError(f"{path} is there already; choose another name, or go on with it: append=True.")
        if self.columns and not path.read_bytes().endswith(b"\n"):  # a crash has cut its last line
            with path.open("ab") as file:
                file.write(b"\r\n")

    def add(self, step: int, values: Mapping[str, float | str]) -> None:
        line = {"step": step, **values}
        if not self.columns:
            self.columns = list(line)
            self._write(self.columns)
        if list(line) != self.columns:
            raise ValueError(f"{self.path} has the columns {', '.join(self.columns)}; this step has {', '.join(line)}.")
        self._write(list(line.values()))

    def _write(self, cells: Sequence[float | str]) -> None:
        with self.path.open("a", encoding="utf-8", newline="") as file:
            csv.writer(file).writerow(cells)


def _head(path: Path) -> list[str]:
    with path.open(encoding="utf-8", newline="") as file:
        return next(csv.reader(file), [])


class _Board:
    """TensorBoard: numbers as curves, a formula as text each time it changes."""

    def __init__(self, writer: SummaryWriter) -> None:
        self.writer = writer
        self.last: dict[str, str] = {}

    def add(self, step: int, values: Mapping[str, float | str]) -> None:
        for name, value in values.items():
            tag = name.replace(".", "/")
            if not isinstance(value, str):
                self.writer.add_scalar(tag, value, step)
            elif value != self.last.get(name):
                self.last[name] = value
                self.writer.add_text(tag, f"    {value}", step)  # TensorBoard reads Markdown: four spaces mean code
