"""The file format of MNIST: a header of sizes, then bytes. A file is checked against its own header."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

UNSIGNED_BYTES = 0x08
MOST_AXES = 3


class DataError(ValueError):
    """Data that is missing or not what it should be. The message names the file and the way out."""


def read_idx(content: bytes, name: str) -> NDArray[np.uint8]:
    """The array in an IDX file of bytes, `(items, ...)`.

    >>> read_idx(bytes([0, 0, 8, 1, 0, 0, 0, 3, 7, 2, 1]), "labels").tolist()
    [7, 2, 1]
    """
    if len(content) < 4 or content[:3] != bytes([0, 0, UNSIGNED_BYTES]) or not 1 <= content[3] <= MOST_AXES:
        raise DataError(f"{name} is not an IDX file of bytes; was it decompressed, and downloaded whole?")
    axes = content[3]
    first = 4 + 4 * axes
    if len(content) < first:
        raise DataError(f"{name} ends inside its header.")
    shape = [int.from_bytes(content[4 + 4 * axis : 8 + 4 * axis], "big") for axis in range(axes)]
    if len(content) - first != math.prod(shape):
        raise DataError(f"{name} holds {len(content) - first:,} bytes of data; its header promises {shape}.")
    return np.frombuffer(content, np.uint8, offset=first).reshape(shape)
