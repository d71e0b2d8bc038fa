"""Numbers of containers, schedules and forms that follow from their definitions, each worked out by hand."""

from __future__ import annotations

import math

import pytest
import torch

import nalm
from nalm.core.form import Product, Sum


def units(inputs: int = 2) -> tuple[nalm.Unit, nalm.Unit]:
    return nalm.NAU(inputs, 1, seed=0), nalm.NMU(inputs, 1, seed=0)


def set_weight(unit: nalm.Unit, *values: object) -> None:
    with torch.no_grad():
        dict(unit.named_parameters())["W"].copy_(torch.tensor(values))


def test_a_gate_that_does_not_look_at_its_input_starts_in_the_middle() -> None:
    mixture = nalm.Gated(*units())
    first, second = units()
    x = torch.tensor([[2.0, 3.0]])
    assert mixture.value("g").tolist() == [0.5]
    torch.testing.assert_close(mixture(x), (first(x) + second(x)) / 2)


@pytest.mark.parametrize("runs", [(), (2,)], ids=str)
def test_a_path_that_is_shut_stays_out_where_it_overflows(runs: tuple[int, ...]) -> None:
    product, total = nalm.NMU(2, 1, runs).set_(W=1), nalm.NAU(2, 1, runs).set_(W=1)
    x = torch.full((1, 2), 1e30)  # of whose product float32 knows no more than that it is infinite
    unit = nalm.Gated(total, product).set_(g=1).eval()
    assert torch.equal(unit(x), total(x))
    assert nalm.Gated(nalm.NAU(1, 1).set_(W=1), nalm.NMU(1, 1)).set_(g=1).formula([math.inf]) == [math.inf]
    gate_that_looks = nalm.InputGated(product, total).set_(G=-1e-28).eval()  # sigmoid(-200) is zero
    assert torch.equal(gate_that_looks(x), total(x))


def test_both_paths_of_a_gate_need_the_same_sizes_and_the_error_names_both() -> None:
    with pytest.raises(ValueError, match=r"same sizes, got \(2, 1\) and \(3, 1\)"):
        nalm.Gated(nalm.NAU(2, 1), nalm.NMU(3, 1))
    with pytest.raises(ValueError, match=r"same sizes, got \(2, 1\) and \(2, 2\)"):
        nalm.Gated(nalm.NAU(2, 1), nalm.NMU(2, 2))


def test_inner_units_give_their_largest_sparsity_error() -> None:
    first, second = units()
    set_weight(first, [0.9, 0.0])
    set_weight(second, [0.7, 1.0])
    chain = nalm.Chain(nalm.NAU(2, 2, seed=0), nalm.NMU(2, 1, seed=0))
    set_weight(chain.layers[0], [0.9, 0.0], [1.0, 0.0])
    set_weight(chain.layers[1], [0.7, 1.0])
    assert chain.sparsity().item() == pytest.approx(0.3)
    assert nalm.Gated(first, second).sparsity().item() == pytest.approx(0.3)
    cohort = nalm.NAU(2, 1, runs=(2,), seed=torch.arange(2))
    set_weight(cohort, [[0.9, 0.0]], [[0.6, 1.0]])
    torch.testing.assert_close(cohort.sparsity(), torch.tensor([0.1, 0.4]))


def test_a_shortened_ramp_still_rises() -> None:
    ramp = nalm.Ramp(2, 10, 20).scaled(0.01)
    assert (ramp.start, ramp.end) == (0, 1)
    assert [ramp.at(step) for step in (0, 1, 2)] == [0, 2, 2]


def test_samples_inform_a_sum_by_their_curvature_and_none_inform_without_any() -> None:
    y = torch.zeros(2, 3)
    curvature = torch.tensor([[1.0, 2.0, 3.0], [0.0, 0.0, 0.0]])
    expected = torch.tensor([[0.5, 1.0, 1.5], [0.0, 0.0, 0.0]])
    torch.testing.assert_close(Sum().information(y, y, curvature), expected)


def test_only_an_input_of_both_signs_is_met_by_the_sign_between_whole_exponents() -> None:
    form = Product()
    numbers = torch.tensor([[0.5, 0.5]])
    mixed = torch.tensor([[-4.0, 4.0], [9.0, 9.0]])
    one_sign = torch.tensor([[4.0, 4.0], [9.0, 9.0]])
    magnitude = torch.tensor([[6.0, 6.0]])
    torch.testing.assert_close(form.smooth(numbers, one_sign), magnitude)
    assert not torch.allclose(form.smooth(numbers, mixed), magnitude)


def test_a_chain_has_the_inputs_of_its_first_unit_and_the_outputs_of_its_last() -> None:
    chain = nalm.Chain(nalm.NAU(4, 3), nalm.NAU(3, 2), nalm.NMU(2, 1))
    assert (chain.in_features, chain.out_features) == (4, 1)
