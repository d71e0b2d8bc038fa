"""Forms, of every unit that has one: what a rule reads from the unit and writes into it is what the unit computes."""

from __future__ import annotations

from typing import cast

import pytest
import torch

from nalm.core.form import Form
from nalm.core.unit import Unit
from tests.units.catalogue import CASES, Make

FORMED = {name: make for name, make in CASES.items() if make().form is not None and name != "NMRU gated"}
every_formed_unit = pytest.mark.parametrize("make", FORMED.values(), ids=FORMED.keys())


def form_of(unit: Unit) -> Form:
    return cast(Form, unit.form)


def test_sums_and_products_have_a_form() -> None:
    assert {"NAU", "NMU", "NAC", "INAC", "IMNAC", "NPU", "RealNPU", "NRU", "NMRU", "SNMU", "ProductUnit"} <= set(FORMED)


@every_formed_unit
def test_a_form_knows_all_weights_of_its_unit(make: Make) -> None:
    unit = make()
    assert form_of(unit).weights == set(unit.weights)


def test_a_form_does_not_know_the_gate_of_the_nmru() -> None:
    unit = CASES["NMRU gated"]()
    assert set(unit.weights) - form_of(unit).weights == {"g"}


@every_formed_unit
def test_numbers_on_the_grid_are_what_the_unit_computes(make: Make) -> None:
    unit = make(seed=3).double().eval()
    form = form_of(unit)
    grid = form.grid(unit)
    # one input is used by no output: a gate per input can only close it for all of them
    numbers = torch.tensor([[max(grid), min(grid), 0.0], [min(grid), max(grid), 0.0]], dtype=torch.float64)
    with torch.no_grad():
        form.write(unit, numbers)
    x = 0.5 + torch.rand(3, 32, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    if unit.negatives:
        x[0] = -x[0]
    torch.testing.assert_close(form.read(unit), numbers, rtol=0, atol=1e-15)
    assert unit.on_grid()
    torch.testing.assert_close(unit.compute(x), form.exact(numbers, x), rtol=2e-6, atol=1e-9)
    torch.testing.assert_close(form.smooth(numbers, x), form.exact(numbers, x))


@every_formed_unit
def test_numbers_between_grid_values_survive_writing(make: Make) -> None:
    unit = make(seed=1)
    form = form_of(unit)
    low, high = min(form.grid(unit)), max(form.grid(unit))
    numbers = low + (high - low) * torch.tensor([[0.13, 0.5, 0.77], [0.91, 0.31, 0.02]])
    with torch.no_grad():
        form.write(unit, numbers)
    torch.testing.assert_close(form.read(unit), numbers, rtol=0, atol=2e-6)


@every_formed_unit
def test_slopes_are_the_derivatives(make: Make) -> None:
    form, generator = form_of(make()), torch.Generator().manual_seed(0)
    numbers = 3 * torch.rand(2, 3, dtype=torch.float64, generator=generator) - 1.5
    x = torch.randn(3, 40, dtype=torch.float64, generator=generator)
    whole = torch.autograd.functional.jacobian(lambda w: form.smooth(w, x), numbers)  # (out, samples, out, in)
    own = torch.stack([whole[o, :, o].mT for o in range(2)])
    torch.testing.assert_close(form.slopes(numbers, x), own)
