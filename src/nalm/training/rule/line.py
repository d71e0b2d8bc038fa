"""A linear layer with one input and one output directly above a unit: its gain and bias are solved, not trained."""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor

from nalm.training.rule.correlation import covariance, moments
from nalm.training.rule.feedback import Feedback
from nalm.training.rule.graph import GainAndBias
from nalm.training.rule.rows import RowsState

ALL_ALIKE = 1e-8  # share of the outputs' mean square below which their variance is rounding: any gain will do


class Solved(NamedTuple):
    """What the layer shall hold."""

    gain: float
    bias: float


class LineAbove:
    """The layer, if there is one.

    On the grid its solution ends the training of unit, gain and bias. A unit about which nothing is known yet gets the
    mean out of the way: through zero, a product's logarithm can be read only without a bias.

    Attributes:
        line: its parameters; None if what lies above is something else.
        solved: what it shall hold from now on; None while it is the base optimiser's.
    """

    def __init__(self, line: GainAndBias | None, rows: RowsState, memory: float) -> None:
        self.line, self.rows, self.memory = line, rows, memory
        self.solved: Solved | None = None

    def target(self, feedback: Feedback) -> Tensor:
        """The implied target `(*runs, out, samples)`, on a scale on which batches can be averaged: below a linear layer
        it is that layer's own, as gain and bias change all the time."""
        line = self.line
        return feedback.implied if line is None else float(line.gain) * feedback.implied + float(line.bias)

    def leave(self) -> None:
        """To the base optimiser."""
        self.solved = self.rows.line = None

    def solve(self, feedback: Feedback, y: Tensor) -> None:
        """By regression of the targets on what the unit computes, averaged over batches."""
        batch = moments(self.target(feedback), y, feedback.weight)
        old, self.solved = self.rows.line, None
        self.rows.line = batch if old is None else self.memory * old + (1 - self.memory) * batch
        mean_target, mean, _, square, _ = self.rows.line.flatten().tolist()
        variance = square - mean * mean
        if variance > ALL_ALIKE * square:
            gain = float(covariance(self.rows.line)) / variance
            self.solved = Solved(gain, mean_target - gain * mean)

    def write(self) -> None:
        """Store what was solved."""
        if self.solved is not None and self.line is not None:
            self.line.gain.fill_(self.solved.gain)
            self.line.bias.fill_(self.solved.bias)
