"""A unit between learned layers. They can absorb a gain, a bias, even a power, so errors do not tell whether a grid
point is right; correlations do. And because the neighbours have to follow, the unit glides to the grid, slowly."""

from __future__ import annotations

import torch
from torch import Tensor

from nalm.core.form import Sum
from nalm.core.weight import nearest
from nalm.training.rule.evidence import Evidence
from nalm.training.rule.joint import joint_share, propose
from nalm.training.rule.track import Fit, Track

ENOUGH = 128  # samples for a correlation of their own; smaller batches are averaged
FOLLOW = 0.05  # largest change of a number per step that the neighbours can follow
RESCALE = 0.05  # share of a row's (logarithmic) distance to scale 1 that is removed per step
ARRIVED = 0.02  # distance to the grid from which a row is held on it


def learn_between(track: Track, evidence: Evidence, ok: Tensor) -> None:
    """One step: along the data, towards the grid, or none where the grid is held."""
    s = track.settings
    fit = track.fit(evidence, ok, intercept=True)
    goal = aim(track.numbers, track.grid)
    doubt = unexplained(track, fit, evidence, goal, ok)
    streak = torch.where(doubt > s.doubts, track.streak + 1, 0)
    released = track.snapped & (streak >= s.patience)
    held = track.snapped & ~released
    near = (doubt < s.explains) & s.snap
    glide = torch.cat([s.glide * (goal - track.numbers), torch.zeros_like(fit.change[..., -1:])], -1)
    data = _calm(track, s.slow * _data_step(track, fit, evidence, ok))
    step = torch.where(near.unsqueeze(-1), glide, data)
    track.move(torch.where(held.unsqueeze(-1), 0.0, step), ok)
    arrived = near & ((track.numbers - goal).abs().amax(-1) < ARRIVED)
    track.keep(ok, "numbers", torch.where((arrived & ~held).unsqueeze(-1), goal, track.numbers))
    track.keep(ok, "snapped", held | arrived)
    track.keep(ok, "streak", torch.where(released, 0, streak))


def aim(numbers: Tensor, grid: tuple[float, ...]) -> Tensor:
    """The grid point in the direction of each row: layers around it may have given it another scale."""
    largest = max(abs(g) for g in grid)
    scale = numbers.abs().amax(-1, keepdim=True).clamp(min=1e-12)
    return nearest(numbers * largest / scale, grid)


def unexplained(track: Track, fit: Fit, evidence: Evidence, goal: Tensor, ok: Tensor) -> Tensor:
    """The share of the implied target's variance that a grid point leaves, whatever gain and bias follow.

    A product is also asked on logarithms, where a power below or above it does not matter either.
    """
    h = evidence.curvature
    value = track.form.exact(goal, evidence.x)
    shares = [_share(track, "plain", evidence.implied, value, h / h.sum(-1, keepdim=True).clamp(min=1e-300), ok)]
    if not isinstance(track.form, Sum):
        shares.append(_share(track, "link", fit.target, goal @ fit.features, fit.weight, ok, positive=True))
    alive = (goal != 0).any(-1)
    return torch.where(alive, torch.stack(shares).amin(0), 1.0)


def _share(track: Track, name: str, a: Tensor, b: Tensor, weight: Tensor, ok: Tensor, positive: bool = False) -> Tensor:
    usable = a.isfinite() & b.isfinite()
    weight, a, b = (torch.where(usable, v, 0.0) for v in (weight, a, b))
    batch = torch.stack([(weight * v).sum(-1) for v in (a, b, a * a, b * b, a * b)], -1)
    memory = max(0.0, 1 - a.shape[-1] / ENOUGH)
    # the first two moments of a handful of samples say nothing: average them over batches
    old = track.moments.get(name, batch)
    mean = torch.where(ok.reshape((*ok.shape, 1, 1)), memory * old + (1 - memory) * batch, old)
    track.moments[name] = mean
    ma, mb, aa, bb, ab = mean.unbind(-1)
    covariance, variances = ab - ma * mb, (aa - ma * ma) * (bb - mb * mb)
    share = 1 - covariance.square() / variances.clamp(min=1e-300)
    wrong = (variances <= 0) | (covariance <= 0 if positive else torch.zeros_like(variances, dtype=torch.bool))
    return torch.where(wrong, 1.0, share)


def _calm(track: Track, step: Tensor) -> Tensor:
    """A step that the neighbours can follow, and that does not drift along the scale which they can absorb."""
    step = step * (FOLLOW / step[..., :-1].abs().amax(-1, keepdim=True).clamp(min=FOLLOW))
    size = track.numbers.abs().amax(-1, keepdim=True).clamp(min=1e-3)
    pull = track.numbers * (size.pow(-RESCALE) - 1)
    return torch.cat([step[..., :-1] + pull, step[..., -1:]], -1)


def _data_step(track: Track, fit: Fit, evidence: Evidence, ok: Tensor) -> Tensor:
    """Rows of a sum that share an output move by their joint curvature, all others by their own regression."""
    if track.numbers.shape[-2] == 1 or not isinstance(track.form, Sum):
        return fit.change
    proposal = propose(track, evidence, ok, evidence.x.shape[-1], torch.zeros_like(track.age))
    share = joint_share([proposal], torch.full_like(track.age, torch.inf), 1.0, 1.0)
    return torch.cat([share[..., None, None] * proposal.change, fit.change[..., -1:]], -1)
