"""Tasks whose answers are right or wrong: solved means that none is wrong."""

from __future__ import annotations

from torch import Tensor

TRACE = 1e-6  # of the squared error in the share of wrong answers; one wrong answer in 10,000 is a hundred times that


def traced(wrong: Tensor, y: Tensor, t: Tensor) -> Tensor:
    """The share of wrong answers and a trace of the squared error, below `TRACE` if and only if none is wrong.

    The evaluation with the least validation error counts: among many with none wrong that must not be the first, when
    weights are still on their way, but the surest.

    Args:
        wrong: the share, per run.
        y, t: outputs and targets `(*runs, out, samples)`.
    """
    size = (y - t).square().mean((-2, -1))
    return wrong + TRACE * size / (1 + size)
