"""A linear layer with one input and one output directly above a unit: its gain and bias are solved, not trained."""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor

from nalm.training.rule.correlation import moments
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
        once: what it shall hold after this step, and the base optimiser goes on from there.
    """

    def __init__(self, line: GainAndBias | None, rows: RowsState, memory: float) -> None:
        self.line, self.rows, self.memory = line, rows, memory
        self.solved: Solved | None = None
        self.once: Solved | None = None

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
        old = self.rows.line
        self.rows.line = batch if old is None else self.memory * old + (1 - self.memory) * batch
        self.solved = _regression(self.rows.line)

    def step(self, feedback: Feedback, y: Tensor) -> None:
        """For losses whose targets are only on the way: by regression on this batch, and the base optimiser goes on."""
        self.leave()
        self.once = _regression(moments(self.target(feedback), y, feedback.weight))

    @property
    def stores(self) -> bool:
        """Whether there is anything to store."""
        return self.solved is not None or self.once is not None

    def write(self) -> None:
        """Store what was solved."""
        found, self.once = self.once or self.solved, None
        if found is not None and self.line is not None:
            self.line.gain.fill_(found.gain)
            self.line.bias.fill_(found.bias)


def _regression(mean: Tensor) -> Solved | None:
    """Gain and bias from the moments of targets and outputs; None where all outputs are alike."""
    mean_target, mean_output, _, square, product = mean.flatten().tolist()
    variance = square - mean_output * mean_output
    if not variance > ALL_ALIKE * square:
        return None
    gain = (product - mean_target * mean_output) / variance
    return Solved(gain, mean_target - gain * mean_output)
