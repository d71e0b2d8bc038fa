"""`LocalGaussNewton`: an optimiser of yours trains the model, and the rule finds whole numbers for its units."""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from nalm.core.arguments import check, checks_arguments, need_of
from nalm.core.containers import StaticMixture
from nalm.core.unit import Unit
from nalm.training.rule.at_output import AtOutput
from nalm.training.rule.base import Base, Pace, common_runs, make_base, warn_fallbacks
from nalm.training.rule.batch import Batch, Pass
from nalm.training.rule.between import Between
from nalm.training.rule.feedback import Feedback, gather
from nalm.training.rule.gated import GatedStack
from nalm.training.rule.graph import GainAndBias, Place, Position, places
from nalm.training.rule.mode import Mode, Seen
from nalm.training.rule.progress import RECENT
from nalm.training.rule.report import Report
from nalm.training.rule.route import MOST_GATES, gates, routes, searchable
from nalm.training.rule.ruled import Ruled, ruled
from nalm.training.rule.settings import Settings
from nalm.training.rule.stack import Stack
from nalm.training.rule.watch import Watched, Written, untouched, watching

Closure = Callable[[], tuple[Tensor, Tensor]]
WHY_LEFT = f"only up to {MOST_GATES} gates, among units alone, are searched"
MANY_REFUSED = 10  # batches in a row that are not finite, before we say so


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
        self.refused = 0
        self._pace = Pace()
        self._refused_in_a_row = 0
        self._begin()

    def _begin(self) -> None:
        """Forget everything: begin from the weights the units hold."""
        self.modes: list[Mode] | None = None  # until the units have been seen at work
        self._places: dict[Ruled, Place] = {}
        self._active = self._trainable()
        self._losses: deque[Tensor] = deque(maxlen=RECENT)
        self._written: dict[Tensor, Written] = {}

    def __repr__(self) -> str:
        units = ", ".join(f"{one.label} ({type(one.unit).__name__})" for one in self.units)
        return f"LocalGaussNewton(\n  units: {units}\n  base: {self.base}\n)"

    @torch.enable_grad()
    def step(self, evaluate: Callable[..., tuple[Tensor, Tensor]] | None = None, *batch: Any) -> Tensor:  # type: ignore[override]
        """One step on one batch.

        Gradients that are there already (of micro-batches, from your own `backward`) are added to those of this batch
        for the base optimiser; afterwards all are cleared.

        Args:
            evaluate: computes the model's output and the loss from it, and nothing else: no backward, no new batch; it
                is called up to four times. With a cohort of runs the loss has shape `runs`.
            batch: what `evaluate` is called with; nothing if it is a closure over the batch.

        Returns:
            The loss of the model as it was before the step, in a plain forward pass.
        """
        self._refuse_misuse(evaluate)
        assert evaluate is not None
        if self._trainable() != self._active or self._changed_outside():
            self._begin()
        active = self._active
        closure = partial(evaluate, *batch)
        self.steps += 1
        # where no mode is due this is a step of the base optimiser and no more
        looking = self.modes is None or any(mode.due(self.steps) for mode in self.modes)
        buffers = [b for module in self._buffered for b in module.buffers(recurse=False)]
        kept = [b.clone() for b in buffers]
        generator = torch.get_rng_state() if looking else None
        watched = [Watched(one.unit) for one in active] if looking else []
        with watching(watched) if looking else nullcontext():
            told = closure()
        output, loss = self._checked(told, watched)
        plain = Pass(output, loss, self.steps)
        ok = plain.finite
        self._losses.append(loss.detach())
        (loss.sum() if self.runs else loss).backward(retain_graph=looking)  # type: ignore[no-untyped-call]
        if generator is not None:
            self._place(watched, output)
            self._learn(closure, watched, plain, partial(untouched, buffers, generator))
        if plain.all_finite or bool(ok.any()):
            self._refused_in_a_row = 0
            self._base_step(plain.all_finite)
        else:
            self._refuse_batch()
            for buffer, value in zip(buffers, kept, strict=True):
                buffer.copy_(value)
        pace = self._pace.now(self.param_groups)
        with torch.no_grad():
            for mode in self.modes or []:
                mode.write(ok, pace)
        self._written = {p: Written.of(p, self._written.get(p)) for p in self._own}
        for group in self.param_groups:  # as zero_grad does, which is timed by torch's profiler and costs more
            for p in group["params"]:
                p.grad = None
        return loss.detach()

    def _refuse_misuse(self, evaluate: Any) -> None:
        if not callable(evaluate):
            raise TypeError(
                "step needs the function that computes output and loss, optimiser.step(evaluate, x, target), "
                "and calls backward itself."
            )
        if getattr(self, "grad_scale", None) is not None or getattr(self, "found_inf", None) is not None:
            raise ValueError(
                "A GradScaler cannot scale gradients that step computes itself. Call optimiser.step(evaluate, ...) "
                "without the scaler, and use bfloat16 in autocast, which needs none."
            )
        if torch.distributed.is_available() and torch.distributed.is_initialized():
            self._refuse_company(torch.distributed.get_world_size())

    def _refuse_company(self, processes: int) -> None:
        if processes > 1:
            raise ValueError(
                f"LocalGaussNewton sees the batch of its own process only: these {processes} would drift apart. "
                "Find the units' numbers in one process, freeze them, and train the rest in several."
            )

    def _refuse_batch(self) -> None:
        self.refused += 1
        self._refused_in_a_row += 1
        if self._refused_in_a_row == MANY_REFUSED:
            warnings.warn(
                f"{MANY_REFUSED} batches in a row gave an output or a loss that is not finite; nothing is learned from "
                "them. Look at the data, the learning rate, and inputs of a division near zero.",
                stacklevel=4,
            )

    def _place(self, watched: Sequence[Watched], output: Tensor) -> None:
        """Ask the graph where each unit sits, once."""
        if self.modes is not None:
            return
        candidates = self._candidates()
        self._places = self._placed(watched, output, candidates)
        kept = gates_of_stacks(candidates, self._places)
        if len(kept) < len(candidates):  # then the others are neighbours of their units
            self._places = self._placed(watched, output, kept)
            names = {module: name or "the model" for name, module in self.model.named_modules()}
            what = ", ".join(names[gate] for gate in candidates if gate not in kept)
            warnings.warn(f"Left to the base optimiser, as {WHY_LEFT}: the gate of {what}.", stacklevel=4)
        self.modes = make_modes(self._places, kept, self.settings)

    def _placed(self, watched: Sequence[Watched], output: Tensor, own: Sequence[StaticMixture]) -> dict[Ruled, Place]:
        """The places of all units on which the output depends, if some gates are the rule's."""
        owners = [*(one.unit for one in self._active), *own]
        mine = {p for owner in owners for p in owner.parameters(recurse=False)}
        found = zip(self._active, places(watched, output, mine), strict=True)
        return {one: place for one, place in found if place is not None}

    def _trainable(self) -> list[Ruled]:
        return [one for one in self.units if one.trainable]

    def _candidates(self) -> list[StaticMixture]:
        units = {one.unit for one in self._active}
        return [gate for gate in self.gates if searchable(gate, units)]

    def _learn(
        self,
        closure: Closure,
        watched: Sequence[Watched],
        plain: Pass,
        further: Callable[[], AbstractContextManager[None]],
    ) -> None:
        step = self.steps
        modes = [mode for mode in self.modes or [] if mode.due(step)]
        if not modes:
            return

        def again(stand_ins: Sequence[Watched]) -> Pass:
            with further(), torch.enable_grad(), watching(stand_ins):
                return Pass(*closure(), step)

        def loss_with(stand_ins: Sequence[Watched]) -> Tensor:
            with further(), torch.no_grad(), watching(stand_ins):
                return closure()[1]

        feedback: list[Feedback | None] = [None] * len(watched)
        if any(mode.position is not Position.STACK for mode in modes):
            feedback = gather(watched, plain)
        batch = Batch(
            step,
            plain,
            plain.finite,
            list(self._losses),
            self._pace.now(self.param_groups),
            again,
            loss_with,
            partial(loss_with, []),
        )
        seen = {id(one.unit): Seen(one, w, e) for one, w, e in zip(self._active, watched, feedback, strict=True)}
        with torch.no_grad():
            for mode in modes:
                mode.learn([seen[id(one.unit)] for one in mode.units], batch)

    def _base_step(self, all_finite: bool) -> None:
        if not all_finite:
            for group in self.param_groups:
                for p in group["params"]:
                    if p.grad is not None:
                        p.grad.nan_to_num_(0.0, 0.0, 0.0)
        for one in (one for mode in self.modes or [] if mode.settled for one in mode.units):
            for p in one.parameters:
                p.grad = None  # so that the base optimiser passes over numbers that are to stay
        self.base.step()
        with torch.no_grad():
            for p, box in self._boxes.items():
                if p.grad is not None:
                    p.clamp_(*box)

    def _changed_outside(self) -> bool:
        """Whether somebody else has changed the units' weights since the last step."""
        return any(not written.stands(p) for p, written in self._written.items())

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
        """Everything needed to go on bit for bit, beside the model's own state; tensors, numbers and strings only."""
        modes = None
        if self.modes is not None:
            modes = [m.saved() for m in self.modes]
        places = {one.name: self._place_saved(place) for one, place in self._places.items()}
        names = [one.name for one in self.units]
        rule = {"steps": self.steps, "refused": self.refused, "units": names, "places": places, "modes": modes}
        rule |= {"losses": [loss.clone() for loss in self._losses], "rates": list(self._pace.largest)}
        return {**self.base.state_dict(), "rule": rule}

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
            by_name = {one.name: one for one in self.units}
            for name, place in rule["places"].items():
                self._places[by_name[name]] = self._place_loaded(place)
            kept = gates_of_stacks(self._candidates(), self._places)
            self.modes = make_modes(self._places, kept, self.settings)
            for mode, saved in zip(self.modes, rule["modes"], strict=True):
                mode.load(saved)
        self._losses = deque((loss.clone() for loss in rule.get("losses", [])), maxlen=RECENT)
        self._pace.largest = [float(rate) for rate in rule.get("rates", [])]
        self.steps, self.refused = int(rule["steps"]), int(rule["refused"])
        self.base.load_state_dict({k: v for k, v in state_dict.items() if k != "rule"})
        self.param_groups, self.state = self.base.param_groups, self.base.state

    def _place_saved(self, place: Place) -> dict[str, Any]:
        names = {id(p): name for name, p in self.model.named_parameters()}
        line = None if place.line is None else [names.get(id(p)) for p in place.line]
        return {
            "position": place.position.name,
            "below": place.learned_below,
            "above": place.learned_above,
            "straight": place.straight,
            "line": line,
        }

    def _place_loaded(self, saved: Mapping[str, Any]) -> Place:
        line = saved["line"]
        if line is not None:
            line = None if None in line else GainAndBias(*(self.model.get_parameter(name) for name in line))
        return Place(Position[saved["position"]], saved["below"], saved["above"], saved["straight"], line)

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


def gates_of_stacks(candidates: Sequence[StaticMixture], places: Mapping[Ruled, Place]) -> list[StaticMixture]:
    """Those of some gates around which there are only units of the rule; none if there are too many to try."""
    stacked = {one.unit for one, place in places.items() if place.position is Position.STACK}
    kept = [gate for gate in candidates if searchable(gate, stacked)]
    return kept if len(kept) <= MOST_GATES else []


def make_modes(places: Mapping[Ruled, Place], gates_between: Sequence[StaticMixture], settings: Settings) -> list[Mode]:
    """How units are treated: a stack as a whole, others one by one."""
    modes: list[Mode] = []
    for one, place in places.items():
        if place.position is Position.OUTPUT:
            modes.append(AtOutput(one, settings))
        elif place.position is Position.BETWEEN:
            modes.append(Between(one, place, settings))
    stacked = [one for one, place in places.items() if place.position is Position.STACK]
    if stacked:
        ways = routes(gates_between, stacked)
        modes.append(GatedStack(stacked, ways, settings) if gates_between else Stack(ways[0], settings))
    return modes
