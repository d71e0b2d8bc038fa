"""Hill Space as published: snapping, golden weights, starts, and the angles."""

from __future__ import annotations

import math

import pytest
import torch

import nalm
from nalm.units.hillspace import HILL
from tests.units.by_hand import F64, close, put, row


def test_the_snap_gives_exact_limits_and_stops_the_gradient() -> None:
    w = torch.tensor([0.3, 7.0, 8.0, -7.0, -8.0], dtype=F64, requires_grad=True)  # tanh(7.25) is 1 - 1e-6
    value = HILL.value(w, torch.full((5,), 40.0, dtype=F64))
    close(value, torch.tensor([math.tanh(0.3), math.tanh(7), 1, -math.tanh(7), -1], dtype=F64), rtol=1e-15)
    value.sum().backward()
    assert [bool(g) for g in w.grad] == [True, True, False, True, False]  # type: ignore[union-attr]
    m = torch.tensor([13.0, 14.0, -13.0, -14.0], dtype=F64, requires_grad=True)  # sigmoid(13.82) is 1 - 1e-6
    size = HILL.value(torch.full((4,), 40.0, dtype=F64), m)
    assert size[1] == 1
    assert size[3] == 0
    assert 0 < size[2] < 3e-6
    assert 1 - 3e-6 < size[0] < 1
    size.sum().backward()
    assert [bool(g) for g in m.grad] == [True, False, True, False]  # type: ignore[union-attr]


def golden(unit: nalm.Unit, **values: float | list[float]) -> nalm.Unit:
    """Raw parameters that give these weights."""
    raw = {}
    for name, value in values.items():
        numbers = value if isinstance(value, list) else [value]
        raw |= {f"{name}_hat": [40.0 * v for v in numbers], f"{name}_gate": [40.0] * len(numbers)}
    return put(unit, **raw)


def test_sum_and_power() -> None:
    x = torch.tensor([[2.0, 4.0], [-3.0, 5.0], [3.0, -5.0], [-1.5, -0.5]], dtype=F64)
    close(golden(nalm.HillSum(2, 1), W=[1, -1])(x), x[:, :1] - x[:, 1:])
    close(golden(nalm.HillPower(2, 1), W=[1, 1])(x), x[:, :1] * x[:, 1:])
    close(golden(nalm.HillPower(2, 1), W=[1, -1])(x), x[:, :1] / x[:, 1:])
    close(golden(nalm.HillPower(2, 1), W=[0, -1])(x), 1 / x[:, 1:])


def test_a_power_is_the_real_part_of_the_complex_one() -> None:
    unit = put(nalm.HillPower(2, 1), W_hat=[0.4, -0.9], W_gate=[0.3, 1.2])
    w = unit.W[0].tolist()
    for a, b in ((-2.0, 3.0), (-0.5, -1.5), (2.0, -4.0)):
        close(unit(row(a, b)), row((complex(a) ** w[0] * complex(b) ** w[1]).real))


@pytest.mark.parametrize(
    ("s", "p", "function"),
    [(1, 0, math.cos), (-1, 0, math.sin), (1, 1, lambda t: -math.cos(t)), (-1, -1, lambda t: -math.sin(t))],
)
def test_the_circle(s: int, p: int, function) -> None:  # type: ignore[no-untyped-def]
    unit = golden(nalm.HillCircle(1, 1), s=s, p=p)
    for t in (0.3, -2.0, 5.0):
        close(unit(row(t)), row(function(t)))
    assert str(nalm.read(unit, ["t"])) in ("cos(t)", "sin(t)", "-cos(t)", "-sin(t)")


@pytest.mark.parametrize(
    ("s", "d", "text"), [(1, 1, "cos(t - u)"), (1, 0, "cos(t + u)"), (0, 1, "sin(t - u)"), (0, 0, "sin(t + u)")]
)
def test_two_angles(s: int, d: int, text: str) -> None:
    unit = golden(nalm.HillAngles(2, 1), s=s, d=d)
    expression = nalm.read(unit, ["t", "u"])
    assert str(expression) == text
    assert expression.residual(torch.randn(50, 2, dtype=F64)) < 1e-12


def test_it_starts_at_zero_or_with_a_spread() -> None:
    assert not nalm.HillPower(3, 2, seed=1).W.any()
    wide = nalm.HillSum(100, 50, seed=1, spread=3.0)
    for raw in (wide.W_hat.detach(), wide.W_gate.detach()):
        assert float(raw.std()) == pytest.approx(3.0, rel=0.05)
        assert float(raw.mean()) == pytest.approx(0.0, abs=0.15)
    with pytest.raises(ValueError, match=r"HillSum: spread is -1; it needs a finite number of at least 0"):
        nalm.HillSum(2, 1, spread=-1)


def test_angles_come_alone_or_in_pairs() -> None:
    with pytest.raises(ValueError, match=r"HillCircle: in_features is 2; it needs 1"):
        nalm.HillCircle(2, 1)
    with pytest.raises(ValueError, match=r"HillAngles: in_features is 3; it needs 2"):
        nalm.HillAngles(3, 1)
