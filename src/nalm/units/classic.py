"""Arithmetic layers from before the neural accumulator: the product unit and the quadratic layer."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from nalm.core.form import Product
from nalm.core.scalar import Scalar, cos, dot, negative, pi, power, product, symbolic, whole
from nalm.core.start import constant, glorot_bound, uniform_within
from nalm.core.unit import Unit
from nalm.core.weight import Weight, free
from nalm.units.nau import tree_product


class ProductUnit(Unit):
    r"""Product unit: powers of the inputs, real part taken for negative ones.

    Formula: $y_o = \prod_i |x_i|^{W_{oi}} \cos(\pi \sum_i W_{oi} [x_i < 0])$.
    Reads as: a product of powers. A zero input under a negative exponent gives infinity, and 0/0 NaN.
    Trained as: plain Adam; W starts Xavier uniform (no source states it).
    Paper: Durbin and Rumelhart 1989.

    >>> import torch
    >>> ProductUnit(3, 1)(torch.ones(5, 3)).shape
    torch.Size([5, 1])
    """

    paper = "Durbin and Rumelhart, Product Units, Neural Computation 1989"
    operations = "* / powers"
    form = Product()
    W = Weight("out in", start=uniform_within(glorot_bound), grid=(-2, -1, 0, 1, 2))

    def compute(self, x: Tensor) -> Tensor:
        size = tree_product(torch.pow(x.abs().unsqueeze(-3), self.W.unsqueeze(-1)))
        return size * torch.cos(self.W @ (math.pi * (x < 0).to(x.dtype)))

    def formula(self, x: Sequence[Scalar]) -> list[Scalar]:
        return [self._output(x, row) for row in self.numbers("W")]

    def _output(self, x: Sequence[Scalar], row: Sequence[Scalar]) -> Scalar:
        if any(symbolic(a) for a in x) and all(whole(w) for w in row):
            return product(a**w for a, w in zip(x, row, strict=True))
        size = product(power(abs(a), w) for a, w in zip(x, row, strict=True))
        return size * cos(dot(row, [pi(a) * negative(a) for a in x]))


class Quadratic(Unit):
    r"""Quadratic layer: all products of two affine forms.

    Formula: $y = (W_1 x + b_1) \odot (W_2 x + b_2) + W_3 x^2 + c$.
    Reads as: a quadratic polynomial with decimals.
    Trained as: plain Adam; weights start Xavier uniform, biases at zero (no source states it).
    Paper: Mistry's thesis, equation 7.1, after Fan et al. 2020.

    >>> import torch
    >>> Quadratic(3, 1)(torch.ones(5, 3)).shape
    torch.Size([5, 1])
    """

    paper = "Baseline of Mistry, thesis 2023, chapter 7"
    operations = "baseline"
    W1 = free("out in", uniform_within(glorot_bound))
    W2 = free("out in", uniform_within(glorot_bound))
    W3 = free("out in", uniform_within(glorot_bound))
    b1 = free("out", constant(0.0))
    b2 = free("out", constant(0.0))
    c = free("out", constant(0.0))

    def compute(self, x: Tensor) -> Tensor:
        b1, b2, c = (b.unsqueeze(-1) for b in (self.b1, self.b2, self.c))
        return (self.W1 @ x + b1) * (self.W2 @ x + b2) + self.W3 @ x.square() + c

    def formula(self, x: Sequence[Scalar]) -> list[Scalar]:
        parts = zip(*(self.numbers(name) for name in ("W1", "b1", "W2", "b2", "W3", "c")), strict=True)
        squares = [a * a for a in x]
        return [(dot(r1, x) + b1) * (dot(r2, x) + b2) + dot(r3, squares) + c for r1, b1, r2, b2, r3, c in parts]
