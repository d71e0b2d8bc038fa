"""A stack of units and nothing else: they are searched together, beside the model, on passes with stand-ins.

The search needs a freedom that the units do not have: sums outside their box, exponents that move smoothly. So it lives
in the optimiser's state. The units hold the best model they can represent that was found so far, by the search or by
the base optimiser.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Self, final

import torch
from torch import Tensor

from nalm.core.start import Fan, glorot_bound
from nalm.core.uniforms import uniforms
from nalm.training.rule.batch import Batch, Pass
from nalm.training.rule.factors import Factors, Member, find_pairs
from nalm.training.rule.feedback import Feedback, gather
from nalm.training.rule.graph import Position
from nalm.training.rule.joint import Situation, StackState, joint_share, propose
from nalm.training.rule.mode import Seen, Standing, share, swayed
from nalm.training.rule.progress import ProgressState
from nalm.training.rule.route import Route
from nalm.training.rule.ruled import Ruled, holding
from nalm.training.rule.settings import Settings
from nalm.training.rule.state import State
from nalm.training.rule.watch import Watched

ROUND = 4  # attempts of the same length
ROUNDING = 8.0  # units of rounding; on narrow ranges a wrong grid point may be off by as little as forty
RIGHT = 0.03  # share of the output's mean square that a grid point may leave to be held at all
REDRAW_STREAM = 0x5EED00  # of random numbers: another one than those in which units begin
FARTHEST = 1.5  # times the grid: a row with larger exponents dies out, or drowns the others
SAME = 1.01  # a unit may compute its grid point with a guard against zero (NMRU), and so not quite as its form does
CLEARLY = 0.9  # share of the held loss below which a point of the search is worth storing: not mere noise


@dataclass
class Tries(State):
    """How far the search of each run `(*runs,)` is.

    Attributes:
        attempt: which one.
        seeds: of the redraws.
        snapped: whether the grid point next to the free numbers is believed.
        streak: by how many steps more the test of the grid spoke for a change than against it.
        placed: whether the units hold that grid point.
        unexplained: share of the output that what the units hold leaves unexplained.
    """

    attempt: Tensor
    seeds: Tensor
    snapped: Tensor
    streak: Tensor
    placed: Tensor
    unexplained: Tensor

    @classmethod
    def of(cls, numbers: Tensor, runs: tuple[int, ...]) -> Self:
        """At the beginning; a run's redraws depend on its own first numbers only, not on who shares its cohort."""
        seeds = numbers.float().sum((-2, -1)).view(torch.int32).to(torch.int64) & 0xFFFFFFFF
        zeros = torch.zeros(runs, dtype=torch.int64, device=numbers.device)
        return cls(zeros, seeds, zeros.bool(), zeros.clone(), zeros.bool(), torch.ones_like(zeros, dtype=torch.float64))


@final
class Stack:
    """See the module."""

    position = Position.STACK

    def __init__(self, route: Route, settings: Settings) -> None:
        self.route = route
        self.units: Sequence[Ruled] = route.units
        self.settings = settings
        self.members = [Member(ruled, StackState.of(ruled)) for ruled in route.units]
        self.pairs: list[Factors] | None = None  # until the units have been seen at work
        runs = self.units[0].unit.runs
        self.tries = Tries.of(self.members[0].search.numbers, runs)
        self.progress = ProgressState.of(self.tries.unexplained)
        self.steps = 0
        self.settled = False
        self._writes: list[tuple[Tensor, Sequence[Tensor]]] = []  # runs, and the numbers of each unit

    @property
    def changes(self) -> Tensor:
        """The runs `(*runs,)` in which it has something to store in this step."""
        none = torch.zeros_like(self.tries.placed)
        return torch.stack([none, *(runs for runs, _ in self._writes)]).any(0)

    @property
    def stores(self) -> bool:
        """What was found in this step, until all runs hold a grid point."""
        return not self.settled

    def due(self, step: int, travelled: float, in_company: bool = False) -> bool:
        """Every step; where the units hold an exact grid point it takes no pass of its own."""
        return True

    @property
    def movers(self) -> list[Member]:
        """The units whose numbers move; those above a sum have whole ones."""
        fixed = {id(pair.upper.search) for pair in self.pairs or []}
        return [m for m in self.members if id(m.search) not in fixed]

    def learn(self, seen: Sequence[Seen], batch: Batch) -> None:
        """One step of the search, and what to hold after it."""
        held = batch.plain.loss.detach().double().nan_to_num(torch.inf)
        exact = bool(self.tries.placed.all()) and bool(is_rounding(batch.plain).all())
        if not (exact and self.settled):
            self.rest()
        if exact:
            self.tries.keep(batch.ok, unexplained=share_left(held, batch.plain))
            return
        if self.pairs is None:
            self._begin(batch)
        numbers = [m.search.numbers for m in self.members]
        grid = [m.ruled.nearest(own) for m, own in zip(self.members, numbers, strict=True)]
        whole = [(own == rounded).all(-1) for own, rounded in zip(numbers, grid, strict=True)]
        watched = self._stand_ins(numbers, whole)
        found = batch.again([*watched, *self.route.stand_ins()])
        if not all(one.uses for one in watched):  # this batch does not need all units
            return
        self.steps += 1
        finite = found.finite
        self.tries.keep(finite & batch.ok, unexplained=share_left(held, found))
        done = self._settle(batch, found, held, grid)
        self._store_free(found, held, whole)
        self._move(gather(watched, found), found, finite & ~done)
        for pair in self.pairs or []:
            pair.balance(self.settings.balance, finite)
        self._again(batch, found, held, finite)

    def rest(self) -> None:
        """A step in which nothing is searched; a grid point that is held stays."""
        self._writes, self.settled = [], False

    def _stand_ins(self, numbers: Sequence[Tensor], whole: Sequence[Tensor]) -> list[Watched]:
        """The forms, in the units' places, with some numbers; `whole` are the rows `(*runs, out)` on the grid."""
        told = zip(self.members, numbers, whole, strict=True)
        return [Watched(m.ruled.unit, partial(m.ruled.compute, own, rows)) for m, own, rows in told]

    def _begin(self, batch: Batch) -> None:
        """See who feeds whom."""
        numbers = [m.search.numbers for m in self.members]
        watched = self._stand_ins(numbers, [torch.zeros_like(n[..., 0], dtype=torch.bool) for n in numbers])
        batch.again([*watched, *self.route.stand_ins()])
        self.pairs = find_pairs(self.members, watched)
        for pair in self.pairs:
            pair.open(self.tries.attempt, torch.ones_like(self.tries.snapped))

    def _settle(self, batch: Batch, found: Pass, held: Tensor, grid: Sequence[Tensor]) -> Tensor:
        """Try the grid on the batch; gradients are always taken at the free numbers. The runs with nothing to learn."""
        tries, ok = self.tries, found.finite
        watched = self._stand_ins(grid, [torch.ones_like(g[..., 0], dtype=torch.bool) for g in grid])
        loss, free = (
            one.detach().double() for one in (batch.loss_with([*watched, *self.route.stand_ins()]), found.loss)
        )
        floor = rounding_loss(found)
        said = swayed(tries.snapped, tries.streak, loss, free, floor, self.settings)
        possible = self._alive(grid) & (loss < RIGHT * found.size) & self.settings.snap
        tries.keep(ok, streak=said.streak, snapped=(tries.snapped ^ said.change) & possible)
        done = tries.snapped & (loss < floor)
        if bool(done.any()):
            for member, whole in zip(self.members, grid, strict=True):
                member.search.keep(ok & done, numbers=whole)
        place = tries.snapped & (loss <= SAME * held + floor)
        tries.keep(ok, placed=place)
        self._writes.append((ok & place, grid))
        # while the free numbers are far worse than a grid point that is not exact, they are lost and it may be anything
        self.progress.keep(ok & tries.snapped & (done | ~said.take), idle=torch.zeros_like(self.progress.idle))
        return done

    def _alive(self, grid: Sequence[Tensor]) -> Tensor:
        """Whether no row in use is all zero on the grid: that would end all learning through it."""
        rounded = {id(m): numbers for m, numbers in zip(self.members, grid, strict=True)}
        alive = []
        for member in self.movers:
            nonzero = (rounded[id(member)] != 0).any(-1)
            for pair in self.pairs or []:
                if pair.rows is member:
                    nonzero = nonzero | (pair.upper.search.numbers == 0).all(-2)
            alive.append(nonzero.all(-1))
        return torch.stack(alive).all(0)

    def _store_free(self, found: Pass, held: Tensor, whole: Sequence[Tensor]) -> None:
        """Store free numbers that the units can hold and compute with as the forms do, if they are better."""
        store = (found.loss.detach().double() < CLEARLY * held) & ~self.tries.placed & found.finite
        if not bool(store.any()):
            return
        for member, rows in zip(self.members, whole, strict=True):
            numbers, (low, high) = member.search.numbers, member.ruled.box
            store = store & ((numbers >= low) & (numbers <= high)).all(-1).all(-1)
            if not member.ruled.form.linear:
                store = store & rows.all(-1)
        self._writes.append((store, [m.search.numbers for m in self.members]))

    def _move(self, feedback: Sequence[Feedback | None], found: Pass, ok: Tensor) -> None:
        """A joint step of all numbers that move, in runs that are `ok`."""
        loss, movers = found.loss.detach().double(), self.movers
        told = {id(m): one for m, one in zip(self.members, feedback, strict=True)}
        unexplained = loss / (loss + found.size / 2).clamp(min=1e-300)
        situation = Situation(ok, found.samples, unexplained, self.steps, self.settings)
        steps = [propose(m.ruled, m.search, one, situation) for m in movers if (one := told[id(m)]) is not None]
        size = (found.size / found.samples).sqrt()
        taken = joint_share(steps, size, self.settings.pace, self.settings.trust)
        finite = torch.stack([p.change.isfinite().all(-1).all(-1) for p in steps]).all(0)
        for member, step in zip(movers, steps, strict=True):
            numbers = member.search.numbers + taken[..., None, None] * step.change
            if not member.ruled.form.linear:
                bound = FARTHEST * max(abs(g) for g in member.ruled.grid)
                numbers = numbers.clamp(-bound, bound)
            member.search.keep(ok & finite, numbers=numbers)

    def _again(self, batch: Batch, found: Pass, held: Tensor, ok: Tensor) -> None:
        """Begin a new attempt where the loss has ceased to fall and no grid point is held; later ones wait longer."""
        tries = self.tries
        kinds = max([ROUND, *(len(pair.patterns) for pair in self.pairs or [])])
        self.progress.learn([found.loss.detach()], ok)
        stuck = ok & (self.progress.idle > self.settings.attempt * (1 + tries.attempt // kinds))
        stuck = stuck & (held > self.settings.enough * found.size)
        if not bool(stuck.any()):
            return
        self._keep_best(batch, held, stuck)
        self.progress.restart(stuck)
        tries.keep(stuck, attempt=tries.attempt + 1, snapped=torch.zeros_like(stuck), placed=torch.zeros_like(stuck))
        for index, member in enumerate(self.movers):
            out, inputs = member.search.numbers.shape[-2:]
            u = uniforms(tries.seeds, REDRAW_STREAM + index, tries.attempt[..., None, None, None], (out, inputs))
            bound = min(0.5, glorot_bound(Fan(inputs, out)))
            member.search.keep(stuck, numbers=bound * (2 * u.to(member.search.numbers) - 1))
        for pair in self.pairs or []:
            pair.open(tries.attempt, stuck)

    def _keep_best(self, batch: Batch, held: Tensor, which: Tensor) -> None:
        """At the end of an attempt hold what it found, cut to the boxes, where it is better by the units' formulas."""
        cut = [m.search.numbers.clamp(*m.ruled.box) for m in self.members]
        with holding(list(zip(self.units, cut, strict=True))):
            loss = batch.loss_with(self.route.stand_ins()).double()
        self._writes.append((which & (loss < CLEARLY * held), cut))

    def write(self, ok: Tensor, pace: float, losses: Sequence[Tensor]) -> None:
        """What was decided in this step; a grid point that is held stays."""
        rounded = [m.ruled.nearest(m.search.numbers) for m in self.members] if not self._writes else []
        for runs, numbers in self._writes or [(self.tries.placed, rounded)]:
            if bool(runs.any()):
                self.route.write(runs)
                for member, value in zip(self.members, numbers, strict=True):
                    member.ruled.write(value, runs.unsqueeze(-1).expand(value.shape[:-1]))
        self.settled = bool((self.tries.placed & ok).all())

    def standings(self) -> list[Standing]:
        """How the units stand."""
        placed, left = share(self.tries.placed), float(self.tries.unexplained.clamp(max=1).mean())
        attempts = int(self.tries.attempt.max()) + 1
        return [Standing(m.ruled, self.position, placed, 0.0, left, attempts) for m in self.members]

    def saved(self) -> dict[str, Any]:
        """All it remembers."""
        place = {id(m): i for i, m in enumerate(self.members)}
        pairs = None
        if self.pairs is not None:
            pairs = [[place[id(m)] if m else -1 for m in (p.rows, p.upper, p.above)] for p in self.pairs]
        members = [m.search.saved() for m in self.members]
        own = {"tries": self.tries.saved(), "progress": self.progress.saved()}
        return {"pairs": pairs, "members": members, **own, "steps": self.steps, "settled": self.settled}

    def load(self, saved: Mapping[str, Any]) -> None:
        """Go on where it was saved."""
        for member, state in zip(self.members, saved["members"], strict=True):
            member.search.loaded(state, member.ruled.label)
        if saved["pairs"] is not None:
            named = [[self.members[i] if i >= 0 else None for i in three] for three in saved["pairs"]]
            self.pairs = [Factors(rows, upper, above) for rows, upper, above in named if rows and upper]
        self.tries.loaded(saved["tries"], "the stack")
        self.progress.loaded(saved["progress"], "the stack")
        self.steps, self.settled = int(saved["steps"]), bool(saved["settled"])


def share_left(loss: Tensor, one: Pass) -> Tensor:
    """A loss as a share of that of an output of zero `(*runs,)`."""
    return loss / (one.size / 2).clamp(min=1e-300)


def is_rounding(held: Pass) -> Tensor:
    """Runs `(*runs,)` whose loss is that of rounding, from which there is nothing to learn."""
    return held.loss.detach().double() <= rounding_loss(held)


def rounding_loss(one: Pass) -> Tensor:
    """The loss of an output that is off by its rounding error `(*runs,)`."""
    return 0.5 * (ROUNDING * one.rounding) ** 2 * one.size
