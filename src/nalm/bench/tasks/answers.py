"""Tasks whose answers are right or wrong: solved means that none is wrong."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

from torch import Tensor

from nalm.bench.task import SampledTask

TRACE = 1e-6  # of the squared error in the share of wrong answers; one wrong answer in 10,000 is a hundred times that


@dataclass(frozen=True)
class AnsweredTask(SampledTask):
    """What such tasks share. A subclass says how many answers are wrong."""

    @abstractmethod
    def wrong(self, y: Tensor, t: Tensor) -> Tensor:
        """Per run, the share of wrong answers among outputs and targets `(*runs, out, samples)`."""

    def error(self, y: Tensor, t: Tensor) -> Tensor:
        """The share of wrong answers and a trace of the squared error, below `TRACE` if and only if none is wrong.

        The evaluation with the least validation error counts: among many with none wrong that must not be the first,
        when weights are still on their way, but the surest.
        """
        wrong = self.wrong(y, t)
        size = (y - t).square().mean((-2, -1))
        return wrong + TRACE * size / (1 + size)

    def threshold(self) -> float:
        return TRACE
