"""Heim, Pevný and Šmídl, "Neural Power Units", NeurIPS 2020: NPU and Real NPU; Mistry, Farrahi and Hare, "Exploring the
Learning Mechanisms of Neural Division Modules", TMLR 2022: the modified one."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from nalm.core.form import GatedProduct
from nalm.core.recipe import Adam, Ramp, Recipe, Staircase
from nalm.core.scalar import Scalar, cos, dot, exp, guarded, log, negative, pi, product, symbolic, whole
from nalm.core.start import constant, glorot_bound, uniform_within
from nalm.core.unit import Unit
from nalm.core.weight import Weight, l1, to_grid
from nalm.units.nau import nau_bound

NPU_PAPER = "Heim, Pevný and Šmídl, Neural Power Units, NeurIPS 2020"
DIVISION_PAPER = "Mistry et al., Exploring the Learning Mechanisms of Neural Division Modules, TMLR 2022"
EPSILON = torch.finfo(torch.float32).eps
NPU_RECIPE = Recipe(Adam(5e-3), penalties={"l1": Staircase(1e-9, 1e-7)})


def magnitude_and_phase(x: Tensor, gate: Tensor) -> tuple[Tensor, Tensor]:
    """log r and k of the NPU: the gated log magnitude, and pi times the gate where the input is negative."""
    g = gate.unsqueeze(-1)  # (*runs, in, 1)
    r = g * (x.abs() + EPSILON) + 1 - g
    return torch.log(r), g * math.pi * (x < 0).to(x.dtype)


def power_formula(
    x: Sequence[Scalar], gates: Sequence[Scalar], real: Sequence[Scalar], imaginary: Sequence[Scalar]
) -> Scalar:
    """One output of the NPU on scalars; x^w where gates and exponents are whole."""
    if any(symbolic(a) for a in x) and all(whole(v) for v in (*gates, *real)) and not any(imaginary):
        return product(a ** (g * w) for a, g, w in zip(x, gates, real, strict=True))
    r = [g * guarded(a, EPSILON) + 1 - g for a, g in zip(x, gates, strict=True)]
    k = [g * pi(a) * negative(a) for a, g in zip(x, gates, strict=True)]
    logs = [log(a) for a in r]
    size = exp(dot(real, logs) - dot(imaginary, k))
    return size * cos(dot(real, k) + dot(imaginary, logs))


class NPU(Unit):
    r"""Neural power unit: products of complex powers, with a gate per input that says whether it matters.

    Formula: $y = \exp(W_r \log r - \pi W_i k) \cos(\pi W_r k + W_i \log r)$ with $r = g(|x| + \epsilon) + 1 - g$,
    $k_i = g_i [x_i < 0]$, gate g clamped to [0, 1], epsilon 1.19e-7.
    Reads as: a product of powers of the inputs whose gate is open.
    Trained as: Adam 5e-3, L1 on all parameters from 1e-9 growing tenfold every 10,000 steps to 1e-7 (division; for
    multiplication 1e-7 to 1e-5). A zero input counts as epsilon.
    Paper: Heim et al. 2020. The Julia original passes gradients straight through the gate's clamp:
    `NPU(2, 1, weights={"g": replace(NPU.g, keep="straight-through")})`.

    >>> import torch
    >>> NPU(3, 1)(torch.ones(5, 3)).shape
    torch.Size([5, 1])
    """

    paper = NPU_PAPER
    operations = "* / powers"
    form = GatedProduct(imaginary="W_im")
    recipe = NPU_RECIPE
    W = Weight("out in", start=uniform_within(glorot_bound), grid=(-1, 0, 1), pulls=(to_grid, l1))
    W_im = Weight("out in", start=constant(0.0), grid=(0,), pulls=(to_grid, l1))
    g = Weight("in", start=constant(0.5), box=(0, 1), grid=(0, 1), keep="clamp", pulls=(to_grid, l1), counts=False)

    def compute(self, x: Tensor) -> Tensor:
        logs, k = magnitude_and_phase(x, self.g)
        size = torch.exp(self.W @ logs - self.W_im @ k)
        return size * torch.cos(self.W @ k + self.W_im @ logs)

    def formula(self, x: Sequence[Scalar]) -> list[Scalar]:
        rows = zip(self.numbers("W"), self.numbers("W_im"), strict=True)
        return [power_formula(x, self.numbers("g"), real, imaginary) for real, imaginary in rows]


class RealNPU(Unit):
    r"""Real NPU: the neural power unit without imaginary weights.

    Formula: $y = \exp(W \log r) \cos(\pi W k)$ with $r = g(|x| + \epsilon) + 1 - g$, $k_i = g_i [x_i < 0]$, gate g
    clamped to [0, 1], epsilon 1.19e-7.
    Reads as: a product of powers of the inputs whose gate is open.
    Trained as: the NPU. A zero input counts as epsilon.
    Paper: Heim et al. 2020.

    >>> import torch
    >>> RealNPU(3, 1)(torch.ones(5, 3)).shape
    torch.Size([5, 1])
    """

    paper = NPU_PAPER
    operations = "* / powers"
    form = GatedProduct()
    recipe = NPU_RECIPE
    W = NPU.W
    g = NPU.g

    def compute(self, x: Tensor) -> Tensor:
        logs, k = magnitude_and_phase(x, self.g)
        return torch.exp(self.W @ logs) * torch.cos(self.W @ k)

    def formula(self, x: Sequence[Scalar]) -> list[Scalar]:
        gates = self.numbers("g")
        return [power_formula(x, gates, row, [0] * len(row)) for row in self.numbers("W")]


class ModifiedRealNPU(RealNPU):
    r"""Real NPU (modified): weights and gates projected to their boxes and pulled to their ends, smaller start.

    Formula: the Real NPU.
    Reads as: a product and quotient of the inputs whose gate is open.
    Trained as: Adam 5e-3, W projected to [-1, 1] and pulled to -1 and 1, gate projected to [0, 1] and pulled to its
    ends (strength 1 ramped from step 40,000 to 50,000), L1 as the NPU, W started like the NAU's.
    Paper: Mistry et al. 2022, "Real NPU (modified)". Its variant pulled to -1, 0 and 1:
    `weights={"W": replace(ModifiedRealNPU.W, grid=(-1, 0, 1))}`.

    >>> import torch
    >>> ModifiedRealNPU(3, 1)(torch.ones(5, 3)).shape
    torch.Size([5, 1])
    """

    paper = DIVISION_PAPER
    operations = "* /"
    recipe = Recipe(Adam(5e-3), penalties={"l1": Staircase(1e-9, 1e-7), "to_grid": Ramp(1, 40_000, 50_000)})
    W = Weight("out in", start=uniform_within(nau_bound), box=(-1, 1), grid=(-1, 1), pulls=(to_grid, l1))
    g = Weight("in", start=constant(0.5), box=(0, 1), grid=(0, 1), keep="both", pulls=(to_grid, l1), counts=False)
