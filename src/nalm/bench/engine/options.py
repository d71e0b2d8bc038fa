"""How to train, which never changes what is trained; and what is heard on the way."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from nalm.bench.engine.settings import SETTINGS, Settings
from nalm.bench.run import Run
from nalm.core.arguments import Count, check_fields

EngineName = Literal["auto", "native", "torch"]


@dataclass(frozen=True)
class Progress:
    """What an engine says after each evaluation of a group of runs.

    Attributes:
        step: how far the group is.
        advanced: steps since the last time; those that a checkpoint brought count the first time.
        solved: how many of the runs are solved so far.
        note: what else is worth a glance, for example "accuracy 0.981".
    """

    runs: Sequence[Run]
    step: int
    advanced: int
    solved: int
    note: str = ""


@dataclass
class Options:
    """How to train.

    Args:
        engine: "native", "torch", or "auto": native where it can, torch elsewhere.
        threads: native threads over seeds; all cores by default.
        say: receives one line when an engine refuses or could be faster.
        progress: is called after each evaluation.
        settings: the engines' numbers.
    """

    engine: EngineName = "auto"
    device: str = "cpu"
    threads: Count = field(default_factory=lambda: os.cpu_count() or 1)
    say: Callable[[str], None] = lambda _: None
    progress: Callable[[Progress], None] = lambda _: None
    settings: Settings = SETTINGS

    def __post_init__(self) -> None:
        check_fields(self)
