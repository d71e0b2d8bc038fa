"""Data classes as plain data, from which runs get their names."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np


def plain(value: Any) -> Any:
    """Dataclasses as nested dictionaries of plain values, with their class names.

    Fields at their default are left out, so that a new option does not rename the runs of those who do not use it.
    The price: a default must never change.
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = [f for f in dataclasses.fields(value) if f.compare and getattr(value, f.name) != _default(f)]
        return {
            "kind": type(value).__name__,
            **_text_of(value),
            **{f.name: plain(getattr(value, f.name)) for f in fields},
        }
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, np.generic):  # numpy's numbers are numbers like any other
        return plain(value.item())
    if isinstance(value, float) and value.is_integer():
        return int(value)  # 1 and 1.0 are the same number, so they name the same run
    return value


def _text_of(value: object) -> dict[str, str]:
    """The hash of the user's file that defines a class, so that an edited task is a new run; see `find.from_file`."""
    text = getattr(sys.modules.get(type(value).__module__), "__text_hash__", None)
    return {} if text is None else {"text": text}


def _default(f: dataclasses.Field[Any]) -> Any:
    return f.default_factory() if f.default_factory is not dataclasses.MISSING else f.default
