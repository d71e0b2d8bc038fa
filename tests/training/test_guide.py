"""Training in the user's own loop: what the guide does around the optimiser, and that units learn with it."""

from __future__ import annotations

import gc
import io
import math
import warnings
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

import nalm


def train(
    model: nn.Module,
    target: Callable[[Tensor], Tensor],
    optimizer: torch.optim.Optimizer,
    guide: nalm.Guide,
    steps: int,
) -> None:
    for _ in range(steps):
        x = 4 * torch.rand(128, 2) - 2
        loss = (model(x) - target(x)).square().mean() + guide.penalty()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@pytest.mark.parametrize("make", [torch.optim.Adam, torch.optim.RMSprop, torch.optim.AdamW], ids=lambda o: o.__name__)
def test_a_unit_inside_a_bigger_model_lands_on_whole_numbers(make: Callable[..., torch.optim.Optimizer]) -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inside = nn.ModuleDict({"product": nn.Sequential(nalm.NMU(2, 1, seed=0))})

        def forward(self, x: Tensor) -> Tensor:
            result: Tensor = self.inside["product"](x)
            return result

    net = Net()
    optimizer = make(net.parameters(), lr=1e-2, weight_decay=0.0)
    guide = nalm.guide(net, optimizer, steps=600)
    train(net, lambda x: x[:, :1] * x[:, 1:], optimizer, guide, 600)
    learned = nalm.read(net.inside["product"], ["a", "b"], within=0.02)
    assert str(learned) == "a*b"
    assert learned.exact


def test_projection_follows_every_step_of_the_given_optimiser() -> None:
    model = nn.Sequential(nalm.NAU(2, 2), nn.Linear(2, 2), nalm.NMU(2, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=100.0)
    nalm.guide(model, optimizer)
    model(torch.rand(8, 2) * 10).sum().backward()
    optimizer.step()
    first, last = (dict(layer.named_parameters())["W"] for layer in (model[0], model[2]))
    assert bool((first.abs() <= 1).all())
    assert bool(((last >= 0) & (last <= 1)).all())
    assert float(model[1].weight.detach().abs().max()) > 1  # other layers are left alone


def test_the_penalty_follows_its_schedule_and_each_unit_its_own_recipe() -> None:
    model = nn.Sequential(nalm.NAU(2, 2, seed=1), nalm.NMU(2, 1, seed=1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    guide = nalm.guide(model, optimizer, steps=100)
    seen = {}
    for step in range(101):
        seen[step] = float(guide.penalty().detach())
        optimizer.step()
    assert seen[40] == 0.0
    full = float((0.01 * model[0].penalty() + 10 * model[1].penalty()).detach())
    assert seen[55] == pytest.approx(full / 2)
    assert seen[70] == seen[100] == pytest.approx(full)
    shared = nalm.guide(model, optimizer, recipe=nalm.Recipe(penalties={"to_grid": nalm.Constant(2.0)}))
    assert float(shared.penalty().detach()) == pytest.approx(
        2 * float((model[0].penalty() + model[1].penalty()).detach())
    )


def test_parts_of_a_published_unit_are_trained_as_the_whole_and_those_of_a_container_by_their_own_recipes() -> None:
    model = nn.Sequential(nalm.GatedNAUNMU(2, 2), nalm.Gated(nalm.NAU(2, 1), nalm.NMU(2, 1)))
    text = str(guided(model))
    whole = "penalty to_grid: 0 until step 1,000,000, rising to 10 at step 2,000,000"
    assert text.count(whole) == 2
    assert text.count("0 until step 20,000, rising to 0.01 at step 35,000") == 1
    assert text.count("0 until step 20,000, rising to 10 at step 35,000") == 1
    assert "  1: Gated(2, 1)\n  1.first: NAU(2, 1)\n" in text
    selector = str(guided(nalm.NPUSelector(2, 1)))
    assert selector.count("0 until step 100,000, rising to 10 at step 150,000") == 4
    assert selector.count("0 until step 100,000, rising to 5 at step 150,000") == 2


@pytest.mark.parametrize("unit", [nalm.NSRChoice, nalm.RecurrentNSR, nalm.NSRCount])
def test_a_paper_without_a_penalty_has_none_for_its_parts_either(unit: type[nalm.Unit]) -> None:
    text = str(guided(unit(3, 1)))
    assert "penalty" not in text
    assert "W put back into [-1, 1]" in text  # what a part is does not change: the box of an NAU


def guided(model: nn.Module) -> nalm.Guide:
    return nalm.guide(model, torch.optim.Adam(model.parameters()))


def test_the_late_penalty_waits_for_a_good_validation_error() -> None:
    model = nalm.INALU(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    guide = nalm.guide(model, optimizer)
    guide.load_state_dict({"step": 10_001, "validation_error": -math.inf})
    late = float(guide.penalty().detach())
    assert late == pytest.approx(0.05 * float(model.penalties()["saturate"].detach()))  # inner units included
    guide.report(2.0)
    assert float(guide.penalty().detach()) == 0.0
    guide.report(0.5)
    assert float(guide.penalty().detach()) == pytest.approx(late)
    guide.load_state_dict({"step": 10_000, "validation_error": 0.5})
    assert float(guide.penalty().detach()) == 0.0


def test_gradient_values_are_clipped() -> None:
    model = nalm.INALU(2, 1, seed=0)
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    nalm.guide(model, optimizer)
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    (1000 * model(torch.rand(8, 2))).sum().backward()
    optimizer.step()
    for name, parameter in model.named_parameters():
        assert float((parameter.detach() - before[name]).abs().max()) <= 0.1 + 1e-6
    assert any(float((p.detach() - before[n]).abs().max()) > 0.09 for n, p in model.named_parameters())


@pytest.mark.parametrize("by_name", [False, True])
def test_gradients_that_a_closure_makes_are_clipped_too(by_name: bool) -> None:
    model = nalm.NAU(2, 1, seed=0)
    before = model.W.detach().clone()
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    nalm.guide(model, optimizer, recipe=nalm.Recipe(clip=nalm.Clip(value=0.01)))

    def closure() -> Tensor:
        optimizer.zero_grad()
        loss = model(torch.full((4, 2), 1000.0)).mean()
        loss.backward()
        return loss

    optimizer.step(closure=closure) if by_name else optimizer.step(closure)
    torch.testing.assert_close(model.W.detach(), before - 0.01)


def test_gradient_norms_are_clipped_for_each_run_by_itself() -> None:
    cohort = nalm.NMRU(2, 1, runs=(2,), seed=[0, 1])
    optimizer = torch.optim.SGD(cohort.parameters(), lr=0.1)
    nalm.guide(cohort, optimizer)
    W = cohort._parameters["W"]
    assert W is not None
    W.grad = torch.zeros_like(W)
    W.grad[0, 0, 0], W.grad[1, 0, 0] = 50.0, 0.25
    optimizer.step()
    assert W.grad[0].norm().item() == pytest.approx(1.0, abs=1e-4)
    assert W.grad[1].norm().item() == pytest.approx(0.25)
    single = nalm.NMRU(2, 1)
    (1000 * single(torch.rand(4, 2) + 1)).sum().backward()
    expected = [p.grad.clone() for p in single.parameters() if p.grad is not None]
    nn.utils.clip_grad_norm_(single.parameters(), 1.0)
    clipped = [p.grad.clone() for p in single.parameters() if p.grad is not None]
    for p, gradient in zip(single.parameters(), expected, strict=True):
        p.grad = gradient
    other = torch.optim.SGD(single.parameters(), lr=0.1)
    nalm.guide(single, other)
    other.step()
    for p, gradient in zip(single.parameters(), clipped, strict=True):
        torch.testing.assert_close(p.grad, gradient)


def test_gradient_noise_has_the_published_decay() -> None:
    model = nalm.NMU(200, 200)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    guide = nalm.guide(model, optimizer, recipe=nalm.Recipe(gradient_noise=0.3))
    W = model._parameters["W"]
    assert W is not None
    for step in (0, 999):
        guide.load_state_dict({"step": step, "validation_error": 0.0})
        W.grad = torch.zeros_like(W)
        optimizer.step()
        assert W.grad.std().item() == pytest.approx(math.sqrt(0.3 / (1 + step) ** 0.55), rel=0.02)


def test_a_restored_training_continues_as_if_nothing_had_happened() -> None:
    def start() -> tuple[nalm.Unit, torch.optim.Optimizer, nalm.Guide]:
        unit = nalm.NMU(2, 1, seed=0)
        optimizer = torch.optim.Adam(unit.parameters(), lr=1e-2)
        return unit, optimizer, nalm.guide(unit, optimizer, steps=200)

    def resume(parts: tuple[nalm.Unit, torch.optim.Optimizer, nalm.Guide]) -> Tensor:
        torch.manual_seed(5)
        train(parts[0], lambda x: x[:, :1] * x[:, 1:], parts[1], parts[2], 30)
        return parts[0].state_dict()["W"]

    parts = start()
    train(parts[0], lambda x: x[:, :1] * x[:, 1:], parts[1], parts[2], 90)
    file = io.BytesIO()
    torch.save([part.state_dict() for part in parts], file)
    file.seek(0)
    others = start()
    for part, state in zip(others, torch.load(file, weights_only=True), strict=True):
        part.load_state_dict(state)
    assert others[2].step == 90
    assert torch.equal(resume(others), resume(parts))


def test_a_schedule_that_never_advances_is_reported_once() -> None:
    model = nalm.NMU(2, 1)
    guide = nalm.guide(model, torch.optim.Adam(model.parameters()))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(500):
            guide.penalty()
    assert [str(w.message) for w in caught if "has not made a step" in str(w.message)] == [str(caught[0].message)]
    optimizer = torch.optim.Adam(model.parameters())
    guide = nalm.guide(model, optimizer)
    optimizer.step()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(500):
            guide.penalty()
    assert guide.step == 1


def test_weights_the_optimiser_lacks_are_named() -> None:
    model = nn.Sequential(nalm.NAU(2, 2), nalm.NMU(2, 1))
    with pytest.warns(UserWarning, match=r"does not hold NMU\.W, so they will not be trained"):
        nalm.guide(model, torch.optim.Adam(model[0].parameters()))
    model[1].requires_grad_(False)
    nalm.guide(model, torch.optim.Adam(model[0].parameters()))  # frozen on purpose: nothing to say


def test_weight_decay_on_a_grid_is_reported() -> None:
    model = nn.Sequential(nalm.NAU(2, 2), nn.Linear(2, 2))
    with pytest.warns(UserWarning, match=r"weight_decay=0\.01 pulls NAU\.W towards zero, off its grid"):
        nalm.guide(model, torch.optim.AdamW(model.parameters()))
    groups = [{"params": model[0].parameters(), "weight_decay": 0.0}, {"params": model[1].parameters()}]
    nalm.guide(model, torch.optim.AdamW(groups))  # the remedy it names


def test_a_loop_much_shorter_than_its_schedule_is_reported_when_it_is_over() -> None:
    def loop(steps: int, told: int | None) -> None:
        model = nalm.NMU(2, 1, seed=0)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
        nalm.guide(model, optimizer, steps=told)
        for _ in range(steps):
            optimizer.step()
        del model, optimizer
        gc.collect()

    with pytest.warns(UserWarning, match=r"ended after 150 steps.*full strength at step 35,000.*steps=150"):
        loop(150, None)
    loop(150, 150)
    loop(20, None)  # a trial
    loop(150, 280)  # more than half


def test_the_representation_says_what_happens_when() -> None:
    model = nn.Sequential(nalm.NAU(3, 2), nalm.NMRU(2, 1), nalm.INALU(1, 1))
    text = repr(nalm.guide(model, torch.optim.Adam(model.parameters()), steps=1000))
    for part in (
        "Guide at step 0",
        "0: NAU(3, 2)",
        "penalty to_grid: 0 until step 400, rising to 0.01 at step 700",
        "W put back into [-1, 1] after it",
        "gradients clipped to a norm of 1",
        "gradients clipped to values within 0.1",
        "once the validation error is below 1",
    ):
        assert part in text


def test_nothing_to_guide_and_impossible_steps() -> None:
    plain = nn.Linear(2, 1)
    with pytest.raises(ValueError, match="Linear contains no nalm unit"):
        nalm.guide(plain, torch.optim.Adam(plain.parameters()))
    unit = nalm.NMU(2, 1)
    with pytest.raises(ValueError, match="steps is 0"):
        nalm.guide(unit, torch.optim.Adam(unit.parameters()), steps=0)


def test_schedules() -> None:
    assert [nalm.Ramp(2, 10, 20).at(t) for t in (0, 10, 15, 20, 99)] == [0, 0, 1, 2, 2]
    assert nalm.Ramp(2, 10, 20).scaled(0.5) == nalm.Ramp(2, 5, 10)
    stairs = nalm.Staircase(1e-9, 1e-7)
    assert [stairs.at(t) for t in (0, 9_999)] == [1e-9, 1e-9]
    assert stairs.at(10_000) == pytest.approx(1e-8)
    assert stairs.at(20_000) == stairs.at(49_999) == pytest.approx(1e-7)
    assert stairs.scaled(0.1).every == 1_000
    late = nalm.Late(0.05, after=10, error=1.0)
    assert [late.at(10), late.at(11)] == [0.0, 0.05]
    with pytest.raises(ValueError, match="start < end"):
        nalm.Ramp(1, 5, 5)
