"""What forms say of single numbers: logarithms of what is nearly zero, how much a sample knows, what is believed."""

from __future__ import annotations

import math

import pytest
import torch

import nalm
from nalm.core.form import GatedProduct, PairedProduct, Product, Sum


def test_the_logarithm_of_nothing_is_that_of_1e_30() -> None:
    found = Product().link(torch.tensor([0.0, 1e-20, -0.05, math.e]))
    expected = torch.tensor([-30 * math.log(10), -20 * math.log(10), math.log(0.05), 1.0])
    torch.testing.assert_close(found, expected)


def test_an_error_of_a_logarithm_is_believed_up_to_20() -> None:
    error = torch.tensor([-50.0, -19.0, 0.5, 21.0])
    assert Product().believed(error).tolist() == [-20.0, -19.0, 0.5, 20.0]
    assert Sum().believed(error).tolist() == error.tolist()


def test_the_output_of_a_product_stays_finite_when_squared() -> None:
    size = Product().smooth(torch.tensor([[1.0], [-1.0]]), torch.tensor([[1e30]]))
    torch.testing.assert_close(size, torch.tensor([[math.exp(40)], [math.exp(-40)]]))


def test_a_sample_informs_a_product_by_its_curvature_and_by_its_size_against_the_typical_error() -> None:
    y, implied = torch.tensor([[1.0, 2.0, 3.0]]), torch.tensor([[2.0, 4.0, 3.0]])  # errors 1, 2, 0: median 1
    curvature = torch.tensor([[1.0, 0.0, 5.0]])  # mean 2
    expected = torch.tensor([[2 * (1 / 3) * (1 / 2), 0.0, 2 * (5 / 7) * (9 / 10)]])
    torch.testing.assert_close(Product().information(y, implied, curvature), expected)


def test_rounding_errors_have_the_size_of_the_terms_of_a_sum_and_none_beside_logarithms() -> None:
    numbers, features = torch.tensor([[1.0, -1.0]]), torch.tensor([[3.0], [3.0]])
    assert Sum().rounding(numbers, features).tolist() == [[6.0]]
    assert Product().rounding(numbers, features).tolist() == [[1.0]]


@pytest.mark.parametrize(("unit", "form"), [(nalm.NMRU(2, 2), PairedProduct()), (nalm.RealNPU(2, 2), GatedProduct())])
def test_exponents_lie_between_minus_one_and_one(unit: nalm.Unit, form: Product) -> None:
    assert form.grid(unit) == (-1, 0, 1)
    assert form.box(unit) == (-1, 1)


def test_only_the_rows_asked_for_are_written() -> None:
    unit = nalm.NAU(2, 2)
    before = unit.value("W").detach().clone()
    with torch.no_grad():
        Sum().write(unit, torch.tensor([[1.0, -1.0], [0.5, 3.0]]), torch.tensor([False, True]))
    assert unit.value("W")[0].tolist() == before[0].tolist()
    assert unit.value("W")[1].tolist() == [0.5, 1.0]  # the box ends at 1
