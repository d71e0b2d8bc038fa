"""What is measured of a network that reads digits: its results, and the digits it was never told."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from nalm.bench.vision.digits import Images, normalised
from nalm.bench.vision.networks import Reading

READ_AT_ONCE = 512  # images: enough to fill the vectors, small enough for the cache


@dataclass(frozen=True)
class Accuracies:
    """Shares of results and of digits that are right, as published: to the last bit, and after rounding.

    Attributes:
        error: mean squared error of the results.
        result_exact, result_rounded: shares of results; `decimals` of the operation say how they are rounded.
        digit_exact, digit_rounded: shares of digits, both of a pair counted.
        first_digit, second_digit: of either, rounded.
        confusion: `(10, 10)` counts, true digit by digit read (rounded, and cut to 0 to 9).
    """

    error: float
    result_exact: float
    result_rounded: float
    digit_exact: float
    digit_rounded: float
    first_digit: float
    second_digit: float
    confusion: list[list[int]]


def rounded(values: Tensor, decimals: int) -> Tensor:
    """Rounded to decimals, in the type of the values, as published: round(v 10^d) / 10^d.

    >>> rounded(torch.tensor([0.3333333, 2.5000001]), 5).tolist() == torch.tensor([0.33333, 2.5]).tolist()
    True
    """
    scale = 10.0**decimals
    return (values * scale).round() / scale


def accuracies(digits: Tensor, true_digits: Tensor, results: Tensor, targets: Tensor, decimals: int) -> Accuracies:
    """Digits `(samples, 2)` and results `(samples,)`, read and true."""
    right = digits.round() == true_digits
    read = digits.nan_to_num(0.0).round().clamp(0, 9).long()
    confusion = torch.bincount((10 * true_digits.long() + read).reshape(-1), minlength=100).view(10, 10)
    return Accuracies(
        error=float((results.double() - targets.double()).square().mean()),
        result_exact=share(results == targets),
        result_rounded=share(rounded(results, decimals) == rounded(targets, decimals)),
        digit_exact=share(digits == true_digits),
        digit_rounded=share(right),
        first_digit=share(right[:, 0]),
        second_digit=share(right[:, 1]),
        confusion=confusion.tolist(),
    )


def share(right: Tensor) -> float:
    """The share of what is true."""
    return float(right.double().mean())


@torch.inference_mode()
def read_all(network: Reading, images: Images, index: Tensor) -> Tensor:
    """What the network reads in the images of an index of any shape. Each image is read once, however often it is
    drawn: in eval mode the answer is the same."""
    needed, place = torch.unique(index, return_inverse=True)
    read = [network.read(normalised(images.pixels[part])) for part in torch.split(needed, READ_AT_ONCE)]
    return torch.cat(read)[place]
