"""Feature scaling around an NMU (Mistry's thesis, section 6.1), as symbolic regression does it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from torch import Tensor

from nalm.core.recipe import Ramp, Recipe
from nalm.core.scalar import Scalar, product
from nalm.core.start import constant
from nalm.core.unit import Unit
from nalm.core.weight import Weight, free
from nalm.units.nau import NMU, gated_product


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

    def __init__(
        self,
        in_features: int,
        out_features: int,
        runs: Sequence[int] = (),
        *,
        seed: int | Sequence[int] | None = None,
        before: tuple[float, float] = (0, 1),
        after: tuple[float, float] = (0, 1),
        learn: bool = False,
    ) -> None:
        for name, (_, spread) in (("before", before), ("after", after)):
            if spread <= 0:
                raise ValueError(f"ScaledNMU: {name} has the spread {spread}; give (centre, spread) with spread > 0.")
        own: Mapping[str, Weight] = {
            "a_in": free("in", constant(1.0)),
            "b_in": free("in", constant(0.0)),
            "a_out": free("out", constant(1.0)),
            "b_out": free("out", constant(0.0)),
        }
        super().__init__(in_features, out_features, runs, seed=seed, weights=own if learn else {})
        self.before = before
        self.after = after
        self.learn = learn

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
        y = [product(w * a + 1 - w for w, a in zip(row, x, strict=True)) for row in self.numbers("W")]
        if self.learn:
            y = [a * v + b for a, v, b in zip(self.numbers("a_out"), y, self.numbers("b_out"), strict=True)]
        centre, spread = self.after
        return [centre + spread * v for v in y]
