"""What one look says about a unit between learned layers: what it explains, what a grid point would explain, and which
of the two the neighbours could make up for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from nalm.training.rule.correlation import Shares, aim, covariance, error, moments, undropped, unexplained
from nalm.training.rule.feedback import Feedback
from nalm.training.rule.graph import Place
from nalm.training.rule.line import LineAbove
from nalm.training.rule.regression import Regression, View, solve
from nalm.training.rule.rows import RowsState
from nalm.training.rule.ruled import Ruled
from nalm.training.rule.settings import Settings

ALIKE = 0.5  # relative deviation of the curvature: 0 below a linear layer, 0.3 below BatchNorm, above 1 below an MLP
RIGID_FLOOR = 1e-4  # share that correlations of float32 and of a gain still on its way leave
# Unexplained share up to which a batch of 128 knows it to 3 %, as `explains` asks: 2 r (1 - r^2) / sqrt(128).
CLEAR = 0.2
SAMPLES = 128  # of one look: `explains`, `patience` and `CLEAR` are chosen for so many


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
        lost: whether the network would do better with a constant in place of a sum, and worse still with the grid
            point: one of positive numbers went from (-0.4, -0.4) to (-1, -1), as that correlated with its target,
            which was positive.
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
    lost: Tensor


class Evidence:
    """Asks batches about the rows of one unit.

    Args:
        ruled: the unit.
        place: where it sits.
        rows: what the rule does with each row; what the batches of a look have said so far is kept there.
        free: the regression of its implied targets.
        line: a linear layer directly above.
        settings: of the rule.
    """

    def __init__(
        self, ruled: Ruled, place: Place, rows: RowsState, free: Regression, line: LineAbove, settings: Settings
    ) -> None:
        self.ruled, self.place, self.rows = ruled, place, rows
        self.free, self.line, self.settings = free, line, settings
        self.gathered = 0  # samples of the present look

    def look(self, feedback: Feedback, view: View, held: Tensor, ok: Tensor, squared: Tensor) -> LookedAt | None:
        """What a look says about what the rows hold, and about the grid point in question; None if it needs more
        batches, which are those of the next steps.

        Args:
            feedback: what the batch says.
            view: in the coordinate in which the unit is linear.
            held: the numbers of the rows `(*runs, out, in)`.
            ok: runs `(*runs,)` that may learn from it.
            squared: runs whose loss is a squared error; another one implies no more than the direction of a target.
        """
        s, rows = self.settings, self.rows
        goal = rows.goal
        if not bool((rows.gliding | rows.arrived).all()):
            goal = torch.where(rows.gliding.unsqueeze(-1), goal, aim(held, self.ruled.grid))
        goal = torch.where(rows.arrived.unsqueeze(-1), held, goal)
        full = undropped(goal, held, self.ruled.grid, self._least) if self.place.learned_below else goal
        left, missed = self._shares(view, feedback, [held, goal, full], ok)
        if self.gathered < SAMPLES:
            return None
        self.rows.sums, self.gathered = None, 0  # by the next look the network is another one
        least, below, none = left.least, self.place.learned_below, torch.zeros_like(rows.arrived)
        keep = lossy = rigid = far = turned = lost = none
        if below:
            # layers below can learn to use an input that is kept, but never again one that is dropped; where that
            # explains far more, as above a layer and a way around it, the unit waits
            keep = (left.given_up(left.full) < s.worth_trying) & (left.full <= s.decisive * left.goal)
            keep = keep & ~rows.arrived & ~rows.gliding & ~rows.has_refused(full)
            goal = torch.where(keep.unsqueeze(-1), full, goal)
            left = left._replace(goal=torch.where(keep, left.full, left.goal))
            lossy = (goal == 0).any(-1) & (s.better * left.goal > least)
        given_up = left.given_up(left.goal)
        known = least <= s.informative
        clear = known & (least <= CLEAR) if below else known
        if self.place.straight:
            rigid = self._rigid(feedback) & squared.unsqueeze(-1)
            # else it is not approached in any case, or right
            asked = rigid & (rows.arrived | (given_up < s.worth_trying)) & (left.goal > RIGID_FLOOR)
            best = torch.minimum(least, self._bendable(feedback, goal)) if bool(asked.any()) else least
            far = rigid & (left.goal > s.decisive * best + RIGID_FLOOR)
            turned = self._turned(feedback, goal, rigid & known & (given_up < s.explains))
        if missed is not None:
            farther = torch.where(keep, missed.full, missed.goal) > missed.held
            lost = (missed.held > 1) & farther & squared.unsqueeze(-1)
        return LookedAt(held, goal, left, given_up, lossy, known, clear, rigid, far, turned, lost)

    @property
    def _least(self) -> float:
        """Size of a number, as a share of the largest in its row, from which on its sign is believed.

        The sign of a product's exponent is asked of the free numbers before a grid point is tried.
        """
        return self.settings.signed if self.ruled.form.linear else 0.0

    def _shares(
        self, view: View, feedback: Feedback, candidates: Sequence[Tensor], ok: Tensor
    ) -> tuple[Shares, Shares | None]:
        """What candidates leave whatever gain and bias follow, and what those for a sum that is the network's output
        miss as they are.

        A product is also asked on logarithms, where a power below or above it does not matter either.
        """
        form, free = self.ruled.form, self.free.numbers.clamp(*self.ruled.box)
        held, goal, full = candidates
        points = torch.stack([goal, full])
        values = torch.stack([feedback.y, form.smooth(free, feedback.x), *form.exact(points, feedback.x)]).unsqueeze(0)
        target, weight = self.line.target(feedback).unsqueeze(0), feedback.weight.unsqueeze(0)
        if not form.linear:
            linked = torch.stack([held, free, goal, full]) @ view.features
            values = torch.cat([values, linked.unsqueeze(0)])
            target, weight = torch.stack([target[0], view.target]), torch.stack([weight[0], view.weight])
        batch = moments(target.unsqueeze(1), values, weight.unsqueeze(1))  # (coordinates, candidates, *runs, out, 5)
        mean = self._so_far(batch, feedback.x.shape[-1], ok)
        left = unexplained(mean)
        # A reciprocal is no gain, and no layer above turns the opposite of the network's output round.
        signed = slice(1 if self.place.learned_above else 0, None)
        left[signed] = torch.where(covariance(mean[signed]) > 0, left[signed], 1.0)
        least = left.amin(0)
        alive = (points != 0).any(-1)
        shares = Shares(least[0], least[1], *torch.where(alive, least[2:], 1.0))
        at_output = self.place.learned_below and not self.place.learned_above and form.linear
        return shares, Shares(*error(mean[0])) if at_output else None

    def _so_far(self, batch: Tensor, samples: int, ok: Tensor) -> Tensor:
        """The moments of all batches of this look, from those of the latest one."""
        rows = self.rows
        old = batch if rows.sums is None else rows.sums.movedim((-3, -2), (0, 1))
        mean = old + samples / (self.gathered + samples) * (batch - old)
        mean = torch.where(ok.reshape((*ok.shape, 1, 1)), mean, old)
        rows.sums = mean.movedim((0, 1), (-3, -2))  # the runs in front, as everywhere
        self.gathered += samples
        return mean

    def _rigid(self, feedback: Feedback) -> Tensor:
        """Rows `(*runs, out)` whose neighbours absorb a gain and a bias and no more, so that a grid point has to be as
        good as the free numbers: what lies above, which is linear, passes on all samples alike."""
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
        weight = feedback.weight.unsqueeze(-2)
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
        if self.ruled.form.linear or not bool(asked.any()):
            return torch.zeros_like(asked)
        if not {-g for g in goal.flatten().tolist()} <= {*self.ruled.grid}:  # the reciprocal is no grid point
            return torch.zeros_like(asked)
        both = self.ruled.form.exact(torch.stack([-goal, goal]), feedback.x)
        shares = unexplained(moments(feedback.implied, both, feedback.weight))
        other, left = shares[0], shares[1]  # of the same batch
        streak = torch.where(asked & (other < left), self.rows.mirrored + 1, 0)
        self.rows.mirrored = streak
        return asked & ((self.settings.decisive * other < left) | (streak >= self.settings.patience))
