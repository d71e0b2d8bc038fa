"""Every unit of the catalogue, its variants, and one of each container: what the conformance tests run over."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import torch

import nalm
from nalm.core.containers import InputMixture, Layers, Mixture, StaticMixture
from nalm.units import baselines, catalogue
from nalm.units.hillspace import _HillUnit

CONTAINERS = (nalm.Chain, nalm.Gated, nalm.InputGated, nalm.Fold, nalm.Foreign)
BASES = (Layers, Mixture, InputMixture, StaticMixture, _HillUnit)
UNITS = list(catalogue().values())
Make = Callable[..., nalm.Unit]


def linear() -> torch.nn.Module:
    return torch.nn.Linear(3, 2)


def chain(runs: tuple[int, ...] = (), seed: object = None) -> nalm.Unit:
    return _seeded(nalm.Chain(nalm.NAU(3, 4, runs), nalm.NMU(4, 2, runs)), seed)


def gated(runs: tuple[int, ...] = (), seed: object = None) -> nalm.Unit:
    return _seeded(nalm.Gated(nalm.NAU(3, 2, runs), nalm.NMU(3, 2, runs)), seed)


def input_gated(runs: tuple[int, ...] = (), seed: object = None) -> nalm.Unit:
    return _seeded(nalm.InputGated(nalm.NAU(3, 2, runs), nalm.NMU(3, 2, runs)), seed)


def fold(runs: tuple[int, ...] = (), seed: object = None) -> nalm.Unit:
    return _seeded(nalm.Chain(nalm.Fold(nalm.NMU(2, 1, runs), start=1.0), nalm.NAU(1, 2, runs)), seed)


def foreign(runs: tuple[int, ...] = (), seed: object = None) -> nalm.Unit:
    return nalm.Foreign(linear, 3, 2, runs, seed=seed)


def _seeded(unit: nalm.Unit, seed: object) -> nalm.Unit:
    unit.reset_parameters(seed)  # type: ignore[arg-type]
    return unit


ANGLES = {"HillCircle": 1, "HillAngles": 2}  # units that take a fixed number of inputs
AWAY_FROM_THE_GRID = {"spread": 0.5}  # Hill Space starts on the grid, where there is no gradient for its gates


def unit(cls: type[nalm.Unit], runs: tuple[int, ...] = (), seed: object = None, **options: Any) -> nalm.Unit:
    """Three inputs and two outputs; a sum stands before a unit that takes fewer inputs."""
    if issubclass(cls, _HillUnit):
        options = {**AWAY_FROM_THE_GRID, **options}
    if cls.__name__ in ANGLES:
        inner = ANGLES[cls.__name__]
        return _seeded(nalm.Chain(nalm.NAU(3, inner, runs), cls(inner, 2, runs, **options)), seed)
    return cls(3, 2, runs, seed=seed, **options)  # type: ignore[arg-type]


VARIANTS: dict[str, Make] = {
    "NALU separate": partial(unit, nalm.NALU, shared=False),
    "NMRU unsigned": partial(unit, nalm.NMRU, sign=False),
    "NMRU gated": partial(unit, nalm.NMRU, gate=True),
    "NLRL and": partial(unit, nalm.NLRL, block="and"),
    "NLRL or": partial(unit, nalm.NLRL, block="or"),
    "NSR redundant": partial(unit, nalm.NSR, redundancy=3, scale=0.5),
    "ScaledNMU learned": partial(unit, catalogue()["ScaledNMU"], before=(1, 2), after=(3, 0.5), learn=True),
    "SNMU batch noise": partial(unit, nalm.SNMU, noise="batch"),
    "NPU straight-through": partial(unit, nalm.NPU, weights={"g": replace(nalm.NPU.g, keep="straight-through")}),
    **{f"Dense {name}": partial(unit, baselines.Dense, activation=name) for name in ("selu", "hard shrink")},
    "MLP softplus": partial(unit, baselines.MLP, hidden=(4,), activation="softplus"),
    "NMU clamped": partial(unit, nalm.NMU, weights={"W": replace(nalm.NMU.W, keep="clamp")}),
}
STACKS: dict[str, Make] = {
    "Chain": chain,
    "Gated": gated,
    "InputGated": input_gated,
    "Fold": fold,
    "Foreign": foreign,
}
CASES: dict[str, Make] = {
    **{cls.__name__: partial(unit, cls) for cls in UNITS if cls is not baselines.MLP},
    "MLP": partial(unit, baselines.MLP, hidden=(4,)),  # small, so that reading stays fast
    **VARIANTS,
    **STACKS,
}


def inputs(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Both signs, away from zero."""
    x = torch.rand(*shape, 3, dtype=dtype) * 1.5 + 0.5
    return torch.where(torch.rand(*shape, 3) < 0.4, -x, x)
