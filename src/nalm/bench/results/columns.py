"""What is kept of a finished run: a record.

A record is a dict. `COLUMNS` names what the library itself records; an engine or a task may add named numbers of its
own, which every store and table carries along. A value that is unknown, not applicable or not a number is `None`.
"""

from __future__ import annotations

import difflib
import json
import math
import zlib
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nalm.core.arguments import shown

Record: TypeAlias = dict[str, Any]
Curve: TypeAlias = dict[str, NDArray[np.float32]]

# What was run, what came out, the exact record. `object` stands for anything JSON can hold.
COLUMNS: dict[str, type] = {
    "id": str,
    "study": str,
    "unit": str,
    "task": str,
    "operation": str,
    "inputs": int,
    "range": str,
    "recipe": str,
    "steps": int,
    "seed": int,
    "engine": str,
    "solved": bool,
    "solved_at": int,
    "selected_step": int,
    "validation_error": float,
    "test_error": float,
    "sparsity": float,
    "threshold": float,
    "reinitialisations": int,
    "nonfinite_step": int,
    "seconds": float,
    "run": object,
    "weights": object,
    "library_version": str,
    "torch_version": str,
    "created_at": str,
}

# What every evaluation records, in this order in the store; float32 counts steps exactly up to 16 million.
CURVE_COLUMNS = ("step", "validation_error", "test_error", "sparsity")


class RecordError(ValueError):
    """A value or a file that is not what a record or a table of records should be."""


def encode(name: str, value: Any) -> str | int | float | bool | None:
    """The plain value a file can hold: numpy and torch numbers unpacked, JSON as text, nan as None.

    >>> encode("run", {"unit": "NMU", "seed": 3}), encode("test_error", float("nan"))
    ('{"seed":3,"unit":"NMU"}', None)
    """
    kind = COLUMNS.get(name)
    if kind is str and type(value) is str:  # the usual case first: a store is asked for 100,000 ids at once
        return value
    if kind is object and value is not None:
        try:
            return json.dumps(value, sort_keys=True, separators=(",", ":"), default=_as_list)
        except (TypeError, ValueError, RecursionError, NotImplementedError) as error:
            raise RecordError(f"column {name!r} holds what JSON can hold, got {shown(value)}: {error}") from error
    plain = value.item() if getattr(value, "shape", None) == () and hasattr(value, "item") else value
    if plain is None or (isinstance(plain, float) and math.isnan(plain)):
        return None
    if not isinstance(plain, str | int | float) or (kind is not None and not _fits(kind, plain)):
        raise RecordError(f"column {name!r} holds {kind.__name__ if kind else 'plain values'}, got {shown(value)}")
    plain = kind(plain) if kind else plain
    if isinstance(plain, int) and not -(2**63) <= plain < 2**63:
        raise RecordError(f"column {name!r} holds numbers of 64 bits, got {value}")
    return plain


def _as_list(value: Any) -> Any:
    if not hasattr(value, "tolist"):  # arrays and tensors
        raise TypeError(f"there is a {type(value).__name__} in it")
    return value.tolist()


def _fits(kind: type, value: str | float) -> bool:
    if isinstance(value, str) or kind is str:
        return isinstance(value, str) and kind is str
    return kind is float or (math.isfinite(value) and value == kind(value))


def unknown_column(name: str) -> str:
    """What to tell someone who asks for a column that is not there."""
    close = difflib.get_close_matches(name, COLUMNS, n=1)
    return f"runs have no column {name!r}: " + (f"did you mean {close[0]!r}?" if close else f"try {', '.join(COLUMNS)}")


def decode(name: str, value: Any) -> Any:
    """The inverse of `encode`, up to the kind of number."""
    kind = COLUMNS.get(name)
    if value is None or kind not in (object, bool):
        return value
    return json.loads(value) if kind is object else bool(value)


def further(record: Mapping[str, Any]) -> dict[str, str | float | bool | None]:
    """The columns of a record beyond `COLUMNS` and its curve; one that looks like a misspelt known name is refused."""
    names = sorted(record.keys() - COLUMNS.keys() - {"curve"})
    for name in names:
        if difflib.get_close_matches(name, COLUMNS, n=1, cutoff=0.8):
            raise RecordError(unknown_column(name))
    return {name: encode(name, record[name]) for name in names}


def pack_curve(curve: Mapping[str, ArrayLike] | None) -> bytes | None:
    """Compress an evaluation curve, named arrays of one length, column by column: like numbers pack tighter.

    Names beyond `CURVE_COLUMNS` stand as JSON in front. The compression brings its own checksum.
    """
    if curve is None:
        return None
    if not isinstance(curve, Mapping):
        raise RecordError(f"a curve is a dict of named arrays, got {shown(curve)}")
    if not curve:
        return None
    try:
        columns = {name: np.asarray(values, dtype="<f4") for name, values in curve.items()}
    except (TypeError, ValueError) as error:
        raise RecordError(f"a curve holds numbers: {error}") from error
    wrong = [name for name in CURVE_COLUMNS if name not in columns]
    shapes = {values.shape for values in columns.values()}
    if wrong or len(shapes) > 1 or len(shapes.pop()) != 1:
        raise RecordError(f"a curve has {', '.join(CURVE_COLUMNS)} and as many values of each")
    more = [name for name in columns if name not in CURVE_COLUMNS]
    values = b"".join(columns[name].tobytes() for name in (*CURVE_COLUMNS, *more))
    return _NAMED + zlib.compress(json.dumps(more).encode() + b"\0" + values, 9) if more else zlib.compress(values, 9)


def unpack_curve(packed: bytes | None) -> Curve:
    """The inverse of `pack_curve`; nothing unpacks to no evaluations. Damage is a RecordError."""
    names = list(CURVE_COLUMNS)
    try:
        if packed and packed.startswith(_NAMED):
            more, _, values = zlib.decompress(packed[len(_NAMED) :]).partition(b"\0")
            names += json.loads(more)
        else:
            values = zlib.decompress(packed) if packed else b""
        flat = np.frombuffer(values, dtype="<f4").astype(np.float32)
        return dict(zip(names, flat.reshape(len(names), -1), strict=True))
    except (ValueError, zlib.error) as error:
        raise RecordError(f"an evaluation curve is damaged: {error}") from error


_NAMED = b"N"  # in front of a curve with further names; no compressed data begins like this
