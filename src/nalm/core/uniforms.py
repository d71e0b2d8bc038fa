"""Every random number of the library: a pure function of (seed, stream, step, index).

The generator is Philox4x32 (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", 2011):
a keyed permutation of a counter. It has no state, so a run can resume at any step, both engines draw the same numbers,
and what a run draws never depends on who shares its cohort. Seven rounds are the fewest that pass the BigCrush battery
in that paper, ten its conservative default.

Layout. Counters come in blocks of 16; word `j` of the 16 counters of block `b` fills the indices `64 b + 16 j + lane`,
so that a vector unit writes each word of sixteen neighbours with one store.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from enum import IntEnum

import torch
from torch import Tensor

ROUNDS = 7
LANES = 16
WORDS = 4
_BLOCK = LANES * WORDS
MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
WEYL = (0x9E3779B9, 0xBB67AE85)
_MASK = 0xFFFFFFFF


class Stream(IntEnum):
    """What a number is for. Streams of one seed are independent."""

    TRAIN = 0
    VALIDATION = 1
    TEST = 2
    WEIGHTS = 3
    NOISE = 4
    GRADIENT = 5
    TASK = 6


def philox(counter: Sequence[Tensor], key: Sequence[Tensor], rounds: int = ROUNDS) -> tuple[Tensor, ...]:
    """Philox4x32: four words of counter and two of key, as int64 tensors below 2**32, to four words.

    int64 holds the 64-bit products; the arithmetic shift keeps their upper half once it is masked.
    """
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(rounds):
        p0, p2 = MULTIPLIERS[0] * c0, MULTIPLIERS[1] * c2
        c0, c1, c2, c3 = (p2 >> 32 & _MASK) ^ c1 ^ k0, p2 & _MASK, (p0 >> 32 & _MASK) ^ c3 ^ k1, p0 & _MASK
        k0, k1 = (k0 + WEYL[0]) & _MASK, (k1 + WEYL[1]) & _MASK
    return c0, c1, c2, c3


def uniforms(seed: Tensor | int, stream: int, step: Tensor | int, shape: Sequence[int]) -> Tensor:
    """Float32 uniforms on [0, 1), multiples of 2**-24, of shape `(*seed.shape, *shape)`.

    Args:
        seed: one seed or a tensor of seeds; each at least 0 and below 2**32.
        stream: see `Stream`; negative or huge values are taken modulo 2**32.
        step: the training step, or 0 for what is drawn once.

    >>> uniforms(7, Stream.TRAIN, 0, (2, 3)).shape
    torch.Size([2, 3])
    """
    # a tensor stays where it is, also under `with torch.device(...)`, which as_tensor would obey
    seeds = seed.to(torch.int64) if isinstance(seed, Tensor) else torch.tensor(seed, dtype=torch.int64)
    steps = torch.as_tensor(step, dtype=torch.int64, device=seeds.device)
    count = 1
    for size in shape:
        count *= size
    blocks = -(-count // _BLOCK)
    index = torch.arange(blocks * LANES, dtype=torch.int64, device=seeds.device).reshape(blocks, 1, LANES)
    zero = torch.zeros_like(index)
    counter = (index, zero + (steps & _MASK), zero + (steps >> 32 & _MASK), zero)
    key = (seeds[..., None, None, None] & _MASK, torch.full_like(index, stream & _MASK))
    words = torch.cat(philox(counter, key), dim=-2)  # (*seeds, blocks, WORDS, LANES)
    flat = words.reshape(*seeds.shape, blocks * _BLOCK)[..., :count]
    return ((flat >> 8).to(torch.float32) * 2.0**-24).reshape(*seeds.shape, *shape)


def seeds_of(seed: Tensor | Sequence[int] | int | None, runs: tuple[int, ...]) -> Tensor:
    """One seed per run: given ones, one for all, or, if there is none, seeds from torch's global generator.

    Always on the CPU, so that weights start equal on every device, also on those without float64 (MPS).
    """
    if seed is None:
        return torch.randint(2**32, runs, dtype=torch.int64, device="cpu")
    if isinstance(seed, Tensor) and (seed.is_floating_point() or seed.is_complex() or seed.is_meta):
        raise ValueError(f"seed is a tensor of {seed.dtype} on {seed.device}; it needs whole numbers.")
    seeds = torch.as_tensor(seed, dtype=torch.int64, device="cpu")
    if seeds.dim() and tuple(seeds.shape) != runs:
        raise ValueError(f"seed has the shape {tuple(seeds.shape)}; give one number, or one per run: {runs}.")
    return seeds.expand(runs)


def normal_quantile(u: Tensor) -> Tensor:
    """The inverse normal CDF in plain float32 operations, so that any engine can run it (error below 3e-6 sd).

    Giles' polynomials for the inverse error function ("Approximating the erfinv function", 2011).
    """
    x = 2 * u - 1
    w = -torch.log(((1 - x) * (1 + x)).clamp(min=2.0**-46))
    near, far = w - 2.5, torch.sqrt(w.clamp(min=5.0)) - 3
    return 2**0.5 * x * torch.where(w < 5, _polynomial(_CENTRE, near), _polynomial(_TAIL, far))


_CENTRE = (
    *(2.81022636e-8, 3.43273939e-7, -3.5233877e-6, -4.39150654e-6, 2.1858087e-4, -1.25372503e-3, -4.17768164e-3),
    *(0.246640727, 1.50140941),
)
_TAIL = (
    *(-2.00214257e-4, 1.00950558e-4, 1.34934322e-3, -3.67342844e-3, 5.73950773e-3, -7.6224613e-3, 9.43887047e-3),
    *(1.00167406, 2.83297682),
)


def _polynomial(coefficients: Sequence[float], x: Tensor) -> Tensor:
    value = torch.full_like(x, coefficients[0])
    for c in coefficients[1:]:
        value = value * x + c
    return value


_supply: Callable[[tuple[int, ...]], Tensor] | None = None


def noise(shape: Sequence[int], like: Tensor) -> Tensor:
    """Uniforms for a unit that draws while it computes: torch's generator, or whatever `supplied` provides."""
    if _supply is None:
        return torch.rand(tuple(shape), dtype=like.dtype, device=like.device)
    return _supply(tuple(shape)).to(like.dtype)


@contextmanager
def supplied(source: Callable[[tuple[int, ...]], Tensor]) -> Iterator[None]:
    """Within the context `noise` takes its numbers from `source`: how an engine makes noise a function of the step."""
    global _supply
    before, _supply = _supply, source
    try:
        yield
    finally:
        _supply = before
