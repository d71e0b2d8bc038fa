"""The optimiser that trains the model beside the rule."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import nn

from nalm.core.unit import Unit
from nalm.training.rule.route import gates
from nalm.training.rule.ruled import covered

Base = torch.optim.Optimizer | Callable[[list[nn.Parameter]], torch.optim.Optimizer]


def make_base(base: Base | None, model: nn.Module) -> torch.optim.Optimizer:
    """The base optimiser, built and checked."""
    parameters = [p for p in model.parameters() if p.requires_grad]
    if base is not None and not callable(base) and not isinstance(base, torch.optim.Optimizer):
        raise TypeError(
            f"base is {base!r}; it needs an optimiser, or a function of parameters: lambda p: Adam(p, 3e-3)."
        )
    if base is None or not isinstance(base, torch.optim.Optimizer):
        base = (base or torch.optim.Adam)(list(model.parameters()))  # also frozen ones, which may cease to be
    if not isinstance(base, torch.optim.Optimizer):
        raise TypeError(f"base returned {base!r}; it needs to return an optimiser: lambda p: Adam(p, 3e-3).")
    if isinstance(base, torch.optim.LBFGS):
        raise ValueError(
            "LBFGS evaluates the model several times per step, which cannot be shared; use a first-order one."
        )
    held = {p for group in base.param_groups for p in group["params"]}
    missing = set(parameters) - held
    if missing:
        warnings.warn(
            f"{len(missing)} trainable parameters are in no optimiser; of these only the rule moves those of units. "
            "Build the base over model.parameters().",
            stacklevel=3,
        )
    return base


class Pace:
    """How fast what the base optimiser trains can follow: its rate as a share of the largest it had or will begin with.

    At the end of a schedule the neighbours of a unit hardly move. A unit that went on alone would only spoil the model.

    Attributes:
        largest: rate of each group.
        travelled: how many steps at its full rate all steps so far amount to.

    >>> groups, pace = [{"lr": 0.1}], Pace()
    >>> pace.next(groups), pace.next([{"lr": 0.025}]), pace.travelled
    (1.0, 0.25, 1.25)
    """

    def __init__(self, largest: Sequence[float] = (), travelled: float = 0.0) -> None:
        self.largest, self.travelled = list(largest), travelled
        self._rates: list[float] = []
        self._last = 1.0

    def next(self, groups: Sequence[dict[str, Any]]) -> float:
        """One more step, and its pace: that of the slowest group."""
        self._last = self._now(groups)
        self.travelled += self._last
        return self._last

    def saved(self) -> dict[str, Any]:
        """What it remembers."""
        return {"largest": list(self.largest), "travelled": self.travelled}

    def _now(self, groups: Sequence[dict[str, Any]]) -> float:
        """A schedule says in `initial_lr` with which rate it begins after a warm-up."""
        rates = [float(group.get("lr", 1.0)) for group in groups]
        if rates == self._rates:  # as in most steps
            return self._last
        known = [*self.largest, *(0.0 for _ in rates[len(self.largest) :])]  # groups may be added
        begun = [float(group.get("initial_lr", 0.0)) for group in groups]
        self.largest = [max(of) for of in zip(rates, known, begun, strict=True)]
        shares = (rate / most for rate, most in zip(rates, self.largest, strict=True) if most > 0)
        self._rates = rates
        return min(shares, default=1.0)


def warn_fallbacks(model: nn.Module) -> None:
    """Say once which arithmetic units the rule cannot train."""
    names, searched = [], set(gates(model))
    for name, module in model.named_modules():
        arithmetic = isinstance(module, Unit) and any(w.grid for w in module.weights.values())
        if arithmetic and not covered(module) and module not in searched:
            names.append(f"{name or 'the model'} ({type(module).__name__})")
    if names:
        what = ", ".join(names)
        warnings.warn(f"Left to the base optimiser, as no form covers all their weights: {what}.", stacklevel=4)


def common_runs(units: Sequence[Unit]) -> tuple[int, ...]:
    """The runs axes all units share."""
    runs = {unit.runs for unit in units}
    if len(runs) > 1:
        raise ValueError(f"The units have different runs axes {sorted(runs)}; build them with the same runs.")
    return runs.pop()
