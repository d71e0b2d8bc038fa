"""Gradients as printed in the papers, worked out by hand here."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from torch import Tensor

import nalm
from nalm.core.uniforms import supplied
from tests.units.by_hand import F64, close, put, row, sigmoid

# -- gradients ----------------------------------------------------------------------------------------------------


def test_gradients_of_the_multiplicative_nac() -> None:
    unit = put(nalm.MulNACLinear(2, 1), W=[0.3, 0.8])
    x = row(-1.5, 2.5).requires_grad_()
    z = unit(x)
    z.backward()
    w = torch.tensor([[0.3, 0.8]], dtype=F64)
    close(unit._parameters["W"].grad, z.detach() * torch.log(x.abs() + 1e-7).detach())  # type: ignore[union-attr]
    close(x.grad, z.detach() * w * torch.sign(x).detach() / (x.abs() + 1e-7).detach())  # type: ignore[arg-type]


def test_gradients_of_the_nac_weight() -> None:
    unit = put(nalm.NAC(1, 1), W_hat=[0.6], W_gate=[-0.3])
    unit.W.sum().backward()
    s = sigmoid(-0.3)
    close(unit.W_hat.grad, [[(1 - math.tanh(0.6) ** 2) * s]])  # type: ignore[union-attr]
    close(unit.W_gate.grad, [[math.tanh(0.6) * s * (1 - s)]])  # type: ignore[union-attr]


def nmu_factors(w: Tensor, x: Tensor) -> Tensor:
    return w * x + 1 - w


def others(factors: Tensor, left_out: int) -> Tensor:
    keep = [i for i in range(factors.shape[-1]) if i != left_out]
    return factors[..., keep].prod(-1)


def test_gradients_of_the_nmu_also_at_exact_zeros() -> None:
    w = torch.tensor([1.0, 0.4, 1.0], dtype=F64)
    for values in ((1.5, -2.0, 3.0), (0.0, -2.0, 3.0), (0.0, -2.0, 0.0)):
        unit = put(nalm.NMU(3, 1), W=w.tolist())
        x = row(*values).requires_grad_()
        unit(x).backward()
        factors = nmu_factors(w, x.detach()[0])
        for i in range(3):
            close(x.grad[0, i], w[i] * others(factors, i))  # type: ignore[index]
            close(unit._parameters["W"].grad[0, i], (values[i] - 1) * others(factors, i))  # type: ignore[index,union-attr]


def test_gradients_of_a_sum_layer_under_a_product_layer() -> None:
    a, m = torch.rand(3, 2, dtype=F64) - 0.5, torch.rand(2, dtype=F64)
    chain = nalm.Chain(put(nalm.NAU(3, 2), W=a.T.tolist()), put(nalm.NMU(2, 1), W=m.tolist()))
    x, target = torch.randn(3, dtype=F64), 0.7
    (chain(x[None]) - target).square().sum().backward()
    h = x @ a
    factors = nmu_factors(m, h)
    error = -2 * (target - factors.prod())
    gradients = {name: p.grad for name, p in chain.named_parameters()}
    for hidden in range(2):
        rest = others(factors, hidden)
        close(gradients["layers.1.W"][0, hidden], error * (h[hidden] - 1) * rest)  # type: ignore[index]
        for i in range(3):
            close(gradients["layers.0.W"][hidden, i], error * m[hidden] * x[i] * rest)  # type: ignore[index]


def test_gradients_of_a_sum_layer_under_a_noisy_product_layer() -> None:
    a, m = torch.rand(3, 2, dtype=F64) - 0.5, torch.rand(2, dtype=F64)
    noise = torch.tensor([0.3, 0.8], dtype=F64)
    n = 1 + 4 * noise
    chain = nalm.Chain(put(nalm.NAU(3, 2), W=a.T.tolist()), put(nalm.SNMU(2, 1), W=m.tolist()))
    x, target = torch.randn(3, dtype=F64), 0.7
    with supplied(lambda shape: noise.reshape(shape)):
        y = chain(x[None])
    (y - target).square().sum().backward()
    h = x @ a
    above, below = n * m * h + 1 - m, n * m + 1 - m
    close(y, (above.prod() / below.prod()).reshape(1, 1))
    error, d = -2 * (target - above.prod() / below.prod()), below.prod()
    gradients = {name: p.grad for name, p in chain.named_parameters()}
    for hidden in range(2):
        p = others(above, hidden)
        bracket = d * (n[hidden] * h[hidden] - 1) - above[hidden] * (n[hidden] - 1) * others(below, hidden)
        close(gradients["layers.1.W"][0, hidden], error * p / d**2 * bracket)  # type: ignore[index]
        for i in range(3):
            close(gradients["layers.0.W"][hidden, i], error * p / d * m[hidden] * n[hidden] * x[i])  # type: ignore[index]


@pytest.mark.parametrize("w", [0.0003, -0.0007, 0.4])
def test_gradient_of_one_nru_factor_in_training(w: float) -> None:
    x = -2.5
    unit = put(nalm.NRU(1, 1), W=[w]).train()
    unit(row(x)).sum().backward()
    t, sech2 = math.tanh(1000 * w), 1 - math.tanh(1000 * w) ** 2
    power = math.copysign(abs(x) ** w, x)
    expected = t * (power * (t * math.log(abs(x)) + 2000 * sech2) - 2000 * sech2)
    close(unit._parameters["W"].grad, [[expected]], rtol=1e-9)  # type: ignore[union-attr]


def test_batch_noise_goes_by_the_unbiased_deviation_which_is_no_part_of_the_gradient() -> None:
    unit = put(nalm.SNMU(1, 1, noise="batch"), W=[0.4]).train()
    x = torch.tensor([[1.0], [2.0], [4.0]], dtype=F64, requires_grad=True)
    with supplied(lambda shape: torch.full(shape, 0.5, dtype=F64)):
        y = unit(x)
    y.sum().backward()
    n = 1 + 0.5 / math.sqrt(7 / 3)  # the deviations from their mean are -4/3, -1/3 and 5/3
    close(y, (0.4 * n * x + 0.6).detach() / (0.4 * n + 0.6))
    close(x.grad, torch.full((3, 1), 0.4 * n / (0.4 * n + 0.6), dtype=F64))  # type: ignore[arg-type]


def test_clamped_and_straight_through_gates() -> None:
    through = {"g": replace(nalm.NPU.g, keep="straight-through")}
    for unit, passes in ((nalm.NPU(1, 1), False), (nalm.NPU(1, 1, weights=through), True)):
        put(unit, W=[1.0], g=[1.3])
        unit(row(3)).sum().backward()
        assert bool(unit._parameters["g"].grad.any()) is passes  # type: ignore[union-attr]
        close(unit(row(3)), row(3), rtol=1e-6)
