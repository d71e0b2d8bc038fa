"""A study with some of its numbers changed: steps, learning rate, batch, ranges. It says so wherever it is shown."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from nalm.bench.distribution import Distribution, Uniform, Union
from nalm.bench.study import Cell, Study
from nalm.bench.task import SampledTask
from nalm.bench.tasks.arithmetic import RANGES
from nalm.core.recipe import Recipe

EVALUATIONS = 10  # at least, however few the steps


@dataclass(frozen=True)
class Changes:
    """What differs from the study; None where nothing does.

    Args:
        ranges: where to train and where to test, `U[1,2):U[2,6)`; one of the nine known ranges stands alone.
    """

    steps: int | None = None
    rate: float | None = None
    batch: int | None = None
    ranges: Sequence[str] = ()

    def applied(self, study: Study) -> Study:
        """The study with the changes; published values are left out, they were measured without them."""
        if not self.said:
            return study
        cells = tuple(self._cell(cell) for cell in study.cells)
        if self.ranges:
            cells = tuple(cell for first in _first_of_rows(cells) for cell in self._over_ranges(first))
        note = f"Not as published: {self.said}."
        title = f"{study.title} ({self.said})"
        return replace(study, title=title, cells=cells, published={}, notes=(note, *study.notes))

    @property
    def said(self) -> str:
        """The changes in words, empty if there are none."""
        parts = [
            f"{self.steps:,} steps" if self.steps else "",
            f"rate {self.rate:g}" if self.rate is not None else "",
            f"batch {self.batch:,}" if self.batch else "",
            f"ranges {', '.join(self.ranges)}" if self.ranges else "",
        ]
        return ", ".join(part for part in parts if part)

    def _cell(self, cell: Cell) -> Cell:
        if self.steps:
            every = max(1, min(cell.every, self.steps // EVALUATIONS))
            cell = replace(cell, method=cell.method.scaled(self.steps), every=every)
        if self.rate is not None:
            rate = self.rate
            if not math.isfinite(rate) or rate <= 0:
                raise ValueError(f"--rate is {rate:g}; it needs a positive number")
            cell = _with_recipe(cell, "--rate", lambda recipe: recipe.at_rate(rate))
        if self.batch:
            batch = self.batch
            cell = _with_recipe(cell, "--batch", lambda recipe: replace(recipe, batch=batch))
        return cell

    def _over_ranges(self, cell: Cell) -> list[Cell]:
        if not isinstance(cell.task, SampledTask):
            raise ValueError(f"{cell.row} does not draw its inputs from ranges, so --ranges cannot change them")
        pairs = [parse_ranges(text) for text in self.ranges]
        tasks = [replace(cell.task, train=train, test=test) for train, test in pairs]
        return [replace(cell, column=str(task.train), task=task) for task in tasks]


def _with_recipe(cell: Cell, option: str, change: Callable[[Recipe], Recipe]) -> Cell:
    method = cell.method.by_recipe(change)
    if method is None:
        raise ValueError(
            f"{option} changes recipes, but {cell.row} is not trained by one; add --recipe published, or choose --unit"
        )
    return replace(cell, method=method)


def _first_of_rows(cells: Sequence[Cell]) -> list[Cell]:
    return list({cell.row: cell for cell in reversed(cells)}.values())[::-1]


def parse_ranges(text: str) -> tuple[Distribution, Distribution]:
    """Where to train and where to test.

    >>> [str(part) for part in parse_ranges("U[3,4):U[4,9)∪U[-9,-4)")]
    ['U[3,4)', 'U[4,9)∪U[-9,-4)']
    """
    train, _, test = text.replace(" ", "").partition(":")
    if not test:
        if train not in RANGES:
            raise ValueError(
                f"--ranges {text!r} does not say where to test: write it as 'U[1,2):U[2,6)', or take one of "
                f"{', '.join(RANGES)}"
            )
        return RANGES[train]
    return _uniform(train, text), _distribution(test, text)


def _distribution(text: str, whole: str) -> Distribution:
    first, _, second = text.partition("∪")
    return Union(_uniform(first, whole), _uniform(second, whole)) if second else _uniform(first, whole)


def _uniform(text: str, whole: str) -> Uniform:
    found = re.fullmatch(r"U\[([^,]+),([^)]+)\)", text)
    try:
        bounds = [float(number) for number in found.groups()] if found else []
    except ValueError:
        bounds = []
    if len(bounds) != 2 or not all(map(math.isfinite, bounds)):
        raise ValueError(f"--ranges {whole!r} is not understood at {text!r}: write it as 'U[1,2):U[2,6)'")
    return Uniform(*bounds)
