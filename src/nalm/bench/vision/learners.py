"""What makes the steps of a network's training: the published descent, or the local Gauss-Newton rule."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from nalm.bench.vision.networks import Reading
from nalm.core import semantics
from nalm.core.recipe import Recipe
from nalm.core.unit import Unit

Evaluate = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]
"""What is shown and what is told, to the network's output and its loss."""
INPUT_PENALTY = "input"  # R_z of the sequence studies, by its name in a recipe


class Learner(Protocol):
    """One step at a time, with a state that can be saved."""

    def step(self, evaluate: Evaluate, x: Tensor, target: Tensor, now: int) -> None:
        """One step on a batch; `now` counts the steps."""

    def state_dict(self) -> dict[str, Any]:
        """What to keep, so that training can go on later."""

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on where `state_dict` was taken."""


def adam(parameters: Any, rate: float) -> torch.optim.Optimizer:
    """Adam as published, in one fused pass over all parameters."""
    return torch.optim.Adam(parameters, rate, fused=True)


class Descending:
    """Adam on every parameter, with the recipe's penalties, clipping and projection.

    Args:
        decay: weight decay of the parameters above the digits.
    """

    def __init__(self, network: Reading, recipe: Recipe, decay: float = 0.0) -> None:
        if recipe.loss != "mse" or recipe.restart or recipe.gradient_noise or semantics.waiting(recipe):
            raise ValueError("Networks train with the squared error, without restarts, waiting or gradient noise.")
        self.network = network
        self.recipe = recipe
        self.units = [module for module in network.modules() if isinstance(module, Unit)]
        above = list(network.head.parameters())
        below = [p for p in network.parameters() if all(p is not own for own in above)]
        groups: list[dict[str, Any]] = [{"params": below}, {"params": above, "weight_decay": decay}]
        self.optimiser = adam([group for group in groups if group["params"]], recipe.optimiser.rate)

    def step(self, evaluate: Evaluate, x: Tensor, target: Tensor, now: int) -> None:
        """Loss and penalty, gradient, clipping, Adam, projection."""
        self.optimiser.zero_grad()
        loss = evaluate(x, target)[1]
        semantics.penalty(self._terms(), semantics.strengths(self.recipe, now, 0.0), loss).backward()  # type: ignore[no-untyped-call]
        if self.recipe.clip.norm is not None:  # of the whole network, as published
            nn.utils.clip_grad_norm_(self.network.parameters(), self.recipe.clip.norm)
        self.optimiser.step()
        for unit in self.units:
            unit.project_()

    def _terms(self) -> dict[str, Tensor]:
        terms: dict[str, Tensor] = {}
        for unit in self.units:
            for name, term in unit.penalties(inner=False).items():
                terms[name] = terms[name] + term if name in terms else term
        if INPUT_PENALTY in self.recipe.penalties:
            terms[INPUT_PENALTY] = self.network.input_penalty()
        return terms

    def state_dict(self) -> dict[str, Any]:
        """Adam's memory."""
        return self.optimiser.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on with it."""
        self.optimiser.load_state_dict(state)


class LedByRule:
    """`nalm.LocalGaussNewton` for the units, Adam for the rest. No penalty, no schedule."""

    def __init__(self, network: Reading, rate: float) -> None:
        from nalm.training.rule import LocalGaussNewton

        self.rule = LocalGaussNewton(network, base=lambda rest: adam(rest, rate))

    def step(self, evaluate: Evaluate, x: Tensor, target: Tensor, now: int) -> None:
        """The rule's own step."""
        self.rule.step(evaluate, x, target)

    def state_dict(self) -> dict[str, Any]:
        """The rule's memory and Adam's."""
        return self.rule.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on with it."""
        self.rule.load_state_dict(state)
