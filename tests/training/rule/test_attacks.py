"""The rule as a sceptical researcher would try it: networks that are in no benchmark."""

from __future__ import annotations

import copy
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

import nalm
from nalm.training.rule import LocalGaussNewton, Settings
from nalm.training.rule.looks import Looks
from tests.training.rule.test_steps import batches, first_times_second, go_on, squared, train
from tests.training.rule.test_trust import adam, deployed, returned_and_plain


class SideBySide(nn.Module):
    """Two units below one linear layer."""

    def __init__(self, first: nalm.Unit, second: nalm.Unit) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.first, self.second = first, second
        self.last = nn.Linear(first.out_features + second.out_features, 1)

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.last(torch.cat([self.first(x), self.second(x)], -1))
        return result


class Block(nn.Module):
    """A unit inside a residual block."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.first, self.unit, self.last = nn.Linear(4, 8), nalm.NAU(8, 8, seed=0), nn.Linear(8, 1)

    def forward(self, x: Tensor) -> Tensor:
        h = torch.relu(self.first(x))
        result: Tensor = self.last(h + torch.relu(self.unit(h)))
        return result


class Embedded(nn.Module):
    """A unit above an embedding of the digits before the point."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.table, self.unit = nn.Embedding(4, 1), nalm.NAU(4, 1, seed=0)

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.unit(self.table(x.abs().long().clamp(max=3)).squeeze(-1))
        return result


class Twice(nn.Module):
    """One unit used for both halves of the inputs."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.unit, self.last = nalm.NMU(2, 1, seed=0), nn.Linear(2, 1)

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.last(torch.cat([self.unit(x[:, :2]), self.unit(x[:, 2:])], -1))
        return result


def frozen(unit: nalm.Unit, seed: int = 0) -> nn.Module:
    """Features that nobody trains below a unit."""
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(4, unit.in_features).requires_grad_(False), unit)


NETWORKS: dict[str, Callable[[], nn.Module]] = {
    "side by side": lambda: SideBySide(nalm.NAU(4, 1, seed=0), nalm.NMU(4, 1, seed=1)),
    "residual block": Block,
    "embedding": Embedded,
    "used twice": Twice,
    "frozen features": lambda: frozen(nalm.NAU(4, 1, seed=0)),
    "frozen features and a head": lambda: nn.Sequential(frozen(nalm.NAU(4, 2, seed=0)), nalm.NMU(2, 1, seed=0)),
}


@pytest.mark.parametrize("size", [1, 64])
@pytest.mark.parametrize("name", NETWORKS)
def test_the_loss_returned_is_that_of_the_model(name: str, size: int) -> None:
    draw = batches(lambda x: first_times_second(x) + x[:, 2:3], 4, 1.0, 3.0, size)
    optimiser = LocalGaussNewton(NETWORKS[name](), base=lambda p: torch.optim.AdamW(p, 1e-2, weight_decay=0.1))
    for step in range(30):
        returned, plain = returned_and_plain(optimiser, *draw(step))
        assert returned == pytest.approx(plain, rel=1e-6)


@pytest.mark.parametrize("seed", [1, 2])
def test_numbers_far_outside_the_box_lead_to_no_grid_point(seed: int) -> None:
    """The best coefficients are beyond 8, so cutting them one by one made any grid point look good beside them."""
    draw = batches(lambda x: x[:, :1] - x[:, 1:2], 4, 1.0, 3.0, 128)
    model = frozen(nalm.NAU(4, 1, seed=seed), seed)
    control = copy.deepcopy(model)
    optimiser = train(model, draw, 300, base=lambda p: torch.optim.Adam(p, 1e-2))
    adam(control, draw, 300, 1e-2)
    assert deployed(model, draw) <= 1.1 * deployed(control, draw)
    assert optimiser.report().numbers()["1/on_grid"] == 0


OUT_OF_REACH: dict[str, Callable[[Tensor], Tensor]] = {
    "gain": lambda x: 1.3 * x[:, :1] * x[:, 1:2],
    "small gain": lambda x: 0.5 * x[:, :1] / x[:, 1:2],
    "offset": lambda x: x[:, :1] * x[:, 1:2] + 1,
    "sum": lambda x: x[:, :1] + x[:, 1:2],
    "wave": lambda x: torch.sin(2 * x[:, :1]) + 1.5,
}


@pytest.mark.parametrize("target", OUT_OF_REACH)
@pytest.mark.parametrize("kind", [nalm.NRU, nalm.NMU, nalm.RealNPU])
def test_a_product_of_what_it_cannot_be_is_left_to_the_base(kind: type[nalm.Unit], target: str) -> None:
    """The regression has an intercept and the unit has none, so what needs one made grid points look good."""
    draw = batches(OUT_OF_REACH[target], 3, 1.0, 2.0, 128)
    model = kind(3, 1, seed=1)
    control = copy.deepcopy(model)
    optimiser = train(model, draw, 200, base=lambda p: torch.optim.Adam(p, 1e-2))
    adam(control, draw, 200, 1e-2)
    assert deployed(model, draw) <= 1.1 * deployed(control, draw)
    assert optimiser.report().numbers()["the model/on_grid"] == 0


def test_the_base_goes_on_from_numbers_that_are_no_solution_but_better() -> None:
    """Adam alone ends at 1.3 times the target's variance here: the sign of a product is a cliff to it."""
    draw = batches(lambda x: 1.3 * x[:, :1] * x[:, 1:2], 3, -2.0, 2.0, 128)
    model = nalm.NRU(3, 1, seed=0)
    train(model, draw, 100, base=lambda p: torch.optim.Adam(p, 1e-2))
    assert deployed(model, draw) < 0.1


@pytest.mark.parametrize("seed", [0, 1])
def test_exponents_far_outside_the_box_lead_to_no_grid_point(seed: int) -> None:
    """Features that hardly differ: the best exponents are large, and any grid point looked good beside cut ones."""
    torch.manual_seed(seed)
    below = nn.Sequential(nn.Linear(4, 24), nn.Tanh(), nn.Linear(24, 5), nn.Softplus()).requires_grad_(False)
    draw = batches(lambda x: x[:, :1] / x[:, 1:2], 4, 1.0, 3.0, 128)
    model = nn.Sequential(below, nalm.NRU(5, 1, seed=seed))
    control = copy.deepcopy(model)
    train(model, draw, 200, base=lambda p: torch.optim.Adam(p, 1e-2))
    adam(control, draw, 200, 1e-2)
    assert deployed(model, draw) <= 1.1 * deployed(control, draw)


@pytest.mark.parametrize(("factor", "held", "moved"), [(2.5, 1.0, 0.0), (0.5, 0.5, 1.0)])
def test_numbers_inside_the_box_stay_and_cut_ones_are_a_start_for_the_base(
    factor: float, held: float, moved: float
) -> None:
    """2.5 a is best fitted by 1 a, and 0.5 a by 0.5 a. The base optimiser, whose rate is 0, moves neither."""
    unit = nalm.NAU(1, 1, seed=0)
    optimiser = LocalGaussNewton(unit, lambda p: torch.optim.SGD(p, 0.0), Settings(snap=False))
    go_on(optimiser, batches(lambda x: factor * x, 1), range(30))
    assert unit.W.tolist() == [[pytest.approx(held, abs=1e-5)]]
    assert optimiser.report().numbers()["the model/moved"] == moved


@pytest.mark.parametrize("stacked", [False, True])
def test_units_that_not_every_batch_needs(stacked: bool) -> None:
    units = [nalm.NAU(3, 2, seed=0), nalm.NMU(2, 1, seed=0)] if stacked else [nalm.NMU(3, 1, seed=0)]
    model = nn.ModuleDict({"units": nn.Sequential(*units), "other": nn.Linear(3, 1)})
    draw = batches(first_times_second, 3, 1.0, 2.0)

    def evaluate(x: Tensor, target: Tensor, step: int) -> tuple[Tensor, Tensor]:
        output = model["other" if step % 3 == 2 else "units"](x)
        return output, squared(output, target)

    optimiser = LocalGaussNewton(model)
    for step in range(60):
        loss = optimiser.step(evaluate, *draw(step), step)
        assert torch.isfinite(loss)
    assert all(one.unit.on_grid() for one in optimiser.units)


def test_a_unit_at_the_output_may_be_used_more_often_later() -> None:
    unit = nalm.NMU(3, 1, seed=0)
    draw = batches(first_times_second, 3, 1.0, 2.0)

    def evaluate(x: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        parts = [unit(part) for part in x.chunk(1 if optimiser.steps < 3 else 2)]
        output = torch.cat(parts)
        return output, squared(output, target)

    optimiser = LocalGaussNewton(unit)
    for step in range(20):
        optimiser.step(evaluate, *draw(step))
    assert unit.W.tolist() == [[1, 1, 0]]


def test_a_unit_that_is_used_later_is_found() -> None:
    model = nn.ModuleDict({"unit": nalm.NMU(3, 1, seed=0), "idle": nalm.NAU(3, 1, seed=0), "other": nn.Linear(3, 1)})
    draw = batches(first_times_second, 3, 1.0, 2.0)

    def evaluate(x: Tensor, target: Tensor, step: int) -> tuple[Tensor, Tensor]:
        output = model["other" if step < 25 else "unit"](x)
        return output, squared(output, target)

    optimiser = LocalGaussNewton(model, settings=Settings(rest=20))
    for step in range(80):
        optimiser.step(evaluate, *draw(step), step)
    assert list(optimiser.report().idle) == ["idle (NAU)"]
    assert model["unit"].form.read(model["unit"]).tolist() == [[1, 1, 0]]


def test_a_unit_that_is_computed_for_nothing_is_placed_once() -> None:
    model = nn.ModuleDict({"unit": nalm.NMU(3, 1, seed=0), "idle": nalm.NAU(3, 1, seed=0)})
    draw = batches(lambda x: x[:, :1] ** 0.5, 3, 1.0, 2.0)

    def evaluate(x: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        model["idle"](x)
        output = model["unit"](x)
        return output, squared(output, target)

    optimiser = LocalGaussNewton(model, settings=Settings(rest=5))
    modes = []
    for step in range(12):
        optimiser.step(evaluate, *draw(step))
        modes.append(optimiser.modes)
    assert all(mode is modes[0] for mode in modes)


class Added(nn.Module):
    """Two units, each with a gain and a bias of its own, added up."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.first, self.second = nalm.NRU(4, 1, seed=0), nalm.NRU(4, 1, seed=1)
        self.gain, self.other = nn.Linear(1, 1), nn.Linear(1, 1)

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.gain(self.first(x)) + self.other(self.second(x))
        return result


MIXED: dict[str, Callable[[], nn.Module]] = {
    "used twice": Twice,
    "added": Added,
    "concatenated": lambda: SideBySide(nalm.NRU(4, 1, seed=0), nalm.NRU(4, 1, seed=1)),
}


@pytest.mark.parametrize("name", MIXED)
def test_units_whose_outputs_are_mixed_are_left_to_the_base_and_the_report_says_why(name: str) -> None:
    """Both of two units went for the larger term and stayed there: 1.2 to 4 times Adam's error, and not a word."""
    model = MIXED[name]()
    control = copy.deepcopy(model)
    draw = batches(lambda x: 2 * first_times_second(x) - x[:, 2:3] / x[:, 3:], 4, 1.0, 3.0, 128)
    optimiser = train(model, draw, 100, base=lambda p: torch.optim.Adam(p, 3e-2))
    adam(control, draw, 100, 3e-2)
    for p, q in zip(model.parameters(), control.parameters(), strict=True):
        torch.testing.assert_close(p, q)
    names = [one.label for one in optimiser.units]
    assert str(optimiser.report()).endswith(
        f"left to base: {', '.join(names)}, as learned layers above mix its outputs"
    )
    assert all(optimiser.report().numbers()[f"{name}/base"] == 1 for name in names)
    resumed = LocalGaussNewton(MIXED[name](), base=lambda p: torch.optim.Adam(p, 3e-2))
    resumed.load_state_dict(optimiser.state_dict())
    assert str(resumed.report()).splitlines()[-1] == str(optimiser.report()).splitlines()[-1]


class InARow(nn.Module):
    """A cell that is used again on what it made, and a gain above: all uses lie below the last one."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.cell, self.last = nalm.NAU(2, 1, seed=0), nn.Linear(1, 1)

    def forward(self, x: Tensor) -> Tensor:
        state = x[:, :1]
        for i in range(1, x.shape[1]):
            state = self.cell(torch.cat([state, x[:, i : i + 1]], -1))
        result: Tensor = self.last(state)
        return result


@pytest.mark.parametrize("model", [InARow(), nn.Sequential(nalm.NRU(4, 1), nalm.NAU(1, 1), nn.Linear(1, 1))])
def test_units_that_follow_one_another_are_not_mixed(model: nn.Module) -> None:
    optimiser = train(model, batches(lambda x: x.sum(1, keepdim=True), 4, 1.0, 3.0, 128), 2)
    assert "as learned layers" not in str(optimiser.report())
    assert [mode.due(3, 3.0) for mode in optimiser.modes or []] == [True] * len(optimiser.units)


def test_two_units_are_looked_at_together_and_not_all_the_time() -> None:
    """Each one's numbers keep the other's changing, so both were looked at in every second step, and not together."""
    torch.manual_seed(0)
    model = nn.Sequential(nalm.NRU(4, 1, seed=0), nalm.NAU(1, 1, seed=1), nn.Linear(1, 1))
    draw = batches(lambda x: first_times_second(x) + x[:, 2:3] / x[:, 3:], 4, 1.0, 3.0, 128)
    optimiser = LocalGaussNewton(model, base=lambda p: torch.optim.Adam(p, 3e-2))
    looks: list[list[bool]] = []
    for step in range(200):
        go_on(optimiser, draw, range(step, step + 1))
        looks.append([mode.looks.last == optimiser.steps for mode in optimiser.modes or []])  # type: ignore[attr-defined]
    both, any_one = sum(all(one) for one in looks), sum(any(one) for one in looks)
    assert any_one < 50
    assert both > 0.6 * any_one


def test_doubts_do_not_tire() -> None:
    calm, doubting = Looks(4, 50, tires=4, made=100), Looks(4, 50, tires=4, made=100)
    calm.looked(10, changed=True)
    doubting.looked(10, changed=False, urgent=True)
    assert (calm.next, doubting.next) == (10 + 25, 11)


def test_in_company_half_the_distance_is_enough() -> None:
    looks = Looks(4, 50, last=100, next=120)
    assert [looks.due(step) for step in (109, 110, 119, 120)] == [False, False, False, True]
    assert [looks.due(step, in_company=True) for step in (109, 110)] == [False, True]
    assert not Looks(4, 50, last=100, next=101).due(100, in_company=True)
