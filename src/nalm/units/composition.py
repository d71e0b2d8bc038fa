"""Layers of the networks in Mistry's thesis, chapter 7, that no other paper has; stacks of them learn formulas."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from nalm.core.containers import StaticMixture
from nalm.core.recipe import SGD, Ramp, Recipe
from nalm.core.weight import Weight, to_grid
from nalm.units.division import gates_to_grid
from nalm.units.nau import NAU, NMU
from nalm.units.npu import ModifiedRealNPU

THESIS = "Mistry, Neural Arithmetic Logic Modules, thesis 2023, chapter 7"


COMPOSITION_RECIPE = Recipe(
    SGD(1e-3),
    steps=200_000,
    penalties={"to_grid": Ramp(10, 100_000, 150_000), "gates_to_grid": Ramp(5, 100_000, 150_000)},
)
"""Table 7.2 of the thesis; an epoch is taken to be one batch."""


class CompositionRealNPU(ModifiedRealNPU):
    r"""Real NPU (modified) as the composition networks pull it: its gates half as strongly as its weights.

    Formula: the Real NPU.
    Reads as: a product and quotient of the inputs whose gate is open.
    Trained as: SGD 1e-3, 200,000 batches of 128, penalty 10 on weights and 5 on gates, ramped from step 100,000 to
    150,000.
    Paper: Mistry's thesis 2023, chapter 7.

    >>> import torch
    >>> CompositionRealNPU(3, 1)(torch.ones(5, 3)).shape
    torch.Size([5, 1])
    """

    paper = THESIS
    recipe = COMPOSITION_RECIPE
    W = replace(ModifiedRealNPU.W, pulls=(to_grid,))
    g = replace(ModifiedRealNPU.g, pulls=(gates_to_grid,))


class MixedNAUNMU(StaticMixture):
    r"""NAU and NMU side by side, with one gate per output that does not look at the input.

    Formula: $y = \sigma(g) \odot \mathrm{NAU}(x) + (1 - \sigma(g)) \odot \mathrm{NMU}(x)$.
    Reads as: a signed sum, or a product, per output.
    Trained as: SGD 1e-3, 200,000 batches of 128, penalty 10 ramped from step 100,000 to 150,000.
    Paper: Mistry's thesis 2023, chapter 7, as a layer of "2L Stacked Gated [NAU;NMU]".

    >>> import torch
    >>> MixedNAUNMU(3, 1)(torch.ones(5, 3)).shape
    torch.Size([5, 1])
    """

    paper = THESIS
    operations = "+ - *"
    recipe = COMPOSITION_RECIPE

    def assemble(self, weights: Mapping[str, Weight]) -> None:
        self.first = NAU(self.in_features, self.out_features, self.runs)
        self.second = NMU(self.in_features, self.out_features, self.runs)


class MixedNAURealNPU(StaticMixture):
    r"""NAU and Real NPU (modified) side by side, with one gate per output that does not look at the input.

    Formula: $y = \sigma(g) \odot \mathrm{NAU}(x) + (1 - \sigma(g)) \odot \mathrm{RealNPU}(x)$.
    Reads as: a signed sum, or a product or quotient, per output.
    Trained as: the CompositionRealNPU.
    Paper: Mistry's thesis 2023, chapter 7, as a layer of "2L Stacked Gated [NAU;Real NPU]".

    >>> import torch
    >>> MixedNAURealNPU(3, 1)(torch.ones(5, 3)).shape
    torch.Size([5, 1])
    """

    paper = THESIS
    operations = "+ - * /"
    recipe = COMPOSITION_RECIPE

    def assemble(self, weights: Mapping[str, Weight]) -> None:
        self.first = NAU(self.in_features, self.out_features, self.runs)
        self.second = CompositionRealNPU(self.in_features, self.out_features, self.runs)
