"""The one generator: published vectors, layout, distribution, and independence of who is drawn beside whom."""

from __future__ import annotations

import pytest
import torch

from nalm.core.uniforms import LANES, WORDS, Stream, noise, normal_quantile, philox, seeds_of, supplied, uniforms

ONES = 0xFFFFFFFF
PI = (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344, 0xA4093822, 0x299F31D0)
# Known answers distributed with Random123: rounds, counter and key, result
VECTORS = [
    (7, (0,) * 6, (0x5F6FB709, 0x0D893F64, 0x4F121F81, 0x4F730A48)),
    (7, (ONES,) * 6, (0x5207DDC2, 0x45165E59, 0x4D8EE751, 0x8C52F662)),
    (7, PI, (0x4DFCCABA, 0x190A87F0, 0xC47362BA, 0xB6B5242A)),
    (10, (0,) * 6, (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    (10, (ONES,) * 6, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (10, PI, (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1)),
]


@pytest.mark.parametrize(("rounds", "words", "expected"), VECTORS)
def test_published_vectors(rounds: int, words: tuple[int, ...], expected: tuple[int, ...]) -> None:
    tensors = [torch.tensor(word, dtype=torch.int64) for word in words]
    result = philox(tensors[:4], tensors[4:], rounds)
    assert tuple(int(word) for word in result) == expected


def test_layout_is_blocks_of_sixteen_counters_with_one_word_after_the_other() -> None:
    seed, step = 5, (3 << 32) + 9
    drawn = uniforms(seed, Stream.NOISE, step, (150,))
    for index in (0, 15, 16, 63, 64, 149):
        block, rest = divmod(index, LANES * WORDS)
        word, lane = divmod(rest, LANES)
        counter = [block * LANES + lane, 9, 3, 0]
        key = [seed, int(Stream.NOISE)]
        raw = philox(*([torch.tensor(v, dtype=torch.int64) for v in part] for part in (counter, key)))[word]
        assert float(drawn[index]) == (int(raw) >> 8) * 2.0**-24


def test_a_number_depends_on_seed_stream_step_and_index_only() -> None:
    together = uniforms(torch.tensor([[3, 4], [5, 6]]), Stream.TRAIN, 11, (2, 50))
    assert together.shape == (2, 2, 2, 50)
    assert torch.equal(together[1, 0], uniforms(5, Stream.TRAIN, 11, (2, 50)))
    assert torch.equal(together[1, 0].flatten(), uniforms(5, Stream.TRAIN, 11, (130,))[:100])
    base = uniforms(5, Stream.TRAIN, 11, (100,))
    others = [(6, Stream.TRAIN, 11), (5, Stream.TEST, 11), (5, Stream.TRAIN, 12), (5, Stream.TRAIN, 11 + (1 << 32))]
    for arguments in others:
        assert not torch.equal(uniforms(*arguments, (100,)), base)


def test_every_purpose_has_the_stream_of_the_committed_results() -> None:
    """No run is named by them, and two purposes with one number would get the same draws."""
    names = ["TRAIN", "VALIDATION", "TEST", "WEIGHTS", "NOISE", "GRADIENT", "TASK"]
    assert {name: int(Stream[name]) for name in names} == {name: number for number, name in enumerate(names)}


def test_uniforms_are_uniform() -> None:
    u = uniforms(torch.arange(50), Stream.TRAIN, 0, (20_000,)).double()
    n = u.numel()
    assert float(u.min()) >= 0
    assert float(u.max()) < 1
    assert torch.equal(u * 2**24, (u * 2**24).round())
    counts = torch.histc(u.flatten(), 100, 0, 1)
    chi_squared = float(((counts - n / 100) ** 2 / (n / 100)).sum())
    assert chi_squared < 160  # 99 degrees of freedom: p = 1e-4
    flat = u.flatten()
    correlation = float(((flat[1:] - 0.5) * (flat[:-1] - 0.5)).mean() * 12)
    assert abs(correlation) < 5 / n**0.5


def test_normal_quantile_in_float32() -> None:
    grid = torch.cat([torch.arange(1, 2**12) * 2.0**-24, torch.arange(1, 2**16) * 2.0**-16])
    u = torch.cat([grid, 1 - grid])
    u = u[(u > 0) & (u < 1)]
    exact = torch.special.ndtri(u.double())
    assert float((normal_quantile(u).double() - exact).abs().max()) < 3e-6
    assert bool(torch.isfinite(normal_quantile(torch.tensor([0.0, 1 - 2.0**-24]))).all())


def test_noise_comes_from_torch_or_from_whoever_supplies_it() -> None:
    like = torch.zeros(2, dtype=torch.float64)
    torch.manual_seed(1)
    first = noise((3,), like)
    torch.manual_seed(1)
    assert torch.equal(first, noise((3,), like))
    assert first.dtype == torch.float64
    with supplied(lambda shape: torch.full(shape, 0.25)):
        assert noise((2, 3), like).tolist() == [[0.25] * 3] * 2
    assert not torch.equal(noise((3,), like), torch.full((3,), 0.25, dtype=torch.float64))


def test_seeds() -> None:
    assert seeds_of(7, (2, 3)).tolist() == [[7] * 3] * 2
    assert seeds_of([1, 2], (2,)).tolist() == [1, 2]
    torch.manual_seed(0)
    assert len(set(seeds_of(None, (20,)).tolist())) == 20
    with pytest.raises(ValueError, match=r"one per run: \(2,\)"):
        seeds_of([1, 2, 3], (2,))
