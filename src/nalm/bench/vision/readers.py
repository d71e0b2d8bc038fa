"""Networks that read digits: a classifier whose answer is a number, and a regressor.

Written for speed on a CPU without changing what is computed: channels last, pooling before the rectifier (they
commute, and the rectifier then sees a quarter), features flattened in the order they lie in memory, convolutions of a
few images at a time, and dropout by random bytes, eight per draw. See `nalm speed mnist`.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

BYTES_PER_DRAW = 8
AT_ONCE = 64  # images in the convolutions: what they pass on stays in the cache


def channels_last_(module: nn.Module) -> None:
    """Lay out the weights of convolutions as the CPU likes them, in place."""
    module.to(memory_format=torch.channels_last)  # type: ignore[call-overload]


class Dropout(nn.Module):
    """Zeroes a share of its inputs in training; the share is a multiple of 1/256, so that a byte decides exactly."""

    def __init__(self, share: float) -> None:
        super().__init__()
        self.dropped = round(share * 256)
        if not 0 <= self.dropped < 256 or self.dropped != share * 256:
            raise ValueError(f"Dropout: the share is {share}; it needs a multiple of 1/256 below 1.")

    def forward(self, x: Tensor) -> Tensor:
        """Any shape to the same shape; the expected value is kept."""
        if not self.training:
            return x
        draws = torch.empty(-(-x.numel() // BYTES_PER_DRAW), dtype=torch.int64, device=x.device).random_(-(2**63), None)
        kept = draws.view(torch.uint8)[: x.numel()].view(x.shape) >= self.dropped
        return x * kept.to(x.dtype).mul_(256 / (256 - self.dropped))


class Classifier(nn.Module):
    """PyTorch's example network for MNIST, as published: two convolutions, two dense layers.

    Args:
        channels: of the image.
        side: of the image, in pixels.
        classes: how many digits there are.
    """

    def __init__(self, channels: int = 1, side: int = 28, classes: int = 10) -> None:
        super().__init__()
        pooled = (side - 4) // 2  # two convolutions of 3 x 3, then pooling by 2
        self.first = nn.Conv2d(channels, 32, 3)
        self.second = nn.Conv2d(32, 64, 3)
        self.dense = nn.Linear(64 * pooled**2, 128)
        self.logits = nn.Linear(128, classes)
        self.thin, self.thinner = Dropout(0.25), Dropout(0.5)
        channels_last_(self)

    def forward(self, images: Tensor) -> Tensor:
        """Images `(count, channels, side, side)` to logits `(count, classes)`."""
        images = images.contiguous(memory_format=torch.channels_last)
        x = torch.cat([self._features(part) for part in torch.split(images, AT_ONCE)])
        x = functional.relu(self.dense(self.thin(x)))
        logits: Tensor = self.logits(self.thinner(x))
        return logits

    def _features(self, images: Tensor) -> Tensor:
        x = self.second(functional.relu(self.first(images), inplace=True))
        return functional.relu(functional.max_pool2d(x, 2)).permute(0, 2, 3, 1).flatten(1)


def soft_argmax(logits: Tensor, smallest: int = 0) -> Tensor:
    """The expected digit under the softmax: `(..., classes)` to `(...)`, classes counted from `smallest`.

    >>> soft_argmax(torch.tensor([[0.0, 0.0, 100.0]]), smallest=1).tolist()
    [3.0]
    """
    digits = torch.arange(smallest, smallest + logits.shape[-1], dtype=logits.dtype, device=logits.device)
    return torch.softmax(logits, -1) @ digits


class SmallReader(nn.Module):
    """The network of the sequence studies, as published: two convolutions of 5 x 5, two dense layers, no dropout. It
    costs a fifth of `Classifier`.

    Args:
        channels: of the image.
        side: of the image, in pixels.
        outputs: 1 to read a digit as a number, the number of digits to read it as a class.
    """

    def __init__(self, channels: int = 1, side: int = 28, outputs: int = 1) -> None:
        super().__init__()
        pooled = ((side - 4) // 2 - 4) // 2  # twice a convolution of 5 x 5 and pooling by 2
        self.first = nn.Conv2d(channels, 20, 5)
        self.second = nn.Conv2d(20, 50, 5)
        self.dense = nn.Linear(50 * pooled**2, 500)
        self.outputs = nn.Linear(500, outputs)
        channels_last_(self)

    def forward(self, images: Tensor) -> Tensor:
        """Images `(count, channels, side, side)` to `(count, outputs)`."""
        images = images.contiguous(memory_format=torch.channels_last)
        x = functional.relu(functional.max_pool2d(self.first(images), 2))
        x = functional.relu(functional.max_pool2d(self.second(x), 2)).permute(0, 2, 3, 1).flatten(1)
        outputs: Tensor = self.outputs(functional.relu(self.dense(x)))
        return outputs


def classifier(channels: int, side: int, classes: int, light: bool) -> nn.Module:
    """The published classifier, or one that costs a fifth."""
    return SmallReader(channels, side, classes) if light else Classifier(channels, side, classes)
