"""First lessons: operations by hand, the tolerance, and the smooth loss against PyTorch's."""

from __future__ import annotations

import math

import pytest
import torch

from nalm.bench.distribution import Uniform
from nalm.bench.engine.losses import huber
from nalm.bench.tasks.lessons import Identity, Operands, SumsOfFive, share_off

RANGE = (Uniform(20, 40), Uniform(0, 60))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("sum", 9.0),
        ("alternating", 2 - 3 + 4),
        ("product", 24.0),
        ("quotient", 2 / 12),
        ("root", 3.0),
        ("square", 81.0),
        ("first root", 2**0.5),
        ("first square", 4.0),
        ("signed", 2 + 3 - 4),
    ],
)
def test_operations(name: str, expected: float) -> None:
    task = Operands(*RANGE, name, 3)  # type: ignore[arg-type]
    assert float(task.formula([2.0, 3.0, 4.0], 0)[0]) == pytest.approx(expected)
    x = torch.tensor([[2.0], [3.0], [4.0]])
    assert float(task.target(x, torch.zeros(0))) == pytest.approx(expected)


def test_one_percent_is_right_and_more_is_not() -> None:
    t = torch.tensor([[100.0, 100.0, 0.001, 0.001]])
    assert share_off(t + torch.tensor([0.9, 1.1, 0.009, 0.011]), t).item() == 0.5
    measured = Operands(*RANGE).measures(t + torch.tensor([[0.9, 0.9, 0.009, 2.0]]), t)
    assert measured["mae"].item() == pytest.approx((0.9 + 0.9 + 0.009 + 2.0) / 4)
    assert measured["right"].item() == 0.75


@pytest.mark.parametrize("task", [Operands(*RANGE), Identity(*RANGE)])
def test_solved_is_none_wrong_and_of_two_such_the_nearer_counts(task: Operands | Identity) -> None:
    t = torch.full((1, 10_000), 100.0)
    near, far = float(task.error(t + 0.1, t)), float(task.error(t + 0.9, t))
    assert near < far < task.threshold()
    wrong = t.clone()
    wrong[0, 3] += 1.1
    assert float(task.error(wrong, t)) > task.threshold()


def test_errors_of_the_identity_by_place() -> None:
    task = Identity(Uniform(-5, 5), Uniform(-20, 20))
    t = torch.tensor([[-20.0, -10.5, 0.0, 5.5, 19.5, 12.5]])
    y = t + torch.tensor([[1.0, 2.0, 3.0, 4.0, 2.0, 100.0]])
    assert {k: v.item() for k, v in task.measures(y, t).items()} == {
        "error_at_0": 3.0,
        "error_at_5": 4.0,
        "error_at_10": 2.0,
        "error_at_15": 0.0,
        "error_at_20": 1.5,
    }
    assert task.target(t, torch.zeros(0)) is t
    assert task.error(y, t).item() == pytest.approx(1.0, abs=1e-5)


def test_sums_of_five_crowd_around_their_mean() -> None:
    u = (torch.arange(10_000) + 0.5) / 10_000
    numbers = SumsOfFive(5, 10).numbers(1).float()
    x = SumsOfFive.quantile(u.unsqueeze(0), numbers)
    assert x.mean().item() == pytest.approx(37.5, abs=0.01)
    assert x.std().item() == pytest.approx(5 * math.sqrt(5 / 12), rel=0.01)
    low, high = SumsOfFive.quantile(torch.tensor([[0.0, 1.0]]), numbers).flatten().tolist()
    assert high - 37.5 == pytest.approx(37.5 - low, rel=1e-3)  # the ends are finite: nothing is drawn at infinity
    assert 4 < (high - 37.5) / (5 * math.sqrt(5 / 12)) < 5


def test_smooth_loss() -> None:
    y, t = torch.randn(2, 1, 50) * 2, torch.zeros(2, 1, 50)
    expected = torch.stack([torch.nn.functional.smooth_l1_loss(a, b) for a, b in zip(y, t, strict=True)])
    torch.testing.assert_close(huber(y, t), expected)


def test_the_signed_sum_is_that_of_the_report() -> None:
    x = [1.0, 10.0, 100.0, 1e3, 1e4, 1e5, 1e6, 1e7]
    (y,) = Operands(*RANGE, "signed", 8).formula(x, 0)
    assert y == 1 + 10 - 100 + 1e3 - 1e4 + 1e5 - 1e6 - 1e7
    with pytest.raises(ValueError, match="at most 8 terms, not 9"):
        Operands(*RANGE, "signed", 9)
