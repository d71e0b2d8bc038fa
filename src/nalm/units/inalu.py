"""Schlör, Ring and Hotho, "iNALU: Improved Neural Arithmetic Logic Unit", Frontiers in Artificial Intelligence 2020;
Golden NALU: Rana, Malhi and Främling, "Exploring Numerical Calculations with CalcNet", ICTAI 2019."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from nalm.core.form import Product, Sum
from nalm.core.recipe import Clip, Late, Recipe, Restart
from nalm.core.scalar import Scalar, dot, product, sigmoid, sign, symbolic, whole
from nalm.core.start import glorot_bound, normal, uniform_within
from nalm.core.unit import Unit
from nalm.core.weight import LOGISTIC, SATURATED, Link, Weight, free, saturate, to_grid
from nalm.units.nac import EPSILON, TANH_SIGMOID, exp_log, exp_log_formula, nac_bound
from nalm.units.nau import tree_product

INALU_PAPER = "Schlör, Ring and Hotho, iNALU: Improved Neural Arithmetic Logic Unit, Frontiers in AI 2020"
INALU_RECIPE = Recipe(
    penalties={"saturate": Late(0.05, after=10_000, error=1.0)}, clip=Clip(value=0.1), restart=Restart()
)
LARGEST_EXPONENT = 20.0


def inalu_weight() -> Weight:
    """tanh * sigmoid, started near 0.7 * 0.6."""
    start = (normal(0.88, 0.2), normal(0.5, 0.2))
    return Weight("out in", start=start, grid=(-1, 0, 1), link=TANH_SIGMOID, pulls=(to_grid, saturate))


class INAC(Unit):
    r"""The adding half of the iNALU.

    Formula: $y_o = \sum_i W_{oi} x_i$ with $W = \tanh(\hat W) \odot \sigma(\hat M)$.
    Reads as: a signed sum of selected inputs.
    Trained as: the iNALU.
    Paper: Schlör et al. 2020; as a layer of its own in Mistry's thesis, chapter 7.

    >>> import torch
    >>> INAC(3, 1)(torch.ones(5, 3)).shape
    torch.Size([5, 1])
    """

    paper = INALU_PAPER
    operations = "+ -"
    form = Sum()
    recipe = INALU_RECIPE
    W = inalu_weight()

    def compute(self, x: Tensor) -> Tensor:
        return self.W @ x

    def formula(self, x: Sequence[Scalar]) -> list[Scalar]:
        return [dot(row, x) for row in self.numbers("W")]


class IMNAC(Unit):
    r"""The multiplying half of the iNALU: log space for the magnitude, a product of signs beside it.

    Formula: $y_o = \exp(\min(\sum_i W_{oi} \log\max(|x_i|, \epsilon),\, 20)) \prod_i (\mathrm{sign}(x_i) |W_{oi}| + 1 -
    |W_{oi}|)$ with $W = \tanh(\hat W) \odot \sigma(\hat M)$, epsilon 1e-7.
    Reads as: a product or quotient of selected inputs, with their signs.
    Trained as: the iNALU. Magnitudes beyond exp(20) are cut; a zero input counts as epsilon.
    Paper: Schlör et al. 2020; as a layer of its own in Mistry's thesis, chapter 7.

    >>> import torch
    >>> IMNAC(3, 1)(torch.ones(5, 3)).shape
    torch.Size([5, 1])
    """

    paper = INALU_PAPER
    operations = "* /"
    form = Product()
    recipe = INALU_RECIPE
    W = inalu_weight()

    def compute(self, x: Tensor) -> Tensor:
        w = self.W
        magnitude = torch.exp((w @ torch.log(x.abs().clamp(min=EPSILON))).clamp(max=LARGEST_EXPONENT))
        size = w.abs().unsqueeze(-1)  # (*runs, out, in, 1)
        return magnitude * tree_product(torch.sign(x).unsqueeze(-3) * size + 1 - size)

    def formula(self, x: Sequence[Scalar]) -> list[Scalar]:
        return [_signed_product(x, row) for row in self.numbers("W")]


def _signed_product(x: Sequence[Scalar], row: Sequence[Scalar]) -> Scalar:
    pairs = list(zip(x, row, strict=True))
    if any(symbolic(a) for a in x):
        return product(a**w if whole(w) else abs(a) ** w * (sign(a) * abs(w) + 1 - abs(w)) for a, w in pairs)
    exponent = sum(w * math.log(max(abs(a), EPSILON)) for a, w in pairs)
    return math.exp(min(exponent, LARGEST_EXPONENT)) * product(sign(a) * abs(w) + 1 - abs(w) for a, w in pairs)


class INALU(Unit):
    r"""Improved NALU: separate weights for both paths, signs kept, a gate that does not depend on the input.

    Formula: $y = \sigma(g) \odot \mathrm{iNAC}(x) + (1 - \sigma(g)) \odot \mathrm{iMNAC}(x)$.
    Reads as: a sum, or a product or quotient, per output.
    Trained as: Adam 1e-3, each gradient clipped to 0.1, a penalty of 0.05 that pushes raw parameters beyond 20 once the
    validation error is below 1 and step 10,000 has passed, weights drawn anew when validation stalls above 1.
    Initial means are those of the code (0.88, 0.5, gate 0); the thesis lists (1, -1, 0):
    `INALU(2, 1, weights={"W": replace(INAC.W, start=(normal(1, 0.2), normal(-1, 0.2)))})`.
    Paper: Schlör et al. 2020.

    >>> import torch
    >>> INALU(3, 1)(torch.ones(5, 3)).shape
    torch.Size([5, 1])
    """

    paper = INALU_PAPER
    operations = "+ - * /"
    recipe = INALU_RECIPE
    beside = True
    g = Weight("out", start=normal(0.0, 0.2), grid=(0, 1), link=LOGISTIC, pulls=(to_grid, saturate), counts=False)
    hands_on = ("W",)  # a given W is that of both halves

    def assemble(self, weights: Mapping[str, Weight]) -> None:
        self.add = INAC(self.in_features, self.out_features, self.runs, weights=weights)
        self.multiply = IMNAC(self.in_features, self.out_features, self.runs, weights=weights)

    def compute(self, x: Tensor) -> Tensor:
        gate = self.g.unsqueeze(-1)
        return gate * self.add.compute(x) + (1 - gate) * self.multiply.compute(x)

    def formula(self, x: Sequence[Scalar]) -> list[Scalar]:
        paths = zip(self.numbers("g"), self.add.formula(x), self.multiply.formula(x), strict=True)
        return [g * a + (1 - g) * m for g, a, m in paths]


LOG_GOLDEN = math.log((1 + math.sqrt(5)) / 2)


def _golden(w: Tensor, m: Tensor) -> Tensor:
    return torch.tanh(LOG_GOLDEN * w) * torch.sigmoid(LOG_GOLDEN * m)


def _raw_golden(value: Tensor) -> tuple[Tensor, Tensor]:
    return SATURATED / LOG_GOLDEN * value, torch.full_like(value, SATURATED / LOG_GOLDEN)


GOLDEN = Link(("_hat", "_gate"), _golden, _raw_golden)


class GNALU(Unit):
    r"""Golden NALU: a NALU whose exponentials have the golden ratio as their base.

    Formula: the NALU with $\tanh(x \ln\varphi)$ and $\sigma(x \ln\varphi)$ for tanh and sigmoid, gate included;
    $\varphi^{W \log|x| / \ln\varphi}$ is $\exp(W \log|x|)$, so the product path is unchanged.
    Reads as: a gated mixture; the gate has no grid, so a formula keeps its decimals.
    Trained as: Adam 1e-3, no penalty, the NALU's initial values.
    Paper: Rana et al. 2019.

    >>> import torch
    >>> GNALU(3, 1)(torch.ones(5, 3)).shape
    torch.Size([5, 1])
    """

    paper = "Rana, Malhi and Främling, Exploring Numerical Calculations with CalcNet, ICTAI 2019"
    operations = "+ - * /"
    negatives = False
    W = Weight("out in", start=uniform_within(nac_bound), grid=(-1, 0, 1), link=GOLDEN)
    G = free("out in", uniform_within(glorot_bound))

    def compute(self, x: Tensor) -> Tensor:
        gate = torch.sigmoid(LOG_GOLDEN * (self.G @ x))
        return gate * (self.W @ x) + (1 - gate) * exp_log(x, self.W)

    def formula(self, x: Sequence[Scalar]) -> list[Scalar]:
        W = self.numbers("W")
        gates = [sigmoid(LOG_GOLDEN * dot(row, x)) for row in self.numbers("G")]
        sums, products = [dot(row, x) for row in W], exp_log_formula(x, W)
        return [g * a + (1 - g) * m for g, a, m in zip(gates, sums, products, strict=True)]
