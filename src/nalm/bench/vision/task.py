"""What a task on images is: something is shown, something is told, and the digits are measured although nobody tells
them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self

from torch import Tensor, nn

from nalm.bench.run import Model
from nalm.bench.task import Task
from nalm.bench.vision.digits import check_source
from nalm.bench.vision.networks import Reading

MEASURED_IN_TRAINING = 5_000  # training pairs that are measured; the published code measures all
TEST_DRAWS = 1 << 20  # added to a seed, so that test pairs are drawn by numbers of their own
SMALL_SAMPLES = 100  # per pair
SMALL_TEST = 1_000  # test pairs that are measured
Measured = dict[str, Any]
"""One evaluation: named numbers, and lists of them. `step`, `test_error`, `validation_error`, `unit_error` (see
`relative_error`) and `digit_rounded` are always there."""


class LoadedTask(Protocol):
    """A task with its data at hand."""

    count: int  # training samples

    def batch(self, chosen: Tensor, step_seed: int) -> tuple[Tensor, Tensor]:
        """What is shown and what is told, for some of the training samples."""
        ...

    def measure(self, network: Reading) -> Measured:
        """The network in eval mode."""
        ...


@dataclass(frozen=True)
class ImageTask(Task):
    """Base class: images are shown, a result is told, and the digits are measured although nobody tells them.

    Args:
        data: where the digits come from, "digits" or "mnist".
    """

    data: str = "digits"

    def __post_init__(self) -> None:
        check_source(self.data)

    @property
    def in_features(self) -> int:
        return 2

    @property
    def range(self) -> str:
        return self.data

    @property
    def structure(self) -> tuple[object, ...]:
        return (type(self).__name__, repr(self))

    @abstractmethod
    def loaded(self, seed: int, device: str = "cpu") -> LoadedTask:
        """With its data."""

    @abstractmethod
    def network(self, model: Model, head: nn.Module) -> Reading:
        """The published network under a head that was built from the model."""

    @abstractmethod
    def epoch(self, batch: int) -> int:
        """Steps until every training sample has been shown; of the first fold."""

    def selected(self, records: Sequence[Measured]) -> Measured:
        """The evaluation that counts: the last one, as published."""
        return records[-1]

    @abstractmethod
    def small(self) -> Self:
        """The same so small that two shared cores can bear it: fewer samples, a lighter reader."""


@dataclass(frozen=True)
class PairTask(ImageTask):
    """Base class of tasks on two digits, whose pairs are drawn in folds.

    Args:
        folds: a seed is a fold: pairs of the test fold are never trained on.
        samples: per pair.
        measured: test pairs at most.
        light: read with the smaller network of the sequence studies, which costs a fifth.
    """

    folds: int = 10
    samples: int = 1_000
    measured: int = 10_000
    light: bool = False

    def small(self) -> Self:
        return replace(self, samples=SMALL_SAMPLES, measured=SMALL_TEST, light=True)
