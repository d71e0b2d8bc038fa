"""The field's experiments, and the door to your own: a study is a script of a few lines.

>>> from nalm.bench import Run, Store, Study, Task, train
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nalm.bench.engine.train import train
    from nalm.bench.results.store import Store
    from nalm.bench.run import Run
    from nalm.bench.study import Study
    from nalm.bench.task import Task

__all__ = ["Run", "Store", "Study", "Task", "train"]

# imported on first use: looking at a store needs no engine
_LATER = {
    "Run": "nalm.bench.run",
    "Store": "nalm.bench.results.store",
    "Study": "nalm.bench.study",
    "Task": "nalm.bench.task",
    "train": "nalm.bench.engine.train",
}


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(importlib.import_module(_LATER[name]), name)
    raise AttributeError(f"module 'nalm.bench' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
