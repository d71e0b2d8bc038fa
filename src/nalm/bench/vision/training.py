"""Training of a whole network, step by step. Every random number is a function of the seed and the step, so that a run
goes on from a checkpoint bit for bit as if it had never stopped."""

from __future__ import annotations

import io
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from nalm.bench.run import Run
from nalm.bench.vision.method import NetworkMethod
from nalm.bench.vision.task import ImageTask, Measured
from nalm.core.denormals import denormals_flushed
from nalm.core.unit import Unit

LARGEST_SHOWN = 16  # numbers of a weight that are kept with each record
ORDERS = 1 << 31  # added to an epoch: seeds of orders of samples, apart from those of steps


class Training:
    """One network on its way.

    Attributes:
        step: steps done.
        seconds: of processor time spent on training, evaluations not counted.
        records: what was measured, in order.
    """

    def __init__(self, run: Run, device: str = "cpu") -> None:
        if not isinstance(run.task, ImageTask) or not isinstance(run.method, NetworkMethod):
            raise ValueError(f"{type(run.task).__name__} has no images for a network; another method trains it.")
        self.seed = run.seed
        self.device = device
        self.method = run.method
        self.task = run.task
        self.loaded = run.task.loaded(run.seed, device)
        with _own_randomness(device):
            head = run.model.build()
            head.reset_parameters(run.seed)
            torch.manual_seed(run.seed)
            self.network = run.task.network(run.model, head).to(device)
        self.units = [module for module in self.network.modules() if isinstance(module, Unit)]
        self.learner = run.method.learner(self.network)
        self.step = 0
        self.seconds = 0.0
        self.records: list[Measured] = []
        self._epoch, self._order = -1, torch.empty(0, dtype=torch.int64)

    def advance(self, steps: int) -> None:
        """Train on."""
        self.network.train()
        started = time.process_time()
        with _own_randomness(self.device), denormals_flushed():
            for _ in range(steps):
                self.learner.step(self._evaluate, *self._batch(), self.step)
                self.step += 1
        self.seconds += time.process_time() - started

    def measured(self) -> Measured:
        """The network as it is, in eval mode; measured once, and kept."""
        if not self.records or self.records[-1]["step"] < self.step:
            self.network.eval()
            with _own_randomness(self.device):
                torch.manual_seed(self._step_seed)
                found = self.loaded.measure(self.network)
            now = {"step": self.step, "seconds": self.seconds, "weights": self.weights(), "sparsity": self.sparsity()}
            self.records.append({**now, **found})
        return self.records[-1]

    def weights(self) -> dict[str, Any]:
        """The unit's weights as the forward pass uses them; nothing for heads too large to look at."""
        values = {name: unit.value(name).detach() for unit in self.units for name in unit.weights}
        return {name: value.tolist() for name, value in values.items() if value.numel() <= LARGEST_SHOWN}

    def sparsity(self) -> float:
        """The largest sparsity error of its units."""
        return max((float(unit.sparsity().detach()) for unit in self.units), default=0.0)

    @property
    def _step_seed(self) -> int:
        return (self.seed << 32) + self.step

    def _batch(self) -> tuple[Tensor, Tensor]:
        size = self.method.batch
        epoch, place = divmod(self.step, -(-self.loaded.count // size))  # the last batch may be smaller
        if epoch != self._epoch:
            generator = torch.Generator().manual_seed((self.seed << 32) + ORDERS + epoch)
            self._order = torch.randperm(self.loaded.count, generator=generator).to(self.device)
            self._epoch = epoch
        return self.loaded.batch(self._order[place * size : (place + 1) * size], self._step_seed)

    def _evaluate(self, x: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        torch.manual_seed(self._step_seed)  # the same dropout and noise if it is called twice
        output = self.network(x)
        return output, (output - target).square().mean()

    def dump(self) -> bytes:
        """Everything needed to go on."""
        state = {
            "network": self.network.state_dict(),
            "learner": self.learner.state_dict(),
            "step": self.step,
            "seconds": self.seconds,
            "records": self.records,
        }
        buffer = io.BytesIO()
        torch.save(state, buffer)
        return buffer.getvalue()

    def load(self, content: bytes) -> None:
        """Go on where `dump` was called. Only tensors and plain values are read: a checkpoint never runs code."""
        state = torch.load(io.BytesIO(content), map_location=self.device, weights_only=True)
        self.network.load_state_dict(state["network"])
        self.learner.load_state_dict(state["learner"])
        self.step, self.seconds, self.records = state["step"], state["seconds"], state["records"]


@contextmanager
def _own_randomness(device: str) -> Iterator[None]:
    """torch's generators are set at every step; outside they are left as they were."""
    with torch.random.fork_rng(devices=[] if device == "cpu" else [torch.device(device)]):
        yield
