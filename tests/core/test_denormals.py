"""Numbers below float32's exponent count as zero inside the context, and as before outside it."""

from __future__ import annotations

import torch

from nalm.core.denormals import denormals_flushed


def flushed() -> bool:
    return bool(torch.tensor(1e-40) * 1 == 0)


def test_numbers_too_small_for_the_exponent_are_zero_inside_only() -> None:
    assert not flushed()
    with denormals_flushed():
        assert flushed()
    assert not flushed()


def test_whoever_had_asked_for_it_keeps_it() -> None:
    torch.set_flush_denormal(True)
    try:
        with denormals_flushed():
            pass
        assert flushed()
    finally:
        torch.set_flush_denormal(False)
