"""MNIST from a folder, or from a public mirror into that folder. Every file is checked by its SHA-256."""

from __future__ import annotations

import hashlib
import http.client
import os
import urllib.request
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nalm.bench.vision.idx import DataError, read_idx

FOLDER_VARIABLE = "NALM_DATA"
MIRRORS = ("https://ossci-datasets.s3.amazonaws.com/mnist/", "https://storage.googleapis.com/cvdf-datasets/mnist/")
PATIENCE = 30.0  # seconds without a byte before the next mirror is tried


@dataclass(frozen=True)
class File:
    """One of the four files, uncompressed."""

    name: str
    size: int
    sha256: str


FILES = {
    "train images": File(
        "train-images-idx3-ubyte", 47_040_016, "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db"
    ),
    "train labels": File(
        "train-labels-idx1-ubyte", 60_008, "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5"
    ),
    "test images": File(
        "t10k-images-idx3-ubyte", 7_840_016, "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7"
    ),
    "test labels": File(
        "t10k-labels-idx1-ubyte", 10_008, "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2"
    ),
}

Fetch = Callable[[str], bytes]


def folder() -> Path:
    """Where MNIST lies: `$NALM_DATA/mnist`, by default in the user's cache."""
    chosen = os.environ.get(FOLDER_VARIABLE)
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return (Path(chosen) if chosen else cache / "nalm") / "mnist"


def download(address: str) -> bytes:
    """The content behind an address, at most as long as the largest compressed file could be."""
    most = max(file.size for file in FILES.values())
    with urllib.request.urlopen(address, timeout=PATIENCE) as answer:
        content: bytes = answer.read(most + 1)
    if len(content) > most:
        raise DataError(f"{address} sends more than any file of MNIST holds.")
    return content


def load(part: str, where: Path | None = None, fetch: Fetch = download) -> NDArray[np.uint8]:
    """One of `FILES` as an array; it is downloaded if the folder holds neither it nor its `.gz`."""
    file, home = FILES[part], where or folder()
    content = _from_folder(file, home)
    if content is None:
        content = _from_mirrors(file, home, fetch)
        _keep(home / file.name, content)
    return read_idx(content, file.name)


def _from_folder(file: File, home: Path) -> bytes | None:
    for path, read in ((home / file.name, Path.read_bytes), (home / f"{file.name}.gz", _read_compressed)):
        if path.is_file():
            if path.stat().st_size > 2 * file.size:
                raise DataError(f"{path} is far too large for {file.name} of MNIST; delete or replace it.")
            return _checked(file, read(path), str(path))
    return None


def _read_compressed(path: Path) -> bytes:
    return _decompressed(path.read_bytes(), str(path))


def _decompressed(content: bytes, origin: str) -> bytes:
    """What a `.gz` holds, at most one byte more than the largest file: a bomb is not unpacked."""
    most = max(file.size for file in FILES.values()) + 1
    try:
        unpacker = zlib.decompressobj(16 + zlib.MAX_WBITS)
        return unpacker.decompress(content, most)
    except zlib.error as error:
        raise DataError(f"{origin} is not a whole .gz file: {error}; delete or replace it.") from error


def _checked(file: File, content: bytes, origin: str) -> bytes:
    if len(content) != file.size or hashlib.sha256(content).hexdigest() != file.sha256:
        raise DataError(f"{origin} is not {file.name} of MNIST (its SHA-256 differs); delete or replace it.")
    return content


def _from_mirrors(file: File, home: Path, fetch: Fetch) -> bytes:
    reasons = []
    for mirror in MIRRORS:
        address = f"{mirror}{file.name}.gz"
        try:
            return _checked(file, _decompressed(fetch(address), address), address)
        except (OSError, DataError, http.client.HTTPException) as error:
            reasons.append(f"{mirror}: {error}")
    names = ", ".join(f"{one.name}.gz" for one in FILES.values())
    raise DataError(
        f"MNIST could not be downloaded ({'; '.join(reasons)}). Put {names} into {home} by hand, set "
        f"{FOLDER_VARIABLE} to the folder above another one, or use the bundled digits: --data digits."
    )


def _keep(path: Path, content: bytes) -> None:
    """Write a file whole or not at all: a reader never meets half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.write_bytes(content)
        temporary.chmod(0o644)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
