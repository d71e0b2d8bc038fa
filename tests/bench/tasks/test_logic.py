"""Truth tables, comparisons and case distinctions: what is drawn, what is right, what counts as solved."""

from __future__ import annotations

import itertools

import pytest
import torch

from nalm.bench.tasks.logic import FUNCTIONS, RELATIONS, Bits, Boolean, Compare, Lattice, Piecewise, share_wrong

TRUTH = {
    "and": [0, 0, 0, 1],
    "or": [0, 1, 1, 1],
    "not": [1, 1, 0, 0],
    "xor": [0, 1, 1, 0],
    "implies": [1, 1, 0, 1],
    "equal": [1, 0, 0, 1],
}
LINES = torch.tensor(list(itertools.product([0.0, 1.0], repeat=2))).T  # (inputs, lines)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_truth_tables(name: str) -> None:
    task = Boolean(name=name)
    assert task.target(LINES, torch.zeros(0))[0].tolist() == TRUTH[name]
    assert [task.formula(line.tolist(), 0)[0] for line in LINES.T] == TRUTH[name]


@pytest.mark.parametrize("inputs", [2, 8])
def test_the_test_cases_hold_every_line(inputs: int) -> None:
    task = Boolean(inputs=inputs)
    u = torch.rand(inputs, task.samples, generator=torch.Generator().manual_seed(0))
    x, t = task.sample(u, Bits().numbers(inputs), torch.zeros(0), task.test)
    assert len({tuple(line) for line in x.T.tolist()}) == 2**inputs
    assert t.shape == (1, task.samples)


def test_one_wrong_line_is_not_solved() -> None:
    task, t = Boolean(inputs=8), torch.zeros(1, Boolean(inputs=8).samples)
    y = t.clone()
    assert float(task.error(y, t)) < task.threshold()
    y[0, 7] = 0.51
    assert float(task.error(y, t)) > task.threshold()
    surer, wide = float(task.error(t + 0.1, t)), torch.full_like(t, 0.49)
    assert surer < float(task.error(wide, t)) < task.threshold()  # of two without a wrong answer, the surer counts
    assert float(share_wrong(torch.tensor([[0.4, 0.6, 0.6]]), torch.tensor([[0.0, 1.0, 0.0]]))) == pytest.approx(1 / 3)


def test_a_lattice_is_uniform_on_its_points() -> None:
    u = (torch.arange(20_000) + 0.5) / 20_000
    x = Lattice(-0.9, 0.9, 0.1).quantile(u, Lattice(-0.9, 0.9, 0.1).numbers(1)[..., 0].unsqueeze(-1).double())[0]
    values, counts = torch.unique((x * 10).round(), return_counts=True)
    assert values.tolist() == list(range(-9, 10))
    assert int(counts.max() - counts.min()) <= 1
    last = torch.tensor([1 - 2.0**-24])
    assert float(Lattice(-999, 999).quantile(last, Lattice(-999, 999).numbers(1).float())) == 999


@pytest.mark.parametrize(
    ("name", "truth"),
    [
        ("<", [1, 0, 0]),
        (">", [0, 0, 1]),
        ("=", [0, 1, 0]),
        ("!=", [1, 0, 1]),
        ("<=", [1, 1, 0]),
        (">=", [0, 1, 1]),
    ],
)
def test_relations(name: str, truth: list[int]) -> None:
    x = torch.tensor([[1.0, 2.0, 3.0], [2.0, 2.0, 2.0]])
    task = Compare(Lattice(-9, 9), Lattice(-99, 99), name=name)
    assert task.target(x, torch.zeros(0)).tolist() == [truth, [1 - v for v in truth]]
    assert [task.formula(pair, 0)[0] for pair in x.T.tolist()] == truth
    assert set(RELATIONS) == {"<", ">", "=", "!=", "<=", ">="}


def test_a_quarter_of_the_pairs_is_equal() -> None:
    task = Compare(Lattice(-999, 999), Lattice(-999, 999), inputs=3, name="=")
    u = torch.rand(task.draws, 20_000, generator=torch.Generator().manual_seed(0))
    x, t = task.sample(u, task.train.numbers(3).float(), torch.zeros(0), task.train)
    assert x.shape == (3, 20_000)
    assert float(t[0].mean()) == pytest.approx(0.25, abs=0.01)
    assert bool(((x[0] == x[1]) == (t[0] == 1)).all())


@pytest.mark.parametrize(
    ("name", "inputs", "expected"),
    [("difference", 2, 4), ("smaller", 2, -1), ("larger", 2, 3), ("minimum", 4, -1), ("count", 4, 2)],
)
def test_case_distinctions(name: str, inputs: int, expected: float) -> None:
    numbers = [3.0, -1.0, 3.0, 3.0][:inputs]
    task = Piecewise(Lattice(-9, 9), Lattice(-9, 9), name, inputs)
    assert task.target(torch.tensor(numbers).unsqueeze(-1), torch.zeros(0)).tolist() == [[expected]]
    assert task.formula(numbers, 0) == [expected]
    t = torch.full((1, 10), float(expected))
    assert float(task.error(t + 0.49, t)) < task.threshold()
    assert float(task.error(t + 0.51, t)) >= 1
    assert float(task.error(t + 0.1, t)) < float(task.error(t + 0.2, t))  # of two without a wrong answer, the nearer
    one = t.clone()
    one[0, 3] += 1
    assert float(task.error(one, t)) > task.threshold()


@pytest.mark.parametrize("task", [Boolean, Compare, Piecewise])
def test_unknown_names_are_suggested(task: type) -> None:
    with pytest.raises(ValueError, match="There is no"):
        task(Lattice(0, 1), Lattice(0, 1), name="zor")
