"""How units start: initial values, the moments they were chosen for, and the published recipes."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch

import nalm
from nalm.core.start import Fan, normal
from nalm.units import baselines
from nalm.units.nac import nac_bound
from tests.units.by_hand import F64

# -- initial values -----------------------------------------------------------------------------------------------

NAC_BOUNDS = {
    (1, 1): 9.471406,
    (2, 1): 9.471406,
    (3, 1): 9.471406,
    (4, 2): 5.425508,
    (5, 1): 5.425508,
    (10, 1): 2.260468,
    (10, 2): 2.074248,
    (50, 2): 0.733275,
    (100, 1): 0.506593,
    (100, 2): 0.503909,
    (300, 2): 0.285501,
}


def assert_uniform(unit: nalm.Unit, name: str, low: float, high: float) -> None:
    """Inside, and filling, the interval."""
    values = unit.state_dict()[name]
    least, most = float(values.min()), float(values.max())
    slack, rounding = 0.02 * (high - low), 1e-6
    assert low - rounding <= least < low + slack
    assert high - slack < most <= high + rounding


@pytest.mark.parametrize(("sizes", "r"), NAC_BOUNDS.items(), ids=str)
def test_nac_bound(sizes: tuple[int, int], r: float) -> None:
    assert nac_bound(Fan(*sizes)) == pytest.approx(r, abs=1e-6)
    for cls in (nalm.NAC, nalm.MulNAC, nalm.NALU, nalm.GNALU):
        unit = cls(*sizes, runs=(400,), seed=range(400))
        for name in ("W_hat", "W_gate"):
            assert_uniform(unit, name, -r, r)


@pytest.mark.parametrize(
    ("cls", "sizes", "name", "low", "high"),
    [
        (nalm.NAU, (2, 1), "W", -0.5, 0.5),
        (nalm.NAU, (10, 1), "W", -0.5, 0.5),
        (nalm.NAU, (100, 2), "W", -0.2425356, 0.2425356),
        (nalm.NAU, (100, 1), "W", -0.2437324, 0.2437324),
        (nalm.NRU, (2, 1), "W", -0.5, 0.5),
        (nalm.NRU, (10, 1), "W", -0.5, 0.5),
        (nalm.ModifiedRealNPU, (2, 1), "W", -0.5, 0.5),
        (nalm.NMU, (2, 1), "W", 0.25, 0.75),
        (nalm.NMU, (100, 2), "W", 0.25, 0.75),
        (nalm.SNMU, (2, 1), "W", 0.25, 0.75),
        (nalm.NMRU, (2, 1), "W", 0.25, 0.75),
        (nalm.MulNACLinear, (2, 1), "W", 0.25, 0.75),
        (nalm.NPU, (2, 1), "W", -math.sqrt(2), math.sqrt(2)),
        (nalm.RealNPU, (10, 1), "W", -math.sqrt(6 / 11), math.sqrt(6 / 11)),
        (nalm.NALU, (2, 1), "G", -math.sqrt(2), math.sqrt(2)),
        (baselines.Linear, (2, 1), "W", -math.sqrt(2), math.sqrt(2)),
        (baselines.ReLU, (2, 1), "W", -math.sqrt(3), math.sqrt(3)),
        (baselines.ReLU6, (10, 1), "W", -math.sqrt(0.6), math.sqrt(0.6)),
    ],
)
def test_uniform_starts(cls: type[nalm.Unit], sizes: tuple[int, int], name: str, low: float, high: float) -> None:
    assert_uniform(cls(*sizes, runs=(500,), seed=range(500)), name, low, high)


@pytest.mark.parametrize(
    ("cls", "name", "mean", "deviation"),
    [
        (nalm.INAC, "W_hat", 0.88, 0.2),
        (nalm.INAC, "W_gate", 0.5, 0.2),
        (nalm.IMNAC, "W_hat", 0.88, 0.2),
        (nalm.INALU, "g_hat", 0.0, 0.2),
        (nalm.INALU, "multiply.W_gate", 0.5, 0.2),
        (nalm.MulNACSigmoid, "W_hat", 0.0, math.sqrt(2 / 3)),
    ],
)
def test_normal_starts(cls: type[nalm.Unit], name: str, mean: float, deviation: float) -> None:
    values = cls(2, 1, runs=(4000,), seed=range(4000)).state_dict()[name]
    assert float(values.mean()) == pytest.approx(mean, abs=5 * deviation / math.sqrt(values.numel()))
    assert float(values.std()) == pytest.approx(deviation, rel=0.06)


@pytest.mark.parametrize(
    ("cls", "name", "value"),
    [
        (nalm.NPU, "W_im", 0.0),
        (nalm.NPU, "g", 0.5),
        (nalm.RealNPU, "g", 0.5),
        (nalm.ModifiedRealNPU, "g", 0.5),
        (nalm.StochasticGateNMU, "mu", 0.5),
        (baselines.Linear, "b", 0.0),
        (baselines.ReLU, "b", 0.0),
    ],
)
def test_constant_starts(cls: type[nalm.Unit], name: str, value: float) -> None:
    parameter = dict(cls(2, 1).named_parameters())[name]
    assert bool((parameter == value).all())


def test_published_recipes() -> None:
    ramp = nalm.Ramp(10, 20_000, 35_000)
    assert nalm.NMU.recipe.penalties == nalm.SNMU.recipe.penalties == nalm.NRU.recipe.penalties == {"to_grid": ramp}
    assert nalm.NAU.recipe.penalties == {"to_grid": nalm.Ramp(0.01, 20_000, 35_000)}
    assert nalm.NRU.recipe.optimiser == nalm.Adam(1.0)
    assert nalm.NMRU.recipe.optimiser == nalm.Adam(1e-2)
    assert nalm.NMRU.recipe.clip == nalm.Clip(norm=1.0)
    assert nalm.NPU.recipe.optimiser == nalm.Adam(5e-3)
    assert nalm.NPU.recipe.penalties == {"l1": nalm.Staircase(1e-9, 1e-7)}
    assert nalm.ModifiedRealNPU.recipe.penalties["to_grid"] == nalm.Ramp(1, 40_000, 50_000)
    assert nalm.INALU.recipe.clip == nalm.Clip(value=0.1)
    assert nalm.INALU.recipe.penalties == {"saturate": nalm.Late(0.05, after=10_000, error=1.0)}
    assert nalm.INALU.recipe.restart == nalm.Restart(check=10, memory=5_000, error=1.0, validate=1_000)
    for plain in (nalm.NAC, nalm.MulNAC, nalm.NALU, nalm.GNALU):
        assert plain.recipe == nalm.Recipe(nalm.Adam(1e-3), steps=50_000, batch=128)


# -- moments ------------------------------------------------------------------------------------------------------


def test_moments_of_the_nmu() -> None:
    inputs, cohorts, samples = 4, 2_000, 200
    unit = nalm.NMU(inputs, 1, runs=(cohorts,), seed=range(cohorts)).double()
    x = torch.randn(cohorts, samples, inputs, dtype=F64)
    z = unit(x)
    var_w = 0.5**2 / 12
    assert z.mean().item() == pytest.approx(0.5**inputs, abs=0.01)
    expected = (var_w + 0.25) ** inputs * 2**inputs - 0.25**inputs
    assert z.var().item() == pytest.approx(expected, rel=0.1)


def test_variance_of_the_nmu_gradient() -> None:
    inputs, outputs, cohorts, samples = 3, 4, 4_000, 50
    unit = nalm.NMU(inputs, outputs, runs=(cohorts,), seed=range(cohorts)).double()
    x = torch.randn(cohorts, samples, inputs, dtype=F64, requires_grad=True)
    delta = torch.randn(cohorts, samples, outputs, dtype=F64)
    (unit(x) * delta).sum().backward()
    var_w = 0.5**2 / 12
    expected = outputs * (var_w + 0.25) ** inputs * 2 ** (inputs - 1)
    assert x.grad.var().item() == pytest.approx(expected, rel=0.05)  # type: ignore[union-attr]


@pytest.mark.parametrize("inputs", [2, 5, 20, 50])
def test_weight_variance_that_preserves_the_nmu_variance(inputs: int) -> None:
    var_w = ((4**inputs + 1) ** (1 / inputs) - 2) / 8
    assert (var_w + 0.25) ** inputs * 2**inputs - 0.25**inputs == pytest.approx(1.0)
    assert 0.25 <= var_w < 0.27 or inputs < 5


def test_moments_of_the_multiplicative_nac() -> None:
    inputs, samples, r = 3, 100_000, 0.3
    unit = nalm.MulNACLinear(inputs, 1, runs=(samples,)).double()
    unit._parameters["W"].data.uniform_(-r, r)  # type: ignore[union-attr]
    x = torch.full((samples, 1, inputs), 1.8, dtype=F64)  # the second-order expansion is about E[x]
    z = unit(x)
    var_w, q = r**2 / 3, math.log(1.8 + 1e-7) ** 2
    mean = (1 + var_w * q / 2) ** inputs
    assert mean > 1
    assert z.mean().item() == pytest.approx(mean, rel=2e-3)
    assert z.var().item() == pytest.approx(
        (1 + 2 * var_w * q) ** inputs - (1 + var_w * q / 2) ** (2 * inputs), rel=0.05
    )


@pytest.mark.parametrize("start", [int, lambda *_: None, lambda u, _: u[..., :1, :-1], lambda u: u])
def test_a_start_that_cannot_be_used_is_named(start: object) -> None:
    weights = {"W": replace(nalm.NMU.W, start=start)}  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"NMU\.W: its start .* cannot be used .* a function of a tensor of uniform"):
        nalm.NMU(3, 2, weights=weights)


def test_the_least_uniform_number_is_the_middle_of_the_first_step() -> None:
    values = normal(3.0, 2.0)(torch.tensor([0.0, 0.5], dtype=F64), Fan(1, 1))
    torch.testing.assert_close(values, 3 + 2 * torch.special.ndtri(torch.tensor([2.0**-25, 0.5 + 2.0**-25], dtype=F64)))


def test_on_the_grid_means_within_four_roundings() -> None:
    eps = torch.finfo(F64).eps
    values = torch.tensor([1.0, 1 + 4 * eps, 1 + 5 * eps, -4 * eps, 0.5], dtype=F64)
    assert nalm.NMU.W.on_grid(values).tolist() == [True, True, False, True, False]
