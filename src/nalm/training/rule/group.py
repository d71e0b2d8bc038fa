"""A stack of units and nothing else: all move together, and are tried on the grid together, on the loss itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from nalm.core.form import Sum
from nalm.core.start import Fan, glorot_bound
from nalm.core.uniforms import uniforms
from nalm.training.rule.evidence import Evidence
from nalm.training.rule.factors import Factors
from nalm.training.rule.joint import joint_share, propose
from nalm.training.rule.settings import Settings
from nalm.training.rule.track import Track
from nalm.training.rule.watch import Watched, same_memory

ROUND = 4  # attempts of the same length
ROUNDING = 8.0  # units of rounding; on narrow ranges a wrong grid point may be off by as little as forty
REDRAW_STREAM = 0x5EED00
SMOOTH = 0.95  # of the running mean of the loss's logarithm
PROGRESS = 0.2  # a smaller decrease of it is none
SEARCH = ("attempt", "seeds", "level", "best", "idle")
Evaluate = Callable[[Sequence[Watched]], Tensor]


@dataclass(frozen=True)
class Batch:
    """What the optimiser saw in one step.

    Attributes:
        output: of the network.
        probes: vectors at the output whose squares are the curvature of the loss.
        loss: of shape `runs`.
        ok: which runs may learn from it.
        evaluate: the loss on the same batch if some units computed otherwise.
    """

    output: Tensor
    probes: Sequence[Tensor]
    loss: Tensor
    ok: Tensor
    evaluate: Evaluate

    @property
    def size(self) -> Tensor:
        """Sum over the samples of curvature times squared output `(*runs,)`."""
        runs = self.loss.shape
        return torch.stack([(p * self.output).reshape(*runs, -1).double().square().sum(-1) for p in self.probes]).sum(0)


class Group:
    """The units of a stack under the rule.

    Attributes:
        started: whether the units have been seen at work.
        factors: products of sums among them.
        attempt: which attempt each run is in `(*runs,)`.
        seeds: of the redraws `(*runs,)`.
        level: running mean of the loss's logarithm in this attempt `(*runs,)`.
        best: the lowest level that counted as progress `(*runs,)`.
        idle: steps without progress, or 0 while a grid point is held that the free numbers agree with `(*runs,)`.
    """

    attempt: Tensor
    seeds: Tensor
    level: Tensor
    best: Tensor
    idle: Tensor

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.started = False
        self.factors: list[Factors] = []

    def learn(self, seen: Sequence[tuple[Track, Watched, Evidence]], batch: Batch) -> Tensor:
        """One step of all units; the loss of what they hold, `(*runs,)`."""
        tracks = [track for track, _, _ in seen]
        if not self.started:
            self._begin(tracks, [watched for _, watched, _ in seen])
            if self.factors:
                return batch.loss.detach()  # the exponents were just set: what was seen belongs to others
        evidence = {id(track): told for track, _, told in seen}
        fixed = {id(pair.product) for pair in self.factors}
        movers = [t for t in tracks if id(t) not in fixed]
        loss, done, held = self._settle(movers, tracks, batch)
        self._move(movers, evidence, batch, batch.ok & ~done)
        for pair in self.factors:
            pair.balance(self.settings.balance, batch.ok)
        self._again(movers, batch, held)
        return loss

    def _begin(self, tracks: Sequence[Track], watched: Sequence[Watched]) -> None:
        numbers, self.started = tracks[0].numbers, True
        self.factors = find_factors(tracks, watched)
        self.attempt = torch.zeros(tracks[0].unit.runs, dtype=torch.int64, device=numbers.device)
        self.idle = torch.zeros_like(self.attempt)
        self.level = torch.zeros_like(self.attempt, dtype=torch.float64)
        self.best = torch.full_like(self.level, torch.inf)
        # a run's redraws depend on its own first weights only, not on who shares its cohort
        self.seeds = numbers.float().sum((-2, -1)).view(torch.int32).to(torch.int64) & 0xFFFFFFFF
        for pair in self.factors:
            pair.open(self.attempt, self.attempt == 0)

    def _again(self, movers: Sequence[Track], batch: Batch, held: Tensor) -> None:
        """Begin a new attempt where the loss has ceased to fall and no grid point is held; later ones wait longer."""
        now = batch.loss.detach().double().clamp(min=1e-300).log()
        level = torch.where(self.best.isinf(), now, SMOOTH * self.level + (1 - SMOOTH) * now)
        fell = level < self.best - PROGRESS
        idle = torch.where(fell | held, 0, self.idle + 1)
        kinds = max([ROUND, *(len(pair.patterns) for pair in self.factors)])
        stuck = batch.ok & (idle > self.settings.attempt * (1 + self.attempt // kinds))
        self.level = torch.where(batch.ok, level, self.level)
        self.best = torch.where(stuck, torch.inf, torch.where(batch.ok & fell, level, self.best))
        self.idle = torch.where(stuck, 0, torch.where(batch.ok, idle, self.idle))
        if not bool(stuck.any()):
            return
        self.attempt = self.attempt + stuck
        for index, track in enumerate(movers):
            out, inputs = track.numbers.shape[-2:]
            u = uniforms(self.seeds, REDRAW_STREAM + index, self.attempt[..., None, None, None], (out, inputs))
            bound = min(0.5, glorot_bound(Fan(inputs, out)))
            track.keep(stuck, "numbers", bound * (2 * u.to(track.numbers) - 1))
            track.keep(stuck, "snapped", torch.zeros_like(track.snapped))
        for pair in self.factors:
            pair.open(self.attempt, stuck)

    def state(self) -> dict[str, Any] | None:
        """Which pairs were found and how far the search is."""
        if not self.started:
            return None
        pairs = [(p.rows.name, p.product.name, p.above.name if p.above else None) for p in self.factors]
        return {"pairs": pairs, **{name: getattr(self, name).clone() for name in SEARCH}}

    def load(self, state: Mapping[str, Any] | None, tracks: Mapping[str, Track]) -> None:
        """Take over a saved search."""
        self.started, self.factors = state is not None, []
        if state is not None:
            for rows, product, top in state["pairs"]:
                self.factors.append(Factors(tracks[rows], tracks[product], tracks[top] if top else None))
            for name in SEARCH:
                setattr(self, name, state[name].clone())

    def _move(self, movers: Sequence[Track], evidence: dict[int, Evidence], batch: Batch, ok: Tensor) -> None:
        samples = batch.output[(0,) * len(batch.loss.shape)].numel() // max(1, self._outputs(batch))
        loss = batch.loss.detach().double()
        unexplained = loss / (loss + batch.size / 2).clamp(min=1e-300)
        proposals = [propose(t, evidence[id(t)], ok, samples, unexplained) for t in movers]
        size = (batch.size / samples).sqrt()
        share = joint_share(proposals, size, self.settings.pace, self.settings.trust)
        finite = torch.stack([p.change.isfinite().all(-1).all(-1) for p in proposals]).all(0)
        for track, proposal in zip(movers, proposals, strict=True):
            numbers = track.numbers + share[..., None, None] * proposal.change
            if not isinstance(track.form, Sum):  # a row with larger exponents dies out, or drowns the others
                bound = 1.5 * max(abs(g) for g in track.grid)
                numbers = numbers.clamp(-bound, bound)
            track.keep(ok & finite, "numbers", numbers)

    @staticmethod
    def _outputs(batch: Batch) -> int:
        return batch.output.shape[-1] if batch.output.dim() > batch.loss.dim() + 1 else 1

    def _settle(self, movers: Sequence[Track], tracks: Sequence[Track], batch: Batch) -> tuple[Tensor, Tensor, Tensor]:
        """Try the grid on the batch: one more forward pass. Gradients are always taken at the free numbers.

        Returns:
            The loss of what the units hold, the runs in which there is nothing left to learn, and those whose free
            numbers agree with the grid: where they are far worse, they are lost, and the grid point may be anything.
        """
        s = self.settings
        tried = [Watched(t.unit, t.form, t.rounded, torch.ones_like(t.snapped)) for t in tracks]
        rounded, free = batch.evaluate(tried).double(), batch.loss.detach().double()
        floor = 0.5 * (ROUNDING * torch.finfo(batch.output.dtype).eps) ** 2 * batch.size
        on = movers[0].snapped.all(-1)  # the units of a run are snapped together
        take = (s.decisive * rounded < free) | (rounded < floor)
        stay = rounded <= free + floor
        possible = torch.stack([self._alive(t) for t in movers]).all(0) & (rounded < s.explains * batch.size)
        snapped = torch.where(on, stay, take) & possible & s.snap
        done = snapped & (rounded < floor)
        for track in movers:
            track.keep(batch.ok & done, "numbers", track.rounded)
            track.keep(batch.ok, "snapped", snapped.unsqueeze(-1).expand_as(track.snapped))
        return (
            torch.where(movers[0].snapped.all(-1), rounded, free).to(batch.loss.dtype),
            done,
            snapped & (done | ~take),
        )

    def _alive(self, track: Track) -> Tensor:
        """Whether no row in use is all zero: that would end all learning through it."""
        nonzero = (track.rounded != 0).any(-1)
        for pair in self.factors:
            if pair.rows is track:
                nonzero = nonzero | (pair.product.numbers == 0).all(-2)
        return nonzero.all(-1)


def find_factors(tracks: Sequence[Track], watched: Sequence[Watched]) -> list[Factors]:
    """All product units whose inputs are exactly the outputs of a sum unit."""
    units = list(zip(tracks, watched, strict=True))
    sums = [(track, one) for track, one in units if isinstance(track.form, Sum)]
    found = []
    for product, one in units:
        below = [rows for rows, other in sums if feeds(other, one)]
        above = [top for top, other in sums if feeds(one, other)]
        if below and not isinstance(product.form, Sum):
            found.append(Factors(below[0], product, above[0] if above else None))
    return found


def feeds(lower: Watched, upper: Watched) -> bool:
    """Whether all that one unit computes, once, is all that another one sees."""
    return len(lower.uses) == len(upper.uses) == 1 and same_memory(upper.uses[0].x, lower.uses[0].y)
