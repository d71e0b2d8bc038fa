"""The published tasks on images: what is shown, what is told, what is measured."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Protocol, Self

import torch
from torch import Tensor, nn

from nalm.bench.find import nearest
from nalm.bench.run import Model
from nalm.bench.task import Task
from nalm.bench.vision import sequences
from nalm.bench.vision.digits import Images, check_source, load_digits, normalised
from nalm.bench.vision.distortion import distorted
from nalm.bench.vision.measures import accuracies, read_all
from nalm.bench.vision.models import as_cell
from nalm.bench.vision.networks import ColourNetwork, PairNetwork, Reading, SequenceNetwork
from nalm.bench.vision.pairs import PairData, draw_pairs, folds

MEASURED_IN_TRAINING = 5_000  # training pairs that are measured; the published code measures all
TEST_DRAWS = 1 << 20  # added to a seed, so that test pairs are drawn by numbers of their own


@dataclass(frozen=True)
class Operation:
    """What is computed of digits.

    Attributes:
        exact: on tensors.
        smallest: digit that may occur; division has no zeros.
        decimals: that a result is rounded to before it is compared.
    """

    exact: Callable[[Tensor, Tensor], Tensor]
    smallest: int
    decimals: int
    idle: float


OPERATIONS = {
    "mul": Operation(torch.mul, smallest=0, decimals=0, idle=1.0),
    "div": Operation(torch.div, smallest=1, decimals=5, idle=1.0),
    "add": Operation(torch.add, smallest=0, decimals=0, idle=0.0),
}


Measured = dict[str, Any]
"""One evaluation: named numbers, and lists of them. `step`, `test_error`, `validation_error`, `unit_error` (see
`relative_error`) and `digit_rounded` are always there."""


class Problem(Protocol):
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
    def problem(self, seed: int, device: str = "cpu") -> Problem:
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


class PairProblem:
    """Pairs side by side."""

    def __init__(self, task: DigitPairs, seed: int, device: str) -> None:
        operation = OPERATIONS[task.name]
        pairs = [(a, b) for a in range(operation.smallest, 10) for b in range(operation.smallest, 10)]
        trained, tested = folds(pairs, task.folds)[seed % task.folds]
        source = load_digits(task.data)
        self.operation = operation
        self.pairs = torch.tensor(pairs)
        self.train = draw_pairs(source.train.to(device), trained, task.samples, seed)
        self.test = draw_pairs(source.test.to(device), tested, task.samples, seed + TEST_DRAWS).first(task.measured)
        self.trained = self.train.first(min(task.measured, MEASURED_IN_TRAINING))
        self.count = len(self.train)

    def batch(self, chosen: Tensor, step_seed: int) -> tuple[Tensor, Tensor]:
        """Images and targets of the chosen pairs."""
        return normalised(self.train.images.pixels[self.train.index[chosen]]), self._targets(self.train.labels[chosen])

    def _targets(self, labels: Tensor) -> Tensor:
        numbers = labels.float()
        return self.operation.exact(numbers[:, :1], numbers[:, 1:])

    def measure(self, network: Reading) -> Measured:
        """Accuracies and errors of a network, by column of the results."""
        test, train = (self._accuracies(network, part) for part in (self.test, self.trained))
        error = test.pop("error")
        told = {"test_error": error, "validation_error": train["error"], "unit_error": self._unit_error(network)}
        return {**test, **told, "trained": train["result_rounded"]}

    @torch.inference_mode()
    def _unit_error(self, network: Reading) -> float:
        digits = self.pairs.to(self.test.index.device)
        return relative_error(network.head(digits.float()), self._targets(digits))

    @torch.inference_mode()
    def _accuracies(self, network: Reading, part: PairData) -> dict[str, Any]:
        digits = read_all(network, part.images, part.index)
        results = network.head(digits).squeeze(-1)
        targets = self._targets(part.labels).squeeze(-1)
        return asdict(accuracies(digits, part.labels.float(), results, targets, self.operation.decimals))


def first_fold(name: str, count: int) -> int:
    """Training pairs of the first fold of an operation."""
    smallest = OPERATIONS[name].smallest
    pairs = [(a, b) for a in range(smallest, 10) for b in range(smallest, 10)]
    return len(folds(pairs, count)[0][0])


SMALL_SAMPLES = 100  # per pair
SMALL_TEST = 1_000  # test pairs that are measured


@dataclass(frozen=True)
class DigitPairs(ImageTask):
    """Two digits side by side: their product, or their quotient.

    Args:
        name: "mul" or "div".
        folds: a seed is a fold: pairs of the test fold are never trained on.
        samples: per pair.
        measured: test pairs at most; 10,000 as published.
        light: read with the smaller network of the sequence studies, which costs a fifth.
    """

    name: str = "mul"
    folds: int = 10
    samples: int = 1_000
    measured: int = 10_000
    light: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_operation(self.name, ("mul", "div"))

    @property
    def operation(self) -> str:
        return self.name

    def problem(self, seed: int, device: str = "cpu") -> Problem:
        return PairProblem(self, seed, device)

    def network(self, model: Model, head: nn.Module) -> Reading:
        return PairNetwork(head, OPERATIONS[self.name].smallest, self.light)

    def epoch(self, batch: int) -> int:
        return -(-first_fold(self.name, self.folds) * self.samples // batch)

    def small(self) -> DigitPairs:
        return replace(self, samples=SMALL_SAMPLES, measured=SMALL_TEST, light=True)


class ColourProblem:
    """Pairs as colours of one image, moved anew whenever they are shown in training."""

    def __init__(self, task: ColourPairs, seed: int, device: str) -> None:
        pairs = [(a, b) for a in range(10) for b in range(10)]
        trained, tested = folds(pairs, task.folds)[seed % task.folds]
        source = load_digits(task.data)
        drawn = draw_pairs(source.train.to(device), trained, task.samples, seed)
        cut = round(TRAINED_SHARE * len(drawn))
        self.train = drawn.first(cut)
        self.validation = PairData(drawn.images, drawn.index[cut:], drawn.labels[cut:]).first(
            min(task.measured, MEASURED_IN_TRAINING)
        )
        self.test = draw_pairs(source.test.to(device), tested, task.samples, seed + TEST_DRAWS).first(task.measured)
        self.count = len(self.train)

    def batch(self, chosen: Tensor, step_seed: int) -> tuple[Tensor, Tensor]:
        """Distorted images and products of the chosen pairs."""
        generator = torch.Generator().manual_seed(step_seed)
        labels = self.train.labels[chosen].float()
        return distorted(self.train.images.pixels[self.train.index[chosen]], generator), labels[:, :1] * labels[:, 1:]

    def measure(self, network: Reading) -> Measured:
        """Accuracies and errors of a network, by column of the results."""
        test, validation = (self._accuracies(network, part) for part in (self.test, self.validation))
        digits = torch.cartesian_prod(torch.arange(10.0), torch.arange(10.0)).to(self.test.index.device)
        with torch.inference_mode():
            unit_error = relative_error(network.head(digits), digits[:, :1] * digits[:, 1:])
        told = {"test_error": test.pop("error"), "validation_error": validation["error"], "unit_error": unit_error}
        return {**test, **told}

    @torch.inference_mode()
    def _accuracies(self, network: Reading, part: PairData) -> dict[str, Any]:
        # moved as in training but the same way at every evaluation: the published code moves them anew each time
        generator = torch.Generator().manual_seed(MOVES)
        shown = (distorted(part.images.pixels[rows], generator) for rows in torch.split(part.index, MEASURED_AT_ONCE))
        digits = torch.cat([network.read(images) for images in shown])
        results = network.head(digits).squeeze(-1)
        labels = part.labels.float()
        return asdict(accuracies(digits, labels, results, labels[:, 0] * labels[:, 1], decimals=0))


TRAINED_SHARE = 0.85  # of the colour pairs; the rest validates
MOVES = 20_150_600  # the seed of how test digits are moved
MEASURED_AT_ONCE = 256


@dataclass(frozen=True)
class ColourPairs(ImageTask):
    """The product of two digits that are turned, scaled, moved and shown as two colours of one image.

    Args:
        folds: a seed is a fold: pairs of the test fold are never trained on.
        samples: per pair.
        identity: whether the transformers begin by changing nothing (else as in the published runs, see `Localiser`).
        measured: test pairs at most; 37,400 as published.
        light: read with the smaller network of the sequence studies, which costs a fifth.
    """

    folds: int = 3
    samples: int = 1_100
    identity: bool = True
    measured: int = 37_400
    light: bool = False

    @property
    def operation(self) -> str:
        return "mul"

    def problem(self, seed: int, device: str = "cpu") -> Problem:
        return ColourProblem(self, seed, device)

    def network(self, model: Model, head: nn.Module) -> Reading:
        return ColourNetwork(head, self.identity, self.light)

    def epoch(self, batch: int) -> int:
        return -(-round(TRAINED_SHARE * first_fold("mul", self.folds) * self.samples) // batch)

    def small(self) -> ColourPairs:
        return replace(self, samples=SMALL_SAMPLES, measured=SMALL_TEST, light=True)


class SequenceProblem:
    """Sequences, and for the test sequences of many lengths."""

    def __init__(self, task: DigitSequences, seed: int, device: str) -> None:
        operation = OPERATIONS[task.name]
        source = load_digits(task.data)
        trained, validating = sequences.split(source.train)
        self.task = task
        self.smallest = 1 if task.name == "mul" else 0
        self.operation = operation
        self.train = trained.to(device)
        self.validating = validating.to(device)
        self.test = source.test.to(device)
        self.index = sequences.cut(trained, self.smallest, task.length, seed).to(device)
        self.valid_index = sequences.cut(validating, self.smallest, task.length, sequences.VALIDATION).to(device)
        eligible = int((source.test.labels >= self.smallest).sum())
        self.test_index = {
            length: sequences.cut(source.test, self.smallest, length, sequences.TEST).to(device)
            for length in task.lengths
            if length <= eligible
        }
        self.count = len(self.index)

    def batch(self, chosen: Tensor, step_seed: int) -> tuple[Tensor, Tensor]:
        """Images and running results of the chosen sequences."""
        rows = self.index[chosen]
        return normalised(self.train.pixels[rows]), running(self.train.labels[rows], self.task.name).float()

    @torch.inference_mode()
    def measure(self, network: Reading) -> Measured:
        """Accuracies and errors of a network, by column of the results."""

        def error(images: Images, read: Tensor, index: Tensor) -> float:
            results, _ = network.head(read[index])
            wanted = running(images.labels[index], self.task.name)
            return float((results.double() - wanted).square().mean())

        if self.task.noisy:
            network.head.train()
        every = {id(images): torch.arange(len(images.labels)) for images in (self.validating, self.test)}
        valid = read_all(network, self.validating, every[id(self.validating)])
        test = read_all(network, self.test, every[id(self.test)])
        errors = {length: error(self.test, test, index) for length, index in self.test_index.items()}
        chosen = self.test.labels >= self.smallest
        digits = torch.cartesian_prod(*[torch.arange(self.smallest, 10, device=self.test.labels.device)] * 2)
        two, _ = network.head(digits.float())
        return {
            "unit_error": relative_error(two, running(digits, self.task.name)),
            "test_error": errors[min(errors, key=lambda length: abs(length - self.task.length))],
            "validation_error": error(self.validating, valid, self.valid_index),
            "errors": errors,
            "digit_rounded": float((test.round() == self.test.labels)[chosen].double().mean()),
        }


def relative_error(results: Tensor, targets: Tensor) -> float:
    """How far a head is from its operation when it is given the true digits: the largest error, relative to targets
    above 1. Below 1e-5 it counts as exact: float32 keeps seven digits."""
    error = (results.double() - targets.double()).abs() / targets.double().abs().clamp(min=1)
    return float(error.nan_to_num(torch.inf).max())


def running(labels: Tensor, operation: str) -> Tensor:
    """Sums or products of all beginnings of sequences `(samples, length)`, in float64.

    >>> running(torch.tensor([[2, 3, 4]]), "mul").tolist()
    [[2.0, 6.0, 24.0]]
    """
    return labels.double().cumprod(-1) if operation == "mul" else labels.double().cumsum(-1)


PRODUCT_LENGTHS = tuple(range(1, 21))
SUM_LENGTHS = (1, 10, *range(100, 1_001, 100))


ELIGIBLE = {("mnist", "mul"): 49_566, ("mnist", "add"): 55_000, ("digits", "mul"): 1_187, ("digits", "add"): 1_317}
"""Training images that sequences are made of, by source and operation: zeros have no place in a product."""


@dataclass(frozen=True)
class DigitSequences(ImageTask):
    """The running product, or sum, of a sequence of digits; trained on short sequences, tested on long ones.

    Args:
        name: "mul" or "add".
        length: of the sequences in training.
        lengths: of the sequences in the test.
        noisy: measure in train mode, as the published code does, with the noise of a stochastic unit.
    """

    name: str = "mul"
    length: int = 2
    lengths: tuple[int, ...] = PRODUCT_LENGTHS
    noisy: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_operation(self.name, ("mul", "add"))

    @property
    def operation(self) -> str:
        return self.name

    def problem(self, seed: int, device: str = "cpu") -> Problem:
        return SequenceProblem(self, seed, device)

    def network(self, model: Model, head: nn.Module) -> Reading:
        idle = OPERATIONS[self.name].idle
        return SequenceNetwork(as_cell(model, idle).recurrent(head, idle))

    def epoch(self, batch: int) -> int:
        return -(-(ELIGIBLE[self.data, self.name] // self.length) // batch)

    def selected(self, records: Sequence[Measured]) -> Measured:
        """The one with the smallest validation error, as published."""
        return min(records, key=lambda r: r["validation_error"] if r["validation_error"] >= 0 else torch.inf)

    def small(self) -> DigitSequences:
        return self


def check_operation(name: str, valid: tuple[str, ...]) -> None:
    """Refuse an operation that a task does not have."""
    if name not in valid:
        raise ValueError(f"There is no operation {name!r}. {nearest(name, valid)}")
