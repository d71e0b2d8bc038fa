"""Madsen and Johansen, "Neural Arithmetic Units", ICLR 2020: NAU and NMU."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from nalm.core.form import Product, Sum
from nalm.core.recipe import Ramp, Recipe
from nalm.core.scalar import Scalar, dot, product
from nalm.core.start import Fan, glorot_bound, uniform, uniform_within
from nalm.core.unit import Unit
from nalm.core.weight import Weight
from nalm.units.nac import NAU_PAPER


def nau_bound(fan: Fan) -> float:
    """min(1/2, sqrt(6 / (in + out)))."""
    return min(0.5, glorot_bound(fan))


def tree_product(factors: Tensor) -> Tensor:
    """The product over the last but one axis, by halves: safe at zero factors and log2(n) operations deep."""
    while (n := factors.shape[-2]) > 1:
        half = n // 2
        pairs = factors[..., :half, :] * factors[..., half : 2 * half, :]
        factors = torch.cat([pairs, factors[..., 2 * half :, :]], -2) if n % 2 else pairs
    return factors[..., 0, :]


def gated_product(x: Tensor, weight: Tensor) -> Tensor:
    """prod_i (W_oi x_i + 1 - W_oi), `(*runs, in, samples)` to `(*runs, out, samples)`."""
    w = weight.unsqueeze(-1)  # (*runs, out, in, 1)
    return tree_product(w * x.unsqueeze(-3) + (1 - w))


def gated_product_formula(x: Sequence[Scalar], weight: Sequence[Sequence[Scalar]]) -> list[Scalar]:
    """`gated_product` on scalars."""
    return [product(w * a + 1 - w for w, a in zip(row, x, strict=True)) for row in weight]


class NAU(Unit):
    r"""Neural addition unit: a linear layer whose weights are kept in [-1, 1] and pulled to -1, 0 and 1.

    Formula: $y_o = \sum_i W_{oi} x_i$.
    Reads as: a signed sum of selected inputs.
    Trained as: Adam 1e-3, clamped in the forward pass and projected after each step, penalty 0.01 ramped from step
    20,000 to 35,000 of 50,000 (the published script; the thesis table says 10).
    Paper: Madsen and Johansen 2020.

    >>> import torch
    >>> NAU(3, 1)(torch.ones(5, 3)).shape
    torch.Size([5, 1])
    """

    paper = NAU_PAPER
    operations = "+ -"
    form = Sum()
    recipe = Recipe(penalties={"to_grid": Ramp(0.01, 20_000, 35_000)})
    W = Weight("out in", start=uniform_within(nau_bound), box=(-1, 1), grid=(-1, 0, 1), keep="both")

    def compute(self, x: Tensor) -> Tensor:
        return self.W @ x

    def formula(self, x: Sequence[Scalar]) -> list[Scalar]:
        return [dot(row, x) for row in self.numbers("W")]


class NMU(Unit):
    r"""Neural multiplication unit: a product in which each input is switched on by its weight.

    Formula: $y_o = \prod_i (W_{oi} x_i + 1 - W_{oi})$.
    Reads as: a product of selected inputs, with their signs.
    Trained as: Adam 1e-3, projected to [0, 1] after each step, penalty 10 ramped from step 20,000 to 35,000 of 50,000.
    Paper: Madsen and Johansen 2020.

    >>> import torch
    >>> NMU(3, 1)(torch.ones(5, 3)).shape
    torch.Size([5, 1])
    """

    paper = NAU_PAPER
    operations = "*"
    form = Product()
    recipe = Recipe(penalties={"to_grid": Ramp(10, 20_000, 35_000)})
    W = Weight("out in", start=uniform(0.25, 0.75), box=(0, 1), grid=(0, 1))

    def compute(self, x: Tensor) -> Tensor:
        return gated_product(x, self.W)

    def formula(self, x: Sequence[Scalar]) -> list[Scalar]:
        return gated_product_formula(x, self.numbers("W"))
