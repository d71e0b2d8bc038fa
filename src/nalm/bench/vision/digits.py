"""Handwritten digits as one tensor in memory: the 1,797 bundled with scikit-learn, or MNIST."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
import torch
from torch import Tensor

from nalm.bench.find import nearest
from nalm.bench.vision import mnist

SIDE = 28
MEAN, DEVIATION = 0.1307, 0.3081  # of MNIST's pixels, as published; used for every source
INK = 20  # pixels: MNIST's digits fill a box of this side inside the 28 x 28 image
TRAINED_SHARE = 0.8  # of the bundled digits; they come writer by writer, so the last fifth has other hands


@dataclass(frozen=True)
class Images:
    """Images `(count, 28, 28)` of bytes and their labels `(count,)`."""

    pixels: Tensor
    labels: Tensor

    def of_class(self, digit: int) -> Tensor:
        """Indices of the images of one digit."""
        return torch.nonzero(self.labels == digit).squeeze(-1)

    def __getitem__(self, chosen: slice) -> Images:
        return Images(self.pixels[chosen], self.labels[chosen])

    def to(self, device: str) -> Images:
        """The same on another device."""
        return Images(self.pixels.to(device), self.labels.to(device))


@dataclass(frozen=True)
class Digits:
    """A source of digits: what a network learns from, and what it is tested on."""

    train: Images
    test: Images


def normalised(pixels: Tensor) -> Tensor:
    """Bytes `(..., 28, 28)` as the networks see them."""
    return (pixels.float() / 255 - MEAN) / DEVIATION


def bundled() -> Digits:
    """Real handwriting of 8 x 8 pixels, enlarged to look like MNIST: 20 x 20 in the middle of 28 x 28."""
    try:
        from sklearn.datasets import load_digits
    except ImportError as error:
        raise ImportError("The bundled digits need scikit-learn: pip install 'nalm[sklearn]'") from error
    small, labels = load_digits(return_X_y=True)
    grey = torch.from_numpy(np.array(small, dtype=np.float32)).reshape(-1, 1, 8, 8) * (255 / 16)
    large = torch.nn.functional.interpolate(grey, size=(INK, INK), mode="bilinear", align_corners=False)
    pixels = torch.nn.functional.pad(large, [(SIDE - INK) // 2] * 4).squeeze(1).round().to(torch.uint8)
    known = Images(pixels, torch.from_numpy(np.array(labels, dtype=np.int64)))
    cut = int(len(labels) * TRAINED_SHARE)
    return Digits(known[:cut], known[cut:])


def from_mnist() -> Digits:
    """The 60,000 and 10,000 digits of MNIST."""
    parts = {part: torch.from_numpy(mnist.load(part).copy()) for part in mnist.FILES}
    return Digits(
        Images(parts["train images"], parts["train labels"].long()),
        Images(parts["test images"], parts["test labels"].long()),
    )


SOURCES: dict[str, Callable[[], Digits]] = {"digits": bundled, "mnist": from_mnist}


def check_source(source: str) -> None:
    """Refuse a name that is no source of digits."""
    if source not in SOURCES:
        raise ValueError(f"There are no digits called {source!r}. {nearest(source, SOURCES)}")


@cache
def load_digits(source: str) -> Digits:
    """The digits of a source, once per process."""
    check_source(source)
    return SOURCES[source]()
