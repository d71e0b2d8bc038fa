"""What the rule remembers about one unit, and the steps it can take."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor

from nalm.core.form import Sum
from nalm.core.unit import Unit
from nalm.core.weight import nearest
from nalm.training.rule.evidence import Evidence
from nalm.training.rule.regression import CLIP, information, safe_share, solve
from nalm.training.rule.settings import Settings
from nalm.training.rule.watch import Watched

EARLY_STEP = 0.5  # of any number, while the batches seen so far cannot determine all of them
FARTHEST = 8.0  # so many times the grid: larger exponents overflow, larger coefficients belong to separable classes...
ENOUGH = 16.0  # ... once there are so many samples per coefficient; before, they may be a detour
ROUNDING = 32.0  # errors below this many units of rounding are none


class Fit(NamedTuple):
    """A regression's ingredients, `(*runs, in or out, samples)`, and its step `(*runs, out, in + 1)`."""

    features: Tensor
    target: Tensor
    error: Tensor
    weight: Tensor
    change: Tensor


class Track:
    """One unit under the rule. All tensors are float64 with the runs axes in front.

    Attributes:
        numbers: free coefficients or exponents `(*runs, out, in)`.
        snapped: rows whose forward pass uses the nearest grid values `(*runs, out)`.
        streak: by how many steps more the snap test spoke for a change than against it `(*runs, out)`.
        offset: the intercept nobody uses: what layers above still have to absorb `(*runs, out)`.
        moments: running second moments by name, made when first needed.
        age: running share of the moments that comes from data `(*runs,)`; the rest is their start at zero.
        seen: running number of samples behind the moments `(*runs,)`.
    """

    STATE = ("numbers", "snapped", "streak", "offset", "age", "seen", "written")

    def __init__(self, name: str, unit: Unit, settings: Settings) -> None:
        assert unit.form is not None
        self.name, self.unit, self.form, self.settings = name, unit, unit.form, settings
        self.grid = self.form.grid(unit)
        self.reset()

    def reset(self) -> None:
        """Begin anew from the weights the unit holds."""
        self.numbers = self.form.read(self.unit).double()
        out = self.numbers.shape[-2]
        runs, new = self.unit.runs, self.numbers.new_zeros
        self.snapped = torch.zeros(*runs, out, dtype=torch.bool, device=self.numbers.device)
        self.streak = torch.zeros_like(self.snapped, dtype=torch.int64)
        self.offset = new(*runs, out)
        self.moments: dict[str, Tensor] = {}
        self.stacked = False  # whether other units share its output
        self.age = new(runs)
        self.seen = new(runs)
        self.written = self.form.read(self.unit)

    def changed(self) -> bool:
        """Whether somebody else has changed the unit's weights since the last step."""
        return not torch.equal(self.form.read(self.unit), self.written)

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

    @property
    def label(self) -> str:
        """Its name in messages."""
        return self.name or "the model"

    @property
    def trainable(self) -> bool:
        """Whether it is not frozen, as units may be and cease to be at any time."""
        return any(p.requires_grad for p in self.unit.parameters(recurse=False))

    def watched(self) -> Watched:
        """For the next forward pass; in a stack gradients are taken at the free numbers, which a wrong grid point
        would lead astray."""
        if self.stacked:
            return Watched(self.unit, self.form, self.numbers, self.whole)
        return Watched(self.unit, self.form, self.used, self.snapped)

    @property
    def whole(self) -> Tensor:
        """Rows of numbers that lie on the grid `(*runs, out)`."""
        return (self.numbers == self.rounded).all(-1)

    def state(self) -> dict[str, Any]:
        """Everything to remember, as tensors."""
        own = {name: getattr(self, name).clone() for name in self.STATE}
        return {
            **own,
            "stacked": self.stacked,
            "moments": {name: moment.clone() for name, moment in self.moments.items()},
        }

    # -- steps ---------------------------------------------------------------------------------------------------

    def keep(self, ok: Tensor, name: str, value: Tensor) -> None:
        """Set a piece of state in the runs that are `ok`."""
        old = getattr(self, name)
        setattr(self, name, torch.where(_aligned(ok, old), value, old))

    def older(self, samples: int, unknowns: int, ok: Tensor) -> float:
        """Begin a step: how much running moments keep, so that they rest on enough samples in batches of any size."""
        memory = max(self.settings.memory, 1 - samples / (8 * unknowns))
        self.keep(ok, "age", memory * self.age + 1 - memory)
        self.keep(ok, "seen", memory * self.seen + samples)
        return memory

    def running(self, name: str, batch: Tensor, memory: float, ok: Tensor) -> Tensor:
        """Update a running moment; its value without the bias towards its start at zero."""
        old = self.moments.get(name, torch.zeros_like(batch))
        value = torch.where(_aligned(ok, old), memory * old + (1 - memory) * batch, old)
        self.moments[name] = value
        return value / _aligned(self.age, batch).clamp(min=1e-12)

    def direct(self, evidence: Evidence, possible: Tensor, ok: Tensor) -> None:
        """The unit is the network's output: one step of each row's regression, and a choice between it and the grid.

        Args:
            possible: rows for which the grid may be chosen `(*runs, out)`.
        """
        fit = self.fit(evidence, ok, intercept=not isinstance(self.form, Sum))
        self._settle(fit, possible, ok)
        self.move(fit.change, ok)

    def fit(self, evidence: Evidence, ok: Tensor, intercept: bool) -> Fit:
        """Regress each row's implied target on the features, by one safe step from the present numbers.

        The intercept tolerates curvature that is wrong by a factor, and gains that layers above have yet to learn.
        """
        f = self.form.features(evidence.x)
        target = self.form.link(evidence.implied)
        weight = information(self.form, evidence)
        weight = weight / weight.sum(-1, keepdim=True).clamp(min=1e-300)  # (*runs, out, samples), sums to 1
        error = target - self.numbers @ f
        unexplained = error - self.offset.unsqueeze(-1)
        if not isinstance(self.form, Sum):
            unexplained = unexplained.clamp(-CLIP, CLIP)
        design = torch.cat([f, torch.ones_like(f[..., :1, :])], -2) if intercept else f
        weighted = weight.unsqueeze(-2) * design.unsqueeze(-3)  # (*runs, out, in or in + 1, samples)
        batch = weighted @ design.mT.unsqueeze(-3)
        memory = self.older(design.shape[-1], design.shape[-2], ok)
        moment = self.running("design", batch, memory, ok)
        right = weighted @ unexplained.unsqueeze(-1)
        change = solve(moment, right, self.settings.damping).squeeze(-1)
        change = change * safe_share(change, right.squeeze(-1), batch).unsqueeze(-1)
        change = change if intercept else torch.nn.functional.pad(change, (0, 1))
        early = (self.seen < 2 * design.shape[-2])[..., None, None]  # too few samples for what is asked
        largest = change[..., :-1].abs().amax(-1, keepdim=True)
        change = torch.where(early & (largest > EARLY_STEP), change * EARLY_STEP / largest, change)
        return Fit(f, target, error, weight, change)

    def move(self, change: Tensor, ok: Tensor) -> None:
        """Add a step to numbers and offset."""
        ok = ok & change.isfinite().all(-1).all(-1)
        bound = torch.full_like(self.numbers, FARTHEST * max(abs(g) for g in self.grid))
        if isinstance(self.form, Sum):
            few = self.seen < ENOUGH * self.numbers.shape[-1]
            bound = torch.where(_aligned(few, bound), torch.inf, bound)
        self.keep(ok, "numbers", (self.numbers + change[..., :-1]).clamp(-bound, bound))
        self.keep(ok, "offset", self.offset + change[..., -1])

    def _settle(self, fit: Fit, possible: Tensor, ok: Tensor) -> None:
        """Use the grid where it explains the implied targets better than the free numbers, and only while it does."""
        s = self.settings
        free = (fit.weight * fit.error.square()).sum(-1)
        rounded = (fit.weight * (fit.target - self.rounded @ fit.features).square()).sum(-1)
        floor = torch.full_like(free, (ROUNDING * torch.finfo(self.written.dtype).eps) ** 2)
        if isinstance(self.form, Sum):  # a logarithm's rounding error has no scale, a sum's has that of its terms
            floor = floor * (fit.weight * (self.rounded.abs() @ fit.features.abs()).square()).sum(-1)
        better = torch.where(self.snapped, rounded > free + floor, rounded <= free)  # speaks for a change
        clearly = torch.where(
            self.snapped, rounded > s.decisive * free + floor, (s.decisive * rounded < free) | (rounded < floor)
        )
        possible = possible & (self.rounded != 0).any(-1)  # a row of zeros would end all learning through it
        streak = (self.streak + torch.where(better, 1, -1)).clamp(min=0)
        change = clearly | (streak >= s.patience)
        self.keep(ok, "streak", torch.where(change, 0, streak))
        self.keep(ok, "snapped", (self.snapped ^ change) & possible & s.snap)

    def load(self, state: Mapping[str, Any]) -> None:
        """Take over a saved state; the unit's own weights are loaded with the model."""
        for name in self.STATE:
            old, new = getattr(self, name), state[name]
            if new.shape != old.shape:
                raise ValueError(f"{self.label}, {name}: saved {tuple(new.shape)}, this unit needs {tuple(old.shape)}.")
            setattr(self, name, new.to(old).clone())
        self.moments = {name: moment.to(self.numbers).clone() for name, moment in state["moments"].items()}
        self.stacked = bool(state["stacked"])


def _aligned(runs: Tensor, like: Tensor) -> Tensor:
    """A tensor of shape `runs` with as many axes as `like`."""
    return runs.reshape((*runs.shape, *[1] * (like.dim() - runs.dim())))
