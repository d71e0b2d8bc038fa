"""Which parts of a model the rule trains, and who trains the rest."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence

import torch
from torch import nn

from nalm.core.unit import Unit

Base = torch.optim.Optimizer | Callable[[list[nn.Parameter]], torch.optim.Optimizer]


def is_ruled(module: nn.Module) -> bool:
    """Whether the rule trains this module: a unit with a form that covers all its weights."""
    return isinstance(module, Unit) and module.form is not None and set(module.weights) == module.form.weights


def ruled(model: nn.Module) -> Iterator[tuple[str, Unit]]:
    """The units the rule trains, by name."""
    for name, module in model.named_modules():
        if isinstance(module, Unit) and is_ruled(module):
            yield name, module


def others(model: nn.Module) -> list[nn.Parameter]:
    """The trainable parameters that the rule leaves to the base optimiser."""
    taken = {p for m in model.modules() if is_ruled(m) for p in m.parameters(recurse=False)}
    return [p for p in model.parameters() if p.requires_grad and p not in taken]


def make_base(base: Base | None, rest: list[nn.Parameter], taken: set[nn.Parameter]) -> torch.optim.Optimizer | None:
    """The optimiser of the rest, checked."""
    if base is not None and not callable(base) and not isinstance(base, torch.optim.Optimizer):
        raise TypeError(
            f"base is {base!r}; it needs an optimiser, or a function of parameters: lambda p: Adam(p, 3e-3)."
        )
    if base is None or not isinstance(base, torch.optim.Optimizer):
        base = (base or torch.optim.Adam)(rest) if rest else None
    if base is None:
        return None
    if isinstance(base, torch.optim.LBFGS):
        raise ValueError(
            "LBFGS evaluates the model several times per step, which cannot be shared; use a first-order one."
        )
    held = {p for group in base.param_groups for p in group["params"]}
    if held & taken:
        raise ValueError(
            "The base optimiser holds weights of arithmetic units that the rule trains; build it over the others: "
            "base=torch.optim.Adam(nalm.training.rule.others(model)), or base=torch.optim.Adam."
        )
    if set(rest) - held:
        warnings.warn(
            f"{len(set(rest) - held)} trainable parameters are in no optimiser and stay as they are.", stacklevel=3
        )
    return base


def warn_fallbacks(model: nn.Module) -> None:
    """Say once which arithmetic units the rule cannot train."""
    names = []
    for name, module in model.named_modules():
        arithmetic = isinstance(module, Unit) and any(w.grid for w in module.weights.values())
        if arithmetic and not is_ruled(module):
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
