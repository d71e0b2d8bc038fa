"""`nalm.LocalGaussNewton`: what it computes, how it resumes, what it leaves alone."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

import nalm
from nalm.training.rule import LocalGaussNewton, Settings
from nalm.training.rule.at_output import AtOutput
from nalm.training.rule.batch import Pass
from nalm.training.rule.curvature import loss_curvature
from nalm.training.rule.mode import swayed
from nalm.training.rule.progress import ProgressState
from nalm.training.rule.stack import ROUNDING, Stack, rounding_loss

Draw = Callable[[int], tuple[Tensor, Tensor]]


def squared(output: Tensor, target: Tensor) -> Tensor:
    return (output - target).square().mean()


def train(
    model: nn.Module, draw: Draw, steps: int, loss: Callable[[Tensor, Tensor], Tensor] = squared, **options: object
) -> LocalGaussNewton:
    optimiser = LocalGaussNewton(model, **options)  # type: ignore[arg-type]
    go_on(optimiser, draw, range(steps), loss)
    return optimiser


def find(model: nn.Module, draw: Draw, most: int, **options: object) -> LocalGaussNewton:
    """Train until all units are held on the right grid point: cheaper than a number of steps that is enough for all."""
    optimiser = LocalGaussNewton(model, **options)  # type: ignore[arg-type]
    for step in range(most):
        go_on(optimiser, draw, range(step, step + 1))
        x, target = draw(step)
        with torch.no_grad():
            error = squared(model(x), target)
        if error < 1e-9 * target.square().mean() and all(one.unit.on_grid() for one in optimiser.units):
            break
    return optimiser


def go_on(
    optimiser: LocalGaussNewton, draw: Draw, steps: range, loss: Callable[[Tensor, Tensor], Tensor] = squared
) -> None:
    def evaluate(x: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        output = optimiser.model(x)
        return output, loss(output, target)

    for step in steps:
        optimiser.step(evaluate, *draw(step))


def batches(
    target: Callable[[Tensor], Tensor], inputs: int, low: float = -2.0, high: float = 2.0, size: int = 64
) -> Draw:
    def draw(step: int) -> tuple[Tensor, Tensor]:
        x = low + (high - low) * torch.rand(size, inputs, generator=torch.Generator().manual_seed(step))
        return x, target(x)

    return draw


def first_times_second(x: Tensor) -> Tensor:
    return x[:, :1] * x[:, 1:2]


def at_output(optimiser: LocalGaussNewton) -> AtOutput:
    (mode,) = optimiser.modes or []
    assert isinstance(mode, AtOutput)
    return mode


def rows(optimiser: LocalGaussNewton) -> Tensor:
    """The free numbers of the lowest unit of a stack."""
    (mode,) = optimiser.modes or []
    assert isinstance(mode, Stack)
    return mode.members[0].search.numbers


# -- what it computes ------------------------------------------------------------------------------------------------


def test_first_step_of_a_sum_is_the_batch_regression() -> None:
    unit = nalm.NAU(3, 2, seed=0).double()
    x = torch.randn(40, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    target = torch.randn(40, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    optimiser = train(unit, lambda _: (x, target), 1, settings=Settings(snap=False, damping=0.0))
    by_hand = torch.linalg.lstsq(x, target).solution.mT
    torch.testing.assert_close(at_output(optimiser).free.numbers, by_hand, rtol=1e-10, atol=1e-12)


def test_second_step_uses_running_moments_and_the_safe_share() -> None:
    memory, draw = 0.9, batches(first_times_second, 3, size=30)
    unit = nalm.NAU(3, 1, seed=0).double()

    def double(step: int) -> tuple[Tensor, Tensor]:
        x, _ = draw(step)
        x = x.double()
        return x, x @ torch.tensor([[1.0], [-0.4], [0.3 + step]], dtype=torch.float64)

    optimiser = train(unit, double, 2, settings=Settings(snap=False, damping=0.0, memory=memory))
    (x0, t0), (x1, t1) = double(0), double(1)
    w = torch.linalg.lstsq(x0, t0).solution
    moment = (memory * (1 - memory) * x0.mT @ x0 / 30 + (1 - memory) * x1.mT @ x1 / 30) / (1 - memory**2)
    right = x1.mT @ (t1 - x1 @ w) / 30
    step = torch.linalg.solve(moment, right)
    share = (step * right).sum() / (x1 @ step).square().mean()
    by_hand = (w + min(1.0, float(share)) * step).mT
    torch.testing.assert_close(at_output(optimiser).free.numbers, by_hand, rtol=1e-9, atol=0)


@pytest.mark.parametrize(("inputs", "renewed"), [(4, 16), (40, 1)])
def test_the_moment_of_many_inputs_is_renewed_now_and_then(inputs: int, renewed: int) -> None:
    draw = batches(lambda x: x.prod(1, keepdim=True), inputs)
    optimiser = train(nalm.NAU(inputs, 1, seed=0), draw, 40, settings=Settings(spacing=1000))  # look in every step
    moments = []
    for step in range(40, 56):
        go_on(optimiser, draw, range(step, step + 1))
        moments.append(at_output(optimiser).free.moment)
    different = [i for i, m in enumerate(moments) if i == 0 or m is not moments[i - 1]]
    assert len(different) - 1 <= renewed <= len(different)


def test_a_target_without_a_grid_point_is_looked_at_ever_more_rarely() -> None:
    draw = batches(lambda x: 0.3 * x[:, :1], 2)
    optimiser = train(nalm.NAU(2, 1, seed=0), draw, 200)
    looks = at_output(optimiser).looks
    assert looks.next - looks.last > 10
    assert float(at_output(optimiser).choice.unexplained) < 1e-10


def test_step_of_a_stack_is_the_factored_gauss_newton_step() -> None:
    net = nalm.Chain(nalm.NAU(4, 2, seed=0), nalm.NMU(2, 1, seed=1)).double()
    draw = batches(lambda x: (x[:, :1] + x[:, 1:2]) * x[:, 2:3], 4, 1.0, 2.0, 50)

    def double(step: int) -> tuple[Tensor, Tensor]:
        x, t = draw(step)
        return x.double(), t.double()

    settings = Settings(trust=1e9, balance=0.0, snap=False, memory=0.0)
    optimiser = LocalGaussNewton(net, settings=settings)
    go_on(optimiser, double, range(2))  # finds the pair and opens both exponents
    w = rows(optimiser).clone()
    go_on(optimiser, double, range(2, 3))
    x, t = double(2)
    z = x @ w.mT
    y = z.prod(-1, keepdim=True)
    v = z.flip(-1) * (2 / 50) ** 0.5  # dy/dz times the root of the loss's curvature
    gradient = -((2 / 50) * (y - t) * z.flip(-1)).mT @ x
    rest = float((y - t).square().mean())
    caution = 1e-9 + 0.1 * rest / (rest + float(y.square().mean()))
    between, inside = v.mT @ v, x.mT @ x / 50
    eye = torch.eye(4, dtype=w.dtype)
    step = torch.linalg.solve(between + 1e-7 * between.diagonal().mean() * torch.eye(2, dtype=w.dtype), gradient)
    step = torch.linalg.solve(inside + caution * inside.diagonal().mean() * eye, step.mT).mT
    effect = (v * (x @ step.mT)).sum(-1)
    best = float((gradient * step).sum() / effect.square().sum())
    torch.testing.assert_close(rows(optimiser), w + min(0.5, 2 * best) * step, rtol=1e-8, atol=1e-10)


def test_probes_are_the_root_of_the_curvature_of_cross_entropy_with_a_bound() -> None:
    """The Hessian, raised so far that no sample is sent farther than all are wrong on average."""
    logits = torch.randn(6, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0)).requires_grad_()
    loss = nn.functional.cross_entropy(logits, torch.tensor([0, 1, 2, 0, 1, 2]))
    probes = torch.stack(loss_curvature(loss, logits, 0, 0).probes)  # (probes, samples, outputs)
    p = logits.detach().softmax(-1)
    by_hand = (torch.diag_embed(p) - p.unsqueeze(-1) * p.unsqueeze(-2)) / 6
    slopes = (p - nn.functional.one_hot(torch.tensor([0, 1, 2, 0, 1, 2]))).norm(dim=-1) / 6
    distance = min(float(loss.detach() / slopes.sum()), float(logits.detach().square().mean().sqrt()))
    missing = (slopes / distance - by_hand.diagonal(dim1=-2, dim2=-1).mean(-1)).clamp(min=0)
    assert (missing > 0).any()
    by_hand = by_hand + missing[:, None, None] * torch.eye(3)
    torch.testing.assert_close(torch.einsum("pni,pnj->nij", probes, probes), by_hand)


# -- runs and resuming -----------------------------------------------------------------------------------------------


def cohort(seeds: list[int]) -> tuple[nalm.Chain, Callable[[int], tuple[Tensor, Tensor]]]:
    net = nalm.Chain(nalm.NAU(5, 2, (len(seeds),)), nalm.NMU(2, 1, (len(seeds),)))
    net.reset_parameters(seeds)

    def draw(step: int) -> tuple[Tensor, Tensor]:
        x = torch.stack(
            [1 + torch.rand(64, 5, generator=torch.Generator().manual_seed(step + 1000 * s)) for s in seeds]
        )
        return x, (x[..., :1] + x[..., 1:2]) * x[..., 2:3]

    return net, draw


def per_run(output: Tensor, target: Tensor) -> Tensor:
    return (output - target).square().mean((-2, -1))


def test_a_run_does_not_depend_on_its_cohort() -> None:
    together, draw = cohort([3, 4, 5])
    alone, draw_alone = cohort([4])
    train(together, draw, 60, per_run)
    train(alone, draw_alone, 60, per_run)
    torch.testing.assert_close(together[1].layers[0].W, alone[0].layers[0].W, rtol=1e-4, atol=1e-5)


def test_a_broken_run_leaves_its_neighbours_alone() -> None:
    net, draw = cohort([3, 4])
    clean, _ = cohort([3, 4])

    def broken(step: int) -> tuple[Tensor, Tensor]:
        x, t = draw(step)
        t = t.clone()
        t[0] = torch.nan
        return x, t

    before = net.layers[0].W[0].clone()
    train(net, broken, 40, per_run)
    train(clean, draw, 40, per_run)
    assert torch.equal(net.layers[0].W[0], before)
    torch.testing.assert_close(net.layers[0].W[1], clean.layers[0].W[1], rtol=1e-4, atol=1e-5)


def test_a_batch_of_nan_changes_nothing_and_learning_goes_on() -> None:
    model = nn.Sequential(nn.Linear(3, 3), nalm.NAU(3, 1, seed=0))
    optimiser = LocalGaussNewton(model)
    before = copy.deepcopy(model.state_dict())
    go_on(optimiser, lambda _: (torch.full((8, 3), torch.nan), torch.ones(8, 1)), range(3))
    assert all(torch.equal(v, before[k]) for k, v in model.state_dict().items())
    unit = nalm.NMU(3, 1, seed=0)
    draw = batches(first_times_second, 3)
    train(unit, lambda s: (draw(s)[0] * (torch.nan if s % 3 == 0 else 1.0), draw(s)[1]), 20)
    assert unit.W.tolist() == [[1, 1, 0]]


def models() -> list[nn.Module]:
    torch.manual_seed(0)
    return [
        nalm.NMRU(4, 1, seed=0),
        nalm.Chain(nalm.NAU(6, 3, seed=0), nalm.NMU(3, 1, seed=0)),
        nn.Sequential(nn.Linear(6, 4), nn.Softplus(), nalm.NRU(4, 1, seed=0), nn.Linear(1, 1)),
        nalm.Chain(nalm.NAU(6, 3, seed=0), nalm.NRU(3, 2, seed=0), nalm.NAU(2, 1, seed=0)),
        nalm.Gated(nalm.NAU(6, 1, seed=0), nalm.Chain(nalm.NAU(6, 2, seed=0), nalm.NRU(2, 1, seed=0))),
    ]


@pytest.mark.parametrize("half", [5, 13])  # in the middle of a look, and between two
@pytest.mark.parametrize("which", range(5))
def test_resumes_bit_for_bit(which: int, half: int, tmp_path: object) -> None:
    inputs = 4 if which == 0 else 6
    draw = batches(lambda x: x[:, :1] * (x[:, 1:2] + x[:, 3:4]), inputs, 1.0, 2.0, 16)
    settings = Settings(attempt=10)  # so that a search is under way
    one, two = (models()[which] for _ in range(2))
    straight = train(one, draw, 25, settings=settings)
    halfway = train(two, draw, half, settings=settings)
    file = f"{tmp_path}/state.pt"
    torch.save({"model": two.state_dict(), "optimiser": halfway.state_dict()}, file)
    saved = torch.load(file, weights_only=True)
    fresh = models()[which]
    resumed = LocalGaussNewton(fresh, settings=settings)
    resumed.load_state_dict(saved["optimiser"])
    fresh.load_state_dict(saved["model"])
    go_on(resumed, draw, range(half, 25))
    for (name, a), b in zip(one.state_dict().items(), fresh.state_dict().values(), strict=True):
        assert torch.equal(a, b), name
    assert str(straight.report()) == str(resumed.report())


@pytest.mark.parametrize("stacked", [False, True])
def test_a_unit_that_stays_on_the_grid_resumes_bit_for_bit_in_the_base_too(stacked: bool) -> None:
    """The first step after loading was once the base optimiser's, too, though its numbers were to stay."""

    def make() -> nn.Module:
        unit = nalm.NMU(3, 1, seed=0)
        return nalm.Chain(nalm.NAU(3, 2, seed=0), nalm.NMU(2, 1, seed=0)) if stacked else unit

    draw = batches(first_times_second, 3, 1.0, 2.0)
    straight, resumed = train(make(), draw, 60), LocalGaussNewton(make())
    assert [mode.settled for mode in straight.modes or []] == [True]
    resumed.load_state_dict(straight.state_dict())
    resumed.model.load_state_dict(straight.model.state_dict())
    for optimiser in (straight, resumed):
        go_on(optimiser, draw, range(60, 63))
    for p, q in zip(straight.model.parameters(), resumed.model.parameters(), strict=True):
        assert torch.equal(p, q)
        mine, theirs = straight.state[p], resumed.state[q]
        assert all(torch.equal(mine[name], theirs[name]) for name in mine)


def test_a_saved_state_does_not_change_when_training_goes_on() -> None:
    draw = batches(lambda x: x[:, :1] * x[:, 1:2], 6, 1.0, 2.0, 16)
    optimiser = train(models()[2], draw, 3)
    saved = optimiser.state_dict()
    kept, resumed = copy.deepcopy(saved), LocalGaussNewton(models()[2])
    resumed.load_state_dict(saved)
    for one in (optimiser, resumed):  # whose state it was, and who was given it
        go_on(one, draw, range(3, 6))
        for name, value in kept["state"][0].items():
            assert torch.equal(saved["state"][0][name], value), name


def test_what_is_loaded_replaces_the_losses_of_before() -> None:
    draw = batches(lambda x: x[:, :1] * x[:, 1:2], 4, 1.0, 2.0, 16)
    saved = train(models()[0], draw, 3).state_dict()
    used = train(models()[0], draw, 9)
    used.load_state_dict(saved)
    assert len(used.state_dict()["rule"]["losses"]) == 3


# -- what it leaves alone --------------------------------------------------------------------------------------------


class Beside(nn.Module):
    """A unit and a dense layer that do not influence each other."""

    def __init__(self, unit: nn.Module | None) -> None:
        super().__init__()
        torch.manual_seed(7)
        self.head = nn.Linear(3, 1)
        self.unit = unit

    def forward(self, x: Tensor) -> Tensor:
        first = torch.zeros(len(x), 1) if self.unit is None else self.unit(x)
        return torch.cat([first, self.head(x)], 1)


def test_other_parameters_are_exactly_the_base_optimisers() -> None:
    draw = batches(lambda x: torch.cat([first_times_second(x), x.sum(1, keepdim=True)], 1), 3)
    model, control = Beside(nalm.NMU(3, 1, seed=0)), Beside(None)
    train(model, draw, 20, base=lambda p: torch.optim.Adam(p, 1e-2))
    adam = torch.optim.Adam(control.parameters(), 1e-2)
    for step in range(20):
        x, t = draw(step)
        adam.zero_grad()
        squared(control(x), t).backward()
        adam.step()
    assert torch.equal(model.head.weight, control.head.weight)
    assert torch.equal(model.head.bias, control.head.bias)


def test_nothing_stays_on_the_modules() -> None:
    unit = nalm.NMU(2, 1, seed=0)
    train(unit, batches(first_times_second, 2), 3)
    assert "compute" not in vars(unit)
    assert not any(p.grad is not None for p in unit.parameters())
    copy.deepcopy(unit)


def test_it_looks_like_an_optimiser() -> None:
    model = nn.Sequential(nn.Linear(3, 3), nalm.NAU(3, 1, seed=0))
    optimiser = LocalGaussNewton(model, base=lambda p: torch.optim.SGD(p, 0.1))
    assert isinstance(optimiser, torch.optim.Optimizer)
    schedule = torch.optim.lr_scheduler.StepLR(optimiser, 1, gamma=0.5)
    called: list[str] = []
    optimiser.register_step_pre_hook(lambda *_: called.append("before"))
    optimiser.base.register_step_pre_hook(lambda *_: called.append("between"))
    optimiser.register_step_post_hook(lambda *_: called.append("after"))
    with torch.no_grad():  # it asks for gradients where it needs them
        go_on(optimiser, batches(first_times_second, 3), range(1))
    schedule.step()
    assert optimiser.param_groups[0]["lr"] == optimiser.base.param_groups[0]["lr"] == 0.05
    assert called == ["before", "between", "after"]
    more = nn.Parameter(torch.ones(1))
    optimiser.add_param_group({"params": [more], "lr": 0.2})
    assert [group["lr"] for group in optimiser.base.param_groups] == [0.05, 0.2]
    assert "1 (NAU)" in repr(optimiser)
    assert "SGD" in repr(optimiser)
    alone = LocalGaussNewton(nalm.NAU(3, 1))
    assert "the model (NAU)" in repr(alone)
    twin = copy.deepcopy(optimiser)
    go_on(twin, batches(first_times_second, 3), range(1, 4))
    assert not torch.equal(twin.model[1].W, model[1].W)


def test_hooks_around_the_steps_of_all_optimisers_are_called() -> None:
    optimiser = train(nalm.NAU(3, 1, seed=0), batches(first_times_second, 3), 1)
    called: list[str] = []
    before = register_optimizer_step_pre_hook(lambda one, *_: called.append(type(one).__name__))
    after = register_optimizer_step_post_hook(lambda one, *_: called.append(type(one).__name__))
    go_on(optimiser, batches(first_times_second, 3), range(1, 2))
    before.remove()
    go_on(optimiser, batches(first_times_second, 3), range(2, 3))
    after.remove()
    go_on(optimiser, batches(first_times_second, 3), range(3, 4))
    assert called == ["LocalGaussNewton", "Adam", "Adam", "LocalGaussNewton", "Adam", "LocalGaussNewton"]


def test_frozen_units_stay_as_they_are() -> None:
    model = nn.Sequential(nn.Linear(3, 3), nalm.NAU(3, 1, seed=0))
    draw = batches(first_times_second, 3)
    model[1].requires_grad_(False)
    before = model[1].W.clone()
    optimiser = train(model, draw, 3)
    assert torch.equal(model[1].W, before)
    model[1].requires_grad_(True)
    go_on(optimiser, draw, range(3, 5))
    assert not torch.equal(model[1].W, before)


def test_half_a_stack_may_be_frozen_at_any_time() -> None:
    net = nalm.Chain(nalm.NAU(4, 2, seed=0), nalm.NMU(2, 1, seed=0))
    draw = batches(lambda x: (x[:, :1] + x[:, 1:2]) * x[:, 2:3], 4, 1.0, 2.0)
    optimiser = train(net, draw, 120)
    rows, product = net.layers
    assert net.on_grid()
    rows.requires_grad_(False)
    product.reset_parameters(1)
    go_on(optimiser, draw, range(10))
    assert product.W.tolist() == [[1, 1]]


def test_weights_changed_from_outside_are_noticed() -> None:
    unit = nalm.NMU(3, 1, seed=0)
    draw = batches(first_times_second, 3)
    optimiser = train(unit, draw, 10)
    unit.reset_parameters(5)
    go_on(optimiser, draw, range(10))
    assert unit.W.tolist() == [[1, 1, 0]]


def test_weights_that_were_swapped_out_and_in_again_are_none_the_wiser() -> None:
    unit = nalm.NMU(3, 1, seed=0)
    optimiser = train(unit, batches(first_times_second, 3), 10)
    modes, own = optimiser.modes, unit.W.detach().clone()
    with torch.no_grad():  # as one does to evaluate averages of weights
        unit.W.fill_(0.5)
        unit.W.copy_(own)
    go_on(optimiser, batches(first_times_second, 3), range(1))
    assert optimiser.modes is modes


def test_the_level_of_the_loss_rests_on_all_steps_since_the_last_look() -> None:
    progress, ok = ProgressState.of(torch.zeros(())), torch.tensor(True)
    progress.learn([torch.tensor(1.0)], ok)
    assert float(progress.level) == 0.0
    losses = [torch.tensor(v) for v in (9.0, torch.e, torch.nan, torch.e**3)]
    progress.learn(losses, ok, 3)  # the first one was before that look, the third is none
    assert float(progress.level) == pytest.approx((1 - 0.95**3) * 2)
    assert int(progress.idle) == 3


def test_where_a_loss_has_no_curvature_samples_are_sent_as_far_as_all_are_wrong_on_average() -> None:
    """In a cohort: a squared error has a curvature, an absolute one has none, and a constant in it misleads."""
    output = torch.tensor([[[3.0], [4.0]], [[6.0], [8.0]], [[6.0], [8.0]]], requires_grad=True)
    loss = torch.stack([output[0].square().mean(), output[1].abs().mean(), output[2].abs().mean() + 100])
    (probe,), squared = loss_curvature(loss, output, 1, 1)
    assert squared.tolist() == [True, False, False]
    size = (0.5 * (6.0**2 + 8.0**2)) ** 0.5  # the farthest that is believed
    by_hand = [[[1.0], [1.0]], [[0.5 / 7], [0.5 / 7]], [[0.5 / size], [0.5 / size]]]  # 2 / samples; slope over distance
    torch.testing.assert_close(probe.square(), torch.tensor(by_hand))


def test_batches_against_a_change_are_not_saved_up() -> None:
    no, error = torch.tensor(False), torch.tensor(1.0)
    said = swayed(no, torch.tensor(0), 1.5 * error, error, 0 * error, Settings())
    assert (int(said.streak), bool(said.change)) == (0, False)
    said = swayed(no, said.streak, 0.9 * error, error, 0 * error, Settings())
    assert int(said.streak) == 1


def test_the_loss_of_rounding_is_that_of_an_output_off_by_it() -> None:
    output = torch.tensor([[3.0], [4.0]], requires_grad=True)
    loss = (output - 1).square().mean()
    off = ROUNDING * torch.finfo(torch.float32).eps * output.detach()
    assert float(rounding_loss(Pass(output, loss, 1)).detach()) == pytest.approx(float(off.square().mean()))


@pytest.mark.parametrize("scale", [1.0, 1e-4])
def test_what_is_left_is_a_share_whatever_the_size_of_the_targets(scale: float) -> None:
    unit = nalm.NAU(3, 1, seed=0)
    draw = batches(first_times_second, 3, -2 * scale, 2 * scale)  # which no sum explains
    assert train(unit, draw, 40).report().numbers()["the model/left"] > 0.9


@pytest.mark.parametrize(
    ("loss", "squared"),
    [
        (lambda e: e.square().mean(), True),
        (lambda e: e.square().sum() + 3, True),
        (lambda e: (torch.tensor([1.0, 0.0, 2.0]).unsqueeze(-1) * e.square()).sum(), True),
        (lambda e: e.abs().mean(), False),
        (lambda e: nn.functional.huber_loss(e, torch.zeros(3, 1)), False),
        (lambda e: nn.functional.huber_loss(e, torch.zeros(3, 1), delta=9.0), True),
        (lambda e: e.square().mean().sqrt(), False),
    ],
    ids=["mean", "sum and a constant", "weighted", "absolute", "huber", "huber inside", "root"],
)
def test_squared_errors_are_told_from_other_losses(loss: Callable[[Tensor], Tensor], squared: bool) -> None:
    errors = torch.tensor([[0.5], [-2.0], [3.0]], requires_grad=True)
    assert bool(loss_curvature(loss(errors), errors, 0, 1).squared) == squared


def test_a_batch_is_refused_for_what_is_not_finite_and_not_for_a_sum_that_overflows() -> None:
    huge = torch.tensor([[3e38, 3e38], [1.0, torch.nan]])
    losses = torch.tensor([1.0, 1.0])
    assert Pass(huge, losses, 1).finite.tolist() == [True, False]
    assert Pass(huge[:1], losses[:1], 1).finite.tolist() == [True]
    assert Pass(huge[:1], torch.tensor([torch.inf]), 1).finite.tolist() == [False]
    assert not Pass(huge, losses, 1).all_finite
    assert Pass(huge, losses, 1, learned_from=False).all_finite  # the base optimiser asks the loss alone
    assert not Pass(huge, torch.tensor([1.0, torch.nan]), 1, learned_from=False).all_finite


def test_a_unit_without_a_form_is_left_to_the_base_with_one_warning() -> None:
    model = nn.Sequential(nalm.NALU(3, 2, seed=0), nalm.NAU(2, 1, seed=0))
    with pytest.warns(UserWarning, match=r"Left to the base optimiser.*0 \(NALU\)") as caught:
        optimiser = LocalGaussNewton(model)
    assert len(caught) == 1
    assert [one.label for one in optimiser.units] == ["1"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        LocalGaussNewton(nn.Sequential(nn.Linear(2, 2), nalm.NAU(2, 1)))


# -- bad input -------------------------------------------------------------------------------------------------------


def test_errors_name_the_culprit_and_the_remedy() -> None:
    with pytest.raises(ValueError, match="Linear contains no unit"):
        LocalGaussNewton(nn.Linear(2, 1))
    unit = nalm.NAU(2, 1)
    model = nn.Sequential(nn.Linear(2, 2), unit)
    with pytest.warns(UserWarning, match=r"2 trainable parameters are in no optimiser.*model.parameters\(\)"):
        LocalGaussNewton(model, base=torch.optim.Adam([model[0].weight]))
    mixed = nn.ModuleList([nalm.NAU(2, 1), nalm.NAU(2, 1, (3,))])
    with pytest.raises(ValueError, match="different runs axes"):
        LocalGaussNewton(mixed)
    with pytest.raises(TypeError, match=r"the model itself, not a generator"):
        LocalGaussNewton(unit.parameters())  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"base is 0.001; it needs an optimiser"):
        LocalGaussNewton(model, base=1e-3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"base returned None; it needs to return an optimiser"):
        LocalGaussNewton(model, base=lambda _: None)  # type: ignore[arg-type, return-value]
    with pytest.raises(ValueError, match=r"LBFGS.*first-order"):
        LocalGaussNewton(model, base=torch.optim.LBFGS)
    x = torch.ones(4, 2)
    optimiser = LocalGaussNewton(unit)

    def with_backward() -> tuple[Tensor, Tensor]:
        output = unit(x)
        output.mean().backward()
        return output, output.mean()

    with pytest.raises(TypeError, match=r"optimiser.step\(evaluate, x, target\)"):
        optimiser.step()
    with pytest.raises(ValueError, match=r"loss has shape \(4, 1\)"):
        optimiser.step(lambda: (unit(x), unit(x).square()))
    for told in (lambda: (unit(x), 1.0), lambda: unit(x).mean()):
        with pytest.raises(TypeError, match="two tensors, the model's output and the loss"):
            optimiser.step(told)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="does not depend on the output that was returned"):
        optimiser.step(lambda: (unit(x), unit(x).mean()))
    with pytest.raises(ValueError, match="has called backward"):
        optimiser.step(with_backward)
    with pytest.raises(ValueError, match="does not depend on anything trainable"):
        optimiser.step(lambda: (unit(x).detach(), unit(x).mean()))
    with pytest.raises(ValueError, match="not the state of a LocalGaussNewton"):
        optimiser.load_state_dict(torch.optim.Adam(unit.parameters()).state_dict())
    wider = train(nalm.NAU(3, 1), batches(first_times_second, 3), 1)
    with pytest.raises(ValueError, match=r"the model, numbers: saved \(1, 3\), this model needs \(1, 2\)"):
        optimiser.load_state_dict(wider.state_dict())
    with pytest.raises(ValueError, match=r"belongs to units \['0'\], this model has \['1'\]"):
        LocalGaussNewton(model).load_state_dict(LocalGaussNewton(nn.Sequential(unit)).state_dict())
