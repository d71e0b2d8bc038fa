"""Facts about loss surfaces, starts and weight paths; a perceptron that adds exactly."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from nalm.bench.engine.train import Options, train
from nalm.bench.landscape import LANDSCAPES, PAIR_OPTIMA, SAMPLE_TARGET, find_landscape
from nalm.bench.method import Descent
from nalm.bench.run import Run, single
from nalm.bench.show.drawings import draw_errors, draw_lines, draw_surfaces
from nalm.bench.starts import from_every_start
from nalm.bench.tasks.arithmetic import RANGES, SingleModule
from nalm.bench.weight_path import weight_path
from nalm.core.recipe import Recipe
from nalm.units.baselines import MLP
from tests.cli.commands import works


def numbers(*values: float) -> list[torch.Tensor]:
    return [torch.tensor(value, dtype=torch.float64) for value in values]


@pytest.mark.parametrize("optimum", PAIR_OPTIMA, ids=str)
def test_the_nmu_has_two_optima_on_one_product_of_negative_numbers(optimum: tuple[float, float]) -> None:
    assert float(LANDSCAPES["nmu-pair"].error(*numbers(*optimum))) < 1e-25
    assert pytest.approx(3.6) == (-2 * optimum[0] + 1 - optimum[0]) * (-1.8 * optimum[1] + 1 - optimum[1])


@pytest.mark.parametrize("name", ["nmu", "nru", "nmru"])
def test_exact_units_reach_zero_at_one_one(name: str) -> None:
    assert float(LANDSCAPES[name].error(*numbers(1, 1))) < 1e-20


def test_epsilon_moves_the_optimum_of_log_space_units() -> None:
    errors = {name: float(LANDSCAPES[name].error(*numbers(1, 1))) for name in ("nac-1e-07", "nac-0.1", "nac-1")}
    sums = (2.2, 6.0)
    for name, epsilon in (("nac-1e-07", 1e-7), ("nac-0.1", 0.1), ("nac-1", 1.0)):
        assert errors[name] == pytest.approx((np.prod(np.add(sums, epsilon)) - SAMPLE_TARGET) ** 2, abs=1e-12)


def test_log_space_explodes_where_the_nmru_does_not() -> None:
    largest = {name: LANDSCAPES[name].grid(21)[2].max() for name in ("nac-1e-07", "real-npu", "nru", "nmru", "nmu")}
    assert min(largest["nac-1e-07"], largest["real-npu"], largest["nru"]) > 1e15
    assert max(largest["nmru"], largest["nmu"]) < 1e3


def test_an_unknown_landscape_is_refused_with_the_nearest() -> None:
    with pytest.raises(ValueError, match="Did you mean nmu-pair"):
        find_landscape("nmu-pairs")


def test_noise_widens_the_region_from_which_the_product_is_found() -> None:
    plain = from_every_start(count=6, steps=300, rate=8e-3)
    noisy = from_every_start((1.0, 5.0), count=6, steps=300, rate=8e-3)
    assert not plain.solved[0, 0]
    assert not plain.solved[1, 1]  # from (0.2, 0.2) it runs towards the other optimum and stops at the box
    assert plain.after[1, 1].tolist() == [0, 0]
    assert plain.solved[5, 5]
    assert noisy.solved.sum() > plain.solved.sum()


def test_a_weight_path_ends_where_the_run_ends() -> None:
    run = Run(single("NMU", 2), SingleModule(*RANGES["U[1,2)"]), Descent(Recipe(steps=40)), seed=3, every=20)
    (row,) = train([run], options=Options(engine="torch"))
    steps, values = weight_path(run, points=4, options=Options(engine="torch"))
    assert steps.tolist() == list(range(0, 41, 10))
    assert values["W"].shape == (5, 1, 2)
    assert values["W"][-1].tolist() == row["weights"]["W"]
    assert not np.array_equal(values["W"][0], values["W"][-1])


@pytest.mark.parametrize("sign", [1, -1])
def test_a_perceptron_of_width_four_can_add_and_subtract_exactly(sign: int) -> None:
    mlp = MLP(2, 1, hidden=(4,))
    weights = {
        "layers.0.W": [[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]],
        "layers.0.b": [0.0] * 4,
        "layers.1.W": [[1.0, -1.0, 1.0 * sign, -1.0 * sign]],
        "layers.1.b": [0.0],
    }
    x = torch.randn(1000, 2) * 100
    with torch.no_grad():
        for name, value in weights.items():
            dict(mlp.named_parameters())[name].copy_(torch.tensor(value))
        assert torch.equal(mlp(x)[:, 0], x[:, 0] + sign * x[:, 1])


def test_the_commands_draw(tmp_path: Path) -> None:
    pictures = [tmp_path / f"{name}.png" for name in ("landscape", "starts", "weights")]
    works("landscape", "nmu-pair", "nmu", "-o", pictures[0])
    assert "of 9 starts end at (1, 1)" in works("starts", "--steps", 5, "--count", 3, "-o", pictures[1])
    works("weights", "division/uniform", "-u", "NMRU", "-r", "U[1,2)", "--quick", "-o", pictures[2])
    assert all(picture.stat().st_size > 1000 for picture in pictures)


def test_other_drawings_have_a_panel_per_part() -> None:
    def product(points: np.ndarray) -> np.ndarray:
        return np.asarray(points.prod(-1))

    surfaces = draw_surfaces({"×": {"true": product, "learned": product}}, (1, 2), (2, 6))
    assert [axes.get_title() for axes in surfaces.axes] == ["× true", "× learned", ""]
    errors = draw_errors({"NMU": {"U[1,2)": [1e-9, 1e-3]}}, {"U[1,2)": 1e-7})
    assert errors.axes[0].get_yscale() == "log"
    lines = draw_lines({"1/a": {"NRU": {0.1: 1.0, 1.0: 0.5}}, "a/b": {"NRU": {0.1: 1.0}}}, "c", "error")
    assert [axes.get_title() for axes in lines.axes] == ["1/a", "a/b"]
