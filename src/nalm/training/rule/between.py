"""A unit between learned layers. They can absorb a gain, a bias, even a power, so errors do not tell whether a grid
point is right; correlations do. And because the neighbours have to follow, the unit glides to the grid, slowly.

The base optimiser trains the unit like everything else. The rule takes a row over only on feedback: when the regression
explains batches it has not seen clearly better than the row does, or when a grid point explains as much as anything.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, final

import torch
from torch import Tensor

from nalm.training.rule.batch import Batch
from nalm.training.rule.correlation import aim
from nalm.training.rule.evidence import Evidence, LookedAt
from nalm.training.rule.feedback import Feedback
from nalm.training.rule.graph import Place, Position
from nalm.training.rule.line import LineAbove, Solved
from nalm.training.rule.looks import Looks
from nalm.training.rule.mode import Seen, Standing, share
from nalm.training.rule.progress import RECENT, ProgressState, TrialState
from nalm.training.rule.regression import Regression, View
from nalm.training.rule.rows import RowsState
from nalm.training.rule.ruled import Ruled
from nalm.training.rule.settings import Settings
from nalm.training.rule.state import State

CONFIRMED = 2  # looks in a row that speak for a grid point before it is approached: one batch may do so by chance

WAKING = 5  # steps: every fifth, rows are kept awake; to ask whether one sleeps costs a tenth of a small network's step

MIXED = "learned layers above mix its outputs"  # so it is left to the base optimiser


@final
class Between:
    """See the module."""

    position = Position.BETWEEN

    def __init__(self, ruled: Ruled, place: Place, settings: Settings) -> None:
        self.ruled, self.settings, self.place = ruled, settings, place
        self.units: Sequence[Ruled] = [ruled]
        # layers above can undo a mixing of several outputs, so that none of them has a target of its own
        self.hopeless = place.mixed or (ruled.unit.out_features > 1 and place.learned_above)
        self.free = Regression.of(ruled)
        self.rows = RowsState.of(ruled)
        self.line = LineAbove(place.line, self.rows, settings.memory)
        self.evidence = Evidence(ruled, place, self.rows, self.free, self.line, settings)
        self.progress, self.trial = ProgressState.of(self.rows.before), TrialState.of(self.rows.before)
        if place.learned_below:
            self.looks, self.glide = Looks(settings.sparse, settings.rest, settings.apart), settings.gently
        else:
            self.looks, self.glide = Looks(settings.spacing, settings.rest, tires=settings.tires), settings.glide
        self._learned = 0  # the step in which it did so last
        self.settled = False  # whether all rows are the rule's, so that the base optimiser passes over the unit
        self._writes = False  # whether any of its rows has to be stored after each step
        self._on_the_way = 0  # steps since a row last set out for the grid
        self._left = 0.0  # how far it still is to the grid, if all rows are on their way there
        self._may_sleep = place.learned_below and ruled.box[0] == 0

    @property
    def stores(self) -> bool:
        """Its own rows, until all are on the grid; what is solved above them; and rows that may fall asleep."""
        return self._writes or self.line.stores or (self._may_sleep and not self.settled)

    def due(self, step: int, travelled: float, in_company: bool = False) -> bool:
        """Ever more rarely while nothing changes."""
        return not self.hopeless and self.looks.due(self._time(step, travelled), in_company)

    def _time(self, step: int, travelled: float) -> float:
        """By which looks are spaced: what layers below say changes as fast as the base optimiser moves them."""
        return travelled if self.place.learned_below else step

    def learn(self, seen: Sequence[Seen], batch: Batch) -> None:
        """Take rows over, move them, put them on the grid, or leave them."""
        feedback, rows, ok = seen[0].feedback, self.rows, batch.ok
        if feedback is None:  # this batch does not need the unit
            return
        self.progress.learn(batch.losses, ok, batch.step - self._learned)
        self._learned = batch.step
        held = torch.where(rows.owned.unsqueeze(-1), rows.held, self.ruled.read())
        view = View.of(self.ruled.form, feedback, feedback.y, intercept=True)
        looked = self.evidence.look(feedback, view, held, ok, batch.plain.curvature.squared)
        if looked is None:
            self.looks.goes_on(self._time(batch.step, batch.travelled))
        else:
            self._act(looked, feedback, batch)
        self.free.learn(self.ruled, view, ok, self.settings)

    def _act(self, looked: LookedAt, feedback: Feedback, batch: Batch) -> None:
        """What follows from a look."""
        rows, ok = self.rows, batch.ok
        were = rows.gliding
        changed = self._decide(looked, ok, self._followed(batch.pace) >= self.settings.able)
        set_out = (rows.gliding & ~were).any(-1)
        if bool(set_out.any()):
            self.trial.begin(set_out, batch.losses, self._at_rest)
            self._on_the_way = 0
        self.settled, self._writes = bool(rows.owned.all()), bool(rows.owned.any())
        self._left = self._distance()
        if self.ruled.unit.out_features > 1 and bool((rows.owned & ~rows.gliding & ~rows.arrived).any()):
            rows.keep(ok, share=self._best_share(feedback))
        now, urgent = self._time(batch.step, batch.travelled), bool((rows.streak > 0).any())
        self.looks.looked(now, bool(changed.any()), urgent)
        if self.place.learned_below and self._left > 0:  # then the loss, which costs nothing, is watched instead
            self.looks.next = now + self.settings.rest
        if self.line.line is not None:
            self._solve_line(feedback, looked, bool(batch.plain.curvature.squared.all()))

    def _solve_line(self, feedback: Feedback, looked: LookedAt, squared: bool) -> None:
        """Solve gain and bias above a row on the grid, or above one of which nothing is known yet.

        Args:
            squared: whether the loss is a squared error, so that targets are where its minimum is.
        """
        arrived = solvable = self.rows.arrived
        on_grid = bool(arrived.all())
        y = self.ruled.form.exact(self.rows.held, feedback.x) if on_grid else feedback.y
        if not on_grid and bool((feedback.x < 0).any() & (feedback.x > 0).any()):  # through zero
            solvable = arrived | ~looked.known
        if squared and bool((looked.rigid & solvable).all()):
            self.line.solve(feedback, y)
        elif not squared and on_grid:
            self.line.step(feedback, y)
        else:
            self.line.leave()

    def _followed(self, pace: float) -> float:
        """How fast the neighbours can follow; a linear layer that is solved in closed form does so at once."""
        return pace if self.place.line is None else 1.0

    @property
    def _at_rest(self) -> Tensor:
        """Runs `(*runs,)` whose loss has not fallen for long."""
        return self.progress.idle > self.settings.attempt

    def _decide(self, e: LookedAt, ok: Tensor, able: bool) -> Tensor:
        """Whose each row is from now on, and where it goes; which rows have changed in that `(*runs, out)`.

        Args:
            e: what was seen.
            ok: runs `(*runs,)` that may learn from it.
            able: whether the neighbours can still follow a row to the grid.
        """
        s, rows, below = self.settings, self.rows, self.place.learned_below
        free = self.free.numbers.clamp(*self.ruled.box)
        tried = self._tried(e.goal, free) if below else torch.zeros_like(rows.arrived)
        too_much = torch.where(tried, s.worth_trying, s.doubts)
        # what is learned below moves on, while the unit would be moved from one look to the next
        better = e.left.free < (1 / s.decisive if below else s.better) * e.left.held
        arrived, streak = self._stays(e, tried, too_much, better, ok)
        worth_it, waits = tried, e.lossy | e.lost
        if below:
            at_rest, least = self._at_rest.unsqueeze(-1), e.left.least
            worth_it = tried & (at_rest | (e.left.goal < s.decisive * least))
            # a network that does well with other numbers is left alone as long as its loss falls
            waits = waits | self._hasty(e.goal, e.left.goal) | (~at_rest & (e.left.goal > s.outdone * least))
        # a row on its way is turned back by no less than one that has arrived: a single batch may err
        may_give_up = torch.where(rows.gliding | worth_it, too_much, s.explains)
        near = e.known & (e.given_up < may_give_up) & (rows.gliding | (~waits & able)) & ~e.far & ~e.turned
        near = near & ~rows.has_refused(e.goal) & ~arrived & s.snap
        same = (rows.asked > 0) & (rows.goal == e.goal).all(-1)
        asked = torch.where(near, torch.where(same, rows.asked, 0) + 1, 0)
        enough = torch.where(rows.gliding, 1, torch.where(e.clear | tried, CONFIRMED, s.patience))
        gliding, arrived = asked >= enough, arrived & ~e.turned
        follow = (
            (e.clear if below else e.known)
            & better
            & ~self._hasty(free, e.left.free)
            & ~near
            & ~arrived
            & (not self.ruled.form.linear)
        )
        changed = (gliding != rows.gliding) | (arrived != rows.arrived) | e.turned
        changed = changed | ((e.clear | tried) & (asked == 1))  # so that the next look, which decides, comes soon
        if not below:  # then the free numbers are worth following closely
            changed = changed | follow
        rows.keep(ok & ~(gliding | arrived).any(-1), before=self.progress.level)
        rows.keep(
            ok,
            held=torch.where(e.turned.unsqueeze(-1), 0 - e.goal, e.held),  # and no zero becomes -0
            owned=gliding | follow | arrived | e.turned,
            arrived=arrived | e.turned,
            goal=torch.where(near.unsqueeze(-1), e.goal, free),
            gliding=gliding,
            streak=streak,
            asked=asked,
            unexplained=e.left.held,
        )
        return changed

    def _tried(self, goal: Tensor, free: Tensor) -> Tensor:
        """Rows `(*runs, out)` above learned layers whose grid point is tried.

        Beside a grid point that uses every input the numbers differ from it in gains (of a sum) or powers (of a
        product). Layers below can make up for those, so there it is the loss on the way that tells. A negative power is
        hardly learned, so of a product's exponents the free ones must not point the other way.
        """
        tried = (goal != 0).all(-1)
        if self.ruled.form.linear or not bool(tried.any()):
            return tried
        return tried & ~(goal * aim(free, self.ruled.grid) < 0).any(-1)

    def _stays(self, e: LookedAt, tried: Tensor, too_much: Tensor, better: Tensor, ok: Tensor) -> tuple[Tensor, Tensor]:
        """Rows `(*runs, out)` that stay on the grid, and how many looks in a row doubted it; ways in vain end.

        Args:
            e: what was seen.
            tried: rows whose grid point is tried.
            too_much: share that it may give up.
            better: rows that would do better with the free numbers.
            ok: runs `(*runs,)` that may learn from it.
        """
        s, rows = self.settings, self.rows
        if not bool((rows.gliding | rows.arrived).any()):
            return rows.arrived, torch.zeros_like(rows.streak)
        in_vain = tried
        if self.place.learned_below:
            # not all layers below can make up for it (a convolution, a skip connection): then the loss does not fall on
            # the way, or free numbers get ahead after it
            above = self.trial.above.unsqueeze(-1)
            may_rise = torch.where(self.trial.at_rest, math.log(s.worse), 0.0).unsqueeze(-1)
            fails = torch.where(rows.gliding, above >= may_rise, better) & (e.given_up > s.explains)
            in_vain = tried & (fails | (rows.gliding & (above > math.log(s.astray))))
            rows.keep(ok.unsqueeze(-1) & in_vain & rows.gliding, refused=e.goal)
        doubted = rows.arrived & (~e.known | e.far | (e.given_up > too_much) | in_vain)
        streak = torch.where(doubted, rows.streak + 1, 0)
        return rows.arrived & (streak < s.patience) & ~self._spoilt(ok).unsqueeze(-1), streak

    def _hasty(self, numbers: Tensor, left: Tensor) -> Tensor:
        """Rows `(*runs, out)` that would drop an input of learned layers too soon: as long as the loss falls from look
        to look, these may still learn to explain by it what the numbers leave."""
        if not self.place.learned_below:
            return torch.zeros_like(self.rows.arrived)
        falls = (self.progress.idle == 0).unsqueeze(-1)
        return falls & (numbers == 0).any(-1) & (left > self.settings.nearly)

    def _spoilt(self, ok: Tensor) -> Tensor:
        """Runs `(*runs,)` whose loss stays above what it was before the grid; their grid points are not tried again."""
        s, rows = self.settings, self.rows
        spoilt = rows.arrived.any(-1) & (self.progress.level > rows.before + math.log(s.worse))
        spoilt = spoilt & (self.progress.idle > s.attempt) & ok
        rows.keep(spoilt.unsqueeze(-1) & rows.arrived, refused=rows.held)
        self.progress.restart(spoilt)
        return spoilt

    def _best_share(self, feedback: Feedback) -> Tensor:
        """Rows that share an output would all make up for the same error: what is best for all together `(*runs,)`."""
        form, held = self.ruled.form, self.rows.held
        effect = form.smooth(held + self.rows.towards(self.settings), feedback.x) - form.smooth(held, feedback.x)
        bend = (feedback.probe * effect).sum(-2).square().sum(-1).sum(0)
        slope = -(feedback.delta * effect).sum((-2, -1))
        return torch.where(bend > 0, slope / bend, 1.0).clamp(0.0, 1.0)

    def write(self, ok: Tensor, pace: float, losses: Sequence[Tensor]) -> None:
        """Rows that are the rule's, on their way also between two looks; others are the base optimiser's."""
        rows, pace = self.rows, self._followed(pace)
        if self._may_sleep and not self.settled and self._on_the_way % WAKING == 0:
            self._keep_awake()
        self._on_the_way += 1
        self._watch(losses)
        far = pace * self.glide
        if self._writes and self._left > far and bool(ok.all()):
            # most steps of a glide are like this one; `move` would cost a third of a small network's step
            self._left -= far
            rows.held = rows.held + (rows.goal - rows.held).clamp_(-far, far)
            self.ruled.form.write(self.ruled.unit, rows.held)
        elif self._writes:
            rows.move(ok, pace, self.glide, self.ruled.box, self.settings)
            self.ruled.write(rows.held, rows.owned)
            self._writes = not bool(rows.arrived.all())
        self.line.write()

    def _watch(self, losses: Sequence[Tensor]) -> None:
        """Look soon if the loss does not fall on the way to the grid, above layers that should make it fall."""
        if self.place.learned_below and self._writes and self._on_the_way % RECENT == 0:
            self.trial.learn(losses)
            if bool(((self.trial.above >= 0) & self.rows.gliding.any(-1)).any()):
                self.looks.soon()

    def _keep_awake(self) -> None:
        """Leave no row of the base optimiser's at zero, where its box ends: the row would be 1 whatever lies below, and
        that would learn nothing any more. Beside zero the layers below can still turn their numbers round."""
        numbers, least = self.ruled.form.read(self.ruled.unit), self.settings.awake
        asleep = numbers.amax(-1) < least
        if bool(asleep.any()):
            self.ruled.write(numbers.clamp(min=least), asleep & ~self.rows.owned)

    def _distance(self) -> float:
        """How far it still is to the grid, in units of the grid; 0 if not all rows are on their way there."""
        rows = self.rows
        return float((rows.goal - rows.held).abs().amax()) if bool(rows.gliding.all()) else 0.0

    def standings(self) -> list[Standing]:
        """How it stands."""
        rows = self.rows
        left = None if self.hopeless else float(rows.unexplained.clamp(max=1).mean())
        why = MIXED if self.hopeless else None
        on_grid, moved = share(rows.arrived), share(rows.owned & ~rows.arrived)
        return [Standing(self.ruled, self.position, on_grid, moved, left, why=why)]

    @property
    def _states(self) -> dict[str, State]:
        return {"free": self.free, "rows": self.rows, "progress": self.progress, "trial": self.trial}

    def saved(self) -> dict[str, Any]:
        """All it remembers."""
        solved = None if self.line.solved is None else list(self.line.solved)
        return {name: state.saved() for name, state in self._states.items()} | {
            "looks": self.looks.saved(),
            "gathered": self.evidence.gathered,
            "learned": self._learned,
            "on_the_way": self._on_the_way,
            "solved": solved,
        }

    def load(self, saved: Mapping[str, Any]) -> None:
        """Go on where it was saved."""
        for name, state in self._states.items():
            state.loaded(saved[name], self.ruled.label)
        self.looks.load(saved["looks"])
        self.evidence.gathered, self._learned = int(saved["gathered"]), int(saved["learned"])
        self._on_the_way = int(saved["on_the_way"])
        self.settled, self._writes = bool(self.rows.owned.all()), bool(self.rows.owned.any())
        self._left = self._distance()
        self.line.solved = None if saved["solved"] is None else Solved(*saved["solved"])
