"""Helpers for tests that work out by hand what a unit must compute."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

import nalm

F64 = torch.float64


def put(unit: nalm.Unit, **parameters: Sequence[float] | Sequence[Sequence[float]]) -> nalm.Unit:
    """Store given raw parameters in a unit, in float64."""
    unit.double()
    for name, values in parameters.items():
        raw = dict(unit.named_parameters())[name]
        raw.data = torch.tensor(values, dtype=F64).reshape(raw.shape)
    return unit


def row(*values: float) -> Tensor:
    return torch.tensor([values], dtype=F64)


def close(got: Tensor | float, expected: Tensor | float, rtol: float = 1e-12) -> None:
    torch.testing.assert_close(
        torch.as_tensor(got, dtype=F64), torch.as_tensor(expected, dtype=F64), rtol=rtol, atol=1e-12
    )


def sigmoid(v: float) -> float:
    return 1 / (1 + math.exp(-v))
