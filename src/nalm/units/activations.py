"""The activations that perceptrons are tried with, on tensors and on scalars (the same functions, written twice)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch.nn.functional as F
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


ACTIVATIONS: dict[str, Activation] = {
    "relu": Activation(F.relu, relu),
    "sigmoid": Activation(F.sigmoid, sigmoid),
    "tanh": Activation(F.tanh, tanh),
    "relu6": Activation(F.relu6, lambda x: relu(x, 6.0)),
    "leaky relu": Activation(F.leaky_relu, lambda x: relu(x) - LEAK * relu(-x)),
    "elu": Activation(F.elu, lambda x: relu(x) + _below(x)),
    "selu": Activation(F.selu, lambda x: SELU_SCALE * (relu(x) + SELU_SLOPE * _below(x))),
    "swish": Activation(F.silu, lambda x: x * sigmoid(x)),
    "hard tanh": Activation(F.hardtanh, lambda x: relu(x + 1, 2.0) - 1),
    "tanh shrink": Activation(F.tanhshrink, lambda x: x - tanh(x)),
    "hard shrink": Activation(F.hardshrink, lambda x: x * negative(SHRINK - abs(x))),
    "soft shrink": Activation(F.softshrink, lambda x: relu(x - SHRINK) - relu(-x - SHRINK)),
    "softsign": Activation(F.softsign, lambda x: x / (1 + abs(x))),
    "softplus": Activation(F.softplus, lambda x: log(1 + exp(x))),
}
