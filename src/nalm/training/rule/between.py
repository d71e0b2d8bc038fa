"""A unit between learned layers. They can absorb a gain, a bias, even a power, so errors do not tell whether a grid
point is right; correlations do. And because the neighbours have to follow, the unit glides to the grid, slowly.

The base optimiser trains the unit like everything else. The rule takes a row over only on feedback: when the regression
explains batches it has not seen clearly better than the row does, or when a grid point explains as much as anything.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self, final

import torch
from torch import Tensor

from nalm.core.weight import nearest
from nalm.training.rule.batch import Batch
from nalm.training.rule.feedback import Feedback
from nalm.training.rule.graph import Place, Position
from nalm.training.rule.looks import Looks
from nalm.training.rule.mode import Seen, Standing, share
from nalm.training.rule.progress import ProgressState
from nalm.training.rule.regression import Regression, View, solve
from nalm.training.rule.ruled import Ruled
from nalm.training.rule.settings import Settings
from nalm.training.rule.state import State

ALIKE = 0.5  # relative deviation of the curvature: 0 below a linear layer, 0.3 below BatchNorm, above 1 below an MLP
RIGID_FLOOR = 1e-4  # share that correlations of float32 and of a gain still on its way leave
CONFIRMED = 2  # looks in a row that speak for a grid point before it is approached: one batch may do so by chance
# Unexplained share up to which a batch of 128 knows it to 3 %, as `explains` asks: 2 r (1 - r^2) / sqrt(128).
CLEAR = 0.2
SAMPLES = 128  # for a correlation of their own; smaller batches are averaged


def aim(numbers: Tensor, grid: tuple[float, ...]) -> Tensor:
    """The grid point in the direction of each row: layers around it may have given it another scale.

    >>> aim(torch.tensor([[0.21, -0.2, 0.02]]), (-1, 0, 1)).tolist()
    [[1.0, -1.0, 0.0]]
    """
    largest = max(abs(g) for g in grid)
    scale = numbers.abs().amax(-1, keepdim=True).clamp(min=1e-12)
    return nearest(numbers * largest / scale, grid)


class Shares(NamedTuple):
    """The share of the implied target's variance that three candidates leave, whatever gain and bias follow.

    Each `(*runs, out)`: what the unit holds, the free numbers (which have not seen the batch), the grid point.
    """

    held: Tensor
    free: Tensor
    goal: Tensor


class LookedAt(NamedTuple):
    """What one look says about each row; all `(*runs, out)`, but for the numbers.

    Attributes:
        held: the numbers of the rows `(*runs, out, in)`.
        goal: the grid point that they hold, approach, or point at `(*runs, out, in)`.
        left: what the candidates leave unexplained.
        given_up: share of what the best candidate explains that the grid point does not.
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
    known: Tensor
    clear: Tensor
    rigid: Tensor
    far: Tensor
    turned: Tensor


class Solved(NamedTuple):
    """What the linear layer directly above shall hold."""

    gain: float
    bias: float


@dataclass
class RowsState(State):
    """What the rule does with each row `(*runs, out)`.

    Attributes:
        held: the numbers of rows that are the rule's `(*runs, out, in)`.
        owned: rows that are the rule's.
        arrived: those of them that are on the grid.
        goal: where the others of them are moved to, a little in each step `(*runs, out, in)`...
        gliding: ... because it is a grid point; otherwise these are the free numbers.
        share: of a step to the free numbers that is best for all rows together `(*runs,)`.
        streak: how many looks in a row doubted their grid point.
        asked: how many looks in a row spoke for a grid point, of rows that are not there.
        mirrored: how many looks in a row its reciprocal explained more.
        refused: a grid point that made the loss worse `(*runs, out, in)`; at first none, which is NaN.
        before: level of the loss before a grid point was approached `(*runs,)`.
        unexplained: share of the implied target's variance that what the row holds leaves.
        sums: running averages behind the correlations of small batches, of three candidates.
        line: running averages behind the gain and bias of a linear layer directly above.
    """

    held: Tensor
    owned: Tensor
    arrived: Tensor
    goal: Tensor
    gliding: Tensor
    share: Tensor
    streak: Tensor
    asked: Tensor
    mirrored: Tensor
    refused: Tensor
    before: Tensor
    unexplained: Tensor
    sums: Tensor | None = None
    line: Tensor | None = None

    @classmethod
    def of(cls, ruled: Ruled) -> Self:
        """At the beginning."""
        held = ruled.read()
        rows = torch.zeros_like(held[..., 0], dtype=torch.bool)
        before = torch.zeros_like(held[..., 0, 0])
        nothing = torch.full_like(held, torch.nan)
        none = rows.to(torch.int64)
        whole, unexplained = torch.ones_like(before), torch.ones_like(held[..., 0])
        return cls(held, rows, rows, held, rows, whole, none, none, none, nothing, before, unexplained)


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
        self.looks = Looks(settings.sparse if place.learned_below else settings.spacing, settings.rest)
        self.solved: Solved | None = None
        self.settled = False
        self._owns = False  # whether any row is the rule's

    def due(self, step: int) -> bool:
        """Ever more rarely while nothing changes."""
        return not self.hopeless and self.looks.due(step)

    def learn(self, seen: Sequence[Seen], batch: Batch) -> None:
        """Take rows over, move them, put them on the grid, or leave them."""
        feedback, rows, ok = seen[0].feedback, self.rows, batch.ok
        self.progress.learn(batch.losses, ok, batch.step - self.looks.last)
        if feedback is None:
            return
        held = torch.where(rows.owned.unsqueeze(-1), rows.held, self.ruled.read())
        view = View.of(self.ruled.form, feedback, feedback.y, intercept=True)
        looked = self._looked_at(feedback, view, held, ok)
        changed = self._decide(looked, ok)
        self.settled, self._owns = False, bool(rows.owned.any())
        following = rows.owned & ~rows.gliding & ~rows.arrived
        if bool(following.any()) and self.ruled.unit.out_features > 1:
            rows.keep(ok, share=self._best_share(feedback))
        self.looks.looked(batch.step, bool(changed.any()))
        self.free.learn(self.ruled, view, ok, self.settings)
        through_zero = bool((feedback.x < 0).any() & (feedback.x > 0).any())
        self._solve_line(feedback, looked.rigid & (rows.arrived | (~looked.known & through_zero)))

    def _looked_at(self, feedback: Feedback, view: View, held: Tensor, ok: Tensor) -> LookedAt:
        """What a look says about what the rows hold, and about the grid point in question."""
        s, rows = self.settings, self.rows
        on_the_way = torch.where(rows.gliding.unsqueeze(-1), rows.goal, aim(held, self.ruled.grid))
        goal = torch.where(rows.arrived.unsqueeze(-1), held, on_the_way)
        left = self._shares(view, feedback, held, goal, ok)
        least = torch.stack(left).amin(0)
        given_up = (left.goal - least) / (1 - least).clamp(min=1e-12)
        known = least <= s.informative
        clear = known & ((least <= CLEAR) | (not self.place.learned_below))
        rigid = self._rigid(feedback)
        best = torch.minimum(least, self._bendable(feedback, goal)) if bool(rigid.any()) else least
        far = rigid & (left.goal > s.decisive * best + RIGID_FLOOR)
        turned = self._turned(feedback, goal, rigid & known & (given_up < s.explains), left.goal)
        return LookedAt(held, goal, left, given_up, known, clear, rigid, far, turned)

    def _decide(self, e: LookedAt, ok: Tensor) -> Tensor:
        """Whose each row is from now on, and where it goes; which rows have changed in that `(*runs, out)`."""
        s, rows = self.settings, self.rows
        doubted = rows.arrived & (~e.known | e.far | (e.given_up > s.doubts))
        streak = torch.where(doubted, rows.streak + 1, 0)
        arrived = rows.arrived & (streak < s.patience) & ~self._spoilt(ok).unsqueeze(-1)
        # a row on its way is turned back by no less than one that has arrived: a single batch may err
        # Beside a grid point that uses every input the numbers differ from it in gains (of a sum) or powers (of a
        # product). Layers below can make up for those, so there it is the loss on the way that tells.
        tried = (e.goal != 0).all(-1) & self.place.learned_below
        may_give_up = torch.where(rows.gliding | tried, s.doubts, s.explains)
        refused = (rows.refused == e.goal).all(-1)
        near = e.known & (e.given_up < may_give_up) & ~e.far & ~refused & ~arrived & ~e.turned & s.snap
        same = (rows.asked > 0) & (rows.goal == e.goal).all(-1)
        asked = torch.where(near, torch.where(same, rows.asked, 0) + 1, 0)
        enough = torch.where(rows.gliding, 1, torch.where(e.clear, CONFIRMED, s.patience))
        gliding, arrived = asked >= enough, arrived & ~e.turned
        better = e.left.free < s.better * e.left.held
        follow = e.clear & better & ~near & ~arrived & (not self.ruled.form.linear)
        changed = (gliding != rows.gliding) | (arrived != rows.arrived) | e.turned | (streak == 1)
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
        target = float(line.gain) * feedback.implied + float(line.bias)
        h = feedback.curvature
        batch = _moments(target, y, h / h.sum(-1, keepdim=True).clamp(min=1e-300))
        memory = self.settings.memory
        self.rows.line = batch if self.rows.line is None else memory * self.rows.line + (1 - memory) * batch
        mean_target, mean, _, square, _ = self.rows.line.flatten().tolist()
        variance = square - mean * mean
        if variance > RIGID_FLOOR**2 * square:  # else all outputs are alike, and any gain will do
            gain = float(_covariance(self.rows.line)) / variance
            self.solved = Solved(gain, mean_target - gain * mean)

    def _rigid(self, feedback: Feedback) -> Tensor:
        """Rows `(*runs, out)` whose neighbours absorb a gain and a bias and no more, so that a grid point has to be as
        good as the free numbers: what lies above is linear, and passes on all samples alike."""
        if not self.place.straight:
            return torch.zeros_like(self.rows.arrived)
        h = feedback.curvature
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

    def _turned(self, feedback: Feedback, goal: Tensor, asked: Tensor, left: Tensor) -> Tensor:
        """Rows whose reciprocal explains far more: a gain of the wrong sign has led them to the wrong side of zero.

        On narrow ranges a reciprocal is nearly a negative gain, and logarithms do not see signs.
        """
        if not bool(asked.any()) or not torch.equal(self.ruled.nearest(-goal), -goal):
            return torch.zeros_like(asked)
        h = feedback.curvature
        weight = h / h.sum(-1, keepdim=True).clamp(min=1e-300)
        moments = _moments(feedback.implied, self.ruled.form.exact(-goal, feedback.x).unsqueeze(0), weight)
        other = _unexplained(moments)[0]
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

    def _towards(self) -> Tensor:
        """A step to the free numbers that the neighbours can follow."""
        step = self.settings.slow * (self.rows.goal - self.rows.held)
        most = self.settings.follow
        return step * (most / step.abs().amax(-1, keepdim=True).clamp(min=most))

    def _best_share(self, feedback: Feedback) -> Tensor:
        """Rows that share an output would all make up for the same error: what is best for all together `(*runs,)`."""
        form, held = self.ruled.form, self.rows.held
        effect = form.smooth(held + self._towards(), feedback.x) - form.smooth(held, feedback.x)
        bend = (feedback.probe * effect).sum(-2).square().sum(-1).sum(0)
        slope = -(feedback.delta * effect).sum((-2, -1))
        return torch.where(bend > 0, slope / bend, 1.0).clamp(0.0, 1.0)

    def _move(self, ok: Tensor) -> None:
        """One step of all rows on their way: to the grid, or towards the free numbers, and not along the scale, which
        neighbours can absorb."""
        s, rows = self.settings, self.rows
        moving = rows.owned & ~rows.arrived & ok.unsqueeze(-1)
        if not bool(moving.any()):
            return
        size = rows.held.abs().amax(-1, keepdim=True).clamp(min=1e-3)
        follow = rows.share[..., None, None] * self._towards() + rows.held * (size.pow(-s.rescale) - 1)
        step = torch.where(rows.gliding.unsqueeze(-1), (rows.goal - rows.held).clamp(-s.glide, s.glide), follow)
        rows.keep(moving, held=(rows.held + step).clamp(*self.ruled.box))
        there = moving & rows.gliding & (rows.held == rows.goal).all(-1)
        rows.keep(there, held=rows.goal, arrived=there, gliding=~there)

    def _shares(self, view: View, feedback: Feedback, held: Tensor, goal: Tensor, ok: Tensor) -> Shares:
        """A product is also asked on logarithms, where a power below or above it does not matter either."""
        form, free = self.ruled.form, self.free.numbers.clamp(*self.ruled.box)
        h = feedback.curvature
        weight = h / h.sum(-1, keepdim=True).clamp(min=1e-300)
        values = torch.stack([feedback.y, form.smooth(free, feedback.x), form.exact(goal, feedback.x)]).unsqueeze(0)
        target, weight = feedback.implied.unsqueeze(0), weight.unsqueeze(0)
        if not form.linear:
            linked = torch.stack([held, free, goal]) @ view.features
            values = torch.cat([values, linked.unsqueeze(0)])
            target, weight = torch.stack([target[0], view.target]), torch.stack([weight[0], view.weight])
        batch = _moments(target.unsqueeze(1), values, weight.unsqueeze(1))  # (coordinates, candidates, *runs, out, 5)
        memory = max(0.0, 1 - feedback.x.shape[-1] / SAMPLES)
        old = batch if self.rows.sums is None else self.rows.sums.movedim((-3, -2), (0, 1))
        mean = memory * old + (1 - memory) * batch
        mean = torch.where(ok.reshape((*ok.shape, 1, 1)), mean, old)
        self.rows.sums = mean.movedim((0, 1), (-3, -2))  # the runs in front, as everywhere
        left = _unexplained(mean)
        if not form.linear:  # a reciprocal is no gain
            left = torch.stack([left[0], torch.where(_covariance(mean[1]) > 0, left[1], 1.0)])
        least = left.amin(0)
        alive = (goal != 0).any(-1)
        return Shares(least[0], least[1], torch.where(alive, least[2], 1.0))

    def write(self, ok: Tensor) -> None:
        """Rows that are the rule's, on their way also between two looks; others are the base optimiser's."""
        if self._owns and not self.settled:
            self._move(ok)
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
        self.looks.load(saved["looks"])
        self._owns = bool(self.rows.owned.any())
        self.solved = None if saved["solved"] is None else Solved(*saved["solved"])


def _moments(target: Tensor, values: Tensor, weight: Tensor) -> Tensor:
    """First and second moments of a target `(*runs, out, samples)` and of candidates for it, `(..., 5)`."""
    usable = target.isfinite() & values.isfinite()
    weight, a, b = (torch.where(usable, v, 0.0) for v in (weight.expand_as(values), target.expand_as(values), values))
    return torch.stack([(weight * v).sum(-1) for v in (a, b, a * a, b * b, a * b)], -1)


def _covariance(mean: Tensor) -> Tensor:
    ma, mb, _, _, ab = mean.unbind(-1)
    return ab - ma * mb


def _unexplained(mean: Tensor) -> Tensor:
    ma, mb, aa, bb, _ = mean.unbind(-1)
    variances = (aa - ma * ma) * (bb - mb * mb)
    left = 1 - _covariance(mean).square() / variances.clamp(min=1e-300)
    return torch.where(variances > 0, left.clamp(0.0, 1.0), 1.0)
