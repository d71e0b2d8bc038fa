"""Tasks against the published facts: thresholds, positions of the operands, distributions."""

import numpy as np
import pytest
import torch

from nalm.bench.distribution import Alternating, Benford, Halves, TruncatedNormal, Uniform, Union
from nalm.bench.tasks.arithmetic import RANGES, SingleModule, subsets
from nalm.bench.tasks.table import Rows, Table
from nalm.bench.tasks.two_layer import TwoLayer

# spec of the field, verified there by simulation: add I=2, I=10, I=100, mul, div
THRESHOLDS = {
    "U[-20,-10)": (3.6667e-07, 9.0333e-06, 9.0033e-04, 3.4844e-04, 4.6666e-10),
    "U[1,2)": (6.6667e-09, 1.6133e-07, 1.6013e-05, 1.2018e-07, 5.7777e-10),
    "U[-2,2)": (6.6667e-09, 1.6133e-07, 1.6013e-05, 1.2018e-07, 5.7777e-10),
    "U[-1.2,-1.1)": (5.7292e-09, 1.3523e-07, 1.3343e-05, 9.3921e-08, 8.3732e-10),
    "U[0.1,0.2)": (5.3800e-10, 1.2370e-08, 1.2127e-06, 8.7615e-10, 1.4800e-09),
    "U[1.1,1.2)": (5.5680e-09, 1.3152e-07, 1.2979e-05, 8.8565e-08, 8.2665e-10),
}


@pytest.mark.parametrize("label", THRESHOLDS)
def test_single_module_thresholds_in_closed_form(label):
    cases = (("add", 2), ("sub", 10), ("add", 100), ("mul", 2), ("div", 2))
    ours = [SingleModule(*RANGES[label], name=op, inputs=n).threshold() for op, n in cases]
    assert ours == pytest.approx(THRESHOLDS[label], rel=1e-4)


def test_flat_threshold_of_the_division_papers():
    assert SingleModule(*RANGES["U[1,2)"], name="div", criterion="flat").threshold() == 1e-5


def test_positions_are_the_published_ones():
    expected = [5, 5, 8, 8, 7, 3, 3, 4, 3, 5, 4, 0, 6, 2, 8, 8, 5, 1, 3, 5, 3, 8, 5, 3, 2]
    assert [subsets(seed, 10, 1, 0)[0].start for seed in range(25)] == expected
    expected = [44, 37, 40, 42, 58, 35, 10, 47, 3, 62, 9, 25, 11, 18, 43, 8, 41, 47, 42, 29]
    assert [subsets(seed, 100, 25, 12)[0].start for seed in range(20)] == expected
    first, second = subsets(0, 100, 25, 12)
    assert (first, second) == (range(44, 69), range(57, 82))


@pytest.mark.parametrize("operation", ["add", "sub", "mul", "div"])
def test_target_equals_formula(operation):
    task = SingleModule(*RANGES["U[1,2)"], name=operation, inputs=10)
    x = torch.rand(10, 7, dtype=torch.float64) + 1
    target = task.target(x, task.selection(3).double())
    for sample in range(7):
        assert float(target[0, sample]) == pytest.approx(task.formula(x[:, sample].tolist(), 3)[0])


def test_an_operand_of_the_single_module_task_is_one_input():
    task = SingleModule(*RANGES["U[1,2)"], name="sub", inputs=10)
    assert task.members(0) == [range(5, 6), range(6, 7)]
    assert task.selection(0).sum(1).tolist() == [1, 1]
    assert task.formula([float(i * i) for i in range(10)], 0) == [25 - 36]
    assert SingleModule(*RANGES["U[1,2)"], name="div").formula([6.0, 3.0], 0) == [2]
    assert SingleModule(*RANGES["U[1,2)"], name="inverse", inputs=1).formula([4.0], 0) == [0.25]


def sampled(distribution, features=2, count=200_000):
    u = torch.rand(features, count, generator=torch.Generator().manual_seed(0))
    return distribution.quantile(u, distribution.numbers(features).float())


def test_benford_digits_and_tails():
    x = sampled(Benford(2)).round().long()
    assert x.min() == 11
    assert x.max() == 99
    assert not bool((x % 10 == 0).any())
    shares = [float((x // 10 == d).float().mean()) for d in range(1, 10)]
    assert shares == pytest.approx([0.301, 0.176, 0.125, 0.097, 0.079, 0.067, 0.058, 0.051, 0.046], abs=0.004)
    assert set((sampled(Benford(3)).long() // 10 % 10).unique().tolist()) == set(range(1, 10))


def test_truncated_normal_against_scipy():
    from scipy.stats import kstest, truncnorm

    x = sampled(TruncatedNormal(-1, 3, -5, 10), count=20_000)[0].double().numpy()
    assert kstest(x, truncnorm((-5 + 1) / 3, (10 + 1) / 3, loc=-1, scale=3).cdf).pvalue > 1e-3


def test_union_halves_and_alternating():
    union = sampled(Union(Uniform(-6, -2), Uniform(2, 6)))
    assert float(union.abs().min()) >= 2
    assert float((union > 0).float().mean()) == pytest.approx(0.5, abs=0.01)
    halves = sampled(Halves(Uniform(-2, -1), Uniform(1, 2)), features=10)
    assert bool((halves[:5] < 0).all())
    assert bool((halves[5:] > 0).all())
    alternating = sampled(Alternating(Uniform(-2, -1), Uniform(1, 2)), features=10)
    assert bool((alternating[:-1] * alternating[1:] < 0).all())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Uniform(2, 1), "low < high"),
        (lambda: SingleModule(*RANGES["U[1,2)"], name="mull"), "Did you mean mul"),
        (lambda: TwoLayer(*RANGES["U[1,2)"], inputs=10, size=8, overlap=0), "cannot hold"),
        (lambda: Rows.of([[1.0, np.nan]], [1.0]), "Row 0, column 1"),
        (lambda: Rows.of([[1.0, 2.0]], [1.0, 2.0]), "as many rows"),
    ],
)
def test_errors_name_the_culprit(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_table_rows_are_drawn_with_their_targets():
    task = Table(Rows.of([[1.0, 2.0], [3.0, 4.0]], [2.0, 12.0]), Rows.of([[5.0, 6.0]], [30.0]))
    x, t = task.sample(torch.tensor([[0.1, 0.9, 0.4]]), task.train.numbers(2), torch.zeros(0), task.train)
    assert x.tolist() == [[1.0, 3.0, 1.0], [2.0, 4.0, 2.0]]
    assert t.tolist() == [[2.0, 12.0, 2.0]]
