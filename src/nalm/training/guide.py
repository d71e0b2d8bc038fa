"""Train units properly in your own loop, with two lines: what each unit's paper does beside the loss."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from nalm.core import semantics
from nalm.core.recipe import Recipe
from nalm.core.unit import Unit

_PATIENCE = 100  # penalties asked for without a single optimiser step before we say so


class Guide:
    """See `guide`."""

    def __init__(
        self, model: nn.Module, optimizer: torch.optim.Optimizer, recipe: Recipe | None, steps: int | None
    ) -> None:
        if steps is not None and steps < 1:
            raise ValueError(f"nalm.guide: steps is {steps}; it needs the number of steps you will train.")
        self._units: list[tuple[Unit, Recipe]] = []
        for module in model.modules():
            if isinstance(module, Unit) and module.weights:
                own = recipe or type(module).recipe
                self._units.append((module, own.scaled(steps) if steps else own))
        if not self._units:
            raise ValueError(f"{type(model).__name__} contains no nalm unit, so there is nothing to guide.")
        self.step = 0
        self.validation_error = -math.inf
        self._asked = 0
        optimizer.register_step_pre_hook(self._before)
        optimizer.register_step_post_hook(self._after)

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

    @torch.no_grad()
    def _before(self, *_: Any) -> None:
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
        self.step += 1

    def state_dict(self) -> dict[str, Any]:
        """What to save beside the model and the optimiser."""
        return {"step": self.step, "validation_error": self.validation_error}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue where `state_dict` was taken."""
        self.step = int(state["step"])
        self.validation_error = float(state["validation_error"])


def guide(
    model: nn.Module, optimizer: torch.optim.Optimizer, recipe: Recipe | None = None, steps: int | None = None
) -> Guide:
    """Train the units inside `model` as their papers do: projection, clipping and gradient noise happen around
    `optimizer.step()`, the scheduled penalty is added to your loss. Redrawing the weights of a stuck unit (iNALU) is
    left to you: `unit.reset_parameters()`.

    Args:
        model: anything that contains units, at any depth.
        optimizer: the optimiser you call `step()` on.
        recipe: one recipe for all units; by default each unit's own.
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
