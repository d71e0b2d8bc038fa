"""Two moved digits as the colours of one image."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor, nn

from nalm.bench.run import Model
from nalm.bench.vision.digits import load_digits
from nalm.bench.vision.distortion import distorted
from nalm.bench.vision.measures import accuracies
from nalm.bench.vision.networks import ColourNetwork, Reading
from nalm.bench.vision.operations import relative_error
from nalm.bench.vision.pairs import PairData, draw_pairs, folds, pairs_from, trained_pairs
from nalm.bench.vision.task import MEASURED_IN_TRAINING, TEST_DRAWS, LoadedTask, Measured, PairTask

TRAINED_SHARE = 0.85  # of the colour pairs; the rest validates
MOVES = 20_150_600  # the seed of how test digits are moved
MEASURED_AT_ONCE = 256


class LoadedColours:
    """Pairs as colours of one image, moved anew whenever they are shown in training."""

    def __init__(self, task: ColourPairs, seed: int, device: str) -> None:
        trained, tested = folds(pairs_from(0), task.folds)[seed % task.folds]
        source = load_digits(task.data)
        drawn = draw_pairs(source.train.to(device), trained, task.samples, seed)
        cut = round(TRAINED_SHARE * len(drawn))
        self.train = drawn.first(cut)
        self.validation = PairData(drawn.images, drawn.index[cut:], drawn.labels[cut:]).first(
            min(task.measured, MEASURED_IN_TRAINING)
        )
        self.test = draw_pairs(source.test.to(device), tested, task.samples, seed + TEST_DRAWS).first(task.measured)
        self.count = len(self.train)
        self.upright = task.upright

    def batch(self, chosen: Tensor, step_seed: int) -> tuple[Tensor, Tensor]:
        """Distorted images and products of the chosen pairs."""
        generator = torch.Generator().manual_seed(step_seed)
        labels = self.train.labels[chosen].float()
        return self._moved(self.train, self.train.index[chosen], generator), labels[:, :1] * labels[:, 1:]

    def _moved(self, part: PairData, rows: Tensor, generator: torch.Generator) -> Tensor:
        return distorted(part.images.pixels[rows], generator, self.upright)

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
        shown = (self._moved(part, rows, generator) for rows in torch.split(part.index, MEASURED_AT_ONCE))
        digits = torch.cat([network.read(images) for images in shown])
        results = network.head(digits).squeeze(-1)
        labels = part.labels.float()
        return asdict(accuracies(digits, labels, results, labels[:, 0] * labels[:, 1], decimals=0))


@dataclass(frozen=True)
class ColourPairs(PairTask):
    """The product of two digits that are turned, scaled, moved and shown as two colours of one image.

    Args:
        identity: whether the transformers begin by changing nothing (else as in the published runs, see `Localiser`).
        upright: whether digits are only moved, neither turned nor scaled: easier than published.
    """

    folds: int = 3
    samples: int = 1_100
    measured: int = 37_400
    identity: bool = True
    upright: bool = False

    @property
    def operation(self) -> str:
        return "mul"

    def loaded(self, seed: int, device: str = "cpu") -> LoadedTask:
        return LoadedColours(self, seed, device)

    def network(self, model: Model, head: nn.Module) -> Reading:
        return ColourNetwork(head, self.identity, self.light)

    def epoch(self, batch: int) -> int:
        return -(-round(TRAINED_SHARE * trained_pairs(0, self.folds) * self.samples) // batch)
