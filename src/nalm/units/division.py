"""Mistry, Farrahi and Hare, "Exploring the Learning Mechanisms of Neural Division Modules", TMLR 2022: NRU and NMRU."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from nalm.core.form import PairedProduct, Product
from nalm.core.option import positive, switch
from nalm.core.recipe import Adam, Clip, Ramp, Recipe
from nalm.core.scalar import Scalar, cos, dot, negative, pi, power, product, symbolic, whole
from nalm.core.start import constant, uniform, uniform_within
from nalm.core.unit import Unit
from nalm.core.weight import Weight, to_grid
from nalm.units.nau import nau_bound, tree_product
from nalm.units.npu import DIVISION_PAPER, EPSILON

NRU_RECIPE = Recipe(Adam(1.0), penalties={"to_grid": Ramp(10, 20_000, 35_000)})


def signs(x: Tensor) -> Tensor:
    """-1 where x < 0, else 1: unlike torch.sign, zero counts as positive, so that 0^-1 is infinite and never NaN."""
    return 1 - 2 * (x < 0).to(x.dtype)


class NRU(Unit):
    r"""Neural reciprocal unit: the NMU with weights in [-1, 1], a weight of -1 dividing.

    Formula: $y_o = \prod_i (\mathrm{sign}(x_i) |x_i|^{W_{oi}} A_{oi} + 1 - A_{oi})$ with $A = \tanh(1000 W)^2$ in
    training and $|W|$ in eval mode.
    Reads as: a product and quotient of selected inputs, with their signs. Dividing by zero gives
    infinity, and 0/0 NaN.
    Trained as: Adam with rate 1 (1e-3 for ten inputs), projected to [-1, 1], penalty 10 ramped from step 20,000 to
    35,000 of 50,000. `scale` is the 1000 inside tanh.
    Paper: Mistry et al. 2022.

    >>> import torch
    >>> NRU(3, 1)(torch.ones(5, 3)).shape
    torch.Size([5, 1])
    """

    paper = DIVISION_PAPER
    operations = "* /"
    form = Product()
    recipe = NRU_RECIPE
    W = Weight("out in", start=uniform_within(nau_bound), box=(-1, 1), grid=(-1, 0, 1))
    scale = positive(1000.0, "the factor inside tanh")

    def compute(self, x: Tensor) -> Tensor:
        w, size, sign = self.W.unsqueeze(-1), x.abs().unsqueeze(-3), signs(x).unsqueeze(-3)
        on = torch.tanh(self.scale * w).square() if self.training else w.abs()
        return tree_product(sign * torch.pow(size, w) * on + 1 - on)

    def formula(self, x: Sequence[Scalar]) -> list[Scalar]:
        return [product(_reciprocal_factor(a, w) for a, w in zip(x, row, strict=True)) for row in self.numbers("W")]


def _reciprocal_factor(a: Scalar, w: Scalar) -> Scalar:
    if symbolic(a) and whole(w):
        return a**w
    return (1 - 2 * negative(a)) * power(abs(a), w) * abs(w) + 1 - abs(w)


class SeparateSignNRU(Unit):
    r"""NRU that multiplies magnitudes and signs apart.

    Formula: $y_o = \prod_i (|x_i|^{W_{oi}} A_{oi} + 1 - A_{oi}) \prod_i \mathrm{sign}(x_i)^{\mathrm{round}(W_{oi})}$
    with A as in the NRU.
    Reads as: a product and quotient of selected inputs, with their signs. Dividing by zero gives
    infinity, and 0/0 NaN.
    Trained as: the NRU.
    Paper: Mistry et al. 2022, appendix.

    >>> import torch
    >>> SeparateSignNRU(3, 1)(torch.ones(5, 3)).shape
    torch.Size([5, 1])
    """

    paper = DIVISION_PAPER
    operations = "* /"
    form = Product()
    recipe = NRU_RECIPE
    W = NRU.W

    def compute(self, x: Tensor) -> Tensor:
        w, a = self.W.unsqueeze(-1), x.abs().unsqueeze(-3)
        on = torch.tanh(1000 * w).square() if self.training else w.abs()
        used = torch.round(w.detach()).abs()  # sign^-1 = sign
        return tree_product(torch.pow(a, w) * on + 1 - on) * tree_product(signs(x).unsqueeze(-3) * used + 1 - used)

    def formula(self, x: Sequence[Scalar]) -> list[Scalar]:
        return [product(_separate_factor(a, w) for a, w in zip(x, row, strict=True)) for row in self.numbers("W")]


def _separate_factor(a: Scalar, w: Scalar) -> Scalar:
    if symbolic(a) and whole(w):
        return a**w
    return (power(abs(a), w) * abs(w) + 1 - abs(w)) * (1 - 2 * negative(a) * abs(round(w)))


def gates_to_grid(weight: Weight, raw: Sequence[Tensor]) -> Tensor:
    """`to_grid` under a name of its own: the NMRU's gates are pulled a tenth as hard as its weights."""
    return to_grid(weight, raw)


class NMRU(Unit):
    r"""Neural multiplicative reciprocal unit: an NMU on the inputs and their reciprocals, signs carried by a cosine.

    Formula: $y_o = \prod_{i=1}^{2I} (|u_i| W_{oi} + 1 - W_{oi}) \cos(\pi \sum_i W_{oi} [u_i < 0])$ with
    $u = [x, 1/(x + \epsilon)]$ in training and $[x, 1/x]$ in eval mode, epsilon 1.19e-7.
    Reads as: a product and quotient of selected inputs, with their signs. Dividing by zero gives
    infinity, and 0/0 NaN.
    Trained as: Adam 1e-2, gradient norm clipped to 1, projected to [0, 1], penalty 10 ramped from step 20,000 to 35,000
    of 50,000. Ablations: `sign=False` leaves the signs in the product, `gate=True` scales u by a gate (pulled with
    strength 1).
    Paper: Mistry et al. 2022.

    >>> import torch
    >>> NMRU(3, 1)(torch.ones(5, 3)).shape
    torch.Size([5, 1])
    """

    paper = DIVISION_PAPER
    operations = "* /"
    form = PairedProduct()
    recipe = Recipe(
        Adam(1e-2),
        penalties={"to_grid": Ramp(10, 20_000, 35_000), "gates_to_grid": Ramp(1, 20_000, 35_000)},
        clip=Clip(norm=1.0),
    )
    W = Weight("out 2*in", start=uniform(0.25, 0.75), box=(0, 1), grid=(0, 1))
    sign = switch(True, "carry the signs by a cosine, instead of leaving them in the product")
    gate = switch(False, "scale inputs and reciprocals by a learned gate")

    def optional_weights(self) -> Mapping[str, Weight]:
        g = Weight("2*in", start=constant(0.5), box=(0, 1), grid=(0, 1), pulls=(gates_to_grid,), counts=False)
        return {"g": g} if self.gate else {}

    def compute(self, x: Tensor) -> Tensor:
        reciprocal = 1 / (x + EPSILON) if self.training else 1 / self._divisors(x)
        u = torch.cat([x.expand_as(reciprocal), reciprocal], -2)  # (*runs, 2 in, samples)
        if self.gate:
            g = self.value("g").unsqueeze(-1)
            u = g * u if self.training else torch.where(g == 0, 0.0, g * u)
        w = self.W.unsqueeze(-1)
        factors = (u.abs() if self.sign else u).unsqueeze(-3) * w + 1 - w
        if not self.training:  # an unused reciprocal of zero gives a factor of 1, not infinity times 0
            factors = torch.where(w == 0, 1.0, factors)
        y = tree_product(factors)
        return y * torch.cos(self.W @ (math.pi * (u < 0).to(x.dtype))) if self.sign else y

    def _divisors(self, x: Tensor) -> Tensor:
        """The inputs, and 1 for those that no output divides by: the gradient of 1/0 would be NaN, used or not."""
        used = (self.W[..., self.in_features :] != 0).any(-2)  # (*runs, in)
        return torch.where(used.unsqueeze(-1), x, 1.0)

    def formula(self, x: Sequence[Scalar]) -> list[Scalar]:
        u = [*x, *(1 / a if symbolic(a) or a else math.copysign(math.inf, a) for a in x)]
        if self.gate:
            u = [0 if g == 0 else g * a for g, a in zip(self.numbers("g"), u, strict=True)]
        return [self._output(u, row) for row in self.numbers("W")]

    def _output(self, u: Sequence[Scalar], row: Sequence[Scalar]) -> Scalar:
        if not self.sign or all(w in (0, 1) for w in row):  # the cosine is then the sign of the product
            return product(1 if w == 0 else a * w + 1 - w for a, w in zip(u, row, strict=True))
        size = product(1 if w == 0 else abs(a) * w + 1 - w for a, w in zip(u, row, strict=True))
        return size * cos(dot(row, [pi(a) * negative(a) for a in u]))
