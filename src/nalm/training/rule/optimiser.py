"""`LocalGaussNewton`: trains the arithmetic units inside any model by their implied targets, the rest as you like."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from nalm.training.rule.between import learn_between
from nalm.training.rule.curvature import loss_probes
from nalm.training.rule.evidence import gather
from nalm.training.rule.group import Batch, Group
from nalm.training.rule.parity import learn_signs
from nalm.training.rule.parts import Base, common_runs, make_base, others, ruled, warn_fallbacks
from nalm.training.rule.settings import Settings
from nalm.training.rule.track import Track
from nalm.training.rule.watch import Watched, same_memory, watching

Closure = Callable[[], tuple[Tensor, Tensor]]


class LocalGaussNewton:
    """Trains every arithmetic unit in a model towards its implied targets, and the rest with an optimiser of yours.

    How it works, and why `step` takes a function, is told in docs/training-rule.md.

    Args:
        model: anything that contains units, at any depth.
        base: the optimiser of everything else: built over `others(model)`, or a function that builds it from them.
            By default Adam with rate 1e-3.
        settings: the numbers of the rule.

    >>> import nalm, torch
    >>> unit = nalm.NMRU(3, 1, seed=0)
    >>> optimiser = nalm.LocalGaussNewton(unit)
    >>> def evaluate(x, target):
    ...     output = unit(x)
    ...     return output, (output - target).square().mean()
    >>> for _ in range(20):
    ...     x = torch.rand(64, 3) * 4 - 2
    ...     loss = optimiser.step(evaluate, x, x[:, :1] / x[:, 2:])
    >>> print(nalm.read(unit, names=["a", "b", "c"]))
    a/c
    """

    def __init__(self, model: nn.Module, base: Base | None = None, settings: Settings | None = None) -> None:
        if not isinstance(model, nn.Module):
            raise TypeError(f"The rule needs the model itself, not a {type(model).__name__}: LocalGaussNewton(model).")
        self.settings = settings or Settings()
        self.model = model
        self.tracks = [Track(name, unit, self.settings) for name, unit in ruled(model)]
        if not self.tracks:
            raise ValueError(f"{type(model).__name__} contains no unit with a form, so there is nothing to train here.")
        self.runs = common_runs([t.unit for t in self.tracks])
        rest = others(model)
        self.base = make_base(base, rest, {p for t in self.tracks for p in t.unit.parameters(recurse=False)})
        warn_fallbacks(model)
        self.steps = 0
        self._absorbing = bool(rest)
        self._begin()

    def _begin(self) -> None:
        """Forget everything: begin from the weights the units hold."""
        for track in self.tracks:
            track.reset()
        self._active = [track for track in self.tracks if track.trainable]
        self.group = Group(self.settings)

    @property
    def param_groups(self) -> list[dict[str, Any]]:
        """Those of the base optimiser: the rule's own steps have no learning rate."""
        return [] if self.base is None else self.base.param_groups

    def __repr__(self) -> str:
        units = ", ".join(f"{t.label} ({type(t.unit).__name__})" for t in self.tracks)
        return f"LocalGaussNewton(\n  units: {units}\n  base: {self.base}\n)"

    @torch.enable_grad()
    def step(self, evaluate: Callable[..., tuple[Tensor, Tensor]] | None = None, *batch: Any) -> Tensor:
        """One step on one batch.

        Args:
            evaluate: computes the model's output and the loss from it, and nothing else: no backward, no new batch; it
                is called up to twice. With a cohort of runs the loss has shape `runs`.
            batch: what `evaluate` is called with; nothing if it is a closure over the batch.

        Returns:
            The loss of the weights the units held before the step.
        """
        if not callable(evaluate):
            raise TypeError(
                "step needs the function that computes output and loss, optimiser.step(evaluate, x, target), "
                "and calls backward itself."
            )
        active = [track for track in self.tracks if track.trainable]
        if active != self._active or any(track.changed() for track in self.tracks):
            self._begin()
        self.zero_grad()
        closure = partial(evaluate, *batch)
        watched = [track.watched() for track in active]
        with watching(watched):
            told = closure()
        output, loss = self._checked(told, watched)
        ok = loss.detach().isfinite() & output.detach().reshape(*self.runs, -1).isfinite().all(-1)
        held = self._learn(closure, active, watched, (output, loss), ok) if bool(ok.any()) else loss.detach()
        self.steps += 1
        return held

    def _learn(
        self, closure: Closure, active: list[Track], watched: list[Watched], told: tuple[Tensor, Tensor], ok: Tensor
    ) -> Tensor:
        output, loss = told
        loss.sum().backward(retain_graph=True)  # type: ignore[no-untyped-call]
        probes = loss_probes(loss, output, len(self.runs), self.steps)
        evidence = gather(watched, output, probes)
        seen = [(t, w, e) for t, w, e in zip(active, watched, evidence, strict=True) if e is not None]

        def loss_of(tried: Sequence[Watched]) -> Tensor:
            with watching(tried):
                return closure()[1]

        with torch.no_grad():
            stacked, held = [], loss.detach()
            for track, one, known in seen:
                if len(one.uses) == 1 and not one.uses[0].learned and same_memory(one.uses[0].y, output):
                    track.direct(known, learn_signs(track, known, ok), ok)
                elif self._absorbing:
                    learn_between(track, known, ok)
                else:
                    track.stacked = True
                    stacked.append((track, one, known))
            if stacked:
                held = self.group.learn(stacked, Batch(output, probes, loss, ok, loss_of))
            if self.base is not None:
                self._base_step(ok)
            for track in active:
                track.write()
        return held

    def _base_step(self, ok: Tensor) -> None:
        assert self.base is not None
        if not bool(ok.all()):
            for group in self.base.param_groups:
                for p in group["params"]:
                    if p.grad is not None:
                        p.grad.nan_to_num_(0.0, 0.0, 0.0)
        self.base.step()

    def _checked(self, told: Any, watched: Sequence[Watched]) -> tuple[Tensor, Tensor]:
        output, loss = told if isinstance(told, tuple) and len(told) == 2 else (None, told)
        if not isinstance(output, Tensor) or not isinstance(loss, Tensor):
            raise TypeError("The function must return two tensors, the model's output and the loss: output, loss.")
        if tuple(loss.shape) != self.runs:
            raise ValueError(
                f"The loss has shape {tuple(loss.shape)}; it needs shape {self.runs}, a mean over the samples"
                + (" of each run." if self.runs else ".")
            )
        if not output.requires_grad:
            raise ValueError("The output does not depend on anything trainable; was it detached, or under no_grad?")
        if any(use.y.grad is not None for one in watched for use in one.uses):
            raise ValueError("The function has called backward; leave that to step, which needs the graph.")
        return output, loss

    def zero_grad(self, set_to_none: bool = True) -> None:
        """For loops that call it; `step` clears gradients itself."""
        if self.base is not None:
            self.base.zero_grad(set_to_none)

    def state_dict(self) -> dict[str, Any]:
        """Everything needed to go on bit for bit, beside the model's own state."""
        units = {t.name: t.state() for t in self.tracks}
        base = self.base.state_dict() if self.base else None
        return {"steps": self.steps, "units": units, "group": self.group.state(), "base": base}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on where `state_dict` was taken; the model's own state is loaded apart."""
        if "units" not in state:
            raise ValueError("This is not the state of a LocalGaussNewton; a base optimiser's belongs to .base.")
        names = {t.name for t in self.tracks}
        if names != set(state["units"]):
            raise ValueError(f"The state belongs to units {sorted(state['units'])}, this model has {sorted(names)}.")
        self.group.load(state["group"], {t.name: t for t in self.tracks})
        for track in self.tracks:
            track.load(state["units"][track.name])
        self.steps = int(state["steps"])
        if self.base is not None and state["base"] is not None:
            self.base.load_state_dict(state["base"])
