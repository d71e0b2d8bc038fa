"""A stack of units and nothing else: all move together, and are tried on the grid together, on the loss itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from nalm.form import Sum
from nalm.rule.evidence import Evidence
from nalm.rule.factors import Factors
from nalm.rule.joint import joint_share, propose
from nalm.rule.settings import Settings
from nalm.rule.track import ROUNDING, Track
from nalm.rule.watch import Watched, same_memory

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
    """The units of a stack under the rule."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.factors: list[Factors] | None = None

    def learn(self, seen: Sequence[tuple[Track, Watched, Evidence]], batch: Batch) -> Tensor:
        """One step of all units; the loss of what they hold, `(*runs,)`."""
        tracks = [track for track, _, _ in seen]
        if self.factors is None:
            self.factors = find_factors(tracks, [watched for _, watched, _ in seen])
            if self.factors:
                return batch.loss.detach()  # the exponents were just set: what was seen belongs to others
        evidence = {id(track): told for track, _, told in seen}
        fixed = {id(pair.product) for pair in self.factors}
        movers = [t for t in tracks if id(t) not in fixed]
        for pair in self.factors:
            pair.orient(evidence[id(pair.product)], batch.ok)
        loss = self._settle(movers, tracks, batch)
        self._move(movers, evidence, batch)
        for pair in self.factors:
            pair.balance(self.settings.balance, batch.ok)
            pair.again(self.settings.attempt, batch.ok)
        return loss

    def state(self) -> list[dict[str, Any]] | None:
        """Which pairs were found and how far their search is."""
        return None if self.factors is None else [pair.state() for pair in self.factors]

    def load(self, state: list[dict[str, Any]] | None, tracks: Mapping[str, Track]) -> None:
        """Take over a saved search; the tracks' own state is loaded afterwards."""
        if state is None:
            self.factors = None
            return
        self.factors = [Factors(tracks[s["rows"]], tracks[s["product"]]) for s in state]
        for pair, saved in zip(self.factors, state, strict=True):
            pair.load(saved)

    def _move(self, movers: Sequence[Track], evidence: dict[int, Evidence], batch: Batch) -> None:
        samples = batch.output[(0,) * len(batch.loss.shape)].numel() // max(1, self._outputs(batch))
        loss = batch.loss.detach().double()
        unexplained = loss / (loss + batch.size / 2).clamp(min=1e-300)
        proposals = [propose(t, evidence[id(t)], batch.ok, samples, unexplained) for t in movers]
        size = (batch.size / samples).sqrt()
        share = joint_share(proposals, size, self.settings.pace, self.settings.trust)
        finite = torch.stack([p.change.isfinite().all(-1).all(-1) for p in proposals]).all(0)
        for track, proposal in zip(movers, proposals, strict=True):
            step = share[..., None, None] * proposal.change
            track.keep(batch.ok & finite, "numbers", track.numbers + step)

    @staticmethod
    def _outputs(batch: Batch) -> int:
        return batch.output.shape[-1] if batch.output.dim() > batch.loss.dim() + 1 else 1

    def _settle(self, movers: Sequence[Track], tracks: Sequence[Track], batch: Batch) -> Tensor:
        """Try the grid on the batch: one more forward pass. Gradients are always taken at the free numbers."""
        s = self.settings
        tried = [Watched(t.unit, t.form, t.rounded, torch.ones_like(t.snapped)) for t in tracks]
        rounded, free = batch.evaluate(tried).double(), batch.loss.detach().double()
        floor = 0.5 * (ROUNDING * torch.finfo(batch.output.dtype).eps) ** 2 * batch.size
        on = movers[0].snapped.all(-1)  # the units of a run are snapped together
        take = (s.decisive * rounded < free) | (rounded < floor)
        stay = rounded <= free + floor
        possible = torch.stack([self._alive(t) for t in movers]).all(0) & (rounded < s.explains * batch.size)
        snapped = torch.where(on, stay, take) & possible & s.snap
        for track in movers:
            track.keep(batch.ok, "snapped", snapped.unsqueeze(-1).expand_as(track.snapped))
        return torch.where(movers[0].snapped.all(-1), rounded, free).to(batch.loss.dtype)

    def _alive(self, track: Track) -> Tensor:
        """Whether no row in use is all zero: that would end all learning through it."""
        nonzero = (track.rounded != 0).any(-1)
        for pair in self.factors or []:
            if pair.rows is track:
                nonzero = nonzero | (pair.product.numbers == 0).all(-2)
        return nonzero.all(-1)


def find_factors(tracks: Sequence[Track], watched: Sequence[Watched]) -> list[Factors]:
    """All product units whose inputs are exactly the outputs of a sum unit."""
    found = []
    for product, above in zip(tracks, watched, strict=True):
        for rows, below in zip(tracks, watched, strict=True):
            feeds = len(above.uses) == len(below.uses) == 1 and same_memory(above.uses[0].x, below.uses[0].y)
            if feeds and isinstance(rows.form, Sum) and not isinstance(product.form, Sum):
                found.append(Factors(rows, product))
    return found
