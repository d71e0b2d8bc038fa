"""What the rule remembers about one unit, and the steps it can take."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import torch
from torch import Tensor

from nalm.form import Sum, nearest
from nalm.rule.evidence import Evidence
from nalm.rule.regression import CLIP, information, safe_share, solve
from nalm.rule.settings import Settings
from nalm.rule.watch import Watched
from nalm.unit import Unit

EARLY_STEP = 0.5  # of any number, while the batches seen so far cannot determine all of them
FARTHEST = 8.0  # exponents beyond so many times the grid only overflow
ROUNDING = 32.0  # errors below this many units of rounding are none


class Track:
    """One unit under the rule. All tensors are float64 with the runs axes in front.

    Attributes:
        numbers: free coefficients or exponents `(*runs, out, in)`.
        snapped: rows whose forward pass uses the nearest grid values `(*runs, out)`.
        streak: for how many steps in a row the snap test spoke for a change `(*runs, out)`.
        moment: running second moments of the features, an intercept last `(*runs, out, in + 1, in + 1)`.
        offset: the intercept nobody uses: what layers above still have to absorb `(*runs, out)`.
        output_moment: running curvature between outputs `(*runs, out, out)`.
        age: running share of the moments that comes from data `(*runs,)`; the rest is their start at zero.
        seen: running number of samples behind the moments `(*runs,)`.
    """

    STATE = ("numbers", "snapped", "streak", "moment", "offset", "output_moment", "age", "seen")

    def __init__(self, name: str, unit: Unit, settings: Settings) -> None:
        assert unit.form is not None
        self.name, self.unit, self.form, self.settings = name, unit, unit.form, settings
        self.grid = self.form.grid(unit)
        self.reset()

    def reset(self) -> None:
        """Begin anew from the weights the unit holds."""
        self.numbers = self.form.read(self.unit).double()
        out, inputs = self.numbers.shape[-2:]
        runs, new = self.unit.runs, self.numbers.new_zeros
        self.snapped = torch.zeros(*runs, out, dtype=torch.bool, device=self.numbers.device)
        self.streak = torch.zeros_like(self.snapped, dtype=torch.int64)
        self.moment = new(*runs, out, inputs + 1, inputs + 1)
        self.offset = new(*runs, out)
        self.output_moment = new(*runs, out, out)
        self.age = new(runs)
        self.seen = new(runs)
        self.written = self.form.read(self.unit)

    def refresh(self) -> None:
        """Notice weights that somebody else has changed since the last step."""
        if not torch.equal(self.form.read(self.unit), self.written):
            self.reset()

    def write(self) -> None:
        """Store in the unit what its forward pass uses."""
        self.form.write(self.unit, self.used)
        self.written = self.form.read(self.unit)

    @property
    def rounded(self) -> Tensor:
        """The nearest grid point."""
        return nearest(self.numbers, self.grid)

    @property
    def used(self) -> Tensor:
        """The numbers of the forward pass."""
        return torch.where(self.snapped.unsqueeze(-1), self.rounded, self.numbers)

    def watched(self) -> Watched:
        return Watched(self.unit, self.form, self.used, self.snapped)

    def state(self) -> Iterator[tuple[str, Tensor]]:
        return ((name, getattr(self, name)) for name in self.STATE)

    # -- steps ---------------------------------------------------------------------------------------------------

    def keep(self, ok: Tensor, name: str, value: Tensor) -> None:
        """Set a piece of state in the runs that are `ok`."""
        old = getattr(self, name)
        mask = ok.reshape(*ok.shape, *[1] * (old.dim() - ok.dim()))
        setattr(self, name, torch.where(mask, value, old))

    def older(self, samples: int, unknowns: int, ok: Tensor) -> float:
        """Begin a step: how much running moments keep, so that they rest on enough samples in batches of any size."""
        memory = max(self.settings.memory, 1 - samples / (8 * unknowns))
        self.keep(ok, "age", memory * self.age + 1 - memory)
        self.keep(ok, "seen", memory * self.seen + samples)
        return memory

    def running(self, name: str, batch: Tensor, memory: float, ok: Tensor) -> Tensor:
        """Update a running moment; its value without the bias towards its start at zero."""
        self.keep(ok, name, memory * getattr(self, name) + (1 - memory) * batch)
        value: Tensor = getattr(self, name)
        return value / self.age.clamp(min=1e-12).reshape(*self.age.shape, *[1] * (batch.dim() - self.age.dim()))

    def regress(self, evidence: Evidence, ok: Tensor, intercept: bool, pace: float = 1.0) -> tuple[Tensor, ...]:
        """One step of each row's regression.

        Returns:
            Mean squared errors `(*runs, out)` of the free numbers, of the rounded ones, and what rounding may cause.
        """
        f = self.form.features(evidence.x)
        target = self.form.link(evidence.implied)
        weight = information(self.form, evidence)
        weight = weight / weight.sum(-1, keepdim=True).clamp(min=1e-300)  # (*runs, out, samples), sums to 1
        error = target - self.numbers @ f
        unexplained = error - self.offset.unsqueeze(-1)
        if not isinstance(self.form, Sum):
            unexplained = unexplained.clamp(-CLIP, CLIP)
        design = torch.cat([f, torch.full_like(f[..., :1, :], float(intercept))], -2)
        weighted = weight.unsqueeze(-2) * design.unsqueeze(-3)  # (*runs, out, in + 1, samples)
        batch = weighted @ design.mT.unsqueeze(-3)
        memory = self.older(design.shape[-1], design.shape[-2], ok)
        moment = self.running("moment", batch, memory, ok)
        right = weighted @ unexplained.unsqueeze(-1)
        change = solve(moment, right, self.settings.damping).squeeze(-1)
        change = change * pace * safe_share(change, right.squeeze(-1), batch).unsqueeze(-1)
        known = (self.seen < 2 * design.shape[-2])[..., None, None]  # too few samples for what is asked
        largest = change[..., :-1].abs().amax(-1, keepdim=True)
        change = torch.where(known & (largest > EARLY_STEP), change * EARLY_STEP / largest, change)
        results = self._errors(evidence, f, target, error, weight)
        ok = ok & change.isfinite().all(-1).all(-1)
        bound = math.inf if isinstance(self.form, Sum) else FARTHEST * max(abs(g) for g in self.grid)
        self.keep(ok, "numbers", (self.numbers + change[..., :-1]).clamp(-bound, bound))
        self.keep(ok, "offset", self.offset + change[..., -1])
        return results

    def _errors(self, evidence: Evidence, f: Tensor, target: Tensor, error: Tensor, weight: Tensor) -> tuple[Tensor, ...]:
        rounded = (weight * (target - self.rounded @ f).square()).sum(-1)
        floor = torch.tensor((ROUNDING * torch.finfo(self.written.dtype).eps) ** 2, dtype=f.dtype, device=f.device)
        if isinstance(self.form, Sum):  # a logarithm's rounding error has no scale, a sum's has that of its terms
            floor = floor * (weight * (self.rounded.abs() @ f.abs()).square()).sum(-1)
        return (weight * error.square()).sum(-1), rounded, floor

    def settle(self, free: Tensor, rounded: Tensor, floor: Tensor, ok: Tensor) -> None:
        """Use the grid where it explains the implied targets better than the free numbers, and only while it does."""
        s = self.settings
        better = torch.where(self.snapped, rounded > free + floor, rounded <= free)  # speaks for a change
        clearly = torch.where(
            self.snapped, rounded > s.decisive * free + floor, (s.decisive * rounded < free) | (rounded < floor)
        )
        possible = (self.rounded != 0).any(-1)  # a row of zeros would end all learning through it
        streak = torch.where(better, self.streak + 1, 0)
        change = clearly | (streak >= s.patience)
        self.keep(ok, "streak", torch.where(change, 0, streak))
        self.keep(ok, "snapped", (self.snapped ^ change) & possible & s.snap)

    def load(self, state: Mapping[str, Tensor]) -> None:
        """Take over a saved state; the unit's own weights are loaded with the model."""
        for name, old in self.state():
            new = state[name]
            if new.shape != old.shape:
                raise ValueError(f"{self.name}.{name}: saved {tuple(new.shape)}, this unit needs {tuple(old.shape)}.")
            setattr(self, name, new.to(old).clone())
        self.written = self.form.read(self.unit)
