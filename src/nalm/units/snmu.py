"""Mistry, Farrahi and Hare, "Improving the Robustness of Neural Multiplication Units with Reversible Stochasticity",
2022: the stochastic NMU; and the stochastic-gate NMU it is compared with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import torch
from torch import Tensor

from nalm.core.form import Product
from nalm.core.option import Option
from nalm.core.recipe import Constant, Ramp, Recipe
from nalm.core.scalar import Scalar
from nalm.core.start import constant, uniform
from nalm.core.uniforms import noise, normal_quantile
from nalm.core.unit import Unit
from nalm.core.weight import Weight
from nalm.units.nau import gated_product, gated_product_formula, tree_product

SNMU_PAPER = (
    "Mistry et al., Improving the Robustness of Neural Multiplication Units with Reversible Stochasticity, 2022"
)
SMALLEST_DEVIATION = 1e-6  # a batch of equal inputs has none


def _is_noise(value: Any) -> bool:
    if isinstance(value, str):
        return value == "batch"
    return len(value) == 2 and 0 < value[0] < value[1]


class SNMU(Unit):
    r"""Stochastic NMU: noise multiplies the inputs in training and is divided out again, to leave bad minima.

    Formula: $y_o = \prod_i (n_i x_i W_{oi} + 1 - W_{oi}) \,/\, \prod_i (n_i W_{oi} + 1 - W_{oi})$ in training,
    $\prod_i (W_{oi} x_i + 1 - W_{oi})$ in eval mode.
    Reads as: a product of selected inputs, with their signs.
    Trained as: the NMU, with noise $n \sim U[1, 5)$ per sample and input (`noise=(1, 5)`, the best of the paper), or
    `noise="batch"` for $U[1, 1 + 1/\mathrm{sd}(x))$ with the deviation over the whole batch (at least 1e-6).
    Paper: Mistry et al. 2022.

    >>> import torch
    >>> SNMU(3, 1)(torch.ones(5, 3)).shape
    torch.Size([5, 1])
    """

    paper = SNMU_PAPER
    operations = "*"
    form = Product()
    recipe = Recipe(penalties={"to_grid": Ramp(10, 20_000, 35_000)})
    W = Weight("out in", start=uniform(0.25, 0.75), box=(0, 1), grid=(0, 1))
    noise = Option[tuple[float, float] | Literal["batch"]](
        (1.0, 5.0), "the ends of its range, or 'batch'", "a pair 0 < low < high, or 'batch'", _is_noise
    )

    def compute(self, x: Tensor) -> Tensor:
        if not self.training:
            return gated_product(x, self.W)
        n = self._draw(x).unsqueeze(-3)  # (*runs, 1, in, samples)
        w = self.W.unsqueeze(-1)  # (*runs, out, in, 1)
        return tree_product(n * x.unsqueeze(-3) * w + 1 - w) / tree_product(n * w + 1 - w)

    def _draw(self, x: Tensor) -> Tensor:
        u = noise((*self.runs, *x.shape[-2:]), x)
        if isinstance(self.noise, str):
            centred = x - x.mean((-2, -1), keepdim=True)
            count = max(x.shape[-2] * x.shape[-1] - 1, 1)
            deviation = (centred.square().sum((-2, -1), keepdim=True) / count).sqrt()
            return 1 + u / deviation.detach().clamp(min=SMALLEST_DEVIATION)
        low, high = self.noise
        return low + (high - low) * u

    def formula(self, x: Sequence[Scalar]) -> list[Scalar]:
        return gated_product_formula(x, self.numbers("W"))


GATE_DEVIATION = 0.5


def open_gates(weight: Weight, raw: Sequence[Tensor]) -> Tensor:
    """Expected number of open gates, sum of Phi(mu / sigma) over unclamped mu: the penalty of stochastic gates."""
    return (0.5 + 0.5 * torch.erf(raw[0] / (GATE_DEVIATION * 2**0.5))).sum(weight.axes)


class StochasticGateNMU(Unit):
    r"""NMU whose weights are Gaussian stochastic gates.

    Formula: $y_o = \prod_i (w_{oi} x_i + 1 - w_{oi})$ with $w = \mathrm{clip}(\mu + e, 0, 1)$, $e \sim N(0, 0.5^2)$ in
    training and $e = 0$ in eval mode; one draw per step, shared by the batch.
    Reads as: a product of selected inputs, with their signs.
    Trained as: Adam 1e-3, penalty lambda times the sum of $\Phi(\mu / 0.5)$ (lambda 0.05, the only value in public
    code; the text finds 0.1 or smaller good); mu starts at 0.5.
    Paper: Mistry et al. 2022, appendix J.2, after Yamada et al. 2020. The public code lacks the identity term.

    >>> import torch
    >>> StochasticGateNMU(3, 1)(torch.ones(5, 3)).shape
    torch.Size([5, 1])
    """

    paper = SNMU_PAPER
    operations = "*"
    form = Product("mu")
    recipe = Recipe(penalties={"open_gates": Constant(0.05)})
    mu = Weight("out in", start=constant(0.5), grid=(0, 1), box=(0, 1), keep="clamp", pulls=(open_gates,))

    def compute(self, x: Tensor) -> Tensor:
        if not self.training:
            return gated_product(x, self.mu)
        raw = self.weights["mu"].raw(self)[0]
        w = raw + GATE_DEVIATION * normal_quantile(noise(raw.shape, x))
        return gated_product(x, w.clamp(0, 1))

    def formula(self, x: Sequence[Scalar]) -> list[Scalar]:
        return gated_product_formula(x, self.numbers("mu"))
