"""Forms: what the rule reads from a unit and writes into it is what the unit computes."""

from __future__ import annotations

import pytest
import torch

import nalm
from nalm.core.form import Form, Product, Sum
from nalm.core.weight import nearest
from nalm.training.rule.parts import is_ruled
from nalm.units.classic import ProductUnit

NAMES = "NAU NMU NAC INAC MulNAC MulNACSigmoid MulNACLinear IMNAC NPU RealNPU ModifiedRealNPU NRU SeparateSignNRU NMRU"
UNITS = [*(getattr(nalm, name) for name in [*NAMES.split(), "SNMU", "StochasticGateNMU"]), ProductUnit]


@pytest.mark.parametrize("make", UNITS, ids=lambda u: u.__name__)
def test_numbers_on_the_grid_are_what_the_unit_computes(make: type[nalm.Unit]) -> None:
    unit = make(4, 1, seed=3).double().eval()
    assert is_ruled(unit)
    grid = unit.form.grid(unit)
    numbers = torch.tensor([[max(grid), min(grid), 0.0, max(grid)]], dtype=torch.float64)
    with torch.no_grad():
        unit.form.write(unit, numbers)
    x = 0.5 + torch.rand(4, 32, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    if getattr(unit.form, "signed", True):
        x[0] = -x[0]
    torch.testing.assert_close(unit.form.read(unit), numbers, rtol=0, atol=1e-15)
    assert unit.on_grid()
    torch.testing.assert_close(unit.compute(x), unit.form.exact(numbers, x), rtol=2e-6, atol=1e-9)
    torch.testing.assert_close(unit.form.smooth(numbers, x), unit.form.exact(numbers, x))


@pytest.mark.parametrize("make", UNITS, ids=lambda u: u.__name__)
def test_numbers_between_grid_values_survive_writing(make: type[nalm.Unit]) -> None:
    unit = make(3, 2, seed=1)
    low, high = min(unit.form.grid(unit)), max(unit.form.grid(unit))
    numbers = low + (high - low) * torch.tensor([[0.13, 0.5, 0.77], [0.91, 0.31, 0.02]])
    with torch.no_grad():
        unit.form.write(unit, numbers)
    torch.testing.assert_close(unit.form.read(unit), numbers, rtol=0, atol=2e-6)


def test_a_sum_is_its_own_coordinate_and_a_product_its_logarithm() -> None:
    x = torch.tensor([[-2.0, 3.0]])
    assert torch.equal(Sum().features(x), x)
    torch.testing.assert_close(nalm.NMU.form.features(x), x.abs().log())


def test_nearest_takes_the_closest_grid_value() -> None:
    assert nearest(torch.tensor([-3.0, -0.4, 0.6, 9.0]), (-1, 0, 1)).tolist() == [-1, 0, 1, 1]


def test_a_unit_with_a_weight_its_form_does_not_know_is_not_ruled() -> None:
    assert is_ruled(nalm.NMRU(2, 1))
    assert not is_ruled(nalm.NMRU(2, 1, gate=True))


@pytest.mark.parametrize("form", [Sum(), Product(), Product(signed=False)])
def test_slopes_are_the_derivatives(form: Form) -> None:
    generator = torch.Generator().manual_seed(0)
    numbers = 3 * torch.rand(2, 3, dtype=torch.float64, generator=generator) - 1.5
    x = torch.randn(3, 40, dtype=torch.float64, generator=generator)
    whole = torch.autograd.functional.jacobian(lambda w: form.smooth(w, x), numbers)  # (out, samples, out, in)
    own = torch.stack([whole[o, :, o].mT for o in range(2)])
    torch.testing.assert_close(form.slopes(numbers, x), own)
