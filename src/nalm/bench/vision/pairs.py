"""Pairs of digits in permutation-disjoint folds: all digits are seen in training, the pairs of the test never are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from nalm.bench.vision.digits import Images

Pair = tuple[int, int]
FOLD_SEED = 0


def pairs_from(smallest: int) -> list[Pair]:
    """All pairs of digits that are at least `smallest`."""
    return [(a, b) for a in range(smallest, 10) for b in range(smallest, 10)]


def folds(pairs: Sequence[Pair], count: int) -> list[tuple[list[Pair], list[Pair]]]:
    """`count` ways to split the pairs into (train, test): scikit-learn's `KFold(count, shuffle=True,
    random_state=RandomState(0))`, so that the folds are the published ones.

    >>> train, test = folds(pairs_from(0), 10)[0]
    >>> len(train), len(test), set(train) & set(test)
    (90, 10, set())
    """
    order = np.arange(len(pairs))
    np.random.RandomState(FOLD_SEED).shuffle(order)
    parts = np.array_split(order, count)  # the first ones are one longer if it does not divide
    tested = [set(part.tolist()) for part in parts]
    return [
        ([p for i, p in enumerate(pairs) if i not in t], [p for i, p in enumerate(pairs) if i in t]) for t in tested
    ]


def trained_pairs(smallest: int, count: int) -> int:
    """How many pairs the first of `count` folds trains on.

    >>> trained_pairs(0, 10), trained_pairs(1, 10)
    (90, 72)
    """
    return len(folds(pairs_from(smallest), count)[0][0])


@dataclass(frozen=True)
class PairData:
    """Pairs of images of one source.

    Attributes:
        images: the source.
        index: `(samples, 2)` into the source.
        labels: `(samples, 2)`, the digits shown.
    """

    images: Images
    index: Tensor
    labels: Tensor

    def __len__(self) -> int:
        return len(self.index)

    def first(self, count: int) -> PairData:
        """The first pairs; they were shuffled, so that these are a random sample."""
        return PairData(self.images, self.index[:count], self.labels[:count])


def draw_pairs(images: Images, pairs: Sequence[Pair], samples: int, seed: int) -> PairData:
    """`samples` images pairs for each pair of digits, drawn with replacement and shuffled."""
    generator = torch.Generator().manual_seed(seed)
    labels = torch.tensor(list(pairs)).repeat_interleave(samples, 0)  # (pairs * samples, 2)
    index = torch.empty_like(labels)
    for digit in range(10):
        wanted = labels == digit
        candidates = images.of_class(digit)
        if bool(wanted.any()) and not len(candidates):
            raise ValueError(f"The images hold no {digit}, so that no pair with it can be drawn.")
        chosen = torch.randint(max(len(candidates), 1), (int(wanted.sum()),), generator=generator)
        index[wanted] = candidates[chosen]
    order = torch.randperm(len(labels), generator=generator)
    return PairData(images, index[order], labels[order])
