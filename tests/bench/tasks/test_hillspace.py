"""The data of the Hill Space paper: distributions against SciPy, moderate quotients, relative errors."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from scipy import stats

from nalm.bench.distribution import Uniform
from nalm.bench.tasks.hillspace import OPERATIONS, RIGHT, Exponential, HillSpace, NormalTail, moderate

U = (torch.arange(100_000, dtype=torch.float64) + 0.5) / 100_000


def test_exponential_has_one_rate_for_each_column() -> None:
    x = Exponential(0.8, 0.5).quantile(U.expand(2, -1), Exponential(0.8, 0.5).numbers(2))
    for column, rate in zip(x, (0.8, 0.5), strict=True):
        np.testing.assert_allclose(column, stats.expon(scale=1 / rate).ppf(U), rtol=1e-9)


def test_the_tail_of_the_normal_distribution() -> None:
    x = NormalTail(8, 10).quantile(U.unsqueeze(0), NormalTail(8, 10).numbers(1))[0].numpy()
    assert 8 <= x.min() < 8.001
    assert x.max() <= 10
    exact = -stats.norm.ppf(stats.norm.cdf(-8) + U.numpy() * (stats.norm.cdf(-10) - stats.norm.cdf(-8)))
    bulk = U.numpy() < 63 / 64  # the last of the 64 pieces is far from straight
    np.testing.assert_allclose(x[bulk], exact[bulk], atol=0.01)


def test_quotients_are_moderate_and_signs_stay() -> None:
    generator = torch.Generator().manual_seed(0)
    x = torch.rand(2, 50_000, generator=generator) * 2 - 1
    x[0, ::7] *= 1e-5
    x[1, ::5] *= 1e-5
    x[0, 3:9] = 0.0
    x[1, 11:17] = 0.0  # each of them was moved to 0 / 0, where the first number was to move
    which, where = torch.rand(2, 1, 50_000, generator=generator)
    moved = moderate(x, which, where, reciprocal=False)
    ratio = (moved[0] / moved[1]).abs()
    assert float(ratio.min()) > 0.999e-3
    assert float(ratio.max()) < 1.001e3
    fine = (x[0] / x[1]).abs().clamp(1e-3, 1e3) == (x[0] / x[1]).abs()
    assert torch.equal(moved[:, fine], x[:, fine])
    nonzero = (x != 0).all(0)
    assert torch.equal(moved.sign()[:, nonzero], x.sign()[:, nonzero])
    one = moderate(torch.tensor([[1e-5, -1e-5, 2.0], [1.0, 1.0, 1.0]]), which[:, :3], where[:, :3], reciprocal=True)
    torch.testing.assert_close(one[0], torch.tensor([1e-3, -1e-3, 2.0]))


@pytest.mark.parametrize("name", OPERATIONS)
def test_target_and_formula_agree(name: str) -> None:
    task = HillSpace(Uniform(1, 2), Uniform(1, 2), name)
    x = torch.tensor([[1.3, -0.7][: task.in_features]], dtype=torch.float64).T
    expected = task.formula(x[:, 0].tolist(), 0)[0]
    assert float(task.target(x, torch.zeros(0))) == pytest.approx(float(expected), rel=1e-12)


def test_some_operations_by_hand() -> None:
    a, b = 1.3, -0.7
    values = {
        name: HillSpace(Uniform(1, 2), Uniform(1, 2), name).formula([a, b], 0)[0] for name in ("a/b", "1/a", "-a")
    }
    assert values == pytest.approx({"a/b": a / b, "1/a": 1 / a, "-a": -a})
    assert HillSpace(Uniform(1, 2), Uniform(1, 2), "cos(t-u)").formula([a, b], 0)[0] == pytest.approx(math.cos(a - b))


def test_errors_are_relative_and_the_papers_own_is_kept() -> None:
    task, t = HillSpace(Uniform(1, 2), Uniform(1, 2), "a*b"), torch.full((1, 5), 1e4)
    y = t + 1.0
    assert float(task.error(y, t)) == pytest.approx(1e-8)
    assert float(task.measures(y, t)["mse"]) == pytest.approx(1.0)
    assert task.threshold() == RIGHT == 4e-10
