"""Two digits side by side: their product, their quotient, or whether the one stands in a relation to the other."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor, nn

from nalm.bench.run import Model
from nalm.bench.tasks.logic import RELATIONS
from nalm.bench.vision.digits import load_digits, normalised
from nalm.bench.vision.measures import accuracies, read_all
from nalm.bench.vision.networks import PairNetwork, Reading
from nalm.bench.vision.operations import OPERATIONS, check_operation
from nalm.bench.vision.pairs import PairData, draw_pairs, folds, pairs_from, trained_pairs
from nalm.bench.vision.task import MEASURED_IN_TRAINING, TEST_DRAWS, LoadedTask, Measured, PairTask


class LoadedPairs:
    """Pairs side by side."""

    def __init__(self, task: DigitPairs, seed: int, device: str) -> None:
        operation = OPERATIONS[task.name]
        pairs = pairs_from(operation.smallest)
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
        return self.operation.off(network.head(digits.float()), self._targets(digits))

    @torch.inference_mode()
    def _accuracies(self, network: Reading, part: PairData) -> dict[str, Any]:
        digits = read_all(network, part.images, part.index)
        results = network.head(digits).squeeze(-1)
        targets = self._targets(part.labels).squeeze(-1)
        return asdict(accuracies(digits, part.labels.float(), results, targets, self.operation.decimals))


@dataclass(frozen=True)
class DigitPairs(PairTask):
    """Two digits side by side: their product, their quotient, or whether a relation holds between them.

    Args:
        name: "mul", "div", or one of `RELATIONS`: "<", "=", ...
    """

    name: str = "mul"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_operation(self.name, ("mul", "div", *RELATIONS))

    @property
    def operation(self) -> str:
        return self.name

    def loaded(self, seed: int, device: str = "cpu") -> LoadedTask:
        return LoadedPairs(self, seed, device)

    def network(self, model: Model, head: nn.Module) -> Reading:
        return PairNetwork(head, OPERATIONS[self.name].smallest, self.light)

    def epoch(self, batch: int) -> int:
        return -(-trained_pairs(OPERATIONS[self.name].smallest, self.folds) * self.samples // batch)
