"""Sequences of digits: the images of one part, in a random order, cut into pieces of equal length."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from nalm.bench.vision.digits import Images

VALIDATION_SHARE = 1 / 12  # of the training images, the last ones: 5,000 of MNIST's 60,000, as published
VALIDATION, TEST = 47430696, 88253339  # the published seeds of the fixed sequences


def split(images: Images) -> tuple[Images, Images]:
    """What is trained on, and what validates: the last twelfth."""
    cut = len(images.labels) - round(len(images.labels) * VALIDATION_SHARE)
    return images[:cut], images[cut:]


def cut(images: Images, smallest: int, length: int, seed: int) -> Tensor:
    """Indices `(sequences, length)` of images whose digit is at least `smallest`, each image at most once.

    >>> images = Images(torch.zeros(7, 28, 28, dtype=torch.uint8), torch.tensor([0, 1, 2, 3, 4, 5, 6]))
    >>> cut(images, 1, 2, seed=0).shape
    torch.Size([3, 2])
    """
    eligible = np.flatnonzero(images.labels.numpy() >= smallest)
    count = len(eligible) // length
    if not count:
        raise ValueError(f"{len(eligible)} images of digits from {smallest} on make no sequence of length {length}.")
    order = np.random.RandomState(seed).permutation(eligible)
    return torch.from_numpy(order[: count * length].reshape(count, length))
