"""What stands above a reader of digits and is not in the catalogue: the solved operations, and the fully connected
product. Everything else is a unit of the catalogue with two inputs and one output."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class ExactProduct(nn.Module):
    """The solved baseline MUL: nothing to learn above the digits."""

    def forward(self, x: Tensor) -> Tensor:
        """`(..., 2)` to `(..., 1)`."""
        return x[..., :1] * x[..., 1:]


class ExactQuotient(nn.Module):
    """The solved baseline DIV."""

    def forward(self, x: Tensor) -> Tensor:
        """`(..., 2)` to `(..., 1)`."""
        return x[..., :1] / x[..., 1:]


class ExactSum(nn.Module):
    """The solved accumulator of sums."""

    def forward(self, x: Tensor) -> Tensor:
        """`(..., 2)` to `(..., 1)`."""
        return x[..., :1] + x[..., 1:]


class WeightedProduct(nn.Module):
    """The published FC head: the product of weighted inputs, no box and no pull. Exact at weights 1 and 1, and just as
    good at any two weights whose product is 1."""

    def __init__(self) -> None:
        super().__init__()
        self.W = nn.Parameter(torch.empty(1, 2).uniform_(0.25, 0.75))

    def forward(self, x: Tensor) -> Tensor:
        """`(..., 2)` to `(..., 1)`."""
        return (self.W[0] * x).prod(-1, keepdim=True)


HEADS: dict[str, type[nn.Module]] = {
    head.__name__: head for head in (ExactProduct, ExactQuotient, ExactSum, WeightedProduct)
}
