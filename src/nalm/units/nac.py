"""Trask, Hill, Reed, Rae, Dyer and Blunsom, "Neural Arithmetic Logic Units", NeurIPS 2018: NAC+, NAC. and NALU;
Madsen and Johansen, "Neural Arithmetic Units", ICLR 2020: the two multiplicative NACs with simpler weights."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache

import torch
from torch import Tensor

from nalm.core.form import Product, Sum
from nalm.core.option import switch
from nalm.core.recipe import Ramp, Recipe
from nalm.core.scalar import Scalar, dot, guarded, product, sigmoid
from nalm.core.start import Fan, glorot_bound, normal, uniform, uniform_within
from nalm.core.unit import Unit
from nalm.core.weight import LOGISTIC, SATURATED, Link, Weight, free

NALU_PAPER = "Trask et al., Neural Arithmetic Logic Units, NeurIPS 2018"
NAU_PAPER = "Madsen and Johansen, Neural Arithmetic Units, ICLR 2020"
EPSILON = 1e-7


def _tanh_sigmoid(w: Tensor, m: Tensor) -> Tensor:
    return torch.tanh(w) * torch.sigmoid(m)


def _raw_tanh_sigmoid(value: Tensor) -> tuple[Tensor, Tensor]:
    return SATURATED * value, torch.full_like(value, SATURATED)


TANH_SIGMOID = Link(("_hat", "_gate"), _tanh_sigmoid, _raw_tanh_sigmoid)


@cache
def nac_bound(fan: Fan) -> float:
    """r such that fan * Var[tanh(U) sigmoid(U')] = 2 for U, U' ~ U[-r, r), with fan = max(in + out, 5).

    The variance saturates near 0.405, so fans below 4.94 have no solution: hence the floor of 5.

    >>> round(nac_bound(Fan(100, 2)), 6)
    0.503909
    """
    size, low, high = max(fan.inputs + fan.outputs, 5), 1e-6, 10.0
    for _ in range(100):
        r = (low + high) / 2
        variance = (1 - math.tanh(r) / r) * (r - math.tanh(r / 2)) / (2 * r)
        low, high = (r, high) if size * variance < 2 else (low, r)
    return (low + high) / 2


def nac_weight() -> Weight:
    """tanh(W_hat) * sigmoid(W_gate), biased towards -1, 0 and 1."""
    return Weight("out in", start=uniform_within(nac_bound), grid=(-1, 0, 1), link=TANH_SIGMOID)


def _glorot_deviation(fan: Fan) -> float:
    return math.sqrt(2 / (fan.inputs + fan.outputs))


def exp_log(x: Tensor, weight: Tensor) -> Tensor:
    """prod_i (|x_i| + epsilon)^w_oi, the log-space product of the NAC family."""
    return torch.exp(weight @ torch.log(x.abs() + EPSILON))


def exp_log_formula(x: Sequence[Scalar], weight: Sequence[Sequence[Scalar]]) -> list[Scalar]:
    """`exp_log` on scalars."""
    return [product(guarded(a, EPSILON) ** w for a, w in zip(x, row, strict=True)) for row in weight]


class NAC(Unit):
    r"""Neural accumulator: a sum with weights biased towards -1, 0 and 1.

    Formula: $y_o = \sum_i W_{oi} x_i$ with $W = \tanh(\hat W) \odot \sigma(\hat M)$, stored as `W_hat` and `W_gate`.
    Reads as: a signed sum of selected inputs.
    Trained as: Adam 1e-3, no penalty, no clamp.
    Paper: Trask et al. 2018, NAC; NAC+ in Madsen and Johansen 2020.

    >>> import nalm, torch
    >>> NAC(3, 1)(torch.ones(5, 3)).shape
    torch.Size([5, 1])
    """

    paper = NALU_PAPER
    operations = "+ -"
    form = Sum()
    W = nac_weight()

    def compute(self, x: Tensor) -> Tensor:
        return self.W @ x

    def formula(self, x: Sequence[Scalar]) -> list[Scalar]:
        return [dot(row, x) for row in self.numbers("W")]


class _LogSpace(Unit):
    """A product of magnitudes in log space, the same for each of the multiplicative NACs."""

    form = Product(signed=False)
    negatives = False
    W: Weight

    def compute(self, x: Tensor) -> Tensor:
        return exp_log(x, self.W)

    def formula(self, x: Sequence[Scalar]) -> list[Scalar]:
        return exp_log_formula(x, self.numbers("W"))


class MulNAC(_LogSpace):
    r"""Multiplicative NAC: a NAC in log space.

    Formula: $y_o = \prod_i (|x_i| + \epsilon)^{W_{oi}}$ with $W = \tanh(\hat W) \odot \sigma(\hat M)$, epsilon 1e-7.
    Reads as: a product or quotient of magnitudes; the output is always positive.
    Trained as: Adam 1e-3, no penalty, no clamp. A zero input counts as epsilon.
    Paper: Trask et al. 2018, called NAC. (with a dot) in Madsen and Johansen 2020.

    >>> import torch
    >>> MulNAC(3, 1)(torch.ones(5, 3)).shape
    torch.Size([5, 1])
    """

    paper = NALU_PAPER
    operations = "* /"
    W = nac_weight()


class MulNACSigmoid(_LogSpace):
    r"""Multiplicative NAC whose weights are a plain sigmoid, so it multiplies but does not divide.

    Formula: $y_o = \prod_i (|x_i| + \epsilon)^{W_{oi}}$ with $W = \sigma(\hat W)$, epsilon 1e-7.
    Reads as: a product of the magnitudes of selected inputs.
    Trained as: Adam 1e-3, no penalty; the first layer of the published two-layer network is a NAC.
    Paper: Madsen and Johansen 2020, NAC with subscripts dot and sigma.

    >>> import torch
    >>> MulNACSigmoid(3, 1)(torch.ones(5, 3)).shape
    torch.Size([5, 1])
    """

    paper = NAU_PAPER
    operations = "*"
    W = Weight("out in", start=normal(0, _glorot_deviation), grid=(0, 1), link=LOGISTIC)


class MulNACLinear(_LogSpace):
    r"""Multiplicative NAC with the NMU's weights: linear, projected to [0, 1] and pulled to its ends.

    Formula: $y_o = \prod_i (|x_i| + \epsilon)^{W_{oi}}$, epsilon 1e-7.
    Reads as: a product of the magnitudes of selected inputs.
    Trained as: Adam 1e-3, projection to [0, 1], penalty 10 ramped from step 1e6 to 2e6 of 5e6.
    Paper: Madsen and Johansen 2020, NAC with subscripts dot and NMU.

    >>> import torch
    >>> MulNACLinear(3, 1)(torch.ones(5, 3)).shape
    torch.Size([5, 1])
    """

    paper = NAU_PAPER
    operations = "*"
    recipe = Recipe(steps=5_000_000, penalties={"to_grid": Ramp(10, 1_000_000, 2_000_000)})
    W = Weight("out in", start=uniform(0.25, 0.75), box=(0, 1), grid=(0, 1))


class NALU(Unit):
    r"""Neural arithmetic logic unit: a gate that depends on the input chooses between sum and product.

    Formula: $y = g \odot a + (1 - g) \odot m$ with $a = W x$, $m = \exp(W' \log(|x| + \epsilon))$, $g = \sigma(G x)$.
    Reads as: a gated mixture; the gate has no grid, so a formula keeps its decimals.
    Trained as: Adam 1e-3, no penalty. `shared=True` (the default, as published) uses one W for both paths.
    Paper: Trask et al. 2018.

    >>> import torch
    >>> NALU(3, 1)(torch.ones(5, 3)).shape
    torch.Size([5, 1])
    """

    paper = NALU_PAPER
    operations = "+ - * /"
    negatives = False
    W = nac_weight()
    G = free("out in", uniform_within(glorot_bound))
    shared = switch(True, "one W for both paths, as published")

    def optional_weights(self) -> Mapping[str, Weight]:
        return {} if self.shared else {"W_mul": nac_weight()}

    @property
    def product_weight(self) -> str:
        """The name of the product path's weight."""
        return "W" if self.shared else "W_mul"

    def compute(self, x: Tensor) -> Tensor:
        gate = torch.sigmoid(self.G @ x)
        return gate * (self.W @ x) + (1 - gate) * exp_log(x, self.value(self.product_weight))

    def formula(self, x: Sequence[Scalar]) -> list[Scalar]:
        gates = [sigmoid(dot(row, x)) for row in self.numbers("G")]
        sums = [dot(row, x) for row in self.numbers("W")]
        products = exp_log_formula(x, self.numbers(self.product_weight))
        return [g * a + (1 - g) * m for g, a, m in zip(gates, sums, products, strict=True)]
