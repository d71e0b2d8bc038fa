"""What stands above a reader of digits and is not in the catalogue of units: the solved operations, and the fully
connected product. They are units too, so that everything above digits is treated alike."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from nalm.core.scalar import Scalar, product
from nalm.core.start import uniform
from nalm.core.unit import Unit
from nalm.core.weight import free


class ExactProduct(Unit):
    """The solved baseline MUL: nothing to learn above the digits."""

    def compute(self, x: Tensor) -> Tensor:
        return x[..., :1, :] * x[..., 1:, :]

    def formula(self, x: Sequence[Scalar]) -> list[Scalar]:
        return [x[0] * x[1]]


class ExactQuotient(Unit):
    """The solved baseline DIV."""

    def compute(self, x: Tensor) -> Tensor:
        return x[..., :1, :] / x[..., 1:, :]

    def formula(self, x: Sequence[Scalar]) -> list[Scalar]:
        return [x[0] / x[1]]


class ExactSum(Unit):
    """The solved accumulator of sums."""

    def compute(self, x: Tensor) -> Tensor:
        return x[..., :1, :] + x[..., 1:, :]

    def formula(self, x: Sequence[Scalar]) -> list[Scalar]:
        return [x[0] + x[1]]


class WeightedProduct(Unit):
    """The published FC head: the product of weighted inputs, no box and no pull. Exact at weights 1 and 1, and just as
    good at any two weights whose product is 1."""

    W = free("in", uniform(0.25, 0.75))

    def compute(self, x: Tensor) -> Tensor:
        return (self.W.unsqueeze(-1) * x).prod(-2, keepdim=True)

    def formula(self, x: Sequence[Scalar]) -> list[Scalar]:
        return [product(w * a for w, a in zip(self.numbers("W"), x, strict=True))]


HEADS: dict[str, type[Unit]] = {
    head.__name__: head for head in (ExactProduct, ExactQuotient, ExactSum, WeightedProduct)
}
