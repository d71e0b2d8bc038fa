"""Equations and penalties as printed in the papers, worked out by hand here."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import pytest
import torch

import nalm
from nalm.core.uniforms import supplied
from nalm.units import baselines
from tests.units.by_hand import F64, close, put, row, sigmoid

# -- worked examples ----------------------------------------------------------------------------------------------


def test_worked_example_of_the_nalu_paths() -> None:
    raw = {"W_hat": [40, -40, 0], "W_gate": [40, 40, 40]}  # W = (1, -1, 0)
    x = row(2, 3, 4)
    close(put(nalm.NAC(3, 1), **raw)(x), row(-1))
    close(put(nalm.MulNAC(3, 1), **raw)(x), row(2 / 3), rtol=1e-6)  # epsilon 1e-7


def test_two_weights_of_an_nmu_that_multiply_by_accident() -> None:
    x = row(-2, -1.8)
    close(put(nalm.NMU(2, 1), W=[-1 / 6, -1 / 2])(x), row(3.6))
    close(put(nalm.NMU(2, 1), W=[1, 1])(x), row(3.6))


@pytest.mark.parametrize("sign", [1, -1])
def test_four_rectifiers_add_and_subtract_exactly(sign: int) -> None:
    mlp = baselines.MLP(2, 1, hidden=(4,)).double()
    put(mlp.layers[0], W=[[1, 0], [-1, 0], [0, 1], [0, -1]], b=[0] * 4)
    put(mlp.layers[1], W=[1, -1, sign, -sign], b=[0])
    x = torch.randn(50, 2, dtype=F64)
    close(mlp(x), x[:, :1] + sign * x[:, 1:])


@pytest.mark.parametrize(
    ("unit", "weights", "expected"),
    [
        (nalm.NMRU(1, 1), {"W": [0, 1]}, lambda x: 1 / x[:, :1]),
        (nalm.NMRU(2, 1), {"W": [0, 0, 1, 0]}, lambda x: 1 / x[:, :1]),
        (nalm.NMRU(2, 1), {"W": [1, 0, 0, 1]}, lambda x: x[:, :1] / x[:, 1:]),
        (nalm.NRU(2, 1), {"W": [1, -1]}, lambda x: x[:, :1] / x[:, 1:]),
        (nalm.SeparateSignNRU(2, 1), {"W": [1, -1]}, lambda x: x[:, :1] / x[:, 1:]),
        (nalm.ProductUnit(2, 1), {"W": [2, -1]}, lambda x: x[:, :1] ** 2 / x[:, 1:]),
        (nalm.RealNPU(2, 1), {"W": [1, -1], "g": [1, 1]}, lambda x: x[:, :1] / x[:, 1:]),
        (nalm.RealNPU(2, 1), {"W": [1, -1], "g": [1, 0]}, lambda x: x[:, :1]),
        (nalm.NPU(2, 1), {"W": [1, 1], "W_im": [0, 0], "g": [1, 1]}, lambda x: x.prod(-1, keepdim=True)),
        (nalm.IMNAC(2, 1), {"W_hat": [40, -40], "W_gate": [40, 40]}, lambda x: x[:, :1] / x[:, 1:]),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, nalm.Unit) else "",
)
def test_golden_weights_compute_the_operation_with_its_sign(unit, weights, expected) -> None:  # type: ignore[no-untyped-def]
    x = torch.tensor([[2.0, 4.0], [-3.0, 5.0], [3.0, -5.0], [-1.5, -0.5]], dtype=F64)[:, : unit.in_features]
    close(put(unit, **weights).eval()(x), expected(x), rtol=1e-6)


# -- equations at generic points ----------------------------------------------------------------------------------


def test_nalu() -> None:
    unit = put(nalm.NALU(2, 1), W_hat=[0.3, -0.7], W_gate=[0.2, 1.1], G=[0.5, -0.4])
    x = (1.7, -2.5)
    w = [math.tanh(0.3) * sigmoid(0.2), math.tanh(-0.7) * sigmoid(1.1)]
    gate = sigmoid(0.5 * x[0] - 0.4 * x[1])
    product = math.exp(sum(v * math.log(abs(a) + 1e-7) for v, a in zip(w, x, strict=True)))
    close(unit(row(*x)), row(gate * (w[0] * x[0] + w[1] * x[1]) + (1 - gate) * product))


def test_golden_nalu_uses_the_golden_ratio_everywhere() -> None:
    phi = (1 + math.sqrt(5)) / 2
    unit = put(nalm.GNALU(2, 1), W_hat=[0.3, -0.7], W_gate=[0.2, 1.1], G=[0.5, -0.4])
    x = (1.7, 2.5)

    def tanh(v: float) -> float:
        return (phi ** (2 * v) - 1) / (phi ** (2 * v) + 1)

    def squash(v: float) -> float:
        return 1 / (1 + phi**-v)

    w = [tanh(0.3) * squash(0.2), tanh(-0.7) * squash(1.1)]
    gate = squash(0.5 * x[0] - 0.4 * x[1])
    product = phi ** (sum(v * math.log(a + 1e-7) for v, a in zip(w, x, strict=True)) / math.log(phi))
    close(unit(row(*x)), row(gate * (w[0] * x[0] + w[1] * x[1]) + (1 - gate) * product))


def test_inalu() -> None:
    unit = put(nalm.INALU(2, 1), g_hat=[0.4])
    put(unit.add, W_hat=[0.9, -0.2], W_gate=[0.1, 0.6])
    put(unit.multiply, W_hat=[0.5, -1.2], W_gate=[0.3, 0.8])
    x = (-2.0, 3.0)
    wa = [math.tanh(0.9) * sigmoid(0.1), math.tanh(-0.2) * sigmoid(0.6)]
    wm = [math.tanh(0.5) * sigmoid(0.3), math.tanh(-1.2) * sigmoid(0.8)]
    size = math.exp(sum(w * math.log(abs(a)) for w, a in zip(wm, x, strict=True)))
    signs = (1 - 2 * abs(wm[0])) * 1.0  # sign(-2)|w| + 1 - |w|, and 1 for the positive input
    gate = sigmoid(0.4)
    close(unit(row(*x)), row(gate * (wa[0] * x[0] + wa[1] * x[1]) + (1 - gate) * size * signs))


def test_the_inalu_cuts_the_exponent_at_twenty_and_the_input_at_its_epsilon() -> None:
    unit = put(nalm.IMNAC(2, 1), W_hat=[40, 40], W_gate=[40, 40])
    close(unit(row(1e8, 1e8)), row(math.exp(20)))
    single = put(nalm.IMNAC(1, 1), W_hat=[-40], W_gate=[40])
    close(single(row(1e-9)), row(1e7))  # max(|x|, 1e-7), not |x| + 1e-7


def test_npu_with_imaginary_weights() -> None:
    unit = put(nalm.NPU(2, 1), W=[0.7, -0.4], W_im=[0.2, 0.3], g=[0.6, 1.4])
    x, g = (-1.5, 2.0), (0.6, 1.0)  # the gate is clamped to 1
    eps = 1.1920929e-07
    logs = [math.log(gi * (abs(a) + eps) + 1 - gi) for a, gi in zip(x, g, strict=True)]
    k = [gi * math.pi * (a < 0) for a, gi in zip(x, g, strict=True)]
    size = math.exp(0.7 * logs[0] - 0.4 * logs[1] - 0.2 * k[0] - 0.3 * k[1])
    angle = 0.7 * k[0] - 0.4 * k[1] + 0.2 * logs[0] + 0.3 * logs[1]
    close(unit(row(*x)), row(size * math.cos(angle)), rtol=1e-9)


def test_nru_in_training_and_in_use() -> None:
    x, w = (-2.0, 0.5), (0.0004, -0.3)
    unit = put(nalm.NRU(2, 1), W=list(w))

    def output(on: Sequence[float]) -> float:
        return math.prod(math.copysign(abs(a) ** v, a) * s + 1 - s for a, v, s in zip(x, w, on, strict=True))

    close(unit.train()(row(*x)), row(output([math.tanh(1000 * v) ** 2 for v in w])))
    close(unit.eval()(row(*x)), row(output([abs(v) for v in w])))


def test_nmru_shifts_the_reciprocal_in_training_only() -> None:
    unit = put(nalm.NMRU(1, 1), W=[0, 1])
    eps = 1.1920929e-07
    close(unit.train()(row(1e-6)), row(1 / (1e-6 + eps)), rtol=1e-9)
    close(unit.eval()(row(1e-6)), row(1e6))


def test_nmru_between_the_ends() -> None:
    unit = put(nalm.NMRU(2, 1), W=[0.3, 0.9, 0.2, 0.6]).eval()
    u = (-2.0, 4.0, -0.5, 0.25)
    w = (0.3, 0.9, 0.2, 0.6)
    size = math.prod(abs(a) * v + 1 - v for a, v in zip(u, w, strict=True))
    close(unit(row(-2, 4)), row(size * math.cos(math.pi * (0.3 + 0.2))))
    unsigned = put(nalm.NMRU(2, 1, sign=False), W=list(w)).eval()
    close(unsigned(row(-2, 4)), row(math.prod(a * v + 1 - v for a, v in zip(u, w, strict=True))))


@pytest.mark.parametrize(("block", "gate"), [("both", 0), ("both", 1), ("and", 0), ("and", 1), ("or", 0), ("or", 1)])
def test_logic_rules_are_truth_tables(block: str, gate: int) -> None:
    unit = nalm.NLRL(2, 1, block=block)  # type: ignore[arg-type]
    put(unit, n_hat=[-40, 40], A=[1, 1], s_hat=[80 * gate - 40])  # literals a and not b
    expected = {
        ("both", 0): lambda a, b: a and not b,
        ("both", 1): lambda a, b: a or not b,
        ("and", 0): lambda a, b: a and not b,
        ("and", 1): lambda a, b: not (a and not b),
        ("or", 0): lambda a, b: a or not b,
        ("or", 1): lambda a, b: not (a or not b),
    }[block, gate]
    for a in (0, 1):
        for b in (0, 1):
            assert unit(row(a, b)).item() == pytest.approx(float(expected(a, b)), abs=1e-6)


def test_status_register_compares() -> None:
    unit = nalm.NSR(2, 2, scale=10.0)
    put(unit, V1_hat=[40, -40], V2_hat=[-40, 40], w_sign=[30], w_zero=[0], b=[0])  # a > b
    y = unit(torch.tensor([[3.0, 1.0], [1.0, 3.0]], dtype=F64))
    close(y.round(), torch.tensor([[1.0, 0.0], [0.0, 1.0]], dtype=F64))
    put(unit, w_sign=[0], w_zero=[30], b=[0])  # a == b
    y = unit(torch.tensor([[2.0, 2.0], [1.0, 3.0]], dtype=F64))
    close(y.round(), torch.tensor([[1.0, 0.0], [0.0, 1.0]], dtype=F64))


def test_stochastic_gates_are_clipped_gaussians_and_penalised_by_their_chance_to_be_open() -> None:
    unit = put(nalm.StochasticGateNMU(2, 1), mu=[0.4, 0.9])
    x = row(2, 3)
    with supplied(lambda shape: torch.full(shape, 0.5)):  # the median: no noise
        close(unit.train()(x), row(1.4 * 2.8), rtol=1e-6)
    with supplied(lambda shape: torch.full(shape, 0.975)):  # 1.96 deviations of 0.5 open both gates
        close(unit.train()(x), row(6.0), rtol=1e-6)
    close(unit.eval()(x), row(1.4 * 2.8))
    phi = [0.5 * (1 + math.erf(mu / 0.5 / math.sqrt(2))) for mu in (0.4, 0.9)]
    close(unit.penalties()["open_gates"], sum(phi))
    put(unit, mu=[-0.4, 1.9])  # outside the box the penalty still pulls
    (gradient,) = torch.autograd.grad(unit.penalties()["open_gates"], list(unit.parameters()))
    assert bool((gradient > 0).all())


# -- penalties ----------------------------------------------------------------------------------------------------


def test_penalties_by_hand() -> None:
    close(put(nalm.NAU(2, 1), W=[-0.9, 0.3]).penalty(), (0.1 + 0.3) / 2)
    close(put(nalm.NMU(2, 1), W=[0.9, 0.3]).penalty(), (0.1 + 0.3) / 2)
    close(put(nalm.NAU(2, 1), W=[1.2, 0.0]).penalty(), 0.1)  # the outer absolute value: outside the box it grows
    modified = put(nalm.ModifiedRealNPU(2, 1), W=[0.2, -0.9], g=[0.25, 1.0])
    close(modified.penalty(), (0.8 + 0.1) / 2 + 0.125)  # W is pulled to -1 and 1 only
    close(modified.penalties()["l1"], 0.2 + 0.9 + 0.25 + 1.0)  # a sum, not a mean
    npu = put(nalm.NPU(2, 1), W=[0.2, -0.9], W_im=[0.1, 0.0], g=[0.5, 1.5])
    close(npu.penalties()["l1"], 0.2 + 0.9 + 0.1 + 0.5 + 1.5)
    inac = put(nalm.INAC(2, 1), W_hat=[3.0, -25.0], W_gate=[0.0, 19.0])
    close(inac.penalties()["saturate"], (17 + 0) / 2 + (20 + 1) / 2)
    gated = put(nalm.NMRU(1, 1, gate=True), W=[0.9, 0.0], g=[0.5, 1.0])
    close(gated.penalties()["to_grid"], 0.05)
    close(gated.penalties()["gates_to_grid"], 0.25)


def test_sparsity_error_by_hand() -> None:
    close(put(nalm.NAU(2, 1), W=[-0.9, 0.3]).sparsity(), 0.3)
    inalu = put(nalm.INALU(1, 1))
    put(inalu.add, W_hat=[40], W_gate=[40])
    put(inalu.multiply, W_hat=[40], W_gate=[0])
    close(inalu.sparsity(), 0.25)  # the mean of both paths, the gate does not count
    npu = put(nalm.NPU(1, 1), W=[0.8], W_im=[0.1], g=[0.5])
    close(npu.sparsity(), (0.2 + 0.1) / 2)
    # -1, 0 and 1 count for every weight, wherever it is pulled
    close(put(nalm.NPU(1, 1), W=[1.0], W_im=[0.7], g=[1.0]).sparsity(), 0.3 / 2)
    close(put(nalm.ModifiedRealNPU(3, 1), W=[-0.1, 0.2, 0.95], g=[0.0, 0.0, 1.0]).sparsity(), 0.2)
    halves = nalm.NAU(3, 1, weights={"W": replace(nalm.NAU.W, grid=(-0.5, 0.5))})
    close(put(halves, W=[-0.45, -0.1, -1.0]).sparsity(), 0.1)
    chain = nalm.Chain(put(nalm.NAU(1, 1), W=[0.9]), put(nalm.NMU(1, 1), W=[0.7]))
    close(chain.sparsity(), 0.3)
