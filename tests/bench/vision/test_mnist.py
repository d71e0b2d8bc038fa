"""The loader of MNIST against files that are missing, cut, damaged, swapped or far too large."""

from __future__ import annotations

import gzip
import hashlib
from pathlib import Path

import numpy as np
import pytest

from nalm.bench.vision import mnist
from nalm.bench.vision.idx import DataError, read_idx


def idx(array: np.ndarray) -> bytes:
    header = bytes([0, 0, 8, array.ndim]) + b"".join(size.to_bytes(4, "big") for size in array.shape)
    return header + array.tobytes()


CONTENT = idx(np.arange(60, dtype=np.uint8).reshape(5, 3, 4))


pytestmark = pytest.mark.usefixtures("small")


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> mnist.File:
    """One small file in place of the four."""
    file = mnist.File("images", len(CONTENT), hashlib.sha256(CONTENT).hexdigest())
    monkeypatch.setattr(mnist, "FILES", {"images": file})
    return file


def refuse(address: str) -> bytes:
    raise OSError(f"no way to {address}")


def test_an_array_is_read_back() -> None:
    assert read_idx(CONTENT, "images").tolist() == np.arange(60).reshape(5, 3, 4).tolist()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x00\x00",
        CONTENT[:10],
        CONTENT[:-1],
        CONTENT + b"\x00",
        b"\x00\x00\x0d" + CONTENT[3:],  # floats
        b"\x00\x00\x08\x00",  # no axes
        b"\x00\x00\x08\x04" + bytes(16),  # four axes
        gzip.compress(CONTENT),
    ],
    ids=["empty", "two bytes", "cut header", "cut data", "one more", "floats", "no axes", "four axes", "compressed"],
)
def test_what_is_not_an_idx_file_is_refused_by_name(content: bytes) -> None:
    with pytest.raises(DataError, match=r"here\.idx"):
        read_idx(content, "here.idx")


@pytest.mark.parametrize("name", ["images", "images.gz"])
def test_a_folder_filled_by_hand_is_enough(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(gzip.compress(CONTENT) if name.endswith(".gz") else CONTENT)
    assert mnist.load("images", tmp_path, refuse).shape == (5, 3, 4)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_download_is_checked_unpacked_and_kept(tmp_path: Path) -> None:
    asked = []

    def fetch(address: str) -> bytes:
        asked.append(address)
        return gzip.compress(CONTENT)

    home = tmp_path / "new" / "mnist"
    for _ in range(2):
        assert mnist.load("images", home, fetch).shape == (5, 3, 4)
    assert asked == [f"{mnist.MIRRORS[0]}images.gz"]
    assert [path.name for path in home.iterdir()] == ["images"]
    assert (home / "images").read_bytes() == CONTENT
    assert (home / "images").stat().st_mode & 0o777 == 0o644


BAD = {
    "cut": gzip.compress(CONTENT)[:-20],
    "damaged": gzip.compress(CONTENT[:-1] + b"\x00"),
    "not compressed": CONTENT,
    "longer": gzip.compress(CONTENT + bytes(10_000_000)),
    "a page of text": b"<html>not found</html>",
}


@pytest.mark.parametrize("sent", BAD.values(), ids=BAD)
def test_a_bad_download_is_refused_and_leaves_the_cache_clean(tmp_path: Path, sent: bytes) -> None:
    with pytest.raises(DataError) as caught:
        mnist.load("images", tmp_path, lambda _: sent)
    assert str(tmp_path) in str(caught.value)
    assert "images.gz" in str(caught.value)
    assert "--data digits" in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_the_second_mirror_helps_out(tmp_path: Path) -> None:
    def fetch(address: str) -> bytes:
        return BAD["damaged"] if address.startswith(mnist.MIRRORS[0]) else gzip.compress(CONTENT)

    assert mnist.load("images", tmp_path, fetch).shape == (5, 3, 4)


@pytest.mark.parametrize("name", ["images", "images.gz"])
@pytest.mark.parametrize("kept", BAD.values(), ids=BAD)
def test_a_bad_file_in_the_folder_is_named_and_left_alone(tmp_path: Path, name: str, kept: bytes) -> None:
    if name == "images":
        kept = kept + b"x"  # also what unpacks well is not the file
    (tmp_path / name).write_bytes(kept)
    with pytest.raises(DataError, match=name):
        mnist.load("images", tmp_path, refuse)
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [kept]


def test_a_write_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Path, content: bytes) -> int:
        with self.open("wb") as file:
            file.write(content[:7])
        raise OSError("the disk is full")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match="full"):
        mnist.load("images", tmp_path, lambda _: gzip.compress(CONTENT))
    assert not list(tmp_path.iterdir())


def test_a_download_that_never_ends_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    class Endless:
        def __enter__(self) -> Endless:
            return self

        def __exit__(self, *_: object) -> None: ...

        def read(self, most: int) -> bytes:
            return bytes(most)

    monkeypatch.setattr(mnist.urllib.request, "urlopen", lambda *_, **__: Endless())
    with pytest.raises(DataError, match="more than any file"):
        mnist.download("https://example.org/images.gz")


def test_the_folder_follows_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NALM_DATA", str(tmp_path))
    assert mnist.folder() == tmp_path / "mnist"
    monkeypatch.delenv("NALM_DATA")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert mnist.folder() == tmp_path / "cache" / "nalm" / "mnist"
