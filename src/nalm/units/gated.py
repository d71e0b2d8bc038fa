"""The gated NAU/NMU of Madsen and Johansen, "Neural Arithmetic Units", ICLR 2020, appendix C.5."""

from __future__ import annotations

from collections.abc import Mapping

from nalm.core.containers import InputMixture
from nalm.core.recipe import Ramp, Recipe
from nalm.core.weight import Weight
from nalm.units.nac import NAU_PAPER
from nalm.units.nau import NAU, NMU


class GatedNAUNMU(InputMixture):
    r"""A NAU and an NMU with weights of their own, and the NALU's gate between them.

    Formula: $y = g \odot \mathrm{NAU}(x) + (1 - g) \odot \mathrm{NMU}(x)$ with $g = \sigma(G x)$.
    Reads as: a gated mixture; the gate has no grid, so a formula keeps its decimals.
    Trained as: Adam 1e-3, each half projected as it is alone, penalty 10 ramped from step 1e6 to 2e6 of 5e6.
    Paper: Madsen and Johansen 2020, appendix C.5.

    >>> import torch
    >>> GatedNAUNMU(3, 1)(torch.ones(5, 3)).shape
    torch.Size([5, 1])
    """

    paper = NAU_PAPER
    operations = "+ - *"
    recipe = Recipe(steps=5_000_000, penalties={"to_grid": Ramp(10, 1_000_000, 2_000_000)})

    def assemble(self, weights: Mapping[str, Weight]) -> None:
        self.first = NAU(self.in_features, self.out_features, self.runs)
        self.second = NMU(self.in_features, self.out_features, self.runs)
