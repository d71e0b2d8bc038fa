"""What studies on images of digits have in common: a choice of digits and of epochs, a taste that one core can bear."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from nalm.bench.run import Model
from nalm.bench.study import Cell, Study
from nalm.bench.vision.method import NetworkMethod, NetworkRule
from nalm.bench.vision.models import head
from nalm.bench.vision.task import SMALL_SAMPLES, ImageTask

EPOCHS = 1_001  # the published loops count from 0 to 1,000
EVALUATIONS = 8  # at least, on the way of a short run
Row = tuple[Model, NetworkMethod]


@dataclass(frozen=True)
class ImageStudy(Study):
    """A study on images. Its data and its length can be chosen.

    Args:
        on: the cells of the published scale on a source of digits.
        pattern: the row whose training a unit of your own gets.
        quick_epochs, quick_batch, quick_seeds: what a taste is made of.
        often: most steps between two evaluations of a short run.
    """

    on: Callable[[str], tuple[Cell, ...]] = field(default=lambda _: (), compare=False, repr=False)
    pattern: str = "NMU"
    quick_epochs: int = 4
    quick_batch: int = 32
    quick_seeds: int = 1
    often: int = 1_000

    @property
    def lightened(self) -> str:
        """What makes each step of a taste cheaper than published, in words."""
        return f"{SMALL_SAMPLES} samples per pair, a lighter reader"

    @property
    def hint(self) -> str:
        bundled = any(_task(c).data == "digits" for c in self.cells)
        return "Digits: the 1,797 of scikit-learn; for MNIST (11 MB to load): --data mnist" if bundled else ""

    def of_data(self, data: str) -> ImageStudy:
        """The published scale on other digits, all rows and columns."""
        return replace(self, cells=self.on(data))

    def for_epochs(self, epochs: int) -> ImageStudy:
        """The same for another number of epochs; see `NetworkDescent.scaled` for what becomes of ramps."""
        return replace(self, cells=tuple(self._shortened(c, epochs) for c in self.cells))

    def quick(self) -> ImageStudy:
        """A taste: few epochs of few samples in smaller batches, a lighter reader, one fold."""
        small = [replace(c, task=_task(c).small(), method=_method(c).with_batch(self.quick_batch)) for c in self.cells]
        cells = tuple(self._shortened(c, self.quick_epochs) for c in small)
        return replace(self, cells=cells, seeds=min(self.seeds, self.quick_seeds))

    def retiring(self) -> Study:
        """Networks read better and better: there is no step at which they are done."""
        raise ValueError(f"{self.name} trains networks, which are never done; leave out --retire.")

    def _with_unit(self, reference: str) -> Study:
        alike = [c for c in self.cells if c.row == self.pattern]
        model = head(reference, self.label_for(reference), outputs=alike[0].model.layers[-1].outputs)
        own = [replace(c, row=model.label, model=model) for c in alike]
        return replace(self, cells=(*self.cells, *own))

    def _shortened(self, c: Cell, epochs: int) -> Cell:
        steps = epochs * _task(c).epoch(_method(c).batch)
        every = min(c.every, self.often, -(-steps // EVALUATIONS))
        return replace(c, method=c.method.scaled(steps), every=every)


def _task(c: Cell) -> ImageTask:
    assert isinstance(c.task, ImageTask)
    return c.task


def _method(c: Cell) -> NetworkMethod:
    assert isinstance(c.method, NetworkMethod)
    return c.method


def grid(rows: Iterable[Row], columns: Mapping[str, ImageTask], every: int) -> tuple[Cell, ...]:
    """The full grid."""
    return tuple(
        Cell(model.label, column, model, task, method, every)
        for model, method in rows
        for column, task in columns.items()
    )


def rule(model: Model, method: NetworkMethod) -> Row:
    """The same model by the training rule, for as many steps on the same batches."""
    return replace(model, label=f"{model.label} lgn"), NetworkRule(method.steps, method.batch)


def small(study: ImageStudy, epochs: int, seeds: int) -> Study:
    """What one core can bear on real MNIST in less than half an hour, and what the results page shows."""
    smaller = ", ".join(filter(None, (f"{epochs} epochs, batches of {study.quick_batch}", study.lightened)))
    note = f"Far smaller than published: {smaller}."
    taste = replace(study.of_data("mnist"), quick_epochs=epochs, quick_seeds=seeds).quick()
    return replace(taste, name=f"{study.name}-small", title=f"{study.title}, small", notes=(note, *study.notes))
