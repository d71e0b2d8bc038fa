"""The search for one formula per row: attempts learn side by side, stuck ones begin anew, exact ones are verified."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from nalm.core.uniforms import uniforms
from nalm.training.formula import angle
from nalm.training.formula.settings import Settings
from nalm.training.formula.shape import Numbers, compute, rounding, slopes, to_grid
from nalm.training.formula.start import draw, draws, fitted

ATTEMPT_STREAM = 0xF0471
EASIER, HARDER = 1 / 5, 4.0  # of the damping after a step that lowered the error, or did not
DAMPING_RANGE = (1e-12, 1e6)
FLOOR = 1e-12  # of the curvature, relative to its mean: directions without any are not moved
HALVED = 0.5


@dataclass(frozen=True)
class Size:
    """What the formulas are made of."""

    terms: int
    factors: int
    inputs: int


class Attempts:
    """Attempts for several rows (outputs, runs) at once; nothing of one row depends on another.

    Attributes:
        numbers: of all attempts, axes `(rows, attempts)`.
        confirmed: fresh batches in a row that agreed with the grid point nearest to each attempt, `(rows, attempts)`.
    """

    def __init__(self, size: Size, seeds: Tensor, settings: Settings) -> None:
        self.size = size
        self.seeds = seeds
        self.settings = settings
        rows, attempts = len(seeds), settings.attempts
        everything = torch.zeros(rows, attempts, draws(size.terms, size.factors, size.inputs), dtype=torch.float64)
        self.numbers = draw(everything, size.terms, size.factors, size.inputs, settings)
        self.damping = torch.full((rows, attempts), settings.damping, dtype=torch.float64)
        self.best = torch.full((rows, attempts), torch.inf, dtype=torch.float64)
        self.loss = self.best.clone()
        self.stalled = torch.full((rows, attempts), settings.longest, dtype=torch.int64)  # so that all begin anew
        self.age = self.stalled.clone()
        self.confirmed = torch.zeros(rows, attempts, dtype=torch.int64)
        self.steps = 0

    def step(self, rows: Tensor, x: Tensor, target: Tensor) -> None:
        """One batch, `(len(rows), in, samples)` and `(len(rows), samples)` in float64, for some of the rows."""
        x, target = x.unsqueeze(1), target.unsqueeze(1)  # the same for all attempts
        self._verify(rows, x, target)
        self._begin_anew(rows, x, target)
        self._learn(rows, x, target)
        self.steps += 1

    def found(self, row: int) -> Numbers | None:
        """The shortest verified formula of a row."""
        good = (self.confirmed[row] >= self.settings.agreements).nonzero().squeeze(-1)
        if not len(good):
            return None
        formulas = to_grid(self.numbers[torch.tensor(row), good])
        return formulas[formulas.symbols().argmin()]

    def leading(self, row: int) -> Numbers:
        """The attempt with the smallest error so far."""
        return self.numbers[torch.tensor(row), self.loss[row].argmin()]

    def _verify(self, rows: Tensor, x: Tensor, target: Tensor) -> None:
        """Compare the grid points near good attempts with a batch they have not seen."""
        near = (self.loss[rows] < self.settings.close).nonzero()
        agree = torch.zeros_like(self.confirmed[rows], dtype=torch.bool)
        if len(near):
            own, attempt = near.T
            formulas = to_grid(self.numbers[rows[own], attempt])
            agree[own, attempt] = confirms(formulas, x[own, 0], target[own, 0], self.settings.rounding)
        self.confirmed[rows] = torch.where(agree, self.confirmed[rows] + 1, 0)

    def _begin_anew(self, rows: Tensor, x: Tensor, target: Tensor) -> None:
        s = self.settings
        stuck = (self.stalled[rows] >= s.patience) | (self.age[rows] >= s.longest)
        stuck &= self.confirmed[rows] == 0
        own, attempt = stuck.nonzero().T
        if not len(own):
            return
        size = self.size
        numbers = draws(size.terms, size.factors, size.inputs)
        u = uniforms(self.seeds[rows], ATTEMPT_STREAM, self.steps, (s.attempts, numbers))[own, attempt].double()
        fresh = fitted(draw(u, size.terms, size.factors, size.inputs, s), x[own, 0], target[own, 0])
        place = (rows[own], attempt)
        self.numbers.put(place, fresh)
        self.damping[place] = s.damping
        self.best[place] = torch.inf
        self.stalled[place] = 0
        self.age[place] = 0

    def _learn(self, rows: Tensor, x: Tensor, target: Tensor) -> None:
        """One Levenberg-Marquardt step of each attempt on the angle between its output and the target."""
        numbers, damping = self.numbers[rows], self.damping[rows]
        now = compute(numbers, x)
        scale = angle.scale_of(target)
        wrong = angle.error(now.output, target, scale).nan_to_num(0.0)
        jacobian = slopes(numbers, x, now) * angle.slope(now.output, scale).unsqueeze(-2)
        jacobian = jacobian.nan_to_num(0.0, 0.0, 0.0)
        curvature = jacobian @ jacobian.mT
        own = curvature.diagonal(dim1=-2, dim2=-1)
        mean = own.mean(-1, keepdim=True)
        least = FLOOR * mean + torch.finfo(own.dtype).tiny
        damped = curvature + torch.diag_embed(damping.unsqueeze(-1) * (own + 1e-3 * mean) + least)
        change = torch.linalg.solve_ex(damped, jacobian @ wrong.unsqueeze(-1))[0].reshape(numbers.sums.shape)
        moved = Numbers(numbers.sums - change, numbers.powers, numbers.open, numbers.outer)
        before = angle.loss(now.output, target, scale)
        after = angle.loss(compute(moved, x).output, target, scale)
        better = (after < before) & moved.sums.isfinite().flatten(2).all(-1)
        self.numbers.sums[rows] = torch.where(better[..., None, None, None], moved.sums, numbers.sums)
        self.damping[rows] = torch.where(better, damping * EASIER, damping * HARDER).clamp(*DAMPING_RANGE)
        loss = torch.where(better, after, before)
        progress = loss < HALVED * self.best[rows]
        self.best[rows] = torch.where(progress, loss, self.best[rows])
        self.stalled[rows] = torch.where(progress, 0, self.stalled[rows] + 1)
        self.loss[rows] = loss
        self.age[rows] += 1


def confirms(formulas: Numbers, x: Tensor, target: Tensor, units: float) -> Tensor:
    """Whether formulas agree with a batch up to `units` of float32 rounding in inputs and targets, in the mean square.

    Args:
        x: `(..., in, samples)`.
        target: `(..., samples)`.
    """
    now = compute(formulas, x)
    allowed = torch.finfo(torch.float32).eps / 2 * (target.abs() + now.output.abs() + rounding(formulas, x, now))
    off = (now.output - target).abs() / allowed
    return off.square().mean(-1).nan_to_num(torch.inf).sqrt() < units
