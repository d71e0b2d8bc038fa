"""`LocalGaussNewton`: an optimiser of yours trains the model, and the rule finds whole numbers for its units.

One step, in the order of `LocalGaussNewton.step`:

1. The model runs as it is; units are watched at work if any mode is due to look (`watch.py`).
2. A backward pass fills the gradients of all parameters, as in any training loop.
3. In the first look the graph is asked where each unit sits, which decides its mode (`placing.py`).
4. Each mode that is due learns from the batch: `at_output.py`, `between.py`, `stack.py`, `gated.py`.
5. The base optimiser steps; numbers that are to stay have no gradient, so it passes over them.
6. Each mode stores in its units what it has decided, and the gradients are cleared.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from copy import deepcopy
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from nalm.core.arguments import check, checks_arguments, need_of
from nalm.core.unit import Unit
from nalm.training.rule.base import Base, Pace, common_runs, make_base, warn_fallbacks
from nalm.training.rule.batch import Batch, Pass
from nalm.training.rule.feedback import Feedback, gather
from nalm.training.rule.graph import Position
from nalm.training.rule.mode import Mode, Seen
from nalm.training.rule.placing import Placing, loaded, placed
from nalm.training.rule.progress import RECENT
from nalm.training.rule.refusals import Refused, checked, company, refuse_company, refuse_misuse
from nalm.training.rule.report import Report
from nalm.training.rule.route import gates
from nalm.training.rule.ruled import Ruled, ruled
from nalm.training.rule.settings import Settings
from nalm.training.rule.watch import Watched, WithoutGradients, Written, untouched, watching

Evaluate = Callable[[], tuple[Tensor, Tensor]]


class LocalGaussNewton(torch.optim.Optimizer):
    """Trains a model with an optimiser of yours and finds whole numbers for its arithmetic units on the way.

    What the model computes is always the units' own formulas, of what they hold; the forms they declare stand in for
    them only while a stack is searched. How it works, and why `step` takes a function, is told in
    docs/training-rule.md.

    Args:
        model: anything that contains units, at any depth.
        base: the optimiser of all parameters, or a function that builds it from them: `lambda p: Adam(p, 3e-3)`.
            By default Adam with rate 1e-3. Its parameter groups are the ones of this optimiser.
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

    _step_supports_amp_scaling = True  # so that a GradScaler tells us about itself, and can be refused

    def __init__(self, model: nn.Module, base: Base | None = None, settings: Settings | None = None) -> None:
        if not isinstance(model, nn.Module):
            raise TypeError(f"The rule needs the model itself, not a {type(model).__name__}: LocalGaussNewton(model).")
        check("LocalGaussNewton", "settings", settings, need_of(Settings | None))
        self.model = model
        self.settings = settings or Settings()
        self.units = list(ruled(model))
        if not self.units:
            raise ValueError(f"{type(model).__name__} contains no unit with a form, so there is nothing to train here.")
        self.gates = list(gates(model))
        # walks through the model, which in small networks would cost as much as the rest of a step
        owners = [*(one.unit for one in self.units), *self.gates]
        self._own = [p for owner in owners for p in owner.parameters(recurse=False)]
        self._buffered = [m for m in model.modules() if next(m.buffers(recurse=False), None) is not None]
        self._boxes = boxes(model)
        self.runs = common_runs([one.unit for one in self.units])
        self.base = make_base(base, model)
        super().__init__(self.base.param_groups, self.base.defaults)
        self.param_groups = self.base.param_groups  # one list for both: schedules of either change it
        self.state = self.base.state
        warn_fallbacks(model)
        self.steps = 0
        self._refused = Refused()
        self._pace = Pace()
        self._begin()

    def _begin(self) -> None:
        """Forget everything: begin from the weights the units hold."""
        self._placing: Placing | None = None  # until the units have been seen at work
        self._active = self._trainable()
        self._losses: deque[Tensor] = deque(maxlen=RECENT)
        self._written: dict[Tensor, Written] = {}

    @property
    def modes(self) -> list[Mode] | None:
        """How the units are treated; None until they have been seen at work."""
        return None if self._placing is None else self._placing.modes

    @property
    def refused(self) -> int:
        """Batches that were not finite, from which nothing was learned."""
        return self._refused.count

    def __repr__(self) -> str:
        units = ", ".join(f"{one.label} ({type(one.unit).__name__})" for one in self.units)
        return f"LocalGaussNewton(\n  units: {units}\n  base: {self.base}\n)"

    @torch.no_grad()
    def step(self, closure: Callable[..., tuple[Tensor, Tensor]] | None = None, *batch: Any) -> Tensor:  # type: ignore[override]
        """One step on one batch.

        Gradients that are there already (of micro-batches, from your own `backward`) are added to those of this batch
        for the base optimiser; afterwards all are cleared.

        Args:
            closure: computes the model's output and the loss from it, and nothing else: no backward, no new batch; it
                is called up to four times. With a cohort of runs the loss has shape `runs`.
            batch: what it is called with; nothing if it knows the batch already.

        Returns:
            The loss of the model as it was before the step, in a plain forward pass.
        """
        refuse_misuse(self, closure)
        assert closure is not None
        if self._trainable() != self._active or self._changed_outside():
            self._begin()
        evaluate = partial(closure, *batch)
        self.steps += 1
        # where no mode is due this is a step of the base optimiser and no more
        pace = self._pace.next(self.param_groups)
        looking = self._placing is None or self._due or self._asking
        buffers = [b for module in self._buffered for b in module.buffers(recurse=False)]
        kept = [b.clone() for b in buffers]
        if looking:
            refuse_company(
                company()
            )  # asked in looks only, the first step among them: it takes as long as this whole list
        generator = torch.get_rng_state() if looking else None
        watched = [Watched(one.unit) for one in self._active] if looking else []
        stay = [] if looking else self._staying
        with torch.enable_grad():
            with watching(watched) if looking else WithoutGradients(stay):
                told = evaluate()
            output, loss = checked(told, watched, self.runs, needs_gradients=not stay)
            if loss.requires_grad or not stay:
                (loss.sum() if self.runs else loss).backward(retain_graph=looking)  # type: ignore[no-untyped-call]
        plain = Pass(output, loss, self.steps, learned_from=looking)
        self._losses.append(loss.detach())
        if generator is not None:
            if self._placing is None or self._placing.misses(self._active, watched):
                self._placing = placed(self._active, self.gates, watched, output, self.model, self.settings)
            self._learn(evaluate, watched, plain, partial(untouched, buffers, generator), pace)
        if plain.all_finite or bool(plain.finite.any()):
            self._refused.in_a_row = 0
            self._base_step(usable=plain.all_finite and not plain.some_exact)
        else:
            self._refused.one_more()
            for buffer, value in zip(buffers, kept, strict=True):
                buffer.copy_(value)
        self._store(plain, pace)
        return self._losses[-1]

    def _trainable(self) -> list[Ruled]:
        return [one for one in self.units if one.trainable]

    @property
    def _staying(self) -> list[nn.Parameter]:
        """What holds numbers that are not the base optimiser's."""
        return [p for mode in self.modes or [] if mode.settled for one in mode.units for p in one.parameters]

    @property
    def _due(self) -> bool:
        """Whether any mode has to learn from this batch."""
        return any(mode.due(self.steps, self._pace.travelled) for mode in self.modes or [])

    @property
    def _asking(self) -> bool:
        """Whether it is time to ask if units that were not in use are by now."""
        all_used = self._placing is None or len(self._placing.used) == len(self._active)
        return not all_used and self.steps % self.settings.rest == 0

    def _changed_outside(self) -> bool:
        """Whether somebody else has changed the units' weights since the last step."""
        return any(not written.stands(p) for p, written in self._written.items())

    def _learn(
        self,
        evaluate: Evaluate,
        watched: Sequence[Watched],
        plain: Pass,
        further: Callable[[], AbstractContextManager[None]],
        pace: float,
    ) -> None:
        """Let all modes that are due learn from the batch.

        Args:
            evaluate: computes output and loss of the batch.
            watched: the units in the plain pass.
            plain: the pass of the model as it is; its graph is still there.
            further: within it a further pass draws what the first one drew, and leaves running statistics alone.
            pace: of the base optimiser.
        """
        travelled = self._pace.travelled
        modes = [mode for mode in self.modes or [] if mode.due(self.steps, travelled, in_company=True)]
        if not modes:
            return

        def again(stand_ins: Sequence[Watched]) -> Pass:
            with further(), torch.enable_grad(), watching(stand_ins):
                return Pass(*evaluate(), self.steps)

        def loss_with(stand_ins: Sequence[Watched]) -> Tensor:
            with further(), watching(stand_ins):
                return evaluate()[1]

        feedback: list[Feedback | None] = [None] * len(watched)
        if any(mode.position is not Position.STACK for mode in modes):
            feedback = gather(watched, plain)
        held = partial(loss_with, [])
        batch = Batch(self.steps, travelled, plain, plain.finite, list(self._losses), pace, again, loss_with, held)
        seen = {id(one.unit): Seen(one, w, e) for one, w, e in zip(self._active, watched, feedback, strict=True)}
        for mode in modes:
            mode.learn([seen[id(one.unit)] for one in mode.units], batch)

    def _base_step(self, usable: bool) -> None:
        """A step of the base optimiser, and all units back into their boxes; runs that are not finite stay.

        Args:
            usable: whether all gradients are surely numbers.
        """
        if not usable:
            for group in self.param_groups:
                for p in group["params"]:
                    if p.grad is not None:
                        p.grad.nan_to_num_(0.0, 0.0, 0.0)
        for p in self._staying:
            p.grad = None  # so that the base optimiser passes over them
        self.base.step()
        for p, (low, high) in self._boxes.items():
            if p.grad is not None:
                p.clamp_(low, high)

    def _store(self, plain: Pass, pace: float) -> None:
        """What the modes have decided, and what the units now hold; gradients are cleared."""
        for mode in self.modes or []:
            if mode.stores:
                mode.write(plain.finite, pace, self._losses)
        self._written = {p: Written.of(p, self._written.get(p)) for p in self._own}
        for group in self.param_groups:  # as zero_grad does, which is timed by torch's profiler and costs more
            for p in group["params"]:
                p.grad = None

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """More parameters for the base optimiser."""
        if "base" in self.__dict__ and self.param_groups is self.base.param_groups:
            self.base.add_param_group(param_group)
        else:  # while torch itself builds this optimiser
            super().add_param_group(param_group)

    def report(self) -> Report:
        """How each unit stands: printed a table, `.numbers()` for a log."""
        modes = self.modes or []
        standings = [one for mode in modes for one in mode.standings()]
        known = {id(one.ruled.unit) for one in standings}
        idle = [f"{one.label} ({type(one.unit).__name__})" for one in self.units if id(one.unit) not in known]
        return Report(self.steps, self.refused, standings, idle)

    def state_dict(self) -> dict[str, Any]:
        """Everything needed to go on bit for bit, beside the model's own state: copies of tensors, numbers, strings."""
        names = [one.name for one in self.units]
        placing = (
            {"places": {}, "used": [], "modes": None} if self._placing is None else self._placing.saved(self.model)
        )
        rule = {"steps": self.steps, "refused": self.refused, "units": names, **placing}
        rule |= {"losses": [loss.clone() for loss in self._losses], "pace": self._pace.saved()}
        return {**deepcopy(self.base.state_dict()), "rule": rule}  # torch's own would change as training goes on

    @checks_arguments
    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Go on where `state_dict` was taken; the model's own state is loaded apart, before or after."""
        if "rule" not in state_dict:
            raise ValueError("This is not the state of a LocalGaussNewton; a base optimiser's belongs to .base.")
        rule, names = state_dict["rule"], [one.name for one in self.units]
        if names != rule["units"]:
            raise ValueError(f"The state belongs to units {rule['units']}, this model has {names}.")
        self._begin()
        if rule["modes"] is not None:
            self._placing = loaded(rule, self.units, self.gates, self.model, self.settings)
        self._losses = deque((loss.clone() for loss in rule["losses"]), maxlen=RECENT)
        self._pace = Pace(**rule["pace"])
        self.steps, self._refused.count = int(rule["steps"]), int(rule["refused"])
        # a copy, as torch goes on with the very tensors it is given
        self.base.load_state_dict(deepcopy({k: v for k, v in state_dict.items() if k != "rule"}))
        self.param_groups, self.state = self.base.param_groups, self.base.state

    def __getstate__(self) -> dict[str, Any]:
        # torch keeps the parameters only; a copy of this optimiser needs its model, too
        return {k: v for k, v in self.__dict__.items() if k not in ("step", "_written")} | {"_written": {}}


def boxes(model: nn.Module) -> dict[Tensor, tuple[float, float]]:
    """The parameters that are put back into their boxes after each step; asked once, as it takes long."""
    found: dict[Tensor, tuple[float, float]] = {}
    for unit in (module for module in model.modules() if isinstance(module, Unit)):
        named = dict(unit.named_parameters())
        found |= {named[name]: box for name, box in unit.boxes()}
    return found
