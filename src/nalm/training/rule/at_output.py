"""A unit that is the network's output: its implied targets are the targets, so each row is a regression of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, final

import torch
from torch import Tensor

from nalm.training.rule.batch import Batch
from nalm.training.rule.feedback import Feedback, gather
from nalm.training.rule.graph import Position
from nalm.training.rule.looks import Looks
from nalm.training.rule.mode import Seen, Standing, share, swayed
from nalm.training.rule.parity import by_signs
from nalm.training.rule.regression import Regression, View
from nalm.training.rule.ruled import Ruled, holding
from nalm.training.rule.settings import Settings
from nalm.training.rule.state import State
from nalm.training.rule.watch import Watched

DIGITS = 1e3  # so much larger than its rounding error a target has to be: three digits
CLEARLY = 0.9  # share of an error below which numbers cut to the box are worth storing: more than chance in 128 samples
FARTHEST = 8.0  # so many times the grid: larger exponents overflow
COUNTS = 1.5  # times the error of the free numbers: against a grid point, but in one batch alone not decisive
ROUNDING = 32.0  # errors below this many units of rounding are none: those of a hundred terms, added up at random


class Known(NamedTuple):
    """Feedback, the runs `(*runs,)` for which it is any, and those whose loss is no squared error."""

    feedback: Feedback
    ok: Tensor
    bent: Tensor


@dataclass
class Choice(State):
    """What each row `(*runs, out)` holds.

    Attributes:
        snapped: the nearest grid point of the free numbers...
        moved: ... or these themselves; neither: what the base optimiser makes of it.
        streak: by how many steps more the test of the grid spoke for a change than against it.
        unexplained: share of the implied target's variance that what the row holds leaves.
    """

    snapped: Tensor
    moved: Tensor
    streak: Tensor
    unexplained: Tensor


@final
class AtOutput:
    """See the module. The search is a regression in float64; the unit holds the better of it, its grid point and what
    the base optimiser found."""

    position = Position.OUTPUT

    def __init__(self, ruled: Ruled, settings: Settings) -> None:
        self.ruled, self.settings = ruled, settings
        self.units: Sequence[Ruled] = [ruled]
        self.free = Regression.of(ruled)
        rows = torch.zeros_like(self.free.offset, dtype=torch.bool)
        self.choice = Choice(rows, rows.clone(), rows.to(torch.int64), torch.ones_like(self.free.offset))
        self.looks = Looks(settings.spacing, settings.rest)
        self.settled = False
        self._once = rows  # rows from which the base optimiser shall go on at the free numbers, cut to the box
        self._owns = False  # whether there is anything to store

    @property
    def stores(self) -> bool:
        """Rows that are its own, until all are on the grid."""
        return self._owns and not self.settled

    def due(self, step: int, travelled: float, in_company: bool = False) -> bool:
        """Every step at first and after a change, then ever more rarely: also where no grid point is found."""
        return self.looks.due(step, in_company)

    def learn(self, seen: Sequence[Seen], batch: Batch) -> None:
        """One step of each row's regression, and a choice between it and the grid."""
        self.settled, self._once = False, torch.zeros_like(self._once)
        form, before, told = self.ruled.form, self.choice.snapped, seen[0].feedback
        known = self._readable(told, batch)
        if told is None or known is None:  # this batch did not need the unit
            return  # and look again in the next step
        feedback, ok = known.feedback, known.ok
        signs = by_signs(self.ruled, feedback, self.free.numbers)
        self.free.keep(ok, numbers=signs.numbers)
        view = View.of(
            form, feedback, form.smooth(self._computable(self.free.numbers), feedback.x), intercept=not form.linear
        )
        wanting = self._settle(view, signs.explained, ok, batch.plain.rounding)
        self._compare(known, told, batch, wanting)
        self.free.learn(self.ruled, view, ok, self.settings)
        # outside the box such a loss would only be asked farther and farther away
        self.free.keep(known.bent, numbers=self.free.numbers.clamp(*self.ruled.box))
        self._owns = bool((self.choice.snapped | self.choice.moved | self._once).any())
        # where batches speak for the grid, or the unit computes what is not finite, the next ones are asked at once
        changed = (before != self.choice.snapped) | (~self.choice.snapped & (self.choice.streak > 0))
        self.looks.looked(batch.step, bool(changed.any()) or not bool(batch.ok.all()))

    def _readable(self, feedback: Feedback | None, batch: Batch) -> Known | None:
        """The feedback, if need be from a pass in which the form stands in for the unit.

        By its own formula a unit may divide by zero, or compute numbers so large that beside them the target is lost in
        rounding; with the free numbers it soon does not. And only a squared error implies the same target wherever the
        output is; others (Huber, cross-entropy) have to be asked at the free numbers.
        """
        if feedback is None:
            return None
        y, implied, bent = feedback.y, feedback.implied, ~batch.plain.curvature.squared
        lost = DIGITS * batch.plain.rounding * y.abs().median(-1).values > implied.abs().median(-1).values
        if bool((batch.ok & ~lost.any(-1) & ~bent).all()):
            return Known(feedback, batch.ok, bent)
        free, snapped = self.free.numbers, self.choice.snapped
        numbers = torch.where(snapped.unsqueeze(-1), self.ruled.nearest(free), self._computable(free))
        watched = [Watched(self.ruled.unit, partial(self.ruled.compute, numbers, snapped))]
        found = batch.again(watched)
        (feedback,) = gather(watched, found)
        return None if feedback is None else Known(feedback, found.finite, bent)

    def _computable(self, numbers: Tensor) -> Tensor:
        """Exponents with which nothing overflows."""
        farthest = FARTHEST * max(abs(value) for value in self.ruled.grid)
        return numbers if self.ruled.form.linear else numbers.clamp(-farthest, farthest)

    def _settle(self, view: View, possible: Tensor, ok: Tensor, rounding: float) -> Tensor:
        """Use the grid where it explains the implied targets better than the free numbers, and only while it does.

        Returns:
            the rows `(*runs, out)` whose free numbers need an intercept, which the unit does not have: without it they
            solve nothing, and a grid point that is better than they are need not be good.
        """
        choice, rounded = self.choice, self.ruled.nearest(self.free.numbers)
        free, grid = view.error(self.free.numbers), view.error(rounded)
        size = (view.weight * self.ruled.form.rounding(rounded, view.features).square()).sum(-1)
        floor = (ROUNDING * rounding) ** 2 * size
        with_intercept = view.error(self.free.numbers, self.free.offset)
        wanting = (free > self.settings.decisive * with_intercept + floor) & (grid > with_intercept)
        doubted = torch.where(wanting & choice.snapped, torch.maximum(grid, COUNTS * (free + floor)), grid)
        said = swayed(choice.snapped, choice.streak, doubted, free, floor, self.settings)
        # a row of zeros would end all learning through it
        possible = possible & (rounded != 0).any(-1) & (choice.snapped | ~wanting) & self.settings.snap
        choice.keep(ok, streak=said.streak, snapped=(choice.snapped ^ said.change) & possible)
        return wanting

    def _compare(self, known: Known, told: Feedback, batch: Batch, wanting: Tensor) -> None:
        """The free numbers, which have not seen this batch, against what the unit holds, by the unit's own formula.

        Args:
            known: what is to be explained.
            told: what the unit computes as it is.
            batch: for other losses than squared errors.
            wanting: rows whose free numbers are no solution; the base optimiser finds better ones.
        """
        h, implied, choice = known.feedback.curvature, known.feedback.implied, self.choice
        held = (h * (told.y - implied).square()).sum(-1).nan_to_num(torch.inf)
        centred = implied - implied.mean(-1, keepdim=True)
        choice.keep(known.ok, unexplained=held / (h * centred.square()).sum(-1).clamp(min=1e-300))
        if bool(choice.snapped.all()):
            return
        low, high = self.ruled.box
        numbers = self.free.numbers.clamp(low, high)
        with holding([(self.ruled, numbers)]):
            y = type(self.ruled.unit).compute(self.ruled.unit, told.x.to(self.ruled.parameters[0].dtype)).double()
            loss = batch.loss_held() if bool(known.bent.any()) else batch.plain.loss
        # numbers inside the box solve the regression and stay; cut ones solve nothing: the base goes on from there
        inside = ((numbers > low) & (numbers < high)).all(-1) & ~wanting
        enough = torch.where(inside, torch.where(choice.moved, 1 / CLEARLY, 1.0), CLEARLY)
        left = (h * (y - implied).square()).sum(-1)
        better = (left < enough * held) | (choice.moved & (left == 0))
        less = loss.unsqueeze(-1) < enough * batch.plain.loss.unsqueeze(-1)
        better = torch.where(known.bent.unsqueeze(-1), less, better)
        better = better & ~choice.snapped
        choice.keep(known.ok, moved=better & inside)
        self._once = better & ~inside & known.ok.unsqueeze(-1)

    def write(self, ok: Tensor, pace: float, losses: Sequence[Tensor]) -> None:
        """The grid, or the free numbers; other rows are the base optimiser's."""
        snapped, free = self.choice.snapped, self.free.numbers
        numbers = torch.where(snapped.unsqueeze(-1), self.ruled.nearest(free), free.clamp(*self.ruled.box))
        self.ruled.write(numbers, snapped | self.choice.moved | self._once)
        self._once = torch.zeros_like(self._once)
        self._owns = bool((snapped | self.choice.moved).any())
        self.settled = bool(snapped.all())

    def standings(self) -> list[Standing]:
        """How it stands."""
        snapped = self.choice.snapped
        moved = self.choice.moved & ~snapped
        left = float(self.choice.unexplained.clamp(max=1).mean())
        return [Standing(self.ruled, self.position, share(snapped), share(moved), left)]

    def saved(self) -> dict[str, Any]:
        """All it remembers."""
        return {"free": self.free.saved(), "choice": self.choice.saved(), "looks": self.looks.saved()}

    def load(self, saved: Mapping[str, Any]) -> None:
        """Go on where it was saved."""
        self.free.loaded(saved["free"], self.ruled.label)
        self.choice.loaded(saved["choice"], self.ruled.label)
        self.looks.load(saved["looks"])
        self._owns = bool((self.choice.snapped | self.choice.moved).any())
        self.settled = bool(self.choice.snapped.all())
