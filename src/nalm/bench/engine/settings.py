"""The numbers of the engines, each with its reason. None of them changes what a run learns."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """Defaults are what every study uses.

    Attributes:
        validate: steps between the validations that waiting penalties go by, where no restart rule sets its own
            interval; the distance at which the published code evaluates.
        window: evaluations, counted from the end, among which the best step is looked for, as published.
        on_grid: a run may retire once no weight is further from its grid; the error that success allows per weight.
        checkpoint_seconds: time between two checkpoints of a group under way. Writing one takes milliseconds, so at
            half a minute it costs nothing one can measure, and half a minute is what a kill can cost.
        worth_compiling: steps from which compiling the torch loop (10 to 60 s) pays.
        evaluated_at_once: runs per evaluation in torch: 32 runs of 10,000 samples of 100 inputs are 128 MB of float32.
        retries: how often a cluster's task is started again after its worker died.
    """

    validate: int = 1_000
    window: int = 5_000
    on_grid: float = 1e-5
    checkpoint_seconds: float = 30.0
    worth_compiling: int = 20_000
    evaluated_at_once: int = 32
    retries: int = 3


SETTINGS = Settings()
