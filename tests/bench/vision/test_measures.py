"""What is measured of networks on images, and how images are moved, on numbers one can check by hand."""

from __future__ import annotations

import math

import pytest
import torch

from nalm.bench.vision import distortion, heads
from nalm.bench.vision.digits import DEVIATION, MEAN
from nalm.bench.vision.measures import accuracies, rounded
from nalm.bench.vision.operations import OPERATIONS, check_operation, relative_error, running


def test_accuracies_by_hand() -> None:
    digits = torch.tensor([[3.0, 4.0], [2.2, 9.7], [5.0, 0.4], [math.nan, 1.0]])
    truth = torch.tensor([[3.0, 4.0], [2.0, 9.0], [5.0, 0.0], [7.0, 1.0]])
    results = torch.tensor([12.0, 18.3, 2.0, 7.0])
    targets = torch.tensor([12.0, 18.0, 0.0, 7.0])
    found = accuracies(digits, truth, results, targets, decimals=0)
    assert found.error == pytest.approx((0.09 + 4) / 4, rel=1e-5)
    assert (found.result_exact, found.result_rounded) == (0.5, 0.75)
    assert (found.digit_exact, found.digit_rounded) == (4 / 8, 6 / 8)
    assert (found.first_digit, found.second_digit) == (3 / 4, 3 / 4)
    counts = {(true, read): n for true, row in enumerate(found.confusion) for read, n in enumerate(row) if n}
    assert counts == {(3, 3): 1, (4, 4): 1, (2, 2): 1, (9, 9): 1, (5, 5): 1, (0, 0): 1, (7, 0): 1, (1, 1): 1}
    assert rounded(torch.tensor([1.2345]), 2).tolist() == torch.tensor([1.23]).tolist()


def test_errors_of_a_head_are_relative_to_targets_above_one() -> None:
    assert relative_error(torch.tensor([0.6, 22.0]), torch.tensor([0.5, 20.0])) == pytest.approx(0.1)
    assert relative_error(torch.tensor([3.0, 20.0]), torch.tensor([0.5, 20.0])) == 2.5
    assert relative_error(torch.tensor([math.nan]), torch.tensor([1.0])) == math.inf


def test_operations_and_what_they_need() -> None:
    a, b = torch.tensor([[6.0]]), torch.tensor([[3.0]])
    assert [OPERATIONS[name].exact(a, b).item() for name in ("mul", "div", "add")] == [18, 2, 9]
    assert [OPERATIONS[name].smallest for name in ("mul", "div", "add")] == [0, 1, 0]
    assert [OPERATIONS[name].decimals for name in ("mul", "div", "add")] == [0, 5, 0]
    assert [OPERATIONS[name].idle for name in ("mul", "div", "add")] == [1, 1, 0]
    assert running(torch.tensor([[2, 3, 4]]), "add").tolist() == [[2, 5, 9]]
    with pytest.raises(ValueError, match="no operation 'ad'"):
        check_operation("ad", ("mul", "add"))


@pytest.mark.parametrize("relation", [name for name in OPERATIONS if name not in ("mul", "div", "add")])
def test_a_decision_has_two_outputs_that_exclude_each_other(relation: str) -> None:
    pairs = torch.tensor([[1.0, 2.0], [2.0, 2.0], [3.0, 2.0]])
    answers = OPERATIONS[relation].exact(pairs[:, :1], pairs[:, 1:])
    assert (answers[:, 0] + answers[:, 1]).tolist() == [1, 1, 1]
    assert OPERATIONS[relation].off(answers, answers) == 0
    assert OPERATIONS[relation].off(1 - answers, answers) == 1


def moved(
    monkeypatch: pytest.MonkeyPatch, turn: float, scale: float, right: int, down: int, upright: bool = False
) -> torch.Tensor:
    """One image, moved by numbers that are given instead of drawn; bytes again, without the normalisation."""
    low, high = distortion.SCALES
    drawn = torch.tensor([[(turn / distortion.TURN + 1) / 2, (scale - low) / (high - low), right / 14, down / 14]])
    monkeypatch.setattr(torch, "rand", lambda *_, **__: drawn + torch.tensor([0, 0, 0.01, 0.01]))
    return (distortion.distorted(picture()[None], torch.Generator(), upright)[0] * DEVIATION + MEAN) * 255


def picture() -> torch.Tensor:
    return torch.arange(28 * 28).reshape(28, 28) % 251


def test_an_image_is_pasted_turned_and_scaled(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (distortion.CANVAS, distortion.TURN, distortion.SCALES) == (42, 45.0, (0.7, 1.2))
    still = moved(monkeypatch, turn=0, scale=1, right=3, down=13)
    expected = torch.zeros(42, 42)
    expected[13:41, 3:31] = picture()
    torch.testing.assert_close(still, expected, rtol=0, atol=1e-2)
    upright = moved(monkeypatch, turn=30, scale=0.8, right=3, down=13, upright=True)
    torch.testing.assert_close(upright, expected, rtol=0, atol=1e-2)
    monkeypatch.setattr(distortion, "TURN", 90.0)
    turned = moved(monkeypatch, turn=90, scale=1, right=0, down=0)
    torch.testing.assert_close(turned[:28, :28], torch.rot90(picture(), -1).float(), rtol=0, atol=1e-2)
    monkeypatch.setattr(distortion, "SCALES", (1.0, 2.0))
    larger = moved(monkeypatch, turn=0, scale=2, right=0, down=0)
    torch.testing.assert_close(larger[0:28:2, 0:28:2], picture()[7:21, 7:21].float(), rtol=0, atol=1e-2)


@pytest.mark.parametrize(("head", "expected"), [("ExactProduct", 12.0), ("ExactQuotient", 3.0), ("ExactSum", 8.0)])
def test_solved_heads(head: str, expected: float) -> None:
    unit = heads.HEADS[head](2, 1)
    assert unit(torch.tensor([[6.0, 2.0]])).item() == expected
    assert unit.formula([6.0, 2.0]) == [expected]


def test_the_fully_connected_product() -> None:
    unit = heads.WeightedProduct(2, 1, runs=400, seed=range(400))
    weights = unit.value("W")
    assert 0.25 <= weights.min().item() < 0.26
    assert 0.74 < weights.max().item() < 0.75
    one = heads.WeightedProduct(2, 1)
    first, second = one.value("W").tolist()
    assert one(torch.tensor([[6.0, 2.0]])).item() == pytest.approx(12 * first * second)
    assert one.formula([6.0, 2.0]) == [pytest.approx(12 * first * second)]
