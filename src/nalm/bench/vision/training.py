"""Training of a whole network, step by step. Every random number is a function of the seed and the step, so that a run
goes on from a checkpoint bit for bit as if it had never stopped."""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from nalm.bench.vision.tasks import Problem
from nalm.core.recipe import Adam, LocalGaussNewton, Recipe
from nalm.core.unit import Unit

RULE_BASE = Adam(1e-3)  # what trains the rest of the network under the local Gauss-Newton rule: as published


class Training:
    """One network on its way.

    Args:
        network: with its first weights.
        problem: the data and what is measured.
        recipe: the published one, or `LocalGaussNewton` as its optimiser for the training rule.
        decay: weight decay of the head's parameters.

    Attributes:
        step: steps done.
        seconds: of processor time spent on training, evaluations not counted.
        records: what was measured, in order.
    """

    def __init__(
        self, network: nn.Module, problem: Problem, recipe: Recipe, seed: int, device: str = "cpu", decay: float = 0.0
    ) -> None:
        if recipe.loss != "mse":
            raise ValueError(f"Networks train with the squared error; the recipe asks for {recipe.loss!r}.")
        self.network = network.to(device)
        self.problem = problem
        self.recipe = recipe
        self.seed = seed
        self.device = device
        self.units = [module for module in network.modules() if isinstance(module, Unit)]
        self.step = 0
        self.seconds = 0.0
        self.records: list[dict[str, Any]] = []
        self.steps_per_epoch = -(-problem.count // recipe.batch)
        self._order = torch.empty(0, dtype=torch.int64)
        self._epoch = -1
        self._optimiser, self._learn = self._method(decay)

    def _method(self, decay: float) -> tuple[Any, Callable[[Tensor, Tensor], Tensor]]:
        if isinstance(self.recipe.optimiser, LocalGaussNewton):
            from nalm.training.rule import LocalGaussNewton as Rule

            rule = Rule(self.network, base=lambda rest: _adam(rest, RULE_BASE.rate))
            return rule, lambda x, t: rule.step(self._evaluate, x, t)
        head = set(self.network.head.parameters())  # type: ignore[union-attr]
        groups = [
            {"params": [p for p in self.network.parameters() if p not in head]},
            {"params": list(head), "weight_decay": decay},
        ]
        return _adam([group for group in groups if group["params"]], self.recipe.rate), self._descend

    def advance(self, steps: int) -> None:
        """Train on."""
        self.network.train()
        started = time.process_time()
        with _own_randomness(self.device):
            for _ in range(steps):
                self._learn(*self._batch())
                self.step += 1
        self.seconds += time.process_time() - started

    def measure(self) -> dict[str, Any]:
        """Measure the network as it is, in eval mode, and keep the record."""
        self.network.eval()
        with _own_randomness(self.device):
            torch.manual_seed(self._step_seed)
            measured = self.problem.measure(self.network)
        self.network.eval()
        record = {"step": self.step, "seconds": self.seconds, "weights": self.weights(), **measured}
        self.records.append(record)
        return record

    def weights(self) -> dict[str, Any]:
        """The head's weights as the forward pass uses them; nothing for heads too large to look at."""
        values = {f"{name}": unit.value(name) for unit in self.units for name in unit.weights}
        values = values or dict(self.network.head.named_parameters())  # type: ignore[union-attr]
        return {name: v.detach().tolist() for name, v in values.items() if v.numel() <= LARGEST_SHOWN}

    @property
    def _step_seed(self) -> int:
        return (self.seed << 32) + self.step

    def _batch(self) -> tuple[Tensor, Tensor]:
        epoch, place = divmod(self.step, self.steps_per_epoch)
        if epoch != self._epoch:
            generator = torch.Generator().manual_seed((self.seed << 32) + (1 << 31) + epoch)
            self._order = torch.randperm(self.problem.count, generator=generator).to(self.device)
            self._epoch = epoch
        chosen = self._order[place * self.recipe.batch : (place + 1) * self.recipe.batch]
        return self.problem.batch(chosen, self._step_seed)

    def _evaluate(self, x: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        torch.manual_seed(self._step_seed)  # the same dropout and noise if it is called twice
        output = self.network(x)
        return output, (output - target).square().mean()

    def _descend(self, x: Tensor, target: Tensor) -> Tensor:
        self._optimiser.zero_grad()
        loss = self._evaluate(x, target)[1]
        (loss + self._penalty()).backward()  # type: ignore[no-untyped-call]
        if self.recipe.clip.norm is not None:  # of the whole network, as published
            nn.utils.clip_grad_norm_(self.network.parameters(), self.recipe.clip.norm)
        self._optimiser.step()
        for unit in self.units:
            unit.project_()
        return loss.detach()

    def _penalty(self) -> Tensor:
        total = torch.zeros((), device=self.device)
        for name, schedule in self.recipe.penalties.items():
            strength = schedule.at(self.step)
            if not strength:
                continue
            if name == INPUT_PENALTY:
                total = total + strength * self.network.head.input_penalty(self.network.mean_input)  # type: ignore[union-attr,operator]
            for unit in self.units:
                term = unit.penalties(inner=False).get(name)
                if term is not None:
                    total = total + strength * term
        return total

    def dump(self) -> bytes:
        """Everything needed to go on."""
        state = {
            "network": self.network.state_dict(),
            "optimiser": self._optimiser.state_dict(),
            "step": self.step,
            "seconds": self.seconds,
            "records": self.records,
        }
        buffer = io.BytesIO()
        torch.save(state, buffer)
        return buffer.getvalue()

    def load(self, content: bytes) -> None:
        """Go on where `dump` was called. Plain tensors and numbers only: a checkpoint never runs code."""
        state = torch.load(io.BytesIO(content), map_location=self.device, weights_only=True)
        self.network.load_state_dict(state["network"])
        self._optimiser.load_state_dict(state["optimiser"])
        self.step, self.seconds, self.records = state["step"], state["seconds"], state["records"]


INPUT_PENALTY = "input"  # R_z of the sequence studies
LARGEST_SHOWN = 16  # numbers of a weight that are kept with each record


def _adam(parameters: Any, rate: float) -> torch.optim.Optimizer:
    return torch.optim.Adam(parameters, rate, fused=True)


@contextmanager
def _own_randomness(device: str) -> Iterator[None]:
    """torch's generators are set at every step; outside they are left as they were."""
    with torch.random.fork_rng(devices=[] if device == "cpu" else [torch.device(device)]):
        yield
