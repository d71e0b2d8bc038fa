"""What an engine offers to the training loop."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from nalm.bench.distribution import Distribution
from nalm.bench.engine.program import Arrays


class Backend(Protocol):
    """An engine; all arrays are float32 with a leading runs axis."""

    name: str
    resumable: bool  # whether the cohort's arrays are all that is needed to continue

    def advance(
        self, state: Arrays, consts: Arrays, seeds: np.ndarray, first: int, count: int, alive: np.ndarray
    ) -> None: ...

    def evaluate(
        self, part: Distribution, stream: int, state: Arrays, consts: Arrays, chosen: np.ndarray
    ) -> np.ndarray: ...
