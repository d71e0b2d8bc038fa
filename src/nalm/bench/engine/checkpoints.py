"""The state of a group of runs under way, kept in the store so that a killed process goes on where it was."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence

from nalm.bench.engine.options import Options
from nalm.bench.results.store import Store
from nalm.bench.run import Run

FORMAT = 2  # of the bytes; a checkpoint of another format is not read


def group_key(group: Sequence[Run]) -> str:
    """What all checkpoints of a group have in common, whatever engine wrote them."""
    return hashlib.sha256("".join(run.id for run in group).encode()).hexdigest()[:16]


class Checkpoint:
    """Where one engine keeps a group. Without a store nothing is kept."""

    def __init__(self, store: Store | None, group: Sequence[Run], engine: str, options: Options) -> None:
        self._store = store
        self._old_key = group_key(group)
        self._key = f"{self._old_key}-{engine}-{FORMAT}"
        self._seconds = options.settings.checkpoint_seconds
        self._say = options.say
        self._label = group[0].model.label
        self._last = time.monotonic()

    def load(self) -> bytes | None:
        """What was kept last, if anything."""
        if self._store is None:
            return None
        if self._store.load_checkpoint(self._old_key):
            self._say(f"{self._label}: its checkpoint is of an earlier version of nalm; these runs begin anew.")
            self._store.drop_checkpoint(self._old_key)
        saved = self._store.load_checkpoint(self._key)
        return saved[1] if saved else None

    def offer(self, step: int, state: Callable[[], bytes]) -> None:
        """Keep the state in place of the earlier one, if enough time has passed."""
        if self._store is not None and time.monotonic() - self._last > self._seconds:
            self._store.save_checkpoint(self._key, step, state())
            self._last = time.monotonic()
