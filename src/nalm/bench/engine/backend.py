"""What an engine offers to the training loop of a cohort."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from nalm.bench.distribution import Distribution
from nalm.bench.engine.unit_on_task import Arrays


class Backend(Protocol):
    """Does the arithmetic; all arrays are float32 with a leading runs axis."""

    name: str
    resumable: bool  # whether the cohort's arrays are all that is needed to continue

    def advance(
        self, state: Arrays, consts: Arrays, seeds: np.ndarray, first: int, count: int, alive: np.ndarray
    ) -> None:
        """`count` steps from step `first`, in place; runs that are not alive stay as they are."""

    def evaluate(
        self, part: Distribution, stream: int, parameters: Arrays, consts: Arrays, chosen: np.ndarray
    ) -> Arrays:
        """The task's error ("error") and measures of the chosen runs `(runs,)`, NaN for the others."""
