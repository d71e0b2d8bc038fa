"""What `nalm.LocalGaussNewton` finds: every unit, several outputs, sequences, stacks, noise, signs, networks."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

import nalm
from nalm.training.rule import LocalGaussNewton, Settings, parity
from nalm.training.rule.at_output import AtOutput
from nalm.training.rule.feedback import Feedback
from nalm.training.rule.ruled import ruled
from tests.training.rule.test_steps import batches, find, first_times_second, squared, train
from tests.units.test_forms import FORMED, form_of


@pytest.mark.parametrize("name", FORMED)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_every_unit_reaches_its_grid(name: str, dtype: torch.dtype) -> None:
    unit = FORMED[name](seed=0).to(dtype)  # three inputs, two outputs
    form = form_of(unit)
    divides = -1 in form.grid(unit)

    def target(x: Tensor) -> Tensor:
        a, b = x[:, :1], x[:, 2:3]
        if form.linear:
            return torch.cat([a - b, a + b], 1)
        return torch.cat([a * b, a / b if divides else a], 1)

    draw = batches(target, 3, -2.0 if unit.negatives else 0.5, 2.0)

    def exact(step: int) -> tuple[Tensor, Tensor]:
        x = draw(step)[0].to(dtype)
        return x, target(x)

    find(unit, exact, 30)
    assert unit.on_grid()
    second = [1, 0, 1] if form.linear else [1, 0, -1] if divides else [1, 0, 0]
    first = [1, 0, -1] if form.linear else [1, 0, 1]
    assert form.read(unit).round(decimals=9).tolist() == [first, second]


def at_output(optimiser: nalm.LocalGaussNewton) -> AtOutput:
    (mode,) = optimiser.modes or []
    assert isinstance(mode, AtOutput)
    return mode


@pytest.mark.parametrize("noise", [1e-8, 0.05])
def test_noisy_targets(noise: float) -> None:
    unit = nalm.NMU(4, 1, seed=0).double()

    def draw(step: int) -> tuple[Tensor, Tensor]:
        generator = torch.Generator().manual_seed(step)
        x = 1 + torch.rand(64, 4, dtype=torch.float64, generator=generator)
        return x, x[:, :1] * x[:, 2:3] + noise * torch.randn(64, 1, dtype=torch.float64, generator=generator)

    train(unit, draw, 150)
    assert unit.W.tolist() == [[1, 0, 1, 0]]


def test_batches_of_one() -> None:
    unit = nalm.NRU(3, 1, seed=2)
    find(unit, batches(lambda x: x[:, :1] / x[:, 2:], 3, size=1), 80)
    assert str(nalm.read(unit, names=["a", "b", "c"])) == "a/c"


def test_several_outputs() -> None:
    unit = nalm.NMU(4, 3, seed=0)
    train(unit, batches(lambda x: torch.stack([x[:, 0] * x[:, 1], x[:, 2], x[:, 1] * x[:, 3]], 1), 4), 15)
    assert unit.W.tolist() == [[1, 1, 0, 0], [0, 0, 1, 0], [0, 1, 0, 1]]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("cell", "start"), [("NMU", 1.0), ("NAU", 0.0)])
@pytest.mark.parametrize("low", [1.0, -2.0])
def test_one_cell_used_many_times(cell: str, start: float, low: float, seed: int) -> None:
    fold = nalm.Fold(getattr(nalm, cell)(2, 1, seed=seed), start=start)
    combine = torch.prod if cell == "NMU" else torch.sum
    find(fold, batches(lambda x: combine(x, -1, keepdim=True), 5, low, 2.0), 150)
    assert fold.cell.W.tolist() == [[1, 1]]


@pytest.mark.parametrize("seed", range(2))
def test_sum_of_products_of_very_different_size(seed: int) -> None:
    class Both(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.unit = nalm.NRU(4, 2, seed=seed)

        def forward(self, x: Tensor) -> Tensor:
            result: Tensor = self.unit(x).sum(-1, keepdim=True)
            return result

    model = Both()
    draw = batches(lambda x: x[:, :1] * x[:, 1:2] + x[:, 2:3] / x[:, 3:], 4, 4.0, 8.0, 128)
    find(model, draw, 800, settings=Settings(attempt=100))  # rounding decides whether the first attempt is the last
    assert sorted(model.unit.W.tolist()) == [[0, 0, 1, -1], [1, 1, 0, 0]]


@pytest.mark.parametrize("hidden", [2, 4])
def test_product_of_sums_also_with_more_rows_than_needed(hidden: int) -> None:
    net = nalm.Chain(nalm.NAU(6, hidden, seed=0), nalm.NMU(hidden, 1, seed=0))
    find(net, batches(lambda x: (x[:, :1] + x[:, 1:2]) * (x[:, 1:2] - x[:, 4:5]), 6), 200)
    a, b, c = (nalm.read(net).symbols[i] for i in (0, 1, 4))
    assert (nalm.read(net).sympy - (a + b) * (b - c)).expand() == 0


def quantile(output: Tensor, target: Tensor) -> Tensor:
    return torch.maximum(0.7 * (target - output), 0.3 * (output - target)).mean()


LOSSES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "huber": lambda o, t: nn.functional.huber_loss(o, t, delta=0.3),
    "narrow huber": lambda o, t: nn.functional.huber_loss(o, t, delta=0.03),
    "absolute": nn.functional.l1_loss,
    "relative": lambda o, t: ((o - t) / t).abs().mean(),
    "quantile": quantile,
    "log cosh": lambda o, t: torch.log(torch.cosh(o - t)).mean(),
    "cauchy": lambda o, t: torch.log1p((o - t).square()).mean(),
    "log ratio": lambda o, t: (o / t).abs().clamp(min=1e-6).log().square().mean(),
    "sum of squares": lambda o, t: (o - t).square().sum(),
    "root": lambda o, t: (o - t).square().mean().sqrt(),
    "cosh": lambda o, t: torch.cosh(o - t).mean(),
}


@pytest.mark.parametrize("name", LOSSES)
def test_losses(name: str) -> None:
    unit = nalm.NRU(3, 1, seed=0)
    train(unit, batches(lambda x: x[:, :1] / x[:, 2:], 3, 1.0, 5.0), 150, LOSSES[name])
    assert unit.W.tolist() == [[1, 0, -1]]


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", [name for name in LOSSES if name not in ("log ratio", "relative", "cosh")])
def test_losses_through_zero_with_and_without_a_grid_point(name: str, seed: int) -> None:
    """Such losses once sent far samples anywhere: a Huber loss ended on a wrong grid point."""
    whole, real = nalm.NAU(4, 1, seed=seed), nalm.NAU(4, 1, seed=seed)
    train(whole, batches(lambda x: x[:, :1] - x[:, 1:2], 4), 100, LOSSES[name])
    assert whole.W.tolist() == [[1, -1, 0, 0]]
    train(real, batches(lambda x: 0.6 * x[:, :1] - 0.3 * x[:, 1:2], 4), 100, LOSSES[name])
    torch.testing.assert_close(real.W, torch.tensor([[0.6, -0.3, 0.0, 0.0]]), atol=1e-4, rtol=0)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", ["huber", "narrow huber", "absolute", "quantile", "log cosh"])
def test_a_linear_layer_above_under_other_losses(name: str, seed: int) -> None:
    """Gain and bias are brought near, and the base optimiser goes on from there."""
    torch.manual_seed(seed)
    model = nn.Sequential(nalm.NRU(4, 1, seed=seed), nn.Linear(1, 1))
    draw = batches(lambda x: 3 * x[:, :1] / x[:, 1:2] - 1, 4, 1.0, 3.0)
    train(model, draw, 600, LOSSES[name], base=lambda p: torch.optim.Adam(p, 5e-3))
    assert model[0].W.tolist() == [[1, -1, 0, 0]]
    with torch.no_grad():
        x, target = draw(1000)
        assert float(squared(model(x), target) / target.var()) < 1e-3


def test_the_root_of_no_error_at_all_has_no_slope_and_spoils_nothing() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(2, 2), nalm.NAU(2, 1, seed=0))
    optimiser = LocalGaussNewton(model)
    x = torch.ones(8, 2)

    def exact() -> tuple[Tensor, Tensor]:
        output = model(x)
        return output, (output - output.detach()).square().mean().sqrt()

    assert float(optimiser.step(exact)) == 0
    assert all(bool(p.isfinite().all()) for p in model.parameters())


def test_cross_entropy_above_a_readout() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nalm.NRU(3, 1, seed=0), nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 5))
    draw = batches(lambda x: (5 * (x[:, 0] * x[:, 1] - 1) / 3).long(), 3, 1.0, 2.0, 128)
    train(model, draw, 350, nn.functional.cross_entropy, base=lambda p: torch.optim.Adam(p, 3e-2))
    # the readout can undo a reciprocal
    assert model[0].W.abs().tolist() == [[1, 1, 0]]
    assert model[0].W.sum().abs() == 2


def test_a_separable_class_does_not_drive_coefficients_to_infinity() -> None:
    unit = nalm.NAU(3, 3, seed=0)
    optimiser = train(unit, batches(lambda x: x.argmax(1), 3), 60, nn.functional.cross_entropy)
    assert float(at_output(optimiser).free.numbers.abs().max()) <= 8
    assert (unit.W.diagonal() > 0.9).all()


@pytest.mark.parametrize("unit", ["NMU", "NRU", "NMRU"])
def test_parity_is_solved_by_signs_alone(unit: str) -> None:
    model = getattr(nalm, unit)(12, 1, seed=0)
    draw = batches(lambda x: x[:, 1::2].prod(1, keepdim=True), 12, -1.0, 1.0)

    def signs(step: int) -> tuple[Tensor, Tensor]:
        x = draw(step)[0].sign()
        return x, x[:, 1::2].prod(1, keepdim=True)

    train(model, signs, 3)
    assert model.form.read(model).tolist() == [[0, 1] * 6]


def test_flipped_signs_are_not_explained_away() -> None:
    unit = nalm.NMU(4, 1, seed=0)
    draw = batches(first_times_second, 4, -1.0, 1.0)

    def flipped(step: int) -> tuple[Tensor, Tensor]:
        x = draw(step)[0].sign()
        return x, first_times_second(x) * torch.where(torch.arange(64) % 8 == 0, -1.0, 1.0).unsqueeze(-1)

    assert not at_output(train(unit, flipped, 40)).choice.snapped.any()


@pytest.mark.parametrize("unit", ["NMU", "NRU"])
def test_label_noise_on_data_through_zero(unit: str) -> None:
    model = getattr(nalm, unit)(4, 1, seed=0)
    power = -1 if unit == "NRU" else 1

    def draw(step: int) -> tuple[Tensor, Tensor]:
        generator = torch.Generator().manual_seed(step)
        x = 4 * torch.rand(128, 4, generator=generator) - 2
        target = x[:, :1] * x[:, 2:3] ** power
        # the deviation of a quotient through zero is that of its few largest values, so the median is the measure
        return x, target + 0.3 * target.abs().median() * torch.randn(128, 1, generator=generator)

    train(model, draw, 60)
    assert model.W.tolist() == [[1, 0, power, 0]]


@pytest.mark.parametrize(("spread", "by_signs"), [(0.0, True), (0.05, False)])
def test_only_inputs_of_constant_magnitude_are_left_to_their_signs(spread: float, by_signs: bool) -> None:
    """Magnitudes that differ by a few percent have logarithms to learn from."""
    (one,) = ruled(nalm.NRU(2, 1, seed=0))
    generator = torch.Generator().manual_seed(0)
    x = (2.0 * torch.randint(0, 2, (2, 64), generator=generator) - 1) * (1 + spread * torch.rand(2, 64))
    y = x.prod(0, keepdim=True).double()
    numbers = one.read()
    told = Feedback(x.double(), y, torch.zeros_like(y), torch.ones_like(y).unsqueeze(0), 1)
    found = parity.by_signs(one, told, numbers)
    assert found.explained.all()
    assert torch.equal(found.numbers, torch.ones_like(numbers) if by_signs else numbers)


@pytest.mark.parametrize("unit", ["NMU", "NRU", "NMRU"])
def test_inputs_that_are_zero_now_and_then(unit: str) -> None:
    model = getattr(nalm, unit)(3, 1, seed=0)
    draw = batches(first_times_second, 3, 0.0, 4.0)

    def whole(step: int) -> tuple[Tensor, Tensor]:
        x = draw(step)[0].floor()
        return x, first_times_second(x)

    find(model, whole, 40)
    assert model.form.read(model).tolist() == [[1, 1, 0]]


def test_quotient_of_learned_sums() -> None:
    net = nalm.Chain(nalm.NAU(5, 2, seed=2), nalm.NRU(2, 1, seed=2))
    find(net, batches(lambda x: (x[:, :1] + x[:, 1:2]) / (x[:, 1:2] + x[:, 3:4]), 5, 1.0, 2.0, 128), 350)
    a, b, c = (nalm.read(net).symbols[i] for i in (0, 1, 3))
    assert (nalm.read(net).sympy - (a + b) / (b + c)).simplify() == 0


def test_three_learned_layers() -> None:
    net = nalm.Chain(nalm.NAU(4, 3, seed=0), nalm.NMU(3, 1, seed=0), nalm.NAU(1, 1, seed=0))
    find(net, batches(lambda x: -(x[:, :1] + x[:, 1:2]) * (x[:, 1:2] + x[:, 2:3]), 4, 1.0, 2.0, 128), 200)
    a, b, c = (nalm.read(net).symbols[i] for i in range(3))
    assert (nalm.read(net).sympy + (a + b) * (b + c)).expand() == 0


def test_unit_below_a_learned_gain_and_bias() -> None:
    class Gained(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.unit = nalm.NRU(4, 1, seed=1)
            self.head = nn.Linear(1, 1)
            nn.init.ones_(self.head.weight)

        def forward(self, x: Tensor) -> Tensor:
            result: Tensor = self.head(self.unit(x))
            return result

    model = Gained()
    draw = batches(lambda x: 3.7 * x[:, :1] / x[:, 1:2] + 1.3, 4, 1.0, 2.0)
    find(model, draw, 300, base=lambda p: torch.optim.Adam(p, 1e-2))
    assert model.unit.W.tolist() == [[1, -1, 0, 0]]
