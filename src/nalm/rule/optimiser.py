"""`LocalGaussNewton`: trains the arithmetic units inside any model by their implied targets, the rest as you like."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from nalm.rule.between import learn_between
from nalm.rule.curvature import loss_probes
from nalm.rule.evidence import gather
from nalm.rule.group import Batch, Group
from nalm.rule.settings import Settings
from nalm.rule.track import Track
from nalm.rule.watch import Watched, same_memory, watching
from nalm.unit import Unit

Base = torch.optim.Optimizer | Callable[[list[nn.Parameter]], torch.optim.Optimizer]
Closure = Callable[[], tuple[Tensor, Tensor]]


class LocalGaussNewton:
    """See docs/training-rule.md.

    Args:
        model: anything that contains units, at any depth.
        base: the optimiser of everything else: built over `others(model)`, or a function that builds it from them.
            By default Adam with rate 1e-3.
        settings: the numbers of the rule.

    >>> import nalm, torch
    >>> from nalm.rule import LocalGaussNewton
    >>> unit = nalm.NMRU(3, 1, seed=0)
    >>> optimiser = LocalGaussNewton(unit)
    >>> for _ in range(20):
    ...     x = torch.rand(64, 3) * 4 - 2
    ...     def closure():
    ...         output = unit(x)
    ...         return output, (output - x[:, :1] / x[:, 2:]).square().mean()
    ...     loss = optimiser.step(closure)
    >>> print(nalm.read(unit, names=["a", "b", "c"]))
    a/c
    """

    def __init__(self, model: nn.Module, base: Base | None = None, settings: Settings | None = None) -> None:
        self.settings = settings or Settings()
        self.model = model
        self.tracks = [Track(name, unit, self.settings) for name, unit in _ruled(model)]
        if not self.tracks:
            raise ValueError(f"{type(model).__name__} contains no unit with a form, so there is nothing to train here.")
        self.runs = _common_runs(self.tracks)
        rest = others(model)
        self.base = _base(base, rest, {p for t in self.tracks for p in t.unit.parameters(recurse=False)})
        _warn_fallbacks(model)
        self.steps = 0
        self._absorbing = bool(rest)
        self.group = Group(self.settings)

    def step(self, closure: Closure) -> Tensor:
        """One step on one batch.

        Args:
            closure: computes the model's output and the loss, and nothing else: no backward, no new batch; it may be
                called more than once. With a cohort of runs the loss has shape `runs`.

        Returns:
            The loss before the step, detached.
        """
        for track in self.tracks:
            track.refresh()
        if self.base is not None:
            self.base.zero_grad(set_to_none=True)
        watched = [track.watched(track.stacked) for track in self.tracks]
        with torch.enable_grad(), watching(watched):
            output, loss = closure()
        self._check(output, loss)
        ok = loss.detach().isfinite() & output.detach().reshape(*self.runs, -1).isfinite().all(-1)
        if bool(ok.any()):
            self._learn(closure, watched, output, loss, ok)
        self.steps += 1
        return loss.detach()

    def _learn(self, closure: Closure, watched: list[Watched], output: Tensor, loss: Tensor, ok: Tensor) -> None:
        loss.sum().backward(retain_graph=True)  # type: ignore[no-untyped-call]
        probes = loss_probes(loss, output, len(self.runs), self.steps)
        told = gather(watched, output, probes)
        seen = [(t, w, e) for t, w, e in zip(self.tracks, watched, told, strict=True) if e is not None]

        def evaluate(others: Sequence[Watched]) -> Tensor:
            with watching(others):
                return closure()[1]

        with torch.no_grad():
            stacked = []
            for track, one, evidence in seen:
                if len(one.uses) == 1 and not one.uses[0].learned and same_memory(one.uses[0].y, output):
                    track.direct(evidence, ok)
                elif self._absorbing:
                    learn_between(track, evidence, ok, any(use.learned for use in one.uses))
                else:
                    track.stacked = True
                    stacked.append((track, one, evidence))
            if stacked:
                self.group.learn(*zip(*stacked, strict=True), Batch(output, probes, loss, ok, evaluate))
            if self.base is not None:
                self._base_step(ok)
            for track in self.tracks:
                track.write()

    def _base_step(self, ok: Tensor) -> None:
        assert self.base is not None
        if not bool(ok.all()):
            for group in self.base.param_groups:
                for p in group["params"]:
                    if p.grad is not None:
                        p.grad.nan_to_num_(0.0, 0.0, 0.0)
        self.base.step()

    def _check(self, output: Any, loss: Any) -> None:
        if not isinstance(output, Tensor) or not isinstance(loss, Tensor):
            raise TypeError(
                f"The closure returned ({type(output).__name__}, {type(loss).__name__}); "
                "it needs the model's output and the loss, both tensors: return output, loss."
            )
        if tuple(loss.shape) != self.runs:
            raise ValueError(
                f"The loss has shape {tuple(loss.shape)}; it needs shape {self.runs}, a mean over the samples"
                + (" of each run." if self.runs else ".")
            )
        if not output.requires_grad:
            raise ValueError("The output does not depend on anything trainable; was it detached, or under no_grad?")

    def zero_grad(self, set_to_none: bool = True) -> None:
        """For loops that call it; `step` clears gradients itself."""
        if self.base is not None:
            self.base.zero_grad(set_to_none)

    def state_dict(self) -> dict[str, Any]:
        """Everything needed to go on bit for bit, beside the model's own state."""
        units = {t.name: t.state() for t in self.tracks}
        return {"steps": self.steps, "units": units, "base": self.base.state_dict() if self.base else None}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on where `state_dict` was taken; load the model's state first."""
        names = {t.name for t in self.tracks}
        if names != set(state["units"]):
            raise ValueError(f"The state belongs to units {sorted(state['units'])}, this model has {sorted(names)}.")
        for track in self.tracks:
            track.load(state["units"][track.name])
        self.steps = int(state["steps"])
        if self.base is not None and state["base"] is not None:
            self.base.load_state_dict(state["base"])


def is_ruled(module: nn.Module) -> bool:
    """Whether the rule trains this module: a unit with a form that covers all its weights."""
    return isinstance(module, Unit) and module.form is not None and set(module.weights) == module.form.weights


def _ruled(model: nn.Module) -> Iterable[tuple[str, Unit]]:
    for name, module in model.named_modules():
        if is_ruled(module) and any(p.requires_grad for p in module.parameters(recurse=False)):
            assert isinstance(module, Unit)
            yield name, module


def others(model: nn.Module) -> list[nn.Parameter]:
    """The trainable parameters that the rule leaves to the base optimiser."""
    ruled = {p for m in model.modules() if is_ruled(m) for p in m.parameters(recurse=False)}
    return [p for p in model.parameters() if p.requires_grad and p not in ruled]


def _base(base: Base | None, rest: list[nn.Parameter], ruled: set[nn.Parameter]) -> torch.optim.Optimizer | None:
    if base is None:
        return torch.optim.Adam(rest) if rest else None
    optimiser = base if isinstance(base, torch.optim.Optimizer) else base(rest)
    held = {p for group in optimiser.param_groups for p in group["params"]}
    if held & ruled:
        raise ValueError(
            "The base optimiser holds weights of arithmetic units that the rule trains; build it over the others: "
            "base=torch.optim.Adam(nalm.rule.others(model)), or base=torch.optim.Adam."
        )
    if set(rest) - held:
        warnings.warn(f"{len(set(rest) - held)} trainable parameters are in no optimiser and stay as they are.", stacklevel=3)
    return optimiser


def _warn_fallbacks(model: nn.Module) -> None:
    names = [n or type(m).__name__ for n, m in model.named_modules() if isinstance(m, Unit) and m.weights and not is_ruled(m)]
    if names:
        warnings.warn(
            f"Left to the base optimiser, because they declare no form for all their weights: {', '.join(names)}.",
            stacklevel=3,
        )


def _common_runs(tracks: list[Track]) -> tuple[int, ...]:
    runs = {t.unit.runs for t in tracks}
    if len(runs) > 1:
        raise ValueError(f"The units of the model have different runs axes {sorted(runs)}; build them with the same runs.")
    return runs.pop()
