"""The plain loop that training is measured against learns the same thing; ratios are for `nalm speed mnist` to say."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
import torch
from torch.utils.data import DataLoader

from nalm.bench.vision import readers, speed
from nalm.bench.vision.heads import ExactProduct
from nalm.bench.vision.networks import PairNetwork
from nalm.bench.vision.pair_task import DigitPairs, LoadedPairs
from nalm.bench.vision.speed import PlainNetwork, PlainPairs, Rates, plain_steps


def problem() -> LoadedPairs:
    return LoadedPairs(DigitPairs(samples=1), 0, "cpu")


def test_both_ways_show_the_same_pairs() -> None:
    own = problem()
    images, targets = next(iter(DataLoader(PlainPairs(own.train), 16)))
    expected = own.batch(torch.arange(16), 0)
    assert torch.equal(images, expected[0])
    assert torch.equal(targets, expected[1])


def test_both_networks_have_the_same_parameters() -> None:
    plain, ours = PlainNetwork(), PairNetwork(ExactProduct(2, 1))
    assert [p.shape for p in plain.parameters()] == [p.shape for p in ours.parameters()]
    assert plain(torch.rand(3, 2, 28, 28)).shape == (3, 1)
    shares = [layer.p for layer in plain.modules() if isinstance(layer, torch.nn.Dropout)]
    assert [256 * share for share in shares] == [
        layer.dropped for layer in ours.modules() if isinstance(layer, readers.Dropout)
    ]


def test_the_plain_loop_goes_on_without_end() -> None:
    steps = plain_steps(problem().train)  # 90 pairs: one batch per epoch
    for _ in range(2):
        next(steps)


def test_both_ways_are_measured_on_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def rates(ways: Sequence[Callable[[], None]], batches: int) -> list[float]:
        seen.append((len(ways), batches, torch.get_num_threads()))
        return [500.0, 1000.0]

    monkeypatch.setattr(speed, "_rates", rates)
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        assert speed.measure(batches=3) == Rates(plain=500.0, ours=1000.0)
        assert torch.get_num_threads() == 2, "as it was before"
    finally:
        torch.set_num_threads(before)
    assert seen == [(2, 3, 1)]


def test_a_ratio_is_ours_to_plain() -> None:
    assert Rates(plain=500.0, ours=1000.0).ratio == 2
