"""A unit between learned layers. They can absorb a gain, a bias, even a power, so errors do not tell whether a grid
point is right; correlations do. And because the neighbours have to follow, the unit glides to the grid, slowly.

The base optimiser trains the unit like everything else. The rule takes a row over only on feedback: when the regression
explains batches it has not seen clearly better than the row does, or when a grid point explains as much as anything.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, final

import torch
from torch import Tensor

from nalm.training.rule.batch import Batch
from nalm.training.rule.correlation import Shares, aim, covariance, moments, undropped, unexplained
from nalm.training.rule.feedback import Feedback
from nalm.training.rule.graph import Place, Position
from nalm.training.rule.looks import Looks
from nalm.training.rule.mode import Seen, Standing, share
from nalm.training.rule.progress import ProgressState
from nalm.training.rule.regression import Regression, View, solve
from nalm.training.rule.rows import RowsState
from nalm.training.rule.ruled import Ruled
from nalm.training.rule.settings import Settings

ALIKE = 0.5  # relative deviation of the curvature: 0 below a linear layer, 0.3 below BatchNorm, above 1 below an MLP
RIGID_FLOOR = 1e-4  # share that correlations of float32 and of a gain still on its way leave
CONFIRMED = 2  # looks in a row that speak for a grid point before it is approached: one batch may do so by chance
# Unexplained share up to which a batch of 128 knows it to 3 %, as `explains` asks: 2 r (1 - r^2) / sqrt(128).
CLEAR = 0.2
SAMPLES = 128  # for a correlation of their own; smaller batches are averaged


class LookedAt(NamedTuple):
    """What one look says about each row; all `(*runs, out)`, but for the numbers.

    Attributes:
        held: the numbers of the rows `(*runs, out, in)`.
        goal: the grid point that they hold, approach, or point at `(*runs, out, in)`.
        left: what the candidates leave unexplained.
        given_up: share of what the best candidate explains that the grid point does not.
        lossy: whether it drops an input of learned layers that still explains something.
        known: whether the unit's inputs explain enough of the implied target to learn from it.
        clear: whether they explain so much that two batches decide.
        rigid: whether the neighbours can make up for no more than a gain and a bias...
        far: ... so that the grid point, which is worse than numbers beside it, is wrong.
        turned: whether its reciprocal is right instead.
    """

    held: Tensor
    goal: Tensor
    left: Shares
    given_up: Tensor
    lossy: Tensor
    known: Tensor
    clear: Tensor
    rigid: Tensor
    far: Tensor
    turned: Tensor


class Solved(NamedTuple):
    """What the linear layer directly above shall hold."""

    gain: float
    bias: float


@final
class Between:
    """See the module."""

    position = Position.BETWEEN

    def __init__(self, ruled: Ruled, place: Place, settings: Settings) -> None:
        self.ruled, self.settings, self.place = ruled, settings, place
        self.units: Sequence[Ruled] = [ruled]
        # layers above can undo a mixing of several outputs, so that no row has a target of its own
        self.hopeless = ruled.unit.out_features > 1 and place.learned_above
        self.free = Regression.of(ruled)
        self.rows = RowsState.of(ruled)
        self.progress = ProgressState.of(self.rows.before)
        if place.learned_below:
            self.looks, self.glide = Looks(settings.sparse, settings.rest, settings.apart), settings.gently
        else:
            self.looks, self.glide = Looks(settings.spacing, settings.rest, tires=settings.tires), settings.glide
        self.solved: Solved | None = None
        self.settled = False
        self._owns = False  # whether any row is the rule's

    @property
    def stores(self) -> bool:
        """Rows that are its own, until all are on the grid; and what is solved above them."""
        return (self._owns and not self.settled) or self.solved is not None

    def due(self, step: int, in_company: bool = False) -> bool:
        """Ever more rarely while nothing changes."""
        return not self.hopeless and self.looks.due(step, in_company)

    def learn(self, seen: Sequence[Seen], batch: Batch) -> None:
        """Take rows over, move them, put them on the grid, or leave them."""
        feedback, rows, ok = seen[0].feedback, self.rows, batch.ok
        self.progress.learn(batch.losses, ok, batch.step - self.looks.last)
        if feedback is None:
            return
        held = torch.where(rows.owned.unsqueeze(-1), rows.held, self.ruled.read())
        view = View.of(self.ruled.form, feedback, feedback.y, intercept=True)
        looked = self._looked_at(feedback, view, held, ok)
        changed = self._decide(looked, ok, self._followed(batch.pace) >= self.settings.able)
        self.settled, self._owns = False, bool(rows.owned.any())
        following = rows.owned & ~rows.gliding & ~rows.arrived
        if bool(following.any()) and self.ruled.unit.out_features > 1:
            rows.keep(ok, share=self._best_share(feedback))
        self.looks.looked(batch.step, bool(changed.any()), urgent=bool((rows.streak > 0).any()))
        self.free.learn(self.ruled, view, ok, self.settings)
        through_zero = bool((feedback.x < 0).any() & (feedback.x > 0).any())
        self._solve_line(feedback, looked.rigid & (rows.arrived | (~looked.known & through_zero)))
        if bool(looked.turned.any()):
            rows.sums = None  # they were of other numbers

    def _looked_at(self, feedback: Feedback, view: View, held: Tensor, ok: Tensor) -> LookedAt:
        """What a look says about what the rows hold, and about the grid point in question."""
        s, rows = self.settings, self.rows
        on_the_way = torch.where(rows.gliding.unsqueeze(-1), rows.goal, aim(held, self.ruled.grid))
        goal = torch.where(rows.arrived.unsqueeze(-1), held, on_the_way)
        full = undropped(goal, held, self.ruled.grid) if self.place.learned_below else goal
        left = self._shares(view, feedback, [held, goal, full], ok)
        least = left.least
        # layers below can learn to use an input that is kept, but never again one that is dropped
        keep = (left.given_up(left.full) < s.worth_trying) & ~rows.arrived & ~rows.gliding & ~rows.has_refused(full)
        goal = torch.where(keep.unsqueeze(-1), full, goal)
        left = left._replace(goal=torch.where(keep, left.full, left.goal))
        given_up = left.given_up(left.goal)
        lossy = (goal == 0).any(-1) & (s.better * left.goal > least) & self.place.learned_below
        known = least <= s.informative
        clear = known & ((least <= CLEAR) | (not self.place.learned_below))
        rigid = self._rigid(feedback)
        asked = rigid & (rows.arrived | (given_up < s.worth_trying))  # else it is not approached in any case
        best = torch.minimum(least, self._bendable(feedback, goal)) if bool(asked.any()) else least
        far = rigid & (left.goal > s.decisive * best + RIGID_FLOOR)
        turned = self._turned(feedback, goal, rigid & known & (given_up < s.explains))
        return LookedAt(held, goal, left, given_up, lossy, known, clear, rigid, far, turned)

    def _followed(self, pace: float) -> float:
        """How fast the neighbours can follow; a linear layer that is solved in closed form does so at once."""
        return pace if self.place.line is None else 1.0

    def _decide(self, e: LookedAt, ok: Tensor, able: bool) -> Tensor:
        """Whose each row is from now on, and where it goes; which rows have changed in that `(*runs, out)`.

        Args:
            e: what was seen.
            ok: runs `(*runs,)` that may learn from it.
            able: whether the neighbours can still follow a row to the grid.
        """
        s, rows = self.settings, self.rows
        # Beside a grid point that uses every input the numbers differ from it in gains (of a sum) or powers (of a
        # product). Layers below can make up for those, so there it is the loss on the way that tells.
        tried = (e.goal != 0).all(-1) & self.place.learned_below
        too_much = torch.where(tried, s.worth_trying, s.doubts)
        doubted = rows.arrived & (~e.known | e.far | (e.given_up > too_much))
        streak = torch.where(doubted, rows.streak + 1, 0)
        arrived = rows.arrived & (streak < s.patience) & ~self._spoilt(ok).unsqueeze(-1)
        # a row on its way is turned back by no less than one that has arrived: a single batch may err
        may_give_up = torch.where(rows.gliding | tried, too_much, s.explains)
        near = e.known & (e.given_up < may_give_up) & (rows.gliding | (able & ~e.lossy)) & ~e.far & ~e.turned
        near = near & ~rows.has_refused(e.goal) & ~arrived & s.snap
        same = (rows.asked > 0) & (rows.goal == e.goal).all(-1)
        asked = torch.where(near, torch.where(same, rows.asked, 0) + 1, 0)
        enough = torch.where(rows.gliding, 1, torch.where(e.clear | tried, CONFIRMED, s.patience))
        gliding, arrived = asked >= enough, arrived & ~e.turned
        # what is learned below moves on, while the unit would be moved from one look to the next
        better = e.left.free < (1 / s.decisive if self.place.learned_below else s.better) * e.left.held
        follow = (
            (e.clear if self.place.learned_below else e.known)
            & better
            & ~near
            & ~arrived
            & (not self.ruled.form.linear)
        )
        changed = (gliding != rows.gliding) | (arrived != rows.arrived) | e.turned
        changed = changed | (e.clear & (asked == 1))
        if not self.place.learned_below:  # then the free numbers are worth following closely
            changed = changed | follow
        rows.keep(ok & ~(gliding | arrived).any(-1), before=self.progress.level)
        rows.keep(
            ok,
            held=torch.where(e.turned.unsqueeze(-1), 0 - e.goal, e.held),  # and no zero becomes -0
            owned=gliding | follow | arrived | e.turned,
            arrived=arrived | e.turned,
            goal=torch.where(near.unsqueeze(-1), e.goal, self.free.numbers.clamp(*self.ruled.box)),
            gliding=gliding,
            streak=streak,
            asked=asked,
            unexplained=e.left.held,
        )
        return changed

    def _solve_line(self, feedback: Feedback, solvable: Tensor) -> None:
        """The gain and bias of a linear layer directly above are a regression: solve it.

        On the grid that ends the training of all three. A unit about which nothing is known yet gets the mean out of
        the way: through zero, a product's logarithm can be read only without a bias.
        """
        line, self.solved = self.place.line, None
        if line is None or not bool(solvable.all()):
            self.rows.line = None
            return
        arrived = bool(self.rows.arrived.all())
        y = self.ruled.form.exact(self.rows.held, feedback.x) if arrived else feedback.y
        target, h = self._target(feedback), feedback.curvature
        batch = moments(target, y, h / h.sum(-1, keepdim=True).clamp(min=1e-300))
        memory = self.settings.memory
        self.rows.line = batch if self.rows.line is None else memory * self.rows.line + (1 - memory) * batch
        mean_target, mean, _, square, _ = self.rows.line.flatten().tolist()
        variance = square - mean * mean
        if variance > RIGID_FLOOR**2 * square:  # else all outputs are alike, and any gain will do
            gain = float(covariance(self.rows.line)) / variance
            self.solved = Solved(gain, mean_target - gain * mean)

    def _target(self, feedback: Feedback) -> Tensor:
        """The implied target `(*runs, out, samples)`, on a scale on which batches can be averaged: below a linear layer
        it is that layer's own, as gain and bias change all the time."""
        line = self.place.line
        return feedback.implied if line is None else float(line.gain) * feedback.implied + float(line.bias)

    def _rigid(self, feedback: Feedback) -> Tensor:
        """Rows `(*runs, out)` whose neighbours absorb a gain and a bias and no more, so that a grid point has to be as
        good as the free numbers: what lies above is linear, and passes on all samples alike."""
        if not self.place.straight:
            return torch.zeros_like(self.rows.arrived)
        h = feedback.curvature
        if h.shape[-1] == 1:  # there is nothing to compare
            return torch.zeros_like(self.rows.arrived)
        return h.std(-1) < ALIKE * h.mean(-1)

    def _bendable(self, feedback: Feedback, goal: Tensor) -> Tensor:
        """The share that is left if a grid point's exponents may move a little, with any gain and bias `(*runs, out)`.

        Layers that have made up for a wrong grid point imply targets that agree with it; what its own slopes explain of
        the rest tells.
        """
        x, target = feedback.x, feedback.implied.unsqueeze(-1)
        y = self.ruled.form.exact(goal, x).unsqueeze(-2)
        design = torch.cat([self.ruled.form.slopes(goal, x), y, torch.ones_like(y)], -2).nan_to_num(0.0, 0.0, 0.0)
        h = feedback.curvature
        weight = (h / h.sum(-1, keepdim=True).clamp(min=1e-300)).unsqueeze(-2)
        right = (weight * design) @ target
        explained = right.mT @ solve((weight * design) @ design.mT, right, self.settings.damping)
        mean = weight @ target
        variance = weight @ target.square() - mean.square()
        left = 1 - (explained - mean.square()) / variance.clamp(min=1e-300)
        return left[..., 0, 0].clamp(0.0, 1.0)

    def _turned(self, feedback: Feedback, goal: Tensor, asked: Tensor) -> Tensor:
        """Rows whose reciprocal explains far more: a gain of the wrong sign has led them to the wrong side of zero.

        On narrow ranges a reciprocal is nearly a negative gain, and logarithms do not see signs.
        """
        if self.ruled.form.linear or not bool(asked.any()) or not torch.equal(self.ruled.nearest(-goal), -goal):
            return torch.zeros_like(asked)
        h = feedback.curvature
        weight = h / h.sum(-1, keepdim=True).clamp(min=1e-300)
        both = self.ruled.form.exact(torch.stack([-goal, goal]), feedback.x)
        shares = unexplained(moments(feedback.implied, both, weight))
        other, left = shares[0], shares[1]  # of the same batch
        streak = torch.where(asked & (other < left), self.rows.mirrored + 1, 0)
        self.rows.mirrored = streak
        return asked & ((self.settings.decisive * other < left) | (streak >= self.settings.patience))

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

    def _shares(self, view: View, feedback: Feedback, candidates: Sequence[Tensor], ok: Tensor) -> Shares:
        """A product is also asked on logarithms, where a power below or above it does not matter either."""
        form, free = self.ruled.form, self.free.numbers.clamp(*self.ruled.box)
        h = feedback.curvature
        weight = h / h.sum(-1, keepdim=True).clamp(min=1e-300)
        held, goal, full = candidates
        points = torch.stack([goal, full])
        values = torch.stack([feedback.y, form.smooth(free, feedback.x), *form.exact(points, feedback.x)]).unsqueeze(0)
        target, weight = self._target(feedback).unsqueeze(0), weight.unsqueeze(0)
        if not form.linear:
            linked = torch.stack([held, free, goal, full]) @ view.features
            values = torch.cat([values, linked.unsqueeze(0)])
            target, weight = torch.stack([target[0], view.target]), torch.stack([weight[0], view.weight])
        batch = moments(target.unsqueeze(1), values, weight.unsqueeze(1))  # (coordinates, candidates, *runs, out, 5)
        memory = max(0.0, 1 - feedback.x.shape[-1] / SAMPLES)
        old = batch if self.rows.sums is None else self.rows.sums.movedim((-3, -2), (0, 1))
        mean = memory * old + (1 - memory) * batch
        mean = torch.where(ok.reshape((*ok.shape, 1, 1)), mean, old)
        self.rows.sums = mean.movedim((0, 1), (-3, -2))  # the runs in front, as everywhere
        left = unexplained(mean)
        if not form.linear:  # a reciprocal is no gain
            left = torch.stack([left[0], torch.where(covariance(mean[1]) > 0, left[1], 1.0)])
        least = left.amin(0)
        alive = (points != 0).any(-1)
        return Shares(least[0], least[1], *torch.where(alive, least[2:], 1.0))

    def write(self, ok: Tensor, pace: float) -> None:
        """Rows that are the rule's, on their way also between two looks; others are the base optimiser's."""
        if self._owns and not self.settled:
            self.rows.move(ok, self._followed(pace), self.glide, self.ruled.box, self.settings)
            self.ruled.write(self.rows.held, self.rows.owned)
            self.settled = bool(self.rows.arrived.all())
        if self.solved is not None and self.place.line is not None:
            self.place.line.gain.fill_(self.solved.gain)
            self.place.line.bias.fill_(self.solved.bias)

    def standings(self) -> list[Standing]:
        """How it stands."""
        rows = self.rows
        left = None if self.hopeless else float(rows.unexplained.clamp(max=1).mean())
        return [Standing(self.ruled, self.position, share(rows.arrived), share(rows.owned & ~rows.arrived), left)]

    def saved(self) -> dict[str, Any]:
        """All it remembers."""
        states = {"free": self.free, "rows": self.rows, "progress": self.progress}
        solved = None if self.solved is None else list(self.solved)
        return {name: state.saved() for name, state in states.items()} | {"looks": self.looks.saved(), "solved": solved}

    def load(self, saved: Mapping[str, Any]) -> None:
        """Go on where it was saved."""
        for name, state in (("free", self.free), ("rows", self.rows), ("progress", self.progress)):
            state.loaded(saved[name], self.ruled.label)
        if self.rows.sums is not None and self.rows.sums.shape[-2] != len(Shares._fields):
            self.rows.sums = None  # of a version that asked other candidates
        self.looks.load(saved["looks"])
        self._owns = bool(self.rows.owned.any())
        self.solved = None if saved["solved"] is None else Solved(*saved["solved"])
