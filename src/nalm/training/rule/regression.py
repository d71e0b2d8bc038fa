"""A streaming regression: each output's implied targets on the unit's features, one batch at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

from nalm.core.form import Form
from nalm.training.rule.feedback import Feedback
from nalm.training.rule.ruled import Ruled
from nalm.training.rule.settings import Settings
from nalm.training.rule.state import State, aligned

SAMPLES = 8  # per unknown: running moments rest on at least so many, in batches of any size
MANY = 16  # unknowns from which on their second moment, and its factor, cost more than the rest of a step...
FRESH = 16  # ... so they are renewed once in so many steps as soon as they rest on enough samples


def factored(moment: Tensor, damping: float | Tensor) -> Tensor:
    """The Cholesky factor of (moment + damping), both relative to the mean eigenvalue; zero where there is none.

    `damping` is one number or one per run.
    """
    mean = moment.diagonal(dim1=-2, dim2=-1).mean(-1)[..., None, None]
    # of a hundred inputs a moment is large, and new memory costs more than arithmetic: all is done in two tensors
    scaled = (moment / torch.where(mean > 0, mean, 1.0)).nan_to_num_()
    diagonal = scaled.diagonal(dim1=-2, dim2=-1)
    diagonal += damping.unsqueeze(-1) if isinstance(damping, Tensor) else damping
    factor: Tensor
    factor, info = torch.linalg.cholesky_ex(scaled)
    if bool(info.any()):  # rounding has made it indefinite: a millionth of the mean eigenvalue mends that
        failed = (info != 0)[..., None, None]
        diagonal += 1e-6
        again, info = torch.linalg.cholesky_ex(scaled)
        factor = torch.where(failed, again, factor)
        factor = torch.where(failed & (info != 0)[..., None, None], 0.0, factor)
    factor *= mean.clamp(min=0).nan_to_num_(0.0).sqrt()
    return factor


def divided(factor: Tensor, right: Tensor) -> Tensor:
    """right divided by the matrix of a Cholesky factor; zero where there is none."""
    dead = factor.diagonal(dim1=-2, dim2=-1) == 0
    none = bool(dead.any())
    if none:
        dead = dead.any(-1)[..., None, None]
        factor = torch.where(dead, torch.eye(factor.shape[-1], dtype=factor.dtype, device=factor.device), factor)
    # as cholesky_solve does, which copies the factor first
    half = torch.linalg.solve_triangular(factor, right.nan_to_num(), upper=False)
    solution = torch.linalg.solve_triangular(factor.mT, half, upper=True).nan_to_num_(0.0, 0.0, 0.0)
    return torch.where(dead, 0.0, solution) if none else solution


def solve(moment: Tensor, right: Tensor, damping: float | Tensor) -> Tensor:
    """(moment + damping) ^ -1 right, for symmetric moments; zero where there is nothing to divide by."""
    return divided(factored(moment, damping), right)


def safe_share(step: Tensor, slope: Tensor, design: Tensor, weight: Tensor) -> Tensor:
    """The share of a step `(*runs, out, unknowns)` that is best for the batch itself, at most 1, `(*runs, out)`.

    Running moments may be far from those of the batch (small batches, drifting inputs). With the best share the
    distance to a solution all batches agree on never grows, whatever the moments are: steepest descent in their metric.
    """
    bend = (weight * (step @ design).square()).sum(-1)
    return torch.where(bend > 0, (step * slope).sum(-1) / bend, 1.0).clamp(0.0, 1.0)


@dataclass
class Regression(State):
    """What the data want a unit's numbers to be, in its box or not; float64.

    Attributes:
        numbers: the free coefficients or exponents `(*runs, out, in)`.
        offset: the intercept nobody uses: what layers above still have to absorb `(*runs, out)`.
        moment: running second moment of the features `(*runs, out, in or in + 1, the same)`.
        factor: of the moment, by Cholesky.
        age: running share of the moment that comes from data `(*runs,)`; the rest is its start at zero.
        seen: running number of samples behind the moment `(*runs,)`.
        stale: batches since the moment was renewed `(*runs,)`.
    """

    numbers: Tensor
    offset: Tensor
    moment: Tensor | None
    factor: Tensor | None
    age: Tensor
    seen: Tensor
    stale: Tensor

    @classmethod
    def of(cls, ruled: Ruled) -> Self:
        """Begin with the numbers the unit holds."""
        numbers, runs = ruled.read(), ruled.unit.runs
        new = numbers.new_zeros
        return cls(numbers, new(*runs, numbers.shape[-2]), None, None, new(runs), new(runs), new(runs))

    def learn(self, ruled: Ruled, view: View, ok: Tensor, settings: Settings) -> None:
        """One safe step towards the regression of the targets on the features.

        A product's intercept tolerates curvature that is wrong by a factor, and gains that layers above have yet to
        learn.
        """
        f, form = view.features, ruled.form
        error = form.believed(view.target - self.numbers @ f - self.offset.unsqueeze(-1))
        design = torch.cat([f, torch.ones_like(f[..., :1, :])], -2) if view.intercept else f
        unknowns = design.shape[-2]
        factor = self._renewed(design, view.weight, ok, settings)
        right = (view.weight * error) @ design.mT  # (*runs, out, unknowns)
        change = divided(factor, right.unsqueeze(-1)).squeeze(-1)
        change = change * safe_share(change, right, design, view.weight).unsqueeze(-1)
        change = change if view.intercept else torch.nn.functional.pad(change, (0, 1))
        few = self.seen < 2 * unknowns
        if bool(few.any()):
            largest = change[..., :-1].abs().amax(-1, keepdim=True)
            too_far = aligned(few, change) & (largest > settings.early)
            change = torch.where(too_far, change * settings.early / largest, change)
        ok = ok & change.isfinite().all(-1).all(-1)
        # numbers may be of any size: cut one by one they would solve nothing any more
        self.keep(ok, numbers=self.numbers + change[..., :-1], offset=self.offset + change[..., -1])

    def _renewed(self, design: Tensor, weight: Tensor, ok: Tensor, settings: Settings) -> Tensor:
        """The factor of the running moment, with this batch in it if it is time."""
        unknowns, samples = design.shape[-2:]
        if self.factor is not None and unknowns >= MANY:
            enough = self.seen >= SAMPLES * unknowns
            if bool((enough & (self.stale + 1 < FRESH)).all()):
                self.stale = self.stale + 1
                return self.factor
        batch = (weight.unsqueeze(-2) * design.unsqueeze(-3)) @ design.mT.unsqueeze(-3)
        memory = max(settings.memory, 1 - samples / (SAMPLES * unknowns))
        if self.moment is None or self.factor is None:
            self.moment, self.factor = torch.zeros_like(batch), torch.zeros_like(batch)
        moment = memory * self.moment + (1 - memory) * batch
        self.keep(ok, age=memory * self.age + 1 - memory, seen=memory * self.seen + samples, moment=moment)
        unbiased = self.moment / aligned(self.age, batch).clamp(min=1e-12)
        self.keep(ok, factor=factored(unbiased, settings.damping))
        self.stale = torch.zeros_like(self.stale)
        return self.factor


@dataclass(frozen=True)
class View:
    """A batch in the coordinate in which the unit is linear.

    Attributes:
        features: `(*runs, in, samples)`.
        target: the implied targets `(*runs, out, samples)`.
        weight: of each sample, adds up to 1 `(*runs, out, samples)`.
        intercept: whether a constant beside the features is allowed for.
    """

    features: Tensor
    target: Tensor
    weight: Tensor
    intercept: bool

    @classmethod
    def of(cls, form: Form, feedback: Feedback, y: Tensor, intercept: bool) -> Self:
        """What a unit's feedback says; how much each sample knows is judged by some outputs."""
        weight = form.information(y, feedback.implied, feedback.curvature)
        weight = weight / weight.sum(-1, keepdim=True).clamp(min=1e-300)
        return cls(form.features(feedback.x), form.link(feedback.implied), weight, intercept)

    def error(self, numbers: Tensor, offset: Tensor | None = None) -> Tensor:
        """The mean squared error of some numbers, if need be with an intercept, `(*runs, out)`."""
        error = self.target - numbers @ self.features
        if offset is not None:
            error = error - offset.unsqueeze(-1)
        return (self.weight * error.square()).sum(-1)
