"""The parts of the rule on numbers one can check by hand: moments, shares, curvatures, steps, choices and looks."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import nalm
from nalm.training.rule import Settings, joint, regression
from nalm.training.rule.at_output import DIGITS, AtOutput, Known
from nalm.training.rule.base import Pace
from nalm.training.rule.batch import Batch, Pass
from nalm.training.rule.between import Between
from nalm.training.rule.correlation import Shares, aim, covariance, moments, undropped, unexplained
from nalm.training.rule.curvature import LossCurvature, _bounded, _hessian, _root, loss_curvature, signs
from nalm.training.rule.evidence import Evidence
from nalm.training.rule.factors import DIVISOR, Factors, Member, Pattern, patterns
from nalm.training.rule.feedback import Feedback
from nalm.training.rule.gated import GatedStack
from nalm.training.rule.graph import GainAndBias, Place, Position
from nalm.training.rule.joint import (
    BLOCK_DAMPING,
    CAUTION,
    OUTPUT_DAMPING,
    Proposal,
    Situation,
    StackState,
    joint_share,
    propose,
)
from nalm.training.rule.line import LineAbove, Solved, _regression
from nalm.training.rule.looks import Looks
from nalm.training.rule.mode import Standing, share, swayed
from nalm.training.rule.parity import SPARE, by_signs
from nalm.training.rule.progress import FALLS, SMOOTH, ProgressState
from nalm.training.rule.refusals import MANY_REFUSED, Refused, refuse_company
from nalm.training.rule.regression import (
    FRESH,
    MANY,
    SAMPLES,
    Regression,
    View,
    divided,
    factored,
    safe_share,
    solve,
)
from nalm.training.rule.route import routes
from nalm.training.rule.rows import RowsState
from nalm.training.rule.ruled import Ruled, ruled
from nalm.training.rule.stack import Stack, share_left
from tests.training.rule.made import unit_of

F64 = torch.float64
YES = torch.tensor(True)
NONE = torch.tensor([False])  # no row needs an intercept


def numbers(*shape: int, seed: int = 0, low: float = -1.0, high: float = 1.0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return low + (high - low) * torch.rand(*shape, generator=generator, dtype=F64)


def told(x: Tensor, y: Tensor, implied: Tensor, curvature: Tensor | None = None) -> Feedback:
    """Feedback `(in, samples)`, `(out, samples)` of outputs that should have been `implied`."""
    h = torch.ones_like(y) if curvature is None else curvature
    return Feedback(x, y, h * (y - implied), h.sqrt().unsqueeze(0), 1)


# -- regression ----------------------------------------------------------------------------------------------------


def test_a_moment_is_damped_relative_to_its_mean_eigenvalue() -> None:
    a = numbers(5, 3)
    moment = 40 * a.T @ a
    for damping in (0.1, torch.tensor(0.1, dtype=F64)):
        factor = factored(moment, damping)
        mean = float(moment.diagonal().mean())
        torch.testing.assert_close(factor @ factor.T, moment + 0.1 * mean * torch.eye(3, dtype=F64))
    right = numbers(3, 2, seed=1)
    torch.testing.assert_close(solve(moment, right, 0.0), torch.linalg.solve(moment, right))
    assert not divided(torch.zeros(3, 3, dtype=F64), right).any()
    assert not solve(torch.zeros(2, 3, 3, dtype=F64), right, 1e-9)[0].any()
    indefinite = torch.diag(torch.tensor([2.0, 1.0, -1e-9], dtype=F64))  # rounding: mended by a millionth of the mean
    mended = factored(indefinite, 0.0)
    assert float(mended[0, 0]) == pytest.approx(math.sqrt(2 + 1e-6), rel=1e-9)
    assert float(mended[2, 2]) == pytest.approx(math.sqrt(1e-6 - 1e-9), rel=1e-4)
    assert not factored(torch.diag(torch.tensor([2.0, 1.0, -1.0], dtype=F64)), 0.0).any()  # beyond repair
    both = factored(torch.stack([moment, indefinite]), 0.0)
    torch.testing.assert_close(both[0] @ both[0].T, moment)


def test_the_safe_share_is_the_best_for_the_batch_and_at_most_all_of_a_step() -> None:
    design, weight = numbers(2, 20), torch.full((1, 20), 1 / 20, dtype=F64)
    truth = torch.tensor([[1.0, -2.0]], dtype=F64)
    slope = (weight * (truth @ design)) @ design.T
    for factor, expected in ((1.0, 1.0), (4.0, 0.25), (0.5, 1.0), (-1.0, 0.0)):
        assert float(safe_share(factor * truth, slope, design, weight)) == pytest.approx(expected)
    assert float(safe_share(0 * truth, slope, design, weight)) == 1.0


def test_a_regression_learns_its_batch_at_once_and_no_faster_than_samples_allow() -> None:
    one = unit_of(nalm.NAU, [[0.0, 0.0]])
    x = numbers(2, 40)
    far = torch.tensor([[30.0, -20.0]], dtype=F64)  # coefficients may be of any size
    free = Regression.of(one)
    view = View.of(one.form, told(x, 0 * x[:1], far @ x), 0 * x[:1], intercept=False)
    free.learn(one, view, YES, Settings())
    torch.testing.assert_close(free.numbers, far, rtol=1e-5, atol=1e-5)
    for samples, cut in ((4, False), (3, True)):  # two for each unknown
        few = Regression.of(one)
        part = x[:, :samples]
        few.learn(one, View.of(one.form, told(part, 0 * part[:1], far @ part), 0 * part[:1], False), YES, Settings())
        assert (float(few.numbers.abs().max()) == pytest.approx(Settings().early)) == cut
    product = unit_of(nalm.NMRU, [[0.5, 0.5]])
    free = Regression.of(product)
    positive = numbers(2, 60, low=1.0, high=2.0)
    high = torch.tensor([[20.0, -20.0]], dtype=F64)
    target = product.form.smooth(high, positive)
    view = View(
        product.form.features(positive), product.form.link(target), torch.full((1, 60), 1 / 60, dtype=F64), True
    )
    free.learn(product, view, YES, Settings())  # exponents, too: what is cut solves nothing any more
    free.learn(product, view, YES, Settings())
    torch.testing.assert_close(free.numbers, high, rtol=1e-5, atol=1e-5)
    nothing = Regression.of(one)
    nothing.learn(one, View(x, torch.full((1, 40), torch.nan, dtype=F64), view.weight[:, :40], False), YES, Settings())
    assert nothing.numbers.tolist() == [[0.0, 0.0]]


def test_an_intercept_takes_up_what_no_number_explains() -> None:
    one = unit_of(nalm.NAU, [[0.0]])
    x = numbers(1, 50)
    free = Regression.of(one)
    free.learn(one, View(x, 0.5 * x + 3, torch.full((1, 50), 1 / 50, dtype=F64), True), YES, Settings())
    assert free.numbers.tolist() == [[pytest.approx(0.5, abs=1e-6)]]
    assert free.offset.tolist() == [pytest.approx(3.0, abs=1e-6)]


def test_running_moments_rest_on_enough_samples_in_batches_of_any_size() -> None:
    one = unit_of(nalm.NAU, [[0.0, 0.0]])
    free, settings = Regression.of(one), Settings()
    first, second = numbers(2, 4), numbers(2, 4, seed=1)
    weight = torch.full((1, 4), 1 / 4, dtype=F64)
    free._renewed(first, weight, YES, settings)
    memory = max(settings.memory, 1 - 4 / (SAMPLES * 2))
    free._renewed(second, weight, YES, settings)
    assert float(free.seen) == pytest.approx(4 + 4 * memory)
    assert float(free.age) == pytest.approx(1 - memory**2)
    moment = (1 - memory) * (memory * first @ first.T + second @ second.T) / 4
    assert free.moment is not None
    torch.testing.assert_close(free.moment[0], moment)
    factor = free.factor
    assert factor is not None
    torch.testing.assert_close(factor[0] @ factor[0].T, moment / (1 - memory**2), rtol=1e-6, atol=1e-9)
    free._renewed(9 * second, weight, torch.tensor(False), settings)
    torch.testing.assert_close(free.moment[0], moment)  # runs that are not ok keep theirs


def test_a_young_moment_is_that_of_its_few_samples() -> None:
    free, first = Regression.of(unit_of(nalm.NAU, [[0.0, 0.0]])), numbers(2, 1)
    factor = free._renewed(first, torch.ones(1, 1, dtype=F64), YES, Settings())
    assert float(free.age) == pytest.approx(1 / (2 * SAMPLES))  # a sixteenth of what it will rest on
    torch.testing.assert_close(factor[0] @ factor[0].T, first @ first.T, rtol=1e-5, atol=1e-5)


def test_the_moment_of_many_inputs_is_renewed_once_in_so_many_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    kept = regression.factored
    monkeypatch.setattr(regression, "factored", lambda m, d: calls.append(1) or kept(m, d))
    for inputs, renewed in ((MANY, 2), (MANY - 1, FRESH + 1)):
        one = unit_of(nalm.NAU, [[0.0] * inputs])
        free = Regression.of(one)
        samples = SAMPLES * inputs  # enough at once
        design, weight = numbers(inputs, samples), torch.full((1, samples), 1 / samples, dtype=F64)
        calls.clear()
        for _ in range(FRESH + 1):
            free._renewed(design, weight, YES, Settings())
        assert len(calls) == renewed
    few = Regression.of(unit_of(nalm.NAU, [[0.0] * MANY]))
    calls.clear()
    for _ in range(3):
        few._renewed(design[:, :8].repeat(2, 1)[:MANY], weight[:, :8], YES, Settings())
    assert len(calls) == 3  # while samples are few


def test_views_weigh_samples_and_count_squared_errors() -> None:
    one = unit_of(nalm.NAU, [[0.5, 0.5]])
    x = numbers(2, 6)
    h = torch.tensor([[1.0, 2.0, 3.0, 4.0, 5.0, 5.0]], dtype=F64)
    target = x[:1] - x[1:]
    view = View.of(one.form, told(x, x[:1], target, h), x[:1], intercept=False)
    torch.testing.assert_close(view.weight, h / 20)
    torch.testing.assert_close(view.target, target)
    wrong = torch.tensor([[1.0, 1.0]], dtype=F64)
    torch.testing.assert_close(view.error(wrong), ((h / 20) * (2 * x[1:]).square()).sum(-1))


# -- correlations --------------------------------------------------------------------------------------------------


def test_moments_pass_over_what_is_not_finite_and_correlations_over_gains() -> None:
    a, b = numbers(1, 30), numbers(1, 30, seed=1)
    weight = torch.full((1, 30), 1 / 30, dtype=F64)
    mean = moments(a, b, weight)
    r = float(torch.corrcoef(torch.cat([a, b]))[0, 1])
    assert float(unexplained(mean)) == pytest.approx(1 - r**2)
    assert float(covariance(mean)) == pytest.approx(float((a * b).mean() - a.mean() * b.mean()))
    assert float(unexplained(moments(a, -7 * a + 3, weight))) == pytest.approx(0.0, abs=1e-9)
    assert float(unexplained(moments(a, torch.ones_like(a), weight))) == 1.0
    broken = b.clone()
    broken[0, 5] = torch.inf
    kept = torch.arange(30) != 5
    torch.testing.assert_close(moments(a, broken, weight), moments(a[:, kept], b[:, kept], weight[:, kept]))


def test_shares_are_given_up_of_what_the_best_explains() -> None:
    shares = Shares(*(torch.tensor([v], dtype=F64) for v in (0.5, 0.2, 0.4, 0.6)))
    assert shares.least.tolist() == [0.2]
    assert float(shares.given_up(shares.goal)) == pytest.approx(0.2 / 0.8)
    assert float(shares.given_up(shares.free)) == 0.0
    nothing = Shares(*(torch.ones(1, dtype=F64) for _ in range(4)))
    assert float(nothing.given_up(nothing.goal)) == 0.0


def test_a_row_aims_at_the_grid_point_in_its_direction_whatever_its_scale() -> None:
    for scale in (1e-3, 1.0, 50.0):
        row = scale * torch.tensor([[1.0, 0.52, 0.48, -0.6]])
        assert aim(row, (-1, 0, 1)).tolist() == [[1.0, 1.0, 0.0, -1.0]]
    assert aim(torch.zeros(1, 2), (-1, 0, 1)).tolist() == [[0.0, 0.0]]
    assert aim(torch.tensor([[0.5, 0.2]]), (0, 2, 4)).tolist() == [[4.0, 2.0]]
    assert undropped(torch.tensor([[0.0, 4.0]]), torch.tensor([[0.1, 3.0]]), (0, 2, 4)).tolist() == [[2.0, 4.0]]


# -- curvature -----------------------------------------------------------------------------------------------------


def test_curvatures_of_each_sample_and_their_roots() -> None:
    output = numbers(6, 3).requires_grad_()
    a = numbers(3, 3, seed=1)
    matrix = a @ a.T
    loss = 0.5 * torch.einsum("no,op,np->", output, matrix, output)
    (slope,) = torch.autograd.grad(loss, output, create_graph=True)
    hessian = _hessian(slope, output, (-1, 3), 1)
    torch.testing.assert_close(hessian, matrix.expand(6, 3, 3))
    root = _root(hessian.detach())
    torch.testing.assert_close(root @ root.mT, matrix.expand(6, 3, 3))
    negative = torch.diag_embed(torch.tensor([[4.0, -1.0]], dtype=F64))
    torch.testing.assert_close(
        _root(negative) @ _root(negative).mT, torch.diag_embed(torch.tensor([[4.0, 0.0]]).double())
    )
    assert _root(torch.tensor([[[-3.0]], [[9.0]]])).flatten().tolist() == [0.0, 3.0]
    drawn = signs(3, 1, (2, 4, 5), output)
    assert set(drawn.flatten().tolist()) == {-1.0, 1.0}
    assert torch.equal(drawn[0], drawn[1])  # the same for every run
    assert not torch.equal(drawn, signs(3, 2, (2, 4, 5), output))
    assert not torch.equal(drawn, signs(4, 1, (2, 4, 5), output))


@pytest.mark.parametrize("outputs", [1, 4, 5, 33])
def test_probes_are_the_curvature_on_average(outputs: int) -> None:
    output = numbers(64, outputs).requires_grad_()
    h = torch.linspace(1, 3, outputs, dtype=F64)
    found: list[Tensor] = []
    for step in range(30):
        loss = 0.5 * (h * output.square()).sum()
        told_of = loss_curvature(loss, output, 0, step)
        assert bool(told_of.squared)
        found.append(torch.stack([p.square() for p in told_of.probes]).sum(0))
    if outputs <= 4:
        torch.testing.assert_close(found[0], h.expand(64, outputs))
    mean = torch.stack(found).mean((0, 1))
    torch.testing.assert_close(mean, h, rtol=0.1, atol=0.0)
    assert len(told_of.probes) == min(outputs, 4)


def test_losses_that_are_no_parabola_send_no_sample_farther_than_all_are_wrong() -> None:
    output = torch.tensor([[1.0], [2.0], [-3.0]], dtype=F64)
    slope = torch.tensor([[1.0], [-1.0], [1.0]], dtype=F64) / 3
    flat = torch.zeros(3, 1, 1, dtype=F64)
    raised, squared = _bounded(flat.clone(), torch.tensor(0.5, dtype=F64), slope, output)
    assert not bool(squared)
    torch.testing.assert_close(slope.abs() / raised[..., 0], torch.full((3, 1), 0.5, dtype=F64))  # as far as the mean
    size = float(output.square().mean().sqrt())
    raised, _ = _bounded(flat.clone(), torch.tensor(99.0, dtype=F64), slope, output)
    torch.testing.assert_close(slope.abs() / raised[..., 0], torch.full((3, 1), size, dtype=F64))  # at most the output
    raised, _ = _bounded(flat.clone(), torch.tensor(-1.0, dtype=F64), slope, output)
    torch.testing.assert_close(slope.abs() / raised[..., 0], torch.full((3, 1), size, dtype=F64))
    some = torch.tensor([2.0, 0.0, 0.0], dtype=F64).reshape(3, 1, 1)
    raised, _ = _bounded(some.clone(), torch.tensor(0.5, dtype=F64), slope, output)
    assert raised.flatten().tolist() == pytest.approx([2.0, 2 / 3, 2 / 3])  # what bends enough stays


@pytest.mark.parametrize(("least", "squared"), [(0.991, True), (0.989, False)])
def test_curvatures_that_are_alike_are_those_of_a_squared_error(least: float, squared: bool) -> None:
    h = torch.tensor([1.0, least, 1.0], dtype=F64).reshape(3, 1, 1)
    slope = torch.tensor([[0.3], [0.1], [-0.2]], dtype=F64)
    assert bool(_bounded(h.clone(), torch.tensor(77.0, dtype=F64), slope, slope)[1]) == squared
    weighted = torch.tensor([1.0, 5.0, 9.0], dtype=F64).reshape(3, 1, 1)  # a weighted squared error is a parabola
    loss = float((slope.square() / (2 * weighted[..., 0])).sum())
    for factor, is_one in ((1.009, True), (1.02, False), (0.98, False)):
        assert bool(_bounded(weighted.clone(), torch.tensor(factor * loss, dtype=F64), slope, slope)[1]) == is_one


# -- joint steps ---------------------------------------------------------------------------------------------------


def situation(samples: int, unexplained: float = 0.0, step: int = 1) -> Situation:
    return Situation(YES, samples, torch.tensor(unexplained, dtype=F64), step, Settings())


def test_a_linear_units_step_is_divided_by_what_outputs_and_inputs_know() -> None:
    one = unit_of(nalm.NAU, [[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]])
    search, x = StackState.of(one), numbers(3, 50)
    y = search.numbers @ x
    h = torch.stack([torch.full((50,), 2.0), torch.full((50,), 3.0)]).double()
    feedback = told(x, y, y + numbers(2, 50, seed=2), h)
    proposal = propose(one, search, feedback, situation(50, 0.5))
    memory = Settings().memory
    gradient = -feedback.delta @ x.T
    outputs = feedback.probe[0] @ feedback.probe[0].T
    inputs = x @ x.T / 50
    eye = torch.eye(3, dtype=F64)
    outputs = outputs + OUTPUT_DAMPING * outputs.diagonal().mean() * torch.eye(2, dtype=F64)
    inputs = inputs + (Settings().damping + CAUTION * 0.5) * inputs.diagonal().mean() * eye
    expected = torch.linalg.solve(inputs, torch.linalg.solve(outputs, gradient).T).T
    torch.testing.assert_close(proposal.change, expected, rtol=1e-6, atol=1e-9)
    assert float(search.age) == pytest.approx(1 - memory)
    moved = proposal.change @ x
    torch.testing.assert_close(proposal.slope, -(feedback.delta * moved).sum())
    torch.testing.assert_close(proposal.effect, (feedback.probe * moved).sum(-2))
    twice = Feedback(*(torch.cat([v, v], -1) for v in (x, y, feedback.delta, feedback.probe)), uses=2)
    other = StackState.of(one)
    both = propose(one, other, twice, situation(50, 0.5))
    assert both.effect.shape == (1, 50)  # what both uses do to a sample adds up


@pytest.mark.parametrize(("inputs", "step", "renewed"), [(16, 10, 1), (16, 11, 0), (16, 12, 1), (15, 11, 1)])
def test_the_moment_of_many_inputs_of_a_stack_is_renewed_now_and_then(
    monkeypatch: pytest.MonkeyPatch, inputs: int, step: int, renewed: int
) -> None:
    one = unit_of(nalm.NAU, [[0.1] * inputs])
    search, x = StackState.of(one), numbers(inputs, 40)
    feedback = told(x, search.numbers @ x, x[:1])
    propose(one, search, feedback, situation(40, step=1))
    known, calls, kept = float(search.known), list[int](), joint.factored
    monkeypatch.setattr(joint, "factored", lambda m, d: calls.append(1) or kept(m, d))
    propose(one, search, feedback, situation(40, step=step))
    assert len(calls) == renewed
    assert (float(search.known) > known) == bool(renewed)


def test_a_gated_stack_takes_turns_until_a_way_explains_the_data(monkeypatch: pytest.MonkeyPatch) -> None:
    model = nalm.Gated(nalm.NAU(2, 1, seed=0), nalm.NMU(2, 1, seed=0))
    units = list(ruled(model))
    mode = GatedStack(units, routes([model], units), Settings())
    assert len(mode.stacks) == 2
    monkeypatch.setattr(Stack, "learn", lambda *_: None)
    batch = batch_of(torch.ones(4, 1))
    mode.learn([], batch)
    assert mode.turn == 0
    mode.now.tries.attempt = torch.tensor(1)  # an attempt has ended
    mode.learn([], batch)
    assert mode.turn == 1
    mode.learn([], batch)
    assert mode.turn == 1  # whose attempts are counted from here
    mode.now.tries.attempt = torch.tensor(1)
    for left, turn in ((1.99, 1), (2.01, 0)):
        mode.now.tries.unexplained = torch.tensor(left * Settings().enough, dtype=F64)
        mode.learn([], batch)
        assert mode.turn == turn
    assert mode.standings()[0].attempts == 3
    mode.stacks[1].tries.placed = torch.tensor(True)
    assert bool(mode.placed)


def test_the_step_of_exponents_is_damped_in_each_ones_own_scale() -> None:
    one = unit_of(nalm.NMRU, [[0.5, -0.3]])
    search, x = StackState.of(one), numbers(2, 60, low=1.0, high=3.0)
    y = one.form.smooth(search.numbers, x)
    feedback = told(x, y, y * 1.1)
    proposal = propose(one, search, feedback, situation(60))
    slopes = one.form.slopes(search.numbers, x)[0]
    moment = slopes @ slopes.T
    gradient = -(feedback.delta * slopes).sum(-1)
    size = moment.diagonal().rsqrt()
    scaled = size[:, None] * moment * size + BLOCK_DAMPING * torch.eye(2, dtype=F64)
    expected = size * torch.linalg.solve(scaled, size * gradient)
    torch.testing.assert_close(proposal.change[0], expected, rtol=1e-6, atol=1e-9)


def test_running_moments_of_a_stack_keep_what_runs_may_not_learn() -> None:
    one = unit_of(nalm.NAU, [[0.1, 0.2]])
    search = StackState.of(one)
    assert search.older(1000, 2, YES, Settings()) == Settings().memory
    assert StackState.of(one).older(1, 2, YES, Settings()) == pytest.approx(1 - 1 / (SAMPLES * 2))
    first = search.running("features", torch.full((2, 2), 4.0, dtype=F64), 0.75, YES)
    assert first[0, 0] == 1.0
    second = search.running("features", torch.full((2, 2), 8.0, dtype=F64), 0.75, YES)
    assert second[0, 0] == 0.75 * 1 + 0.25 * 8
    assert search.running("features", torch.full((2, 2), 99.0, dtype=F64), 0.75, ~YES)[0, 0] == second[0, 0]
    assert StackState.of(one).running("outputs", torch.ones(1, 1, dtype=F64), 0.75, ~YES)[0, 0] == 0.0


def test_the_joint_share_is_bounded_by_pace_the_batch_and_trust() -> None:
    def proposal(slope: float, effect: list[float]) -> Proposal:
        return Proposal(torch.zeros(1, 1), torch.tensor(slope, dtype=F64), torch.tensor([effect], dtype=F64))

    size = torch.tensor(10.0, dtype=F64)
    near = [proposal(4.0, [1.0, 1.0])]  # best share: 4 / 2
    assert float(joint_share(near, size, 0.5, 1.0)) == 0.5
    steep = [proposal(0.2, [1.0, 1.0])]  # twice the best share is 0.2
    assert float(joint_share(steep, size, 0.5, 1.0)) == pytest.approx(0.2)
    assert float(joint_share([proposal(-1.0, [1.0, 1.0])], size, 0.5, 1.0)) == 0.0
    assert float(joint_share(near, torch.tensor(0.1, dtype=F64), 0.5, 1.0)) == pytest.approx(0.05)
    assert float(joint_share(near, torch.tensor(0.1, dtype=F64), 0.5, 2.0)) == pytest.approx(0.1)
    against = [proposal(0.2, [1.0, 1.0]), proposal(0.2, [-1.0, 1.0])]  # effects that cancel bend less: 0.4 / 4
    assert float(joint_share(against, size, 0.5, 1.0)) == pytest.approx(0.2)
    apart = [proposal(0.2, [1.0, 1.0]), proposal(0.2, [1.0])]  # two times (2 + 1)
    assert float(joint_share(apart, size, 0.5, 1.0)) == pytest.approx(2 * 0.4 / 6)
    still = [proposal(0.0, [0.0, 0.0])]
    assert float(joint_share(still, size, 0.5, 1.0)) == 0.0


# -- pairs ---------------------------------------------------------------------------------------------------------


def pair(exponents: list[list[float]], rows: list[list[float]], above: bool = False) -> Factors:
    upper, lower = unit_of(nalm.NMRU, exponents), unit_of(nalm.NAU, rows)
    members = [Member(one, StackState.of(one)) for one in (lower, upper)]
    members[0].search.numbers = torch.tensor(rows, dtype=F64)
    top = unit_of(nalm.NAU, [[0.5] * len(exponents)])
    return Factors(members[0], members[1], Member(top, StackState.of(top)) if above else None)


def test_rows_of_a_product_are_balanced_without_changing_it() -> None:
    factors = pair([[1.0, 1.0, 0.0]], [[4.0, 1.0], [0.25, 0.1], [9.0, 9.0]])
    x = numbers(2, 9, low=1.0, high=2.0)
    before = (factors.rows.search.numbers @ x)[:2].prod(0)
    factors.balance(0.5, YES)
    rows = factors.rows.search.numbers
    torch.testing.assert_close((rows @ x)[:2].prod(0), before)
    assert rows[0].tolist() == pytest.approx([2.0, 0.5])
    assert rows[1].tolist() == pytest.approx([0.5, 0.2])
    assert rows[2].tolist() == [9.0, 9.0]  # takes no part
    scaled = pair([[1.0, 1.0]], [[4.0, 1.0], [4.0, 1.0]])
    scaled.balance(0.5, YES)
    assert scaled.rows.search.numbers[0].tolist() == pytest.approx([4.0, 1.0])  # nothing cancels it
    free = pair([[1.0, -1.0]], [[4.0, 1.0], [2.0, 1.0]], above=True)
    assert free.above is not None
    value = (free.rows.search.numbers @ x)[0] / (free.rows.search.numbers @ x)[1] * free.above.search.numbers[0, 0]
    free.balance(0.5, YES)
    rows = free.rows.search.numbers
    assert rows[0].tolist() == pytest.approx([2.0, 0.5])
    torch.testing.assert_close((rows @ x)[0] / (rows @ x)[1] * free.above.search.numbers[0, 0], value)


def test_attempts_open_with_whole_numbers_and_equal_divisors() -> None:
    factors = pair([[0.3, 0.3, 0.3]], [[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]])
    tried = factors.patterns
    assert (tried[0].up, tried[0].down, tried[0].rows) == (1, 1, 2)
    factors.open(torch.tensor(0), YES)
    assert factors.upper.search.numbers.tolist() == [[1.0, -1.0, 0.0]]
    assert factors.rows.search.numbers.tolist() == [[0.1, 0.2], [DIVISOR, DIVISOR], [0.5, 0.6]]
    factors.open(torch.tensor(len(tried)), ~YES)
    assert factors.upper.search.numbers.tolist() == [[1.0, -1.0, 0.0]]
    two = pair([[0.3] * 4, [0.3] * 4], [[0.1]] * 4)
    assert two._numbers(Pattern(1, 1)).tolist() == [[1.0, -1.0, 0.0, 0.0], [0.0, 0.0, 1.0, -1.0]]
    assert patterns(3, (0, 1), linear=True) == [Pattern(1, 0)]


# -- choices -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("believed", "streak", "grid", "free", "change", "after", "take"),
    [
        (False, 0, 0.9, 2.0, True, 0, True),  # less than half at once
        (False, 0, 1.0, 2.0, False, 1, False),
        (False, 0, 2.0, 2.0, False, 1, False),  # as good speaks for it
        (False, 5, 2.1, 2.0, False, 4, False),
        (False, 0, 0.09, 0.0, True, 0, True),  # nothing but rounding
        (False, 0, 0.1, 0.0, False, 0, False),
        (False, 19, 1.5, 2.0, True, 0, False),  # twenty in all
        (False, 18, 1.5, 2.0, False, 19, False),
        (True, 0, 4.1, 2.0, False, 1, False),  # twice and the floor
        (True, 0, 4.11, 2.0, True, 0, False),
        (True, 3, 2.1, 2.0, False, 2, False),  # within the floor
        (True, 3, 2.11, 2.0, False, 4, False),
    ],
)
def test_a_grid_point_is_believed_and_left_at_its_bounds(
    believed: bool, streak: int, grid: float, free: float, change: bool, after: int, take: bool
) -> None:
    said = swayed(
        torch.tensor([believed]),
        torch.tensor([streak]),
        torch.tensor([grid], dtype=F64),
        torch.tensor([free], dtype=F64),
        torch.tensor([0.1], dtype=F64),
        Settings(),
    )
    assert (bool(said.change), int(said.streak), bool(said.take)) == (change, after, take)
    standing = Standing(unit_of(nalm.NAU, [[1.0]]), Position.OUTPUT, 0.75, 0.5, None)
    assert standing.left == 0.0
    assert share(torch.tensor([True, False, False, True])) == 0.5


def test_progress_is_a_fall_of_the_running_level() -> None:
    state = ProgressState.of(torch.tensor(0.0))
    state.learn([torch.tensor(math.e)], YES)
    assert (float(state.level), float(state.best), int(state.idle)) == (pytest.approx(1.0), pytest.approx(1.0), 0)
    state.learn([torch.tensor(math.e), torch.tensor(math.exp(-1.0)), torch.tensor(math.exp(-3.0))], YES, steps=2)
    level = SMOOTH**2 * 1.0 + (1 - SMOOTH**2) * -2.0
    assert float(state.level) == pytest.approx(level)
    fell = level < 1 - FALLS
    assert (int(state.idle), float(state.best)) == ((0, pytest.approx(level)) if fell else (2, pytest.approx(1.0)))
    for falls, idle in ((0.99 * FALLS, 1), (1.01 * FALLS, 0)):
        other = ProgressState.of(torch.tensor(0.0))
        other.learn([torch.tensor(1.0)], YES)
        other.learn([torch.tensor(math.exp(-falls / (1 - SMOOTH)))], YES)
        assert int(other.idle) == idle
    other.learn([torch.tensor(0.0)], ~YES)
    assert int(other.idle) == 0
    other.learn([torch.tensor(torch.nan), torch.tensor(torch.inf)], YES, steps=2)
    assert math.isfinite(float(other.level))
    other.restart(YES)
    assert math.isinf(float(other.best))


def test_looks_go_on_while_batches_are_small_and_then_rest_as_long() -> None:
    looks = Looks(spacing=4, rest=50, least=3)
    looks.looked(10, changed=True)
    assert (looks.next, looks.made) == (13, 1)
    for step in (13, 14, 15, 16):
        assert looks.due(step)
        looks.goes_on(step)
    looks.looked(17, changed=True)
    assert looks.next == 17 + 5  # four batches and this one
    assert looks.batches == 0
    looks.looked(22, changed=False)
    looks.looked(57, changed=False)
    assert looks.next == 57 + 10
    assert not looks.due(61, in_company=True)
    assert looks.due(62, in_company=True)
    assert not looks.due(66)
    looks.looked(1000, changed=False)
    assert looks.next == 1050
    tired = Looks(spacing=4, rest=50, tires=2, made=9)
    tired.looked(100, changed=True)
    assert tired.next == 105
    tired.looked(105, changed=False, urgent=True)
    assert tired.next == 106
    other = Looks(1, 1)
    other.load(tired.saved())
    assert other.saved() == tired.saved()


# -- the line above ------------------------------------------------------------------------------------------------


@torch.no_grad()
def test_gain_and_bias_are_solved_where_outputs_differ() -> None:
    y, weight = numbers(1, 40), torch.full((1, 40), 1 / 40, dtype=F64)
    assert _regression(moments(3 * y - 2, y, weight)) == Solved(pytest.approx(3.0), pytest.approx(-2.0))
    assert _regression(moments(3 * y - 2, torch.ones_like(y), weight)) is None
    for spread, solved in ((2e-4, True), (5e-5, False)):  # variances of 4e-8 and 2.5e-9
        alike = 1 + spread * torch.where(torch.arange(40) % 2 == 0, 1.0, -1.0).double().unsqueeze(0)
        assert (_regression(moments(alike, alike, weight)) is not None) == solved
    layer = nn.Linear(1, 1)
    layer.weight.fill_(2.0)
    layer.bias.fill_(1.0)
    one = unit_of(nalm.NAU, [[1.0]])
    above = LineAbove(GainAndBias(layer.weight, layer.bias), RowsState.of(one), memory=0.9)
    feedback = told(y, y, 5 * y)
    torch.testing.assert_close(above.target(feedback), 10 * y + 1)
    above.solve(feedback, y)
    assert above.solved == Solved(pytest.approx(10.0), pytest.approx(1.0))
    above.solve(told(y, y, 0 * y), y)  # a tenth of the next batch
    assert above.solved == Solved(pytest.approx(9.0), pytest.approx(1.0))
    above.write()
    assert float(layer.weight) == pytest.approx(9.0)
    above.step(feedback, y)
    assert above.solved is None
    assert above.stores
    above.write()
    assert not above.stores


# -- evidence ------------------------------------------------------------------------------------------------------


def evidence_of(one: Ruled, **place: Any) -> Evidence:
    rows = RowsState.of(one)
    at = Place(Position.BETWEEN, **place)
    return Evidence(one, at, rows, Regression.of(one), LineAbove(None, rows, 0.9), Settings())


def test_neighbours_are_rigid_where_all_samples_are_passed_on_alike() -> None:
    one = unit_of(nalm.NAU, [[1.0, 0.0]])
    x = numbers(2, 40)
    sign = torch.where(torch.arange(40) % 2 == 0, 1.0, -1.0).double()
    for spread, rigid in ((0.48, True), (0.52, False)):
        feedback = told(x, x[:1], x[:1], (1 + spread * sign).unsqueeze(0))
        assert bool(evidence_of(one, straight=True)._rigid(feedback)) == rigid
    single = told(x[:, :1], x[:1, :1], x[:1, :1])
    assert not bool(evidence_of(one, straight=True)._rigid(single))


def test_what_bent_exponents_leave_is_that_of_a_regression_on_their_slopes() -> None:
    one = unit_of(nalm.NMRU, [[1.0, 1.0]])
    x = numbers(2, 80, low=1.0, high=3.0)
    target = x[0] ** 1.5 * x[1] + 0.1 * numbers(80, seed=3)
    goal = torch.tensor([[1.0, 1.0]], dtype=F64)
    y = x.prod(0)
    weights = torch.linspace(1, 2, 80, dtype=F64)
    feedback = told(x, y.unsqueeze(0), target.unsqueeze(0), weights.unsqueeze(0))
    design = torch.stack([y * x[0].log(), y * x[1].log(), y, torch.ones(80, dtype=F64)], 1) * weights.sqrt()[:, None]
    right = target * weights.sqrt()
    left = right - design @ torch.linalg.lstsq(design, right).solution
    mean = (weights * target).sum() / weights.sum()
    expected = float(left.square().sum() / (weights * (target - mean).square()).sum())
    assert float(evidence_of(one)._bendable(feedback, goal)) == pytest.approx(expected, rel=1e-4)


def test_a_reciprocal_is_right_if_it_explains_far_more_or_for_long() -> None:
    one = unit_of(nalm.NMRU, [[1.0, 1.0]])
    x = numbers(2, 80, low=1.0, high=2.0)
    goal, asked = torch.tensor([[1.0, 1.0]], dtype=F64), torch.tensor([True])
    y = x.prod(0, keepdim=True)
    seen = evidence_of(one)
    assert bool(seen._turned(told(x, y, 1 / y), goal, asked))
    assert int(seen.rows.mirrored) == 1
    assert not bool(seen._turned(told(x, y, y), goal, asked))
    assert int(seen.rows.mirrored) == 0
    assert not bool(seen._turned(told(x, y, 1 / y), goal, ~asked))
    slight = told(
        x, y, 1 / y + 0.05 * torch.where(torch.arange(80) % 2 == 0, 1.0, -1.0)
    )  # a little better in every look
    turned = [bool(seen._turned(slight, goal, asked)) for _ in range(Settings().patience)]
    assert turned == [False] * (Settings().patience - 1) + [True]
    linear = evidence_of(unit_of(nalm.NAU, [[1.0, 1.0]]))
    assert not bool(linear._turned(told(x, y, 1 / y), goal, asked))
    positive = evidence_of(unit_of(nalm.NMU, [[1.0, 1.0]]))
    assert not bool(positive._turned(told(x, y, 1 / y), goal, asked))  # holds no reciprocal


def test_a_look_averages_its_batches_and_begins_anew_after_enough_samples() -> None:
    one = unit_of(nalm.NAU, [[0.9, 0.1]])
    seen, ok, squared = evidence_of(one), YES, YES
    held = one.read()
    for k, samples in enumerate((60, 60, 8)):
        x = numbers(2, samples, seed=k)
        y = held @ x
        feedback = told(x, y, x[:1])
        found = seen.look(feedback, View.of(one.form, feedback, y, True), held, ok, squared)
        assert (found is None) == (k < 2)
    assert found is not None
    assert seen.gathered == 0
    assert found.goal.tolist() == [[1.0, 0.0]]
    assert float(found.left.goal) == pytest.approx(0.0, abs=1e-9)
    assert bool(found.known)
    assert bool(found.clear)
    assert not bool(found.lossy)


# -- rows ----------------------------------------------------------------------------------------------------------


def test_a_step_to_the_free_numbers_is_a_share_of_the_way_and_not_long() -> None:
    rows = RowsState.of(unit_of(nalm.NAU, [[0.0, 0.0]]))
    settings = Settings()
    rows.goal = torch.tensor([[0.1, -0.05]], dtype=F64)
    torch.testing.assert_close(rows.towards(settings), settings.slow * rows.goal)
    rows.goal = torch.tensor([[1.0, -0.5]], dtype=F64)
    torch.testing.assert_close(rows.towards(settings), settings.follow * rows.goal)
    rows.refused = torch.tensor([[1.0, 0.0]], dtype=F64)
    assert rows.has_refused(torch.tensor([[1.0, 0.0]]).double()).tolist() == [True]
    assert rows.has_refused(torch.tensor([[1.0, 1.0]]).double()).tolist() == [False]


# -- signs, pace, refusals -----------------------------------------------------------------------------------------


def test_signs_need_more_equations_than_unknowns() -> None:
    one = unit_of(nalm.NMRU, [[0.3, 0.3, 0.3]])
    held = one.read()
    for samples, found in ((3 + SPARE, True), (2 + SPARE, False)):
        bits = torch.tensor([[(k >> i) & 1 for k in range(1, samples + 1)] for i in range(3)])
        x = (1 - 2 * bits).double()
        target = (x[0] * x[2]).unsqueeze(0)
        said = by_signs(one, told(x, target, target), held)
        assert (said.numbers.tolist() == [[1.0, 0.0, 1.0]]) == found
        assert bool(said.explained)
        if found:
            wrong = target.clone()
            wrong[0, 4] *= -1
            assert not bool(by_signs(one, told(x, wrong, wrong), held).explained)
    mixed = torch.cat([x[:1], numbers(2, x.shape[1], low=1.0, high=2.0)])
    other = torch.tensor([[0.3, 1.0, 1.0]], dtype=F64)
    target = (mixed[0] * mixed[1]).unsqueeze(0)
    assert by_signs(one, told(mixed, target, target), other).numbers.tolist() == [[0.3, 1.0, 1.0]]


def test_the_pace_is_that_of_the_slowest_group() -> None:
    pace = Pace()
    assert pace.next([{"lr": 0.1}, {"lr": 0.2}]) == 1.0
    assert pace.next([{"lr": 0.05}, {"lr": 0.02}]) == pytest.approx(0.1)
    assert pace.next([{"lr": 0.1, "initial_lr": 0.4}, {"lr": 0.2}]) == pytest.approx(0.25)
    assert Pace([0.5]).next([{"lr": 0.1}, {"lr": 0.3}]) == pytest.approx(0.2)
    assert Pace().next([{"lr": 0.0}]) == 1.0


def test_many_batches_in_a_row_are_refused_with_one_warning() -> None:
    refused = Refused()
    for _ in range(MANY_REFUSED - 1):
        refused.one_more()
    with pytest.warns(UserWarning, match="batches in a row"):
        refused.one_more()
    refused.one_more()
    assert (refused.count, refused.in_a_row) == (MANY_REFUSED + 1, MANY_REFUSED + 1)
    refuse_company(1)
    with pytest.raises(ValueError, match="these 2 would drift apart"):
        refuse_company(2)


# -- at the output -------------------------------------------------------------------------------------------------


def batch_of(output: Tensor, loss: float = 1.0, held: float = 1.0) -> Batch:
    plain = Pass(output, torch.tensor(loss, dtype=F64), 1)
    plain.__dict__["curvature"] = LossCurvature([torch.ones_like(output)], YES)
    loss_held = torch.tensor(held, dtype=F64)
    return Batch(1, 1.0, plain, YES, [plain.loss], 1.0, None, None, lambda: loss_held)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("free", "held", "moved", "once"),
    [
        (0.55, 0.5, True, False),  # nearer to what is wanted, inside the box
        (0.45, 0.5, False, False),
        (1.5, 0.5, False, True),  # cut to 1, which is clearly better: the base goes on from there
        (1.5, 0.98, False, False),  # hardly better than what is there
    ],
)
def test_free_numbers_are_stored_where_they_leave_less(free: float, held: float, moved: bool, once: bool) -> None:
    one = unit_of(nalm.NAU, [[held]])
    mode = AtOutput(one, Settings())
    mode.free.numbers = torch.tensor([[free]], dtype=F64)
    x = numbers(1, 30)
    feedback = told(x, one.read() @ x, x if free < 1 else x * 0.999 + 0.3 * numbers(1, 30, seed=9))
    mode._compare(Known(feedback, YES, ~YES), feedback, batch_of(feedback.y.float().T), NONE)
    assert mode.choice.moved.tolist() == [moved]
    assert mode._once.tolist() == [once]
    centred = feedback.implied - feedback.implied.mean()
    left = float((feedback.y - feedback.implied).square().sum() / centred.square().sum())
    assert float(mode.choice.unexplained) == pytest.approx(left)


@pytest.mark.parametrize(("worse", "stays"), [(1.08, True), (1.14, False)])  # a ninth
def test_free_numbers_that_are_stored_stay_while_they_are_hardly_worse(worse: float, stays: bool) -> None:
    one = unit_of(nalm.NAU, [[0.5]])
    x = numbers(1, 30)
    for moved in (True, False):
        mode = AtOutput(one, Settings())
        mode.choice.moved = torch.tensor([moved])
        mode.free.numbers = torch.tensor([[0.4 - 0.1 * math.sqrt(worse)]], dtype=F64)  # of what is wanted, 0.4
        feedback = told(x, one.read() @ x, 0.4 * x)
        mode._compare(Known(feedback, YES, ~YES), feedback, batch_of(feedback.y.float().T), NONE)
        assert mode.choice.moved.tolist() == [moved and stays]
    mode.choice.moved = torch.tensor([True])
    mode.free.numbers = torch.tensor([[0.5]], dtype=F64)
    x = torch.arange(30, dtype=F64).unsqueeze(0) / 8  # halves of which are no less exact
    exact = told(x, one.read() @ x, 0.5 * x)
    mode._compare(Known(exact, YES, ~YES), exact, batch_of(exact.y.float().T), NONE)
    assert mode.choice.moved.tolist() == [True]  # nothing is left, and less is not possible


@pytest.mark.parametrize(("held", "moved"), [(0.99, True), (1.01, False)])
def test_of_other_losses_the_loss_itself_decides(held: float, moved: bool) -> None:
    one = unit_of(nalm.NAU, [[0.5]])
    mode, x = AtOutput(one, Settings()), numbers(1, 30)
    mode.free.numbers = torch.tensor([[0.45 if moved else 0.55]], dtype=F64)  # by squared errors it is the other way
    feedback = told(x, one.read() @ x, x)
    mode._compare(Known(feedback, YES, YES), feedback, batch_of(feedback.y.float().T, 1.0, held), NONE)
    assert mode.choice.moved.tolist() == [moved]
    assert one.read().tolist() == [[0.5]]  # what it holds was only lent


@pytest.mark.parametrize(("size", "lost"), [(0.99, False), (1.01, True)])
def test_a_target_that_is_lost_in_the_rounding_of_the_output_is_asked_again(size: float, lost: bool) -> None:
    one = unit_of(nalm.NAU, [[0.5]])
    mode, x = AtOutput(one, Settings()), torch.ones(1, 5, dtype=F64)
    y = torch.full((1, 5), size / (DIGITS * torch.finfo(torch.float32).eps), dtype=F64)
    batch = batch_of(y.float().T)
    asked: list[int] = []
    again = replace(batch, again=lambda watched: asked.append(len(watched)) or batch.plain)
    found = mode._readable(told(x, y, torch.ones_like(y)), again)
    assert asked == ([1] if lost else [])
    assert (found is None) == lost  # nothing was computed by the stand-in
    assert mode._readable(None, again) is None


def test_the_grid_is_believed_only_where_some_number_is_not_zero() -> None:
    one = unit_of(nalm.NAU, [[0.6, 0.3]])
    x = numbers(2, 200)
    for free, goal, snapped in (([0.9, 0.1], [1.0, 0.0], True), ([0.1, 0.1], [0.0, 0.0], False)):
        mode = AtOutput(one, Settings())
        mode.free.numbers = torch.tensor([free], dtype=F64)
        target = torch.tensor([goal], dtype=F64) @ x
        view = View.of(one.form, told(x, target, target), target, intercept=False)
        mode._settle(view, torch.tensor([True]), YES, 1e-7)
        assert mode.choice.snapped.tolist() == [snapped]
    mode = AtOutput(one, Settings(snap=False))
    mode.free.numbers = torch.tensor([[0.9, 0.1]], dtype=F64)
    mode._settle(View.of(one.form, told(x, x[:1], x[:1]), x[:1], False), torch.tensor([True]), YES, 1e-7)
    assert not mode.choice.snapped.any()


def test_a_pass_knows_its_samples_and_the_size_of_its_output() -> None:
    output = numbers(2, 5, 3)
    one = Pass(output, torch.ones(2, dtype=F64), 1)
    one.__dict__["curvature"] = LossCurvature([torch.full_like(output, 2.0)], torch.tensor([True, True]))
    assert one.samples == 5
    torch.testing.assert_close(one.size, 4 * output.square().sum((-2, -1)))
    torch.testing.assert_close(share_left(torch.ones(2, dtype=F64), one), 2 / one.size)
    assert Pass(numbers(7), torch.tensor(1.0), 1).samples == 7
    broken = output.clone()
    broken[1, 2, 0] = torch.inf
    assert Pass(broken, torch.ones(2), 1).finite.tolist() == [True, False]
    assert Pass(output, torch.tensor([1.0, torch.nan]), 1).finite.tolist() == [True, False]
    assert Pass(output, torch.tensor([1.0, 0.0]), 1).some_exact
    assert not Pass(output, torch.tensor([1.0, 2.0]), 1).some_exact


def test_a_unit_that_holds_its_grid_point_gives_up_when_the_loss_stays_worse() -> None:
    one = unit_of(nalm.NAU, [[1.0, 0.0]])
    mode, settings = Between(one, Place(Position.BETWEEN, True, True), Settings()), Settings()
    rows, progress = mode.rows, mode.progress
    rows.arrived = torch.tensor([True])
    for level, idle, spoilt in (
        (math.log(settings.worse) + 0.01, settings.attempt + 1, True),
        (math.log(settings.worse) - 0.01, settings.attempt + 1, False),
        (math.log(settings.worse) + 0.01, settings.attempt, False),
    ):
        rows.refused = torch.full_like(rows.held, torch.nan)
        progress.level, progress.idle = torch.tensor(level, dtype=F64), torch.tensor(idle)
        assert bool(mode._spoilt(YES)) == spoilt
        assert bool(rows.has_refused(rows.held)) == spoilt
        assert not bool(mode._spoilt(~YES))
    assert mode._followed(0.3) == 0.3
    assert mode.glide == settings.gently
