"""How fast whole networks train here, against the plain way: a `DataLoader` over a data set, layers in the order they
are told, PyTorch's defaults. Both learn the same product of the same pairs with the same network, in one run."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset

from nalm.bench.run import Run
from nalm.bench.threads import one_thread
from nalm.bench.vision.digits import normalised
from nalm.bench.vision.method import NetworkDescent
from nalm.bench.vision.models import head
from nalm.bench.vision.pair_task import DigitPairs, LoadedPairs
from nalm.bench.vision.pairs import PairData
from nalm.bench.vision.readers import soft_argmax
from nalm.bench.vision.training import Training
from nalm.core.recipe import Recipe

BATCH = 128  # pairs, as published
TRIES = 5
IMAGES_PER_PAIR = 2


@dataclass(frozen=True)
class Rates:
    """Images per second of processor time."""

    plain: float
    ours: float

    @property
    def ratio(self) -> float:
        """How many times faster."""
        return self.ours / self.plain


class PlainPairs(Dataset[tuple[Tensor, Tensor]]):
    """One pair at a time, made when it is asked for."""

    def __init__(self, data: PairData) -> None:
        self.data = data

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, place: int) -> tuple[Tensor, Tensor]:
        labels = self.data.labels[place].float()
        return normalised(self.data.images.pixels[self.data.index[place]]), labels[:1] * labels[1:]


class PlainNetwork(nn.Module):
    """The published network in the words of its code, with the solved product on top."""

    def __init__(self) -> None:
        super().__init__()
        below = [nn.Conv2d(1, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Dropout(0.25)]
        above = [nn.Flatten(), nn.Linear(9216, 128), nn.ReLU(), nn.Dropout(0.5), nn.Linear(128, 10)]
        self.layers = nn.Sequential(*below, *above)

    def forward(self, images: Tensor) -> Tensor:
        """Pairs `(count, 2, 28, 28)` to products `(count, 1)`."""
        digits = soft_argmax(self.layers(images.flatten(0, 1).unsqueeze(1))).view(-1, 2)
        return digits[:, :1] * digits[:, 1:]


def measure(batches: int = 4, data: str = "digits") -> Rates:
    """Both ways on one thread; each the best of a few tries of so many batches."""
    with one_thread():
        task = DigitPairs(data)
        training = Training(Run(head("ExactProduct"), task, NetworkDescent(Recipe(steps=1, batch=BATCH)), seed=0))
        assert isinstance(training.loaded, LoadedPairs)
        plain = plain_steps(training.loaded.train)
        return Rates(*_rates((lambda: next(plain), lambda: training.advance(1)), batches))


def plain_steps(data: PairData) -> Iterator[None]:
    """One step of the plain loop after another, without end."""
    network = PlainNetwork().train()
    optimiser = torch.optim.Adam(network.parameters(), 1e-3)
    while True:
        for images, targets in DataLoader(PlainPairs(data), BATCH, shuffle=True):
            optimiser.zero_grad()
            (network(images) - targets).square().mean().backward()
            optimiser.step()
            yield


def _rates(ways: Sequence[Callable[[], None]], batches: int) -> list[float]:
    """Images per second of each way. They take turns, so that a machine that others use is as slow for each."""
    seconds: list[list[float]] = [[] for _ in ways]
    for step in ways:
        step()
    for _ in range(TRIES):
        for step, spent in zip(ways, seconds, strict=True):
            started = time.process_time()
            for _ in range(batches):
                step()
            spent.append(time.process_time() - started)
    return [IMAGES_PER_PAIR * BATCH * batches / min(spent) for spent in seconds]
