"""Train units properly in your own loop, with two lines: what each unit's paper does beside the loss."""

from __future__ import annotations

import math
import warnings
import weakref
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from nalm.core import semantics
from nalm.core.arguments import Count, checks_arguments, shown
from nalm.core.recipe import Recipe
from nalm.core.unit import Unit

_PATIENCE = 100  # penalties asked for without a single optimiser step before we say so


class Guide:
    """See `guide`.

    >>> from nalm import NMU
    >>> unit = NMU(2, 1)
    >>> print(guide(unit, torch.optim.Adam(unit.parameters()), steps=5_000))
    Guide at step 0; around each step of the optimiser:
      NMU(2, 1)
        penalty to_grid: 0 until step 2,000, rising to 10 at step 3,500
        W put back into [0, 1] after it
    """

    @checks_arguments
    def __init__(
        self, model: nn.Module, optimizer: torch.optim.Optimizer, recipe: Recipe | None, steps: Count | None
    ) -> None:
        self._units: list[tuple[Unit, Recipe]] = []
        self._places: list[str] = []
        published = _published(model)
        for place, module in model.named_modules():
            if isinstance(module, Unit) and module.weights:
                own = recipe or published[module]
                self._units.append((module, own.scaled(steps) if steps else own))
                name = f"{type(module).__name__}({module.extra_repr()})"
                self._places.append(f"{place}: {name}" if place else name)
        if not self._units:
            raise ValueError(f"{type(model).__name__} contains no nalm unit, so there is nothing to guide.")
        _warn_of_weights_it_lacks(self._units, optimizer)
        _warn_of_decay(self._units, optimizer)
        self._made = _Made()
        weakref.finalize(self, _warn_of_a_short_loop, self._made, max(r.steps for _, r in self._units), self._ramps_end)
        self.validation_error = -math.inf
        self._asked = 0
        optimizer.register_step_pre_hook(self._before)
        optimizer.register_step_post_hook(self._after)

    @property
    def step(self) -> int:
        """How many steps the optimiser has made; schedules go by it."""
        return self._made.steps

    @property
    def _ramps_end(self) -> int:
        return max(semantics.ramps_end(recipe) for _, recipe in self._units)

    def __repr__(self) -> str:
        """What happens when, unit by unit."""
        lines = [f"Guide at step {self.step:,}; around each step of the optimiser:"]
        for place, (unit, recipe) in zip(self._places, self._units, strict=True):
            lines += [f"  {place}", *(f"    {deed}" for deed in _deeds(unit, recipe))]
        return "\n".join(lines)

    def penalty(self) -> Tensor:
        """The penalty of this step, to be added to the loss: a scalar, summed over units (and over runs)."""
        self._asked += 1
        if self.step == 0 and self._asked == _PATIENCE:
            warnings.warn(
                f"The penalty was asked for {_PATIENCE} times, but the optimiser given to nalm.guide has not made a "
                "step, so the penalty schedule stands still. Give nalm.guide the optimiser you call step() on.",
                stacklevel=2,
            )
        total = torch.zeros(())
        for unit, recipe in self._units:
            terms = unit.penalties(inner=False)
            sums = {name: term.sum() for name, term in terms.items()}
            total = semantics.penalty(sums, semantics.strengths(recipe, self.step, self.validation_error), total)
        return total

    def report(self, validation_error: float) -> None:
        """Tell the guide your validation error; iNALU's penalty waits until it is below 1. Optional."""
        self.validation_error = validation_error

    def _before(self, _: torch.optim.Optimizer, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Change the gradients now, or, where `step` is given a closure that makes them, each time it has done so."""
        closure = kwargs.get("closure", args[1] if len(args) > 1 else None)  # args[0] is the optimiser
        if closure is None:
            return self._change_gradients()

        def evaluate(*given: Any) -> Any:
            loss = closure(*given)
            self._change_gradients()
            return loss

        return (args[0], evaluate, *args[2:]), {name: given for name, given in kwargs.items() if name != "closure"}

    @torch.no_grad()
    def _change_gradients(self) -> None:
        for unit, recipe in self._units:
            gradients = {n: p.grad for n, p in unit.named_parameters(recurse=False) if p.grad is not None}
            changed = gradients
            if recipe.gradient_noise:
                normal = {name: torch.randn_like(gradient) for name, gradient in gradients.items()}
                deviation = float(semantics.noise_deviation(recipe, np.asarray(self.step)))
                changed = semantics.noisy(changed, deviation, normal)
            changed = semantics.clipped(changed, recipe.clip, len(unit.runs))
            for name, gradient in gradients.items():
                gradient.copy_(changed[name])

    def _after(self, *_: Any) -> None:
        for unit, _recipe in self._units:
            unit.project_()
        self._made.steps += 1

    def state_dict(self) -> dict[str, Any]:
        """What to save beside the model and the optimiser."""
        return {"step": self.step, "validation_error": self.validation_error}

    @checks_arguments
    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue where `state_dict` was taken."""
        if state.keys() != self.state_dict().keys():
            raise ValueError(f"The state of a guide holds {', '.join(self.state_dict())}; got {shown(state)}.")
        self._made.steps = int(state["step"])
        self.validation_error = float(state["validation_error"])


def _published(model: nn.Module) -> dict[Unit, Recipe]:
    """How each unit is trained by its paper; where units are parts of a published one, by the paper of the whole."""
    found: dict[Unit, Recipe] = {}
    for unit in (m for m in model.modules() if isinstance(m, Unit)):  # outer ones come first
        found.setdefault(unit, unit.recipe)
        if unit.paper or unit.recipe is not Unit.recipe:  # not a container, which says nothing about training
            found |= dict.fromkeys(unit.units(), found[unit])
    return found


@dataclass
class _Made:
    """Steps made: known to the guide and to what is called at its end, when the guide itself is gone."""

    steps: int = 0


def _deeds(unit: Unit, recipe: Recipe) -> Iterator[str]:
    """What is done for a unit, in the order of a step."""
    terms = unit.penalties(inner=False)
    yield from (f"penalty {name}: {schedule}" for name, schedule in recipe.penalties.items() if name in terms)
    if recipe.gradient_noise:
        yield f"noise on gradients: N(0, {recipe.gradient_noise:g} / (1 + step)^{semantics.NOISE_DECAY})"
    if recipe.clip.norm is not None:
        yield f"gradients clipped to a norm of {recipe.clip.norm:g}"
    if recipe.clip.value is not None:
        yield f"gradients clipped to values within {recipe.clip.value:g}"
    boxes = [(name, weight.projection) for name, weight in unit.weights.items() if weight.projection is not None]
    yield from (f"{name} put back into [{low:g}, {high:g}] after it" for name, (low, high) in boxes)


def _warn_of_weights_it_lacks(units: Sequence[tuple[Unit, Recipe]], optimizer: torch.optim.Optimizer) -> None:
    held = {id(p) for group in optimizer.param_groups for p in group["params"]}
    lacking = [
        f"{type(unit).__name__}.{name}"
        for unit, _ in units
        for name, parameter in unit.named_parameters(recurse=False)
        if parameter.requires_grad and id(parameter) not in held
    ]
    if lacking:
        warnings.warn(
            f"The optimiser given to nalm.guide does not hold {', '.join(lacking)}, so they will not be trained. "
            "Make it from all parameters of the model, and after the model is on its device.",
            stacklevel=5,
        )


def _warn_of_decay(units: Sequence[tuple[Unit, Recipe]], optimizer: torch.optim.Optimizer) -> None:
    decay = {id(p): group.get("weight_decay", 0) for group in optimizer.param_groups for p in group["params"]}
    for unit, _ in units:
        for name, weight in unit.weights.items():
            strength = max((decay.get(id(p), 0) for p in weight.raw(unit)), default=0)
            if strength and any(weight.grid or ()):  # a grid of zero alone would not mind
                warnings.warn(
                    f"weight_decay={strength:g} pulls {type(unit).__name__}.{name} towards zero, off its grid. Give "
                    "the units' parameters a group of their own with weight_decay=0.",
                    stacklevel=5,
                )
                return


def _warn_of_a_short_loop(made: _Made, steps: int, ramps_end: int) -> None:
    """When the guide is gone. A loop of a few steps is a trial; one that came past half of the schedule was meant."""
    if _PATIENCE <= made.steps < min(ramps_end, steps / 2):
        warnings.warn(
            f"The loop ended after {made.steps:,} steps, but nalm.guide's schedule is made for {steps:,}: penalties "
            f"reach full strength at step {ramps_end:,}. Say how long you train: nalm.guide(..., steps={made.steps}).",
            stacklevel=2,
        )


def guide(
    model: nn.Module, optimizer: torch.optim.Optimizer, recipe: Recipe | None = None, steps: int | None = None
) -> Guide:
    """Train the units inside `model` as their papers do: projection, clipping of each unit's own gradients, and
    gradient noise happen around `optimizer.step()`, the scheduled penalty is added to your loss. Redrawing the weights
    of a stuck unit (iNALU) is left to you: `unit.reset_parameters()`.

    Args:
        model: anything that contains units, at any depth.
        optimizer: the optimiser you call `step()` on.
        recipe: one recipe for all units; by default each unit's own, for parts of a published unit that of the whole.
        steps: how many steps you will train; schedules are stretched to it. By default they are the paper's.

    >>> import nalm, torch
    >>> model = torch.nn.Sequential(nalm.NAU(3, 2), nalm.NMU(2, 1))
    >>> optimizer = torch.optim.Adam(model.parameters(), 1e-2)
    >>> guide = nalm.guide(model, optimizer, steps=10)  # first line
    >>> for _ in range(10):
    ...     x = torch.rand(64, 3) + 1
    ...     loss = (model(x) - x[:, :1] * x[:, 1:2]).square().mean() + guide.penalty()  # second line
    ...     optimizer.zero_grad()
    ...     loss.backward()
    ...     _ = optimizer.step()
    >>> guide.step
    10
    """
    return Guide(model, optimizer, recipe, steps)
