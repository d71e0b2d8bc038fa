"""The numbers of the papers, written down apart from the code that uses them.

A recipe is data that no equation checks: a slip of a power of ten trains, and trains worse.
"""

from __future__ import annotations

import pytest
import torch

import nalm
from nalm.bench.plain import plain
from nalm.core.optimiser import ScheduleFree
from nalm.core.start import Fan
from nalm.units import catalogue

RAMP = {"kind": "Ramp", "to": 10, "start": 20_000, "end": 35_000}
LONG_RAMP = {"kind": "Ramp", "to": 10, "start": 1_000_000, "end": 2_000_000}
L1 = {"kind": "Staircase", "first": 1e-9, "last": 1e-7}  # times ten every 10,000 steps, which is its default
SATURATE = {"kind": "Late", "strength": 0.05, "after": 10_000, "error": 1}
PLAIN = {"rate": 1e-3, "steps": 50_000, "batch": 128, "penalties": {}, "norm": None, "value": None, "restart": None}

HILL = ("HillSum", "HillPower", "HillCircle", "HillAngles")

COMPOSED = {"kind": "Ramp", "to": 10, "start": 100_000, "end": 150_000}
COMPOSITION = PLAIN | {"steps": 200_000, "penalties": {"to_grid": COMPOSED, "gates_to_grid": COMPOSED | {"to": 5}}}
SELECTORS = ("NMUSelector", "NPUSelector", "INALUSelector", "FrozenSelector")
BY_SGD = ("CompositionRealNPU", "MixedNAUNMU", "MixedNAURealNPU", *SELECTORS)

PUBLISHED = {
    **dict.fromkeys(BY_SGD, COMPOSITION),
    **dict.fromkeys(("NSRChoice", "RecurrentNSR", "NSRCount"), PLAIN),
    **dict.fromkeys(HILL, PLAIN | {"rate": 0.1, "steps": 10_000, "batch": 64}),
    **dict.fromkeys(("NAC", "MulNAC", "MulNACSigmoid", "NALU", "GNALU", "NLRL", "NSR", "ProductUnit"), PLAIN),
    **dict.fromkeys(("Quadratic", "Linear", "ReLU", "ReLU6", "PReLU", "Dense", "MLP", "LSTM", "FormulaLayer"), PLAIN),
    **{name: PLAIN | {"penalties": {"to_grid": RAMP}} for name in ("NMU", "SNMU", "ScaledNMU")},
    "NAU": PLAIN | {"penalties": {"to_grid": RAMP | {"to": 0.01}}},
    "MulNACLinear": PLAIN | {"steps": 5_000_000, "penalties": {"to_grid": LONG_RAMP}},
    "GatedNAUNMU": PLAIN | {"steps": 5_000_000, "penalties": {"to_grid": LONG_RAMP}},
    "StochasticGateNMU": PLAIN | {"penalties": {"open_gates": {"kind": "Constant", "value": 0.05}}},
    **{
        name: PLAIN | {"penalties": {"saturate": SATURATE}, "value": 0.1, "restart": (10, 5_000, 1.0, 1_000)}
        for name in ("INAC", "IMNAC", "INALU")
    },
    **{name: PLAIN | {"rate": 5e-3, "penalties": {"l1": L1}} for name in ("NPU", "RealNPU")},
    "ModifiedRealNPU": PLAIN
    | {
        "rate": 5e-3,
        "penalties": {"l1": L1, "to_grid": {"kind": "Ramp", "to": 1, "start": 40_000, "end": 50_000}},
    },
    **{name: PLAIN | {"rate": 1, "penalties": {"to_grid": RAMP}} for name in ("NRU", "SeparateSignNRU")},
    "NMRU": PLAIN | {"rate": 1e-2, "penalties": {"to_grid": RAMP, "gates_to_grid": RAMP | {"to": 1}}, "norm": 1.0},
}


@pytest.mark.parametrize("unit", catalogue().values(), ids=catalogue().keys())
def test_a_recipe_has_the_published_numbers(unit: type[nalm.Unit]) -> None:
    recipe, expected = unit.recipe, PUBLISHED[unit.__name__]
    if unit.__name__ in HILL:
        assert recipe.optimiser == ScheduleFree(0.1, betas=(0.9, 0.96), decay=1e-8, warmup=100)
    else:
        assert type(recipe.optimiser) is (nalm.SGD if unit.__name__ in BY_SGD else nalm.Adam)
    assert recipe.rate == expected["rate"]
    assert (recipe.steps, recipe.batch) == (expected["steps"], expected["batch"])
    assert recipe.loss == "mse"
    assert recipe.gradient_noise == 0
    assert {name: plain(schedule) for name, schedule in recipe.penalties.items()} == expected["penalties"]
    assert (recipe.clip.norm, recipe.clip.value) == (expected["norm"], expected["value"])
    restart = recipe.restart
    numbers = None if restart is None else (restart.check, restart.memory, restart.error, restart.validate)
    assert numbers == expected["restart"]


FAN = Fan(10, 2)
MODIFIED = ("ModifiedRealNPU", "CompositionRealNPU")
XAVIER, NAU_BOUND, HE = (6 / 12) ** 0.5, 0.5, (6 / 10) ** 0.5
NAC_START = (-2.074248, 2.074248)  # the root of fan * Var = 2, from the public code's bisection
# The least and the largest value a weight can start with; of a normal start, mean - deviation and mean + deviation.
STARTS = {
    **{f"{unit}.{raw}": NAC_START for unit in ("NAC", "MulNAC", "NALU", "GNALU") for raw in ("W_hat", "W_gate")},
    **{f"{unit}.W_hat": (0.88 - 0.2, 0.88 + 0.2) for unit in ("INAC", "IMNAC")},
    **{f"{unit}.W_gate": (0.5 - 0.2, 0.5 + 0.2) for unit in ("INAC", "IMNAC")},
    **{f"{unit}.W": (0.25, 0.75) for unit in ("NMU", "SNMU", "MulNACLinear", "NMRU", "ScaledNMU")},
    **{f"{unit}.W": (-NAU_BOUND, NAU_BOUND) for unit in ("NAU", "NRU", "SeparateSignNRU", *MODIFIED)},
    **{f"{unit}.W": (-XAVIER, XAVIER) for unit in ("NPU", "RealNPU", "ProductUnit", "Linear")},
    **{f"{unit}.g": (0.5, 0.5) for unit in ("NPU", "RealNPU", *MODIFIED)},
    **{f"{unit}.W": (-HE, HE) for unit in ("ReLU", "ReLU6")},
    **{f"{unit}.G": (-XAVIER, XAVIER) for unit in ("NALU", "GNALU", "GatedNAUNMU")},
    **{f"Quadratic.{w}": (-XAVIER, XAVIER) for w in ("W1", "W2", "W3")},
    **{f"Quadratic.{b}": (0, 0) for b in ("b1", "b2", "c")},
    **{f"{unit}.b": (0, 0) for unit in ("Linear", "ReLU", "ReLU6")},
    **{f"LSTM.{raw}": (-(0.5**0.5), 0.5**0.5) for raw in "UVb"},
    **{f"{unit}.choice_hat": (0, 0) for unit in SELECTORS},
    **{f"{unit}.certain_hat": (-1, -1) for unit in SELECTORS},
    "FrozenSelector.mask_hat": (0, 0),
    "FormulaLayer.W": (-1, 1),
    **{f"FormulaLayer.{weight}": (0.5, 1) for weight in "Pc"},
    "FormulaLayer.e": (0.9, 0.9),
    **{f"{unit}.g_hat": (0, 0) for unit in ("MixedNAUNMU", "MixedNAURealNPU")},
    "NPU.W_im": (0, 0),
    **{f"{unit}.{raw}": (-(0.1**0.5), 0.1**0.5) for unit in ("Dense", "PReLU") for raw in "Wb"},
    "PReLU.a": (0.25, 0.25),
    **{f"{unit}.W{raw}": (0, 0) for unit in ("HillSum", "HillPower") for raw in ("_hat", "_gate")},
    **{f"HillCircle.{raw}": (0, 0) for raw in ("s_hat", "s_gate", "p_hat", "p_gate")},
    **{f"HillAngles.{raw}": (0, 0) for raw in ("s_hat", "s_gate", "d_hat", "d_gate")},
    "MulNACSigmoid.W_hat": (-((2 / 12) ** 0.5), (2 / 12) ** 0.5),
    "StochasticGateNMU.mu": (0.5, 0.5),
    "INALU.g_hat": (-0.2, 0.2),
    "NLRL.n_hat": (-0.2, 0.2),
    "NLRL.A": (0.25, 0.75),
    "NLRL.s_hat": (-0.2, 0.2),
    **{f"NSR.{raw}": (-1, 1) for raw in ("V1_hat", "V2_hat")},
    **{f"NSR.{raw}": (-0.5, 0.5) for raw in ("w_sign", "w_zero", "b")},
}
NORMAL = ("INAC", "IMNAC", "MulNACSigmoid", "INALU", "NLRL.n", "NLRL.s", "NSR")
ONE_DEVIATION = 0.8413447460685429  # the share of a normal distribution below mean + deviation


def test_weights_start_where_the_papers_say() -> None:
    found = {}
    for unit in catalogue().values():
        for weight in unit.declared.values():
            for index, raw in enumerate(weight.parameters):
                start = weight.start[index] if isinstance(weight.start, tuple) else weight.start
                name = f"{unit.__name__}.{raw}"
                ends = (1 - ONE_DEVIATION, ONE_DEVIATION) if name.startswith(NORMAL) and name != "NLRL.A" else (0, 1)
                found[name] = start(torch.tensor(ends, dtype=torch.float64), FAN).tolist()
    assert set(found) == set(STARTS)
    for name, ends in found.items():
        assert ends == pytest.approx(STARTS[name], abs=2e-6), name


SIGNS, SELECTION = (-1, 0, 1), (0, 1)
GRIDS = {
    **{f"{unit}.W": SIGNS for unit in ("NAC", "MulNAC", "NALU", "GNALU", "INAC", "IMNAC", "NAU", "NRU")},
    **{f"{unit}.W": SIGNS for unit in ("SeparateSignNRU", "NPU", "RealNPU")},
    **{f"{unit}.W": SELECTION for unit in ("NMU", "SNMU", "MulNACLinear", "MulNACSigmoid", "NMRU", "ScaledNMU")},
    **{f"{unit}.g": SELECTION for unit in ("NPU", "RealNPU", *MODIFIED, "INALU", "MixedNAUNMU", "MixedNAURealNPU")},
    **{f"{unit}.{weight}": SELECTION for unit in SELECTORS for weight in ("choice", "certain")},
    "FrozenSelector.mask": SELECTION,
    **{f"FormulaLayer.{weight}": SIGNS for weight in "WPc"},
    "FormulaLayer.e": (-1, 1),
    **{f"NLRL.{gate}": SELECTION for gate in "nAs"},
    **{f"NSR.{selector}": SELECTION for selector in ("V1", "V2")},
    "StochasticGateNMU.mu": SELECTION,
    **{f"{unit}.W": (-1, 1) for unit in MODIFIED},
    **{f"{unit}.W": SIGNS for unit in ("HillSum", "HillPower")},
    **{"HillCircle.s": (-1, 1), "HillCircle.p": SIGNS, "HillAngles.s": SELECTION, "HillAngles.d": SELECTION},
    "NPU.W_im": (0,),
    "ProductUnit.W": (-2, -1, 0, 1, 2),
}
PROJECTED = {
    **{f"{unit}.W": (-1, 1) for unit in ("NAU", "NRU", "SeparateSignNRU", *MODIFIED)},
    **{f"{unit}.W": (0, 1) for unit in ("NMU", "SNMU", "MulNACLinear", "NMRU", "ScaledNMU")},
    **{f"{unit}.g": (0, 1) for unit in MODIFIED},
    **{f"FormulaLayer.{weight}": (-1, 1) for weight in "WPce"},
    "NLRL.A": (0, 1),
}
CLAMPED = {"NAU.W": (-1, 1), **{f"{u}.g": (0, 1) for u in ("NPU", "RealNPU", *MODIFIED)}}
CLAMPED["StochasticGateNMU.mu"] = (0, 1)


def test_weights_end_and_stay_where_the_papers_say() -> None:
    declared = {f"{unit.__name__}.{name}": w for unit in catalogue().values() for name, w in unit.declared.items()}
    assert {name: w.grid for name, w in declared.items() if w.grid} == GRIDS
    assert {name: w.projection for name, w in declared.items() if w.projection} == PROJECTED
    assert {name: w.box for name, w in declared.items() if w.keep in ("both", "clamp")} == CLAMPED


def test_weights_of_an_option_start_end_and_stay_where_the_papers_say() -> None:
    unit = nalm.NMRU(2, 1, gate=True)
    assert unit.value("g").tolist() == [0.5] * 4
    gate = unit.weights["g"]
    assert (gate.grid, gate.projection, gate.counts) == ((0, 1), (0, 1), False)
    learned = catalogue()["ScaledNMU"](2, 1, learn=True)
    assert {name: learned.value(name).tolist() for name in ("a_in", "b_in", "a_out", "b_out")} == {
        "a_in": [1, 1],
        "b_in": [0, 0],
        "a_out": [1],
        "b_out": [0],
    }


REGISTER = {"scale": 1.0, "redundancy": 1}
OPTIONS = {
    **{unit: {"spread": 0.0} for unit in HILL},
    **dict.fromkeys(("NSR", "NSRChoice", "RecurrentNSR", "NSRCount"), REGISTER),
    **{unit: {"steps": 2} for unit in SELECTORS},
    "Dense": {"activation": "tanh"},
    "MLP": {"hidden": (100,), "activation": "relu"},
    "NRU": {"scale": 1000.0},
    "NMRU": {"sign": True, "gate": False},
    "FormulaLayer": {"terms": 2, "factors": 3},
    "NALU": {"shared": True},
    "NLRL": {"block": "both"},
    "ScaledNMU": {"before": (0, 1), "after": (0, 1), "learn": False},
    "SNMU": {"noise": (1.0, 5.0)},
}


def test_options_are_by_default_what_the_papers_use() -> None:
    found = {name: {key: option.default for key, option in unit.options.items()} for name, unit in catalogue().items()}
    assert {name: options for name, options in found.items() if options} == OPTIONS
