"""Every activation is the same function on tensors and on scalars."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from nalm.units.activations import ACTIVATIONS
from nalm.units.baselines import MLP, Dense, PReLU, ReLU


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_tensors_and_scalars_agree(name: str) -> None:
    x = torch.linspace(-8, 8, 161, dtype=torch.float64) + 0.013
    scalars = torch.tensor([float(ACTIVATIONS[name].scalar(v)) for v in x.tolist()], dtype=torch.float64)
    torch.testing.assert_close(ACTIVATIONS[name].tensor(x), scalars, rtol=1e-12, atol=1e-12)


TORCH = {
    "relu": F.relu,
    "sigmoid": F.sigmoid,
    "tanh": F.tanh,
    "relu6": F.relu6,
    "leaky relu": F.leaky_relu,
    "elu": F.elu,
    "selu": F.selu,
    "swish": F.silu,
    "hard tanh": F.hardtanh,
    "tanh shrink": F.tanhshrink,
    "hard shrink": F.hardshrink,
    "soft shrink": F.softshrink,
    "softsign": F.softsign,
    "softplus": F.softplus,
}


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_they_are_those_of_pytorch(name: str) -> None:
    x = (torch.linspace(-8, 8, 161, dtype=torch.float64) + 0.013).requires_grad_()
    ours, theirs = ACTIVATIONS[name].tensor(x), TORCH[name](x)
    torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=1e-12)
    slopes = [torch.autograd.grad(y.sum(), x)[0] for y in (ours, theirs)]
    torch.testing.assert_close(*slopes, rtol=1e-12, atol=1e-12)


def test_a_perceptron_of_rectifiers_is_what_it_was() -> None:
    assert [type(layer) for layer in MLP(2, 1, hidden=(3, 4)).layers[:-1]] == [ReLU, ReLU]
    assert [type(layer) for layer in MLP(2, 1, hidden=(3,), activation="elu").layers[:-1]] == [Dense]
    with pytest.raises(ValueError, match="activation is 'gelu'; it needs one of relu, sigmoid"):
        MLP(2, 1, activation="gelu")


def test_learned_slopes_are_those_of_pytorch() -> None:
    unit = PReLU(3, 4)
    slopes = torch.tensor([0.25, 0.5, -0.1, 2.0])
    with torch.no_grad():
        unit.a.copy_(slopes)
    x = torch.randn(50, 3)
    z = torch.nn.functional.linear(x, unit.W, unit.b)
    torch.testing.assert_close(unit(x), F.prelu(z, slopes))
    unit(x).sum().backward()
    torch.testing.assert_close(unit.a.grad, -torch.relu(-z).sum(0))
    assert [type(layer) for layer in MLP(2, 1, hidden=(3,), activation="prelu").layers[:-1]] == [PReLU]
