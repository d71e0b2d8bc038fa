"""The field's experiments, and the door to your own: a study is a script of a few lines.

>>> from nalm.bench import Descent, Run, SampledTask, Store, Study, Task, train
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nalm.bench.engine.train import train
    from nalm.bench.method import Descent, Method, Rule, Solve
    from nalm.bench.results.store import Store
    from nalm.bench.run import Layer, Model, Run, single
    from nalm.bench.study import Cell, Study, cells_over
    from nalm.bench.task import SampledTask, Task

__all__ = ["Cell", "Descent", "Layer", "Method", "Model", "Rule", "Run", "SampledTask", "Solve", "Store", "Study"]
__all__ += ["Task", "cells_over", "single", "train"]

# imported on first use: looking at a store needs no engine
_ROOMS = {
    "nalm.bench.engine.train": ("train",),
    "nalm.bench.method": ("Descent", "Method", "Rule", "Solve"),
    "nalm.bench.results.store": ("Store",),
    "nalm.bench.run": ("Layer", "Model", "Run", "single"),
    "nalm.bench.study": ("Cell", "Study", "cells_over"),
    "nalm.bench.task": ("SampledTask", "Task"),
}
_LATER = {name: room for room, names in _ROOMS.items() for name in names}


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(importlib.import_module(_LATER[name]), name)
    raise AttributeError(f"module 'nalm.bench' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
