"""Running sums and products of sequences of digits: trained on short ones, tested on long ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from nalm.bench.run import Model
from nalm.bench.vision import sequences
from nalm.bench.vision.digits import Images, load_digits, normalised
from nalm.bench.vision.measures import read_all
from nalm.bench.vision.models import as_cell
from nalm.bench.vision.networks import Reading, SequenceNetwork
from nalm.bench.vision.operations import OPERATIONS, check_operation, relative_error, running
from nalm.bench.vision.task import ImageTask, LoadedTask, Measured

PRODUCT_LENGTHS = tuple(range(1, 21))
SUM_LENGTHS = (1, 10, *range(100, 1_001, 100))
ELIGIBLE = {("mnist", "mul"): 49_566, ("mnist", "add"): 55_000, ("digits", "mul"): 1_187, ("digits", "add"): 1_317}
"""Training images that sequences are made of, by source and operation: zeros have no place in a product."""


class LoadedSequences:
    """Sequences, and for the test sequences of many lengths."""

    def __init__(self, task: DigitSequences, seed: int, device: str) -> None:
        source = load_digits(task.data)
        trained, validating = sequences.split(source.train)
        self.task = task
        self.smallest = 1 if task.name == "mul" else 0  # a single zero would end every product
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
        valid, test = (
            read_all(network, images, torch.arange(len(images.labels))) for images in (self.validating, self.test)
        )
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

    def loaded(self, seed: int, device: str = "cpu") -> LoadedTask:
        return LoadedSequences(self, seed, device)

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
