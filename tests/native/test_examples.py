"""The examples are what they say: the published units by other code, trained by Adam towards their operation."""

from __future__ import annotations

import pytest
import torch

import nalm
from nalm.native.examples import CLOCK, case, clock_table, draw, one_run, pull
from tests.units.by_hand import put


@pytest.mark.parametrize(
    ("name", "unit", "names"),
    [
        ("NMU 2", nalm.NMU, {"w": "W"}),
        ("NAU 2", nalm.NAU, {"w": "W"}),
        ("RealNPU 2", nalm.RealNPU, {"w": "W", "g": "g"}),
        ("NALU 2", nalm.NALU, {"w": "W_hat", "m": "W_gate", "g": "G"}),
        ("NMRU 2", nalm.NMRU, {"w": "W"}),
    ],
)
def test_an_example_computes_what_the_published_unit_does(
    name: str, unit: type[nalm.Unit], names: dict[str, str]
) -> None:
    example = case(name)
    torch.manual_seed(0)
    parameters = {n: torch.rand(shape, dtype=torch.float64) for n, shape in example.shapes.items()}
    for n, box in example.boxes.items():
        grid = unit(2, 1).weights[names[n]].grid
        assert grid is not None
        assert box == (min(grid), max(grid))
    if unit is nalm.NMRU:  # its signs are a cosine of a sum, here a product of cosines: equal on the grid
        parameters = {"w": torch.tensor([[1.0], [0.0], [0.0], [1.0]], dtype=torch.float64)}
    sign = torch.tensor([[1.0, 1, -1, -1], [1, -1, 1, -1]])
    x = sign * (torch.rand(2, 4, dtype=torch.float64) + 0.5)
    layer = put(unit(2, 1), **{names[n]: value.flatten().tolist() for n, value in parameters.items()}).eval()
    found = example.forward(parameters, x, {})
    torch.testing.assert_close(found, layer.compute(x).detach(), rtol=1e-4, atol=1e-4)  # as constants in logarithms


def test_noise_is_divided_out_where_weights_are_on_the_grid() -> None:
    x, noise = torch.tensor([[2.0, -3.0], [4.0, 5.0]]), torch.tensor([[0.1, 0.7], [0.4, 0.9]])
    for weights, expected in (([1.0, 1.0], [8.0, -15.0]), ([0.0, 1.0], [4.0, 5.0]), ([0.0, 0.0], [1.0, 1.0])):
        found = case("sNMU 2").forward({"w": torch.tensor(weights)[:, None]}, x, {"noise": noise})
        torch.testing.assert_close(found, torch.tensor([expected]))


def test_two_layers_are_a_product_of_sums() -> None:
    assert case("two-layer 2").boxes == {"w1": nalm.NAU.W.box, "w2": nalm.NMU.W.box}
    assert case("sNMU 2").boxes == {"w": nalm.NMU.W.box}
    weights = {"w1": torch.tensor([[1.0, 0.0], [1.0, -1.0]]), "w2": torch.ones(2, 1)}
    found = case("two-layer 2").forward(weights, torch.tensor([[2.0], [3.0]]), {})
    assert found.tolist() == [[(2 + 3) * -3.0]]


@pytest.mark.parametrize("name", ["NAU 2", "NALU 2"])
def test_a_step_is_adams_then_projected(name: str) -> None:
    example = case(name)
    state, consts = (one_run(arrays, 4, torch.float64) for arrays in example.arrays(1)[:2])
    consts["rate"] = torch.tensor(0.3, dtype=torch.float64)  # far enough to leave the box
    parameters = {n: torch.nn.Parameter(state[n].clone()) for n in example.shapes}
    adam = torch.optim.Adam(parameters.values(), lr=0.3)
    for step, row in enumerate(torch.tensor(clock_table(5)).double()):
        draws = {n: u.double() for n, u in draw(example.draws(), 0, step).items()}
        x, target = example.data(consts, draws)
        loss = (example.forward(parameters, x, draws) - target).square().mean()
        penalty = row[0] * sum(pull(parameters[n]) for n in example.boxes)
        adam.zero_grad()
        (loss + penalty).backward()
        adam.step()
        with torch.no_grad():
            for n, box in example.boxes.items():
                parameters[n].clamp_(*box)
        state, metrics = example.step(state, consts, draws, dict(zip(CLOCK, row, strict=True)))
        torch.testing.assert_close(metrics["loss"], loss.detach())
        for n, value in parameters.items():
            torch.testing.assert_close(state[n], value.detach(), rtol=1e-5, atol=1e-6)


def test_the_operations_and_the_pull() -> None:
    consts = {"low": torch.tensor(1.0), "high": torch.tensor(3.0), "masks": torch.eye(2)}
    draws = {"x": torch.tensor([[0.5], [1.0]])}
    for name, expected in (("NMU 2", 6.0), ("NAU 2", 5.0), ("NMRU 2", 2 / 3)):
        x, target = case(name).data(consts, draws)
        assert x.tolist() == [[2.0], [3.0]]
        assert target.item() == pytest.approx(expected)
    assert pull(torch.tensor([-0.9, 0.25, 1.1, 0.0])).item() == pytest.approx((0.1 + 0.25 + 0.1) / 4)
