"""Feature scaling around an NMU (Mistry's thesis, section 6.1), as symbolic regression does it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor

from nalm.core.option import Option, switch
from nalm.core.recipe import Ramp, Recipe
from nalm.core.scalar import Scalar
from nalm.core.start import constant
from nalm.core.unit import Unit
from nalm.core.weight import Weight, free
from nalm.units.nau import NMU, gated_product, gated_product_formula

SPREAD = "(centre, spread) with spread > 0"


def _is_scaling(value: Any) -> bool:
    return len(value) == 2 and value[1] > 0


class ScaledNMU(Unit):
    r"""NMU between a scaling of its inputs and the way back.

    Formula: $y = c' + s' (a' \prod_i (W_{oi} \hat x_i + 1 - W_{oi}) + b')$ with $\hat x = a (x - c)/s + b$; centres c
    and spreads s are given (`before=(c, s)`, `after=(c', s')`), a and b are learned with `learn=True`, else 1 and 0.
    Reads as: a product of shifted inputs; only with c = b = 0 one of the inputs themselves.
    Trained as: the NMU. Min-max scaling (Feyn) has the mean and half the range of the inputs, c' = 0, half the range of
    the targets, and learns a and b; z-score scaling has means and standard deviations.
    Paper: Mistry 2023, section 6.1.

    >>> import torch
    >>> ScaledNMU(3, 1)(torch.ones(5, 3)).shape
    torch.Size([5, 1])
    """

    paper = "Mistry, Neural Arithmetic Logic Modules, thesis, University of Southampton 2023, section 6.1"
    operations = "*"
    recipe = Recipe(penalties={"to_grid": Ramp(10, 20_000, 35_000)})
    W = NMU.W
    before = Option[tuple[float, float]]((0, 1), "(centre, spread) of the inputs", SPREAD, _is_scaling)
    after = Option[tuple[float, float]]((0, 1), "(centre, spread) of the outputs", SPREAD, _is_scaling)
    learn = switch(False, "learn a gain and a shift on both sides")

    def optional_weights(self) -> Mapping[str, Weight]:
        one, zero = constant(1.0), constant(0.0)
        own = {"a_in": free("in", one), "b_in": free("in", zero), "a_out": free("out", one), "b_out": free("out", zero)}
        return own if self.learn else {}

    def compute(self, x: Tensor) -> Tensor:
        centre, spread = self.before
        x = (x - centre) / spread
        if self.learn:
            x = self.value("a_in").unsqueeze(-1) * x + self.value("b_in").unsqueeze(-1)
        y = gated_product(x, self.W)
        if self.learn:
            y = self.value("a_out").unsqueeze(-1) * y + self.value("b_out").unsqueeze(-1)
        centre, spread = self.after
        return centre + spread * y

    def formula(self, x: Sequence[Scalar]) -> list[Scalar]:
        centre, spread = self.before
        x = [(a - centre) / spread for a in x]
        if self.learn:
            x = [a * v + b for a, v, b in zip(self.numbers("a_in"), x, self.numbers("b_in"), strict=True)]
        y = gated_product_formula(x, self.numbers("W"))
        if self.learn:
            y = [a * v + b for a, v, b in zip(self.numbers("a_out"), y, self.numbers("b_out"), strict=True)]
        centre, spread = self.after
        return [centre + spread * v for v in y]
