"""DuJardin, "Hill Space is All You Need", 2025: sums, powers and trigonometric functions whose weights are the NAC's,
started at zero and snapped to -1, 0 and 1 already while they train."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import pi as PI

import torch
from torch import Tensor

from nalm.core.arguments import NotNegative, need_of
from nalm.core.form import Product, Sum
from nalm.core.optimiser import ScheduleFree
from nalm.core.option import Option
from nalm.core.recipe import Recipe
from nalm.core.scalar import Scalar, cos, dot, pi, sin
from nalm.core.start import constant, normal
from nalm.core.unit import Unit
from nalm.core.weight import Weight
from nalm.units.classic import ProductUnit
from nalm.units.nac import TANH_SIGMOID

HILL_PAPER = "DuJardin, Hill Space is All You Need, 2025"
HILL_RECIPE = Recipe(ScheduleFree(0.1, betas=(0.9, 0.96), decay=1e-8, warmup=100), steps=10_000, batch=64)
SPREAD = need_of(NotNegative)
SNAP = 1e-6  # as published: a tanh or sigmoid this near to its limits counts as the limit


def _hill(w: Tensor, m: Tensor) -> Tensor:
    sign, size = torch.tanh(w), torch.sigmoid(m)
    sign = torch.where(sign > 1 - SNAP, 1.0, torch.where(sign < SNAP - 1, -1.0, sign))
    size = torch.where(size > 1 - SNAP, 1.0, torch.where(size < SNAP, 0.0, size))
    return sign * size


HILL = replace(TANH_SIGMOID, value=_hill)


def hill_weight(shape: str, grid: tuple[float, ...] = (-1, 0, 1)) -> Weight:
    """tanh(W_hat) * sigmoid(W_gate) with both factors snapped to their limits; it starts at 0."""
    return Weight(shape, start=constant(0.0), grid=grid, link=HILL)


class _HillUnit(Unit):
    """What the four units share: the recipe, and how far from zero their weights may start."""

    paper = HILL_PAPER
    recipe = HILL_RECIPE
    spread = Option(0.0, "standard deviation of the raw parameters at the start", SPREAD.words, SPREAD.holds)

    def optional_weights(self) -> Mapping[str, Weight]:
        if not self.spread:
            return {}
        return {name: replace(weight, start=normal(0.0, self.spread)) for name, weight in self.declared.items()}


class HillSum(_HillUnit):
    r"""The additive unit of Hill Space: a NAC that starts at zero and snaps.

    Formula: $y_o = \sum_i W_{oi} x_i$ with $W = \mathrm{snap}(\tanh \hat W) \odot \mathrm{snap}(\sigma(\hat M))$, where
    snap replaces what is within 1e-6 of -1, 0 or 1 (the limits of the function) by the limit.
    Reads as: a signed sum of selected inputs.
    Trained as: schedule-free AdamW 0.1, betas 0.9 and 0.96, weight decay 1e-8, 100 steps of warm-up, batch 64, at most
    10,000 steps, on inputs from U(1e-8, 10) whatever the range of use. `spread` is the deviation of the raw parameters
    at the start, 0 as published.
    Paper: DuJardin 2025, "additive primitive".

    >>> import torch
    >>> HillSum(3, 1)(torch.ones(5, 3)).shape
    torch.Size([5, 1])
    """

    operations = "+ -"
    form = Sum()
    W = hill_weight("out in")

    def compute(self, x: Tensor) -> Tensor:
        return self.W @ x

    def formula(self, x: Sequence[Scalar]) -> list[Scalar]:
        return [dot(weights, x) for weights in self.numbers("W")]


class HillPower(_HillUnit, ProductUnit):
    r"""The exponential unit of Hill Space: a product unit with snapped weights between -1 and 1.

    Formula: $y_o = \mathrm{Re} \prod_i x_i^{W_{oi}} = \prod_i |x_i|^{W_{oi}} \cos(\pi \sum_i W_{oi} [x_i < 0])$ with W
    as in HillSum. The paper computes with complex numbers, which is the same.
    Reads as: a product and quotient of selected inputs, with their signs. Dividing by zero gives
    infinity, and 0/0 NaN.
    Trained as: HillSum.
    Paper: DuJardin 2025, "exponential primitive".

    >>> import torch
    >>> HillPower(3, 1)(torch.ones(5, 3)).shape
    torch.Size([5, 1])
    """

    paper = HILL_PAPER
    operations = "* /"
    form = Product()
    W = hill_weight("out in")


class HillCircle(_HillUnit):
    r"""The unit-circle unit of Hill Space: the cosine or sine of one angle, with a phase of 0 or pi.

    Formula: $y_o = (\cos(t + \pi p_o)(1 + s_o) + \sin(t + \pi p_o)(1 - s_o)) / 2$ for the one input t, with s and p
    made like the W of HillSum.
    Reads as: cos t (s = 1) or sin t (s = -1), negated if p is -1 or 1.
    Trained as: HillSum.
    Paper: DuJardin 2025, "unit circle primitive".

    >>> import torch
    >>> HillCircle(1, 1)(torch.ones(5, 1)).shape
    torch.Size([5, 1])
    """

    operations = "cos sin"
    s = hill_weight("out", grid=(-1, 1))
    p = hill_weight("out")

    def check(self) -> None:
        if self.in_features != 1:
            raise ValueError(f"HillCircle: in_features is {self.in_features}; it needs 1, the angle.")

    def compute(self, x: Tensor) -> Tensor:
        s, angle = self.s.unsqueeze(-1), x + PI * self.p.unsqueeze(-1)  # (*runs, out, samples)
        return (torch.cos(angle) * (1 + s) + torch.sin(angle) * (1 - s)) / 2

    def formula(self, x: Sequence[Scalar]) -> list[Scalar]:
        (t,) = x
        weights = zip(self.numbers("s"), self.numbers("p"), strict=True)
        return [(cos(t + pi(t) * p) * (1 + s) + sin(t + pi(t) * p) * (1 - s)) / 2 for s, p in weights]


class HillAngles(_HillUnit):
    r"""The trigonometric-product unit of Hill Space: cosine or sine of the sum or difference of two angles.

    Formula: $y_o = s_o [d_o \cos(t - u) + (1 - d_o) \cos(t + u)] + (1 - s_o) [d_o \sin(t - u) + (1 - d_o) \sin(t + u)]$
    for the two inputs t and u, with s and d made like the W of HillSum.
    Reads as: cos (s = 1) or sin (s = 0) of the difference (d = 1) or sum (d = 0).
    Trained as: HillSum. It starts at sin(t + u).
    Paper: DuJardin 2025, "trigonometric products primitive".

    >>> import torch
    >>> HillAngles(2, 1)(torch.ones(5, 2)).shape
    torch.Size([5, 1])
    """

    operations = "cos sin of + -"
    s = hill_weight("out", grid=(0, 1))
    d = hill_weight("out", grid=(0, 1))

    def check(self) -> None:
        if self.in_features != 2:
            raise ValueError(f"HillAngles: in_features is {self.in_features}; it needs 2, the angles.")

    def compute(self, x: Tensor) -> Tensor:
        s, d = self.s.unsqueeze(-1), self.d.unsqueeze(-1)
        t, u = x[..., :1, :], x[..., 1:, :]  # (*runs, 1, samples)
        cosine = d * torch.cos(t - u) + (1 - d) * torch.cos(t + u)
        sine = d * torch.sin(t - u) + (1 - d) * torch.sin(t + u)
        return s * cosine + (1 - s) * sine

    def formula(self, x: Sequence[Scalar]) -> list[Scalar]:
        t, u = x
        weights = zip(self.numbers("s"), self.numbers("d"), strict=True)
        return [
            s * (d * cos(t - u) + (1 - d) * cos(t + u)) + (1 - s) * (d * sin(t - u) + (1 - d) * sin(t + u))
            for s, d in weights
        ]
