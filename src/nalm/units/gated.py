"""The gated NAU/NMU of Madsen and Johansen, "Neural Arithmetic Units", ICLR 2020, appendix C.5."""

from __future__ import annotations

from collections.abc import Sequence

from nalm.core.containers import InputGated
from nalm.core.recipe import Ramp, Recipe
from nalm.units.nac import NAU_PAPER
from nalm.units.nau import NAU, NMU


class GatedNAUNMU(InputGated):
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

    def __init__(
        self, in_features: int, out_features: int, runs: Sequence[int] = (), *, seed: int | Sequence[int] | None = None
    ) -> None:
        super().__init__(NAU(in_features, out_features, runs), NMU(in_features, out_features, runs))
        self.reset_parameters(seed)
