"""Units that share an output: their steps are proposed together and scaled together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

from nalm.training.rule.feedback import Feedback
from nalm.training.rule.regression import MANY, SAMPLES, divided, factored, solve
from nalm.training.rule.ruled import Ruled
from nalm.training.rule.settings import Settings
from nalm.training.rule.state import State, aligned

OUTPUT_DAMPING = 1e-7  # of the curvature between outputs: on narrow ranges rows differ by little, but they do
CAUTION = 0.1  # damping of the features' moments while nothing is explained yet
BLOCK_DAMPING = 1e-3  # of the exponents' joint curvature, which changes with every step
FRESH = 6  # steps for which the moment of many inputs and its factor are used; each batch is a tenth of it
BEGIN = 10  # steps until it rests on as many batches as it ever will


@dataclass
class StackState(State):
    """The free numbers of a unit in a stack and what is known about it; float64, in no box.

    Attributes:
        numbers: `(*runs, out, in)`.
        age: running share of the moments that comes from data `(*runs,)`; the rest is their start at zero.
        features: running second moment of the features `(*runs, in, in)`, of a linear unit...
        known: ... and its own age, as that of many inputs is renewed less often.
        factor: of its inverse, refreshed now and then.
        outputs: running curvature between the outputs `(*runs, out, out)`, of a linear unit.
        exponents: running curvature between all numbers `(*runs, out in, out in)`, of another unit.
    """

    numbers: Tensor
    age: Tensor
    known: Tensor
    features: Tensor | None = None
    factor: Tensor | None = None
    outputs: Tensor | None = None
    exponents: Tensor | None = None

    @classmethod
    def of(cls, ruled: Ruled) -> Self:
        """Begin with the numbers the unit holds."""
        numbers = ruled.read()
        age = numbers.new_zeros(ruled.unit.runs)
        return cls(numbers, age, age)

    def older(self, samples: int, unknowns: int, ok: Tensor, settings: Settings) -> float:
        """Begin a step: how much running moments keep, so that they rest on enough samples in batches of any size."""
        memory = max(settings.memory, 1 - samples / (SAMPLES * unknowns))
        self.keep(ok, age=memory * self.age + 1 - memory)
        return memory

    def running(self, name: str, batch: Tensor, memory: float, ok: Tensor) -> Tensor:
        """Update a running moment; `batch`, which nobody else may hold, becomes part of it.

        Divided by its age it would be without the bias towards its start at zero.
        """
        old = getattr(self, name)
        new = batch.mul_(1 - memory)
        if old is not None:
            new.add_(old, alpha=memory)
        if not bool(ok.all()):
            new = torch.where(aligned(ok, new), new, 0.0 if old is None else old)
        setattr(self, name, new)
        return new


@dataclass(frozen=True)
class Proposal:
    """A step of one unit, and what it would do.

    Attributes:
        change: of the numbers `(*runs, out, in)`.
        slope: the decrease of the loss it promises `(*runs,)`.
        effect: on the network's output, times the square root of the loss's curvature `(probes, *runs, samples)`.
    """

    change: Tensor
    slope: Tensor
    effect: Tensor


@dataclass(frozen=True)
class Situation:
    """What a proposal has to know about the step.

    Attributes:
        ok: which runs may learn.
        samples: of the network, to add up the effects of several uses.
        unexplained: share of the output that is still wrong `(*runs,)`; directions in which inputs hardly vary wait
            until it is small (Levenberg's and Marquardt's damping).
        step: a number that grows by one per step.
        settings: of the rule.
    """

    ok: Tensor
    samples: int
    unexplained: Tensor
    step: int
    settings: Settings


def propose(ruled: Ruled, search: StackState, feedback: Feedback, situation: Situation) -> Proposal:
    """A Gauss-Newton step of a unit in the coordinate of its output."""
    f = ruled.form.features(feedback.x)
    memory = search.older(f.shape[-1], f.shape[-2], situation.ok, situation.settings)
    if ruled.form.linear:
        change = _factored(search, feedback, f, memory, situation)
        moved = change @ f
    else:
        slopes = ruled.form.slopes(search.numbers, feedback.x)
        change = _block(search, feedback, slopes, memory, situation.ok)
        moved = (change.unsqueeze(-1) * slopes).sum(-2)
    effect = (feedback.probe * moved).sum(-2)
    if effect.shape[-1] == situation.samples * feedback.uses:  # what the uses of one unit do to a sample adds up
        effect = effect.reshape(*effect.shape[:-1], feedback.uses, situation.samples).sum(-2)
    return Proposal(change, -(feedback.delta * moved).sum((-2, -1)), effect)


def _factored(search: StackState, feedback: Feedback, f: Tensor, memory: float, situation: Situation) -> Tensor:
    """Curvature as a product of what the outputs and what the inputs know: (E v v')^-1 gradient (E f f')^-1."""
    between = torch.einsum("p...on,p...qn->...oq", feedback.probe, feedback.probe)
    between = search.running("outputs", between, memory, situation.ok)
    gradient = -feedback.delta @ f.mT  # (*runs, out, in)
    left = solve(between, gradient, OUTPUT_DAMPING)
    if search.factor is None or f.shape[-2] < MANY or situation.step <= BEGIN or situation.step % FRESH == 0:
        search.keep(situation.ok, known=memory * search.known + 1 - memory)
        moment = search.running("features", (f @ f.mT).div_(f.shape[-1]), memory, situation.ok)
        search.factor = factored(moment, situation.settings.damping + CAUTION * situation.unexplained)
    # both moments without their bias: it is cheaper to scale what is divided by them
    return divided(search.factor, left.mT).mT * (search.age * search.known)[..., None, None]


def _block(search: StackState, feedback: Feedback, slopes: Tensor, memory: float, ok: Tensor) -> Tensor:
    """The whole curvature of all exponents of a unit together."""
    reach = feedback.probe.unsqueeze(-2) * slopes  # (probes, *runs, out, in, samples)
    flat = reach.flatten(-3, -2)
    moment = search.running("exponents", torch.einsum("p...in,p...jn->...ij", flat, flat), memory, ok)
    moment = moment / aligned(search.age, moment).clamp(min=1e-12)
    gradient = -(feedback.delta.unsqueeze(-2) * slopes).sum(-1)
    # each exponent in its own scale: the terms of a sum may differ in size by orders of magnitude
    size = moment.diagonal(dim1=-2, dim2=-1).clamp(min=1e-300).rsqrt()
    scaled = size.unsqueeze(-1) * moment * size.unsqueeze(-2)
    step = size * solve(scaled, (size * gradient.flatten(-2)).unsqueeze(-1), BLOCK_DAMPING).squeeze(-1)
    return step.reshape(gradient.shape)


def joint_share(proposals: Sequence[Proposal], size: Tensor, pace: float, trust: float) -> Tensor:
    """The share of all steps together that is taken, of shape `runs`.

    Twice the share that is best for the batch would leave its loss as it is: that is the upper limit, beside `pace` and
    a change of the output by `trust` of its `size`.
    """
    slope = torch.stack([p.slope for p in proposals]).sum(0)
    if len({p.effect.shape for p in proposals}) == 1:
        effects = [torch.stack([p.effect for p in proposals]).sum(0)]
    else:  # samples cannot be matched: assume that all effects add up
        effects = [len(proposals) ** 0.5 * p.effect for p in proposals]
    bend = torch.stack([e.square().sum(-1).sum(0) for e in effects]).sum(0)
    change = torch.stack([e.square().sum(0).mean(-1) for e in effects]).sum(0).sqrt()
    best = torch.where(bend > 0, slope / bend, 0.0).clamp(min=0.0)
    near = torch.where(change > 0, trust * size / change, 1.0).clamp(max=1.0)
    return (2 * best).clamp(max=pace) * near
