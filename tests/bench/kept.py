"""What a store keeps, for tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nalm.bench.results.store import Store


def kept(path: Path, readonly: bool = True) -> list[dict[str, Any]]:
    """All records of a store, which is closed again."""
    with Store(path, readonly=readonly) as store:
        return store.records()
