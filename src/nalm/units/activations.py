"""The activations that perceptrons are tried with, on tensors and on scalars (the same functions, written twice)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from nalm.core.scalar import Scalar, exp, log, negative, relu, sigmoid, tanh

SELU_SCALE, SELU_SLOPE = 1.0507009873554805, 1.6732632423543772  # Klambauer et al. 2017
SHRINK = 0.5  # PyTorch's default of both shrinking functions
LEAK = 0.01  # PyTorch's default slope of a leaky rectifier


@dataclass(frozen=True)
class Activation:
    """One function of one number."""

    tensor: Callable[[Tensor], Tensor]
    scalar: Callable[[Scalar], Scalar]


def _below(x: Scalar) -> Scalar:
    """exp(x) - 1 where x < 0, else 0."""
    return exp(-relu(-x)) - 1


def _elu(x: Tensor) -> Tensor:
    return torch.relu(x) + (torch.exp(x.clamp(max=0)) - 1)


def _hard_shrink(x: Tensor) -> Tensor:
    return torch.where(x.abs() > SHRINK, x, 0.0)


# Written with the elementary operations that the native engine knows.
ACTIVATIONS: dict[str, Activation] = {
    "relu": Activation(torch.relu, relu),
    "sigmoid": Activation(torch.sigmoid, sigmoid),
    "tanh": Activation(torch.tanh, tanh),
    "relu6": Activation(lambda x: x.clamp(0, 6), lambda x: relu(x, 6.0)),
    "leaky relu": Activation(lambda x: torch.where(x < 0, LEAK * x, x), lambda x: relu(x) - LEAK * relu(-x)),
    "elu": Activation(_elu, lambda x: relu(x) + _below(x)),
    "selu": Activation(
        lambda x: SELU_SCALE * (torch.relu(x) + SELU_SLOPE * (torch.exp(x.clamp(max=0)) - 1)),
        lambda x: SELU_SCALE * (relu(x) + SELU_SLOPE * _below(x)),
    ),
    "swish": Activation(lambda x: x * torch.sigmoid(x), lambda x: x * sigmoid(x)),
    "hard tanh": Activation(lambda x: x.clamp(-1, 1), lambda x: relu(x + 1, 2.0) - 1),
    "tanh shrink": Activation(lambda x: x - torch.tanh(x), lambda x: x - tanh(x)),
    "hard shrink": Activation(_hard_shrink, lambda x: x * negative(SHRINK - abs(x))),
    "soft shrink": Activation(
        lambda x: torch.relu(x - SHRINK) - torch.relu(-x - SHRINK), lambda x: relu(x - SHRINK) - relu(-x - SHRINK)
    ),
    "softsign": Activation(lambda x: x / (1 + x.abs()), lambda x: x / (1 + abs(x))),
    "softplus": Activation(lambda x: torch.relu(x) + torch.log1p(torch.exp(-x.abs())), lambda x: log(1 + exp(x))),
}
