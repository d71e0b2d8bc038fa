"""Options are declared in the class body: no unit writes a constructor, and wrong values are named."""

from __future__ import annotations

import inspect
import pickle

import pytest
import torch

import nalm
from nalm.core.option import Option, positive, switch
from nalm.core.unit import Unit
from nalm.units import catalogue


@pytest.mark.parametrize("unit", catalogue().values(), ids=catalogue().keys())
def test_every_unit_has_the_common_constructor(unit: type[Unit]) -> None:
    assert unit.__init__ is Unit.__init__
    names = list(inspect.signature(unit).parameters)
    assert names[:7] == ["in_features", "out_features", "runs", "seed", "weights", "device", "dtype"]
    assert names[7:] == list(unit.options)


def test_defaults_given_values_and_the_class_itself() -> None:
    assert nalm.NRU(2, 1).scale == 1000.0
    unit = nalm.NRU(2, 1, scale=10.0)
    assert unit.scale == 10.0
    assert pickle.loads(pickle.dumps(unit)).scale == 10.0
    assert isinstance(nalm.NRU.scale, Option)
    assert nalm.NRU.scale.default == 1000.0
    assert str(unit) == "NRU(2, 1, scale=10.0)"
    assert str(nalm.NRU(2, 1)) == "NRU(2, 1)"


def test_a_subclass_inherits_options_and_may_add_its_own() -> None:
    class Steeper(nalm.NRU):
        scale = positive(5000.0, "steeper")
        twice = switch(False, "twice")

    assert list(Steeper.options) == ["scale", "twice"]
    assert Steeper(2, 1).scale == 5000.0
    assert not Steeper(2, 1).twice
    assert nalm.NRU(2, 1).scale == 1000.0


@pytest.mark.parametrize(
    ("unit", "options", "message"),
    [
        (nalm.NRU, {"scale": 0.0}, r"NRU: scale is 0\.0; it needs a finite number above 0"),
        (nalm.NRU, {"scale": True}, r"NRU: scale is True"),
        (nalm.NMRU, {"sign": 1}, r"NMRU: sign is 1; it needs True or False"),
        (nalm.NSR, {"redundancy": 0}, r"NSR: redundancy is 0; it needs a whole number of at least 1"),
        (nalm.NSR, {"scale": -1.0}, r"NSR: scale is -1\.0"),
        (nalm.SNMU, {"noise": (0.0, 1.0)}, "0 < low < high"),
        (nalm.SNMU, {"noise": (1.0, 2.0, 3.0)}, "0 < low < high"),
        (nalm.baselines.MLP, {"hidden": 8}, "MLP: hidden is 8; it needs a list of whole numbers of at least 1"),
        (nalm.baselines.MLP, {"hidden": (8, 0)}, r"hidden is \(8, 0\)"),
        (nalm.NLRL, {"block": "xor"}, "block is 'xor'; it needs 'both', 'and' or 'or'"),
        (catalogue()["ScaledNMU"], {"before": (1, 0)}, r"before is \(1, 0\); it needs \(centre, spread\)"),
        (catalogue()["ScaledNMU"], {"after": (1, 2, 3)}, r"after is \(1, 2, 3\)"),
    ],
)
def test_wrong_values_are_named(unit: type[Unit], options: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        unit(2, 2, **options)


def test_unknown_options_are_named_with_the_known_ones() -> None:
    with pytest.raises(TypeError, match=r"NMRU has no option 'sgin'; its options: sign, gate\."):
        nalm.NMRU(2, 1, sgin=False)
    with pytest.raises(TypeError, match=r"NMU has no option 'scale'; its options: none\."):
        nalm.NMU(2, 1, scale=1.0)


def test_weights_of_an_option_exist_only_with_it() -> None:
    assert set(nalm.NALU(2, 1).weights) == {"W", "G"}
    assert set(nalm.NALU(2, 1, shared=False).weights) == {"W", "G", "W_mul"}
    assert set(nalm.NMRU(2, 1, gate=True).weights) == {"W", "g"}


def test_a_weight_given_to_the_inalu_goes_to_both_halves() -> None:
    from dataclasses import replace

    from nalm.core.start import constant

    unit = nalm.INALU(2, 1, weights={"W": replace(nalm.INAC.W, start=(constant(1.0), constant(-1.0)))})
    for half in (unit.add, unit.multiply):
        assert torch.equal(half.W_hat, torch.ones(1, 2))
        assert torch.equal(half.W_gate, -torch.ones(1, 2))
    assert set(unit.weights) == {"g"}
