"""`device=` and `dtype=` as for `torch.nn.Linear`, inputs of other kinds, and devices without float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

import nalm
from nalm.core.uniforms import seeds_of
from tests.units.catalogue import ANGLES, STACKS, UNITS, linear

every_unit = pytest.mark.parametrize("cls", UNITS, ids=lambda cls: cls.__name__)


@every_unit
def test_dtype(cls: type[nalm.Unit]) -> None:
    inputs = ANGLES.get(cls.__name__, 3)
    unit, later = cls(inputs, 2, seed=1, dtype=torch.float64), cls(inputs, 2, seed=1).double()
    assert {p.dtype for p in unit.parameters()} == {torch.float64}
    for a, b in zip(unit.parameters(), later.parameters(), strict=True):
        assert torch.equal(a, b)
    with pytest.raises(ValueError, match=rf"{cls.__name__}: dtype is torch\.int64; it needs floating point"):
        cls(inputs, 2, dtype=torch.int64)


class _WithoutFloat64(TorchDispatchMode):
    """Fails when a tensor of float64 appears off the CPU: "meta" stands for MPS, which has none."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        for leaf in tree_leaves(result):
            assert not (isinstance(leaf, Tensor) and leaf.device.type == "meta" and leaf.dtype == torch.float64)
        return result


@every_unit
def test_weights_start_on_a_device_without_float64(cls: type[nalm.Unit]) -> None:
    inputs = ANGLES.get(cls.__name__, 3)
    with _WithoutFloat64():
        assert {p.device.type for p in cls(inputs, 2, device="meta").parameters()} == {"meta"}
        with torch.device("meta"):
            unit = cls(inputs, 2, seed=1)
    assert {p.device.type for p in unit.parameters()} == {"meta"}


def test_seeds_stay_on_the_cpu_whatever_the_default_device() -> None:
    with torch.device("meta"):
        for seed in (None, 3, [1, 2]):
            assert seeds_of(seed, (2,)).device.type == "cpu"


def test_a_gate_lives_where_its_units_do() -> None:
    for container in (nalm.Gated, nalm.InputGated):
        halves = nalm.NAU(3, 2, dtype=torch.float64), nalm.NMU(3, 2, dtype=torch.float64)
        assert {p.dtype for p in container(*halves).parameters()} == {torch.float64}
    assert nalm.Foreign(linear, 3, 2, dtype=torch.float64).weight.dtype == torch.float64


def test_a_number_of_runs() -> None:
    assert nalm.NMU(3, 2, 5).runs == (5,)
    assert nalm.NMU(3, 2, runs=5)(torch.ones(7, 3)).shape == (5, 7, 2)
    with pytest.raises(ValueError, match=r"NMU: runs is -1; it needs a number of copies, or the sizes"):
        nalm.NMU(3, 2, runs=-1)
    with pytest.raises(ValueError, match=r"NMU: runs is \(2, 0\.5\)"):
        nalm.NMU(3, 2, runs=(2, 0.5))  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["Chain", "Foreign", "Fold"])
def test_other_inputs_than_tensors(name: str) -> None:
    unit = STACKS[name]()
    with pytest.raises(TypeError, match=r"got a numpy\.ndarray; it needs a tensor\. Convert with torch\.as_tensor"):
        unit(np.ones((5, 3), np.float32))
    with pytest.raises(TypeError, match=r"got a builtins\.list"):
        unit([[1.0, 2.0, 3.0]])


def test_the_residual_takes_any_input_whatever_the_precision_of_the_model() -> None:
    expression = nalm.read(nalm.NAU(2, 1, seed=0))
    for x in (np.ones((4, 2)), torch.ones(4, 2), torch.ones(4, 2, dtype=torch.float64), [[1.0, 2.0]]):
        assert expression.residual(x) < 1e-6
    assert expression.torch()(torch.ones(4, 2, dtype=torch.float64)).dtype == torch.float64
