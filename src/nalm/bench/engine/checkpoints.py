"""The state of a group of runs under way, kept in the store so that a killed process goes on where it was."""

from __future__ import annotations

import hashlib
import importlib.metadata
import time
import zipfile
import zlib
from collections.abc import Callable, Sequence

from nalm.bench.engine.options import Options
from nalm.bench.results.store import Store
from nalm.bench.run import Run

FORMAT = 2  # of the bytes


def group_key(group: Sequence[Run]) -> str:
    """What all checkpoints of a group have in common, whatever engine wrote them."""
    return hashlib.sha256("".join(run.id for run in group).encode()).hexdigest()[:16]


class Checkpoint:
    """Where one engine keeps a group. Without a store nothing is kept."""

    def __init__(self, store: Store | None, group: Sequence[Run], engine: str, options: Options) -> None:
        self._store = store
        self._group_key = group_key(group)
        versions = f"{importlib.metadata.version('nalm')}-{importlib.metadata.version('torch')}"
        self._key = f"{self._group_key}-{engine}-{FORMAT}-{versions}"  # another engine or version ends elsewhere
        self._runs = [run.id for run in group]
        self._seconds = options.settings.checkpoint_seconds
        self._say = options.say
        self._label = group[0].model.label
        self._last = time.monotonic()

    def resume(self, load: Callable[[bytes], None]) -> None:
        """Give what was kept last, if anything, to `load`.

        What cannot be read, or was kept by another engine or version, is said and dropped: these runs begin anew.
        """
        if self._store is None:
            return
        saved = self._store.load_checkpoint(self._key)
        if saved is None and self._store.has_checkpoint(self._group_key):
            self._say(f"{self._label}: the checkpoint is of another engine or version; these runs begin anew.")
            self._store.drop_checkpoint(self._group_key)
        if saved is not None:
            try:
                load(saved[1])
            except (ValueError, KeyError, IndexError, TypeError, EOFError, OSError, zipfile.BadZipFile, zlib.error):
                self._say(f"{self._label}: the checkpoint is damaged and dropped; these runs begin anew.")
                self._store.drop_checkpoint(self._group_key)

    def offer(self, step: int, state: Callable[[], bytes]) -> None:
        """Keep the state in place of the earlier one, if enough time has passed."""
        if self._store is not None and time.monotonic() - self._last > self._seconds:
            self._store.save_checkpoint(self._key, step, state(), self._runs)
            self._last = time.monotonic()
