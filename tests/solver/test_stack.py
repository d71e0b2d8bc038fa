"""Solutions as stacks of units, and given stacks filled from data."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import nalm
from benchmarks.solver_data import float32
from nalm.solver import Status, solve
from nalm.solver.formula.calculus import evaluate

RNG = np.random.default_rng(0)
X = float32(RNG.uniform(-2, 2, (512, 12)))
A, B = X[:, :5].sum(1), X[:, 3:9].sum(1)


def outputs(unit, table):
    with torch.no_grad():
        return unit.double().eval()(torch.tensor(table))[:, 0].numpy()


@pytest.mark.parametrize(
    "target",
    [
        X[:, 0] * X[:, 3],
        X[:, 0] / X[:, 3] ** 2,
        X[:, 0] + X[:, 1] - 2 * X[:, 2],
        A * B,
        X[:, 0] * X[:, 1] + X[:, 2] * X[:, 1] ** 2 / 2,
        -1 / (X[:, 0] * X[:, 1]) - X[:, 2],
        (X[:, 0] + 1) * (X[:, 1] + 2),
        X[:, 0] / (X[:, 1] + X[:, 2]) + X[:, 3],
        X[:, 4],
        (X[:, 0] + X[:, 1]) / 3,
    ],
)
def test_an_exact_solution_is_a_stack_of_grid_weights(target):
    solution = solve(X, float32(target))
    assert solution.status is Status.EXACT
    assert solution.unit.on_grid()
    np.testing.assert_allclose(outputs(solution.unit, X), solution.predict(X), rtol=1e-9, atol=1e-9)
    assert nalm.read(solution.unit).exact


def test_where_no_stack_can_the_reason_is_given():
    positive = np.abs(X) + 0.1
    solution = solve(positive, float32(np.sqrt(positive[:, 0] ** 2 + positive[:, 1] ** 2)))
    assert solution.exact
    assert solution.unit is None
    assert any("root" in note for note in solution.evidence.notes)


@pytest.mark.parametrize(
    ("stack", "target"),
    [
        (nalm.NAU(12, 1), X[:, 1] - X[:, 5]),
        (nalm.NMU(12, 1), X[:, 1] * X[:, 5]),
        (nalm.NRU(12, 1), X[:, 1] / X[:, 5]),
        (nalm.NMRU(12, 1), X[:, 1] / X[:, 5]),
        (nalm.RealNPU(12, 1), X[:, 1] / X[:, 5]),
        (nalm.ModifiedRealNPU(12, 1), X[:, 1] / X[:, 5]),
        (nalm.Chain(nalm.NAU(12, 2), nalm.NMU(2, 1)), A * B),
        (nalm.Chain(nalm.NAU(12, 10), nalm.NMU(10, 1)), A * B),
        (nalm.Chain(nalm.NAU(12, 3), nalm.NMU(3, 1)), A**2),
        (nalm.Chain(nalm.NAU(12, 3), nalm.NRU(3, 1)), A / B),
        (nalm.Chain(nalm.NAU(12, 3), nalm.NMRU(3, 1)), -A / B),
        (nalm.Chain(nalm.NAU(12, 3), nalm.RealNPU(3, 1)), A / B),
        (nalm.Chain(nalm.NAU(12, 3), nalm.NAU(3, 1)), A + B),
        (nalm.Chain(nalm.NMU(12, 3), nalm.NAU(3, 1)), X[:, 0] * X[:, 1] - X[:, 2] * X[:, 3]),
    ],
)
def test_a_given_stack_is_filled(stack, target):
    before = [p.clone() for p in stack.parameters()]
    solution = solve(X, float32(target), like=stack)
    assert solution.status is Status.EXACT
    assert type(solution.unit) is type(stack)
    assert solution.unit.on_grid()
    assert np.median(np.abs(outputs(solution.unit, X) / target - 1)) < 1e-6
    assert all(torch.equal(a, b) for a, b in zip(before, stack.parameters(), strict=True))


def test_a_stack_that_cannot_compute_the_target_is_not_filled():
    solution = solve(X, float32(X[:, 0] * X[:, 1]), like=nalm.NAU(12, 1))
    assert solution.status is Status.NONE
    assert solution.unit is None


def test_a_stack_of_the_wrong_size_or_kind_is_refused():
    with pytest.raises(ValueError, match="7 inputs"):
        solve(X, A, like=nalm.NAU(7, 1))
    with pytest.raises(TypeError, match="Linear"):
        solve(X, A, like=torch.nn.Linear(12, 1))


weights = st.lists(st.sampled_from([-1, 0, 1]), min_size=5, max_size=5)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(first=weights, second=weights, exponent=st.sampled_from([1, -1]), seed=st.integers(0, 3))
def test_a_random_grid_stack_is_recovered_from_its_own_data(first, second, exponent, seed):
    table = float32(np.random.default_rng(seed).uniform(1, 2, (300, 5)))
    a, b = table @ np.array(first), table @ np.array(second)
    if not np.any(first) or not np.any(second) or np.min(np.abs(b)) < 1e-3:
        return
    solution = solve(table, float32(a * b**exponent))
    assert solution.status is Status.EXACT
    wide = np.random.default_rng(9).uniform(2, 9, (100, 5))
    truth = (wide @ np.array(first)) * (wide @ np.array(second)) ** float(exponent)
    assert np.median(np.abs(evaluate(solution.chosen.formula, wide) - truth) / (np.abs(truth) + 1e-9)) < 1e-9
