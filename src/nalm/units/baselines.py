"""What arithmetic units are compared with: dense layers, an MLP and an LSTM here, older arithmetic in `classic`.

>>> from nalm import baselines
>>> baselines.MLP(2, 1)(torch.ones(5, 2)).shape
torch.Size([5, 1])
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise

import torch
from torch import Tensor

from nalm.core.arguments import Count, need_of
from nalm.core.containers import Layers
from nalm.core.option import Option
from nalm.core.scalar import Scalar, dot, relu, sigmoid, tanh
from nalm.core.start import Fan, constant, glorot_bound, uniform_within
from nalm.core.unit import Unit
from nalm.core.weight import Weight, free
from nalm.units.activations import ACTIVATIONS
from nalm.units.classic import ProductUnit as ProductUnit
from nalm.units.classic import Quadratic as Quadratic

NAMES = f"one of {', '.join(ACTIVATIONS)}"
MADSEN = "Baseline of Madsen and Johansen, Neural Arithmetic Units, ICLR 2020"


def _he_bound(fan: Fan) -> float:
    return math.sqrt(6 / fan.inputs)


def _lstm_bound(fan: Fan) -> float:
    return 1 / math.sqrt(fan.outputs)


class Linear(Unit):
    r"""A dense layer without activation.

    Formula: $y = W x + b$.
    Reads as: a weighted sum with decimals.
    Trained as: Adam 1e-3; W starts Xavier uniform, b at zero.
    Paper: baseline of Madsen and Johansen 2020.

    >>> import torch
    >>> Linear(3, 1)(torch.ones(5, 3)).shape
    torch.Size([5, 1])
    """

    paper = MADSEN
    operations = "baseline"
    W = free("out in", uniform_within(glorot_bound))
    b = free("out", constant(0.0))

    def compute(self, x: Tensor) -> Tensor:
        return self.W @ x + self.b.unsqueeze(-1)

    def formula(self, x: Sequence[Scalar]) -> list[Scalar]:
        return [dot(row, x) + b for row, b in zip(self.numbers("W"), self.numbers("b"), strict=True)]


class ReLU(Linear):
    r"""A dense layer with a rectifier.

    Formula: $y = \max(W x + b, 0)$.
    Reads as: a rectified sum with decimals.
    Trained as: Adam 1e-3; W starts He uniform, b at zero.
    Paper: baseline of Madsen and Johansen 2020.

    >>> import torch
    >>> ReLU(3, 1)(torch.ones(5, 3)).shape
    torch.Size([5, 1])
    """

    W = free("out in", uniform_within(_he_bound))

    def compute(self, x: Tensor) -> Tensor:
        return torch.relu(super().compute(x))

    def formula(self, x: Sequence[Scalar]) -> list[Scalar]:
        return [relu(v) for v in super().formula(x)]


class ReLU6(Linear):
    r"""A dense layer with a rectifier cut at 6.

    Formula: $y = \min(\max(W x + b, 0), 6)$.
    Reads as: a rectified sum with decimals.
    Trained as: Adam 1e-3; W starts He uniform, b at zero.
    Paper: baseline of Madsen and Johansen 2020.

    >>> import torch
    >>> ReLU6(3, 1)(torch.ones(5, 3)).shape
    torch.Size([5, 1])
    """

    W = free("out in", uniform_within(_he_bound))

    def compute(self, x: Tensor) -> Tensor:
        return super().compute(x).clamp(0, 6)

    def formula(self, x: Sequence[Scalar]) -> list[Scalar]:
        return [relu(v, 6.0) for v in super().formula(x)]


def _dense_bound(fan: Fan) -> float:
    return 1 / math.sqrt(fan.inputs)


class Dense(Linear):
    r"""A dense layer with any activation, started as PyTorch starts a linear layer.

    Formula: $y = f(W x + b)$ with the function f that `activation` names.
    Reads as: a nested function with decimals.
    Trained as: Adam 1e-3; W and b start at U[-1/sqrt(in), 1/sqrt(in)).
    Paper: the layer of the perceptrons of Trask et al. 2018, figure 1.

    >>> import torch
    >>> Dense(3, 1, activation="elu")(torch.ones(5, 3)).shape
    torch.Size([5, 1])
    """

    paper = "Baseline of Trask et al., Neural Arithmetic Logic Units, NeurIPS 2018"
    activation = Option("tanh", "the function of the sum", NAMES, ACTIVATIONS.__contains__)
    W = free("out in", uniform_within(_dense_bound))
    b = free("out", uniform_within(_dense_bound))

    def compute(self, x: Tensor) -> Tensor:
        return ACTIVATIONS[self.activation].tensor(super().compute(x))

    def formula(self, x: Sequence[Scalar]) -> list[Scalar]:
        return [ACTIVATIONS[self.activation].scalar(v) for v in super().formula(x)]


class PReLU(Linear):
    r"""A dense layer with a rectifier whose slope below zero is learned, one for each output.

    Formula: $y = \max(z, 0) - a \odot \max(-z, 0)$ with $z = W x + b$.
    Reads as: a rectified sum with decimals.
    Trained as: Adam 1e-3; W and b start at U[-1/sqrt(in), 1/sqrt(in)), a at 0.25, as in PyTorch.
    Paper: He et al. 2015; one of the perceptrons of Trask et al. 2018, figure 1.

    >>> import torch
    >>> PReLU(3, 1)(torch.ones(5, 3)).shape
    torch.Size([5, 1])
    """

    paper = "He et al., Delving Deep into Rectifiers, 2015"
    W = free("out in", uniform_within(_dense_bound))
    b = free("out", uniform_within(_dense_bound))
    a = free("out", constant(0.25))

    def compute(self, x: Tensor) -> Tensor:
        z = super().compute(x)  # (*runs, out, samples)
        return torch.relu(z) - self.a.unsqueeze(-1) * torch.relu(-z)

    def formula(self, x: Sequence[Scalar]) -> list[Scalar]:
        return [relu(z) - slope * relu(-z) for z, slope in zip(super().formula(x), self.numbers("a"), strict=True)]


LAYERS: dict[str, type[Unit]] = {"relu": ReLU, "prelu": PReLU}
"""Hidden layers that are units of their own; the other activations are those of `Dense`."""
HIDDEN = {*ACTIVATIONS, *LAYERS}


class MLP(Layers):
    r"""A multilayer perceptron, with rectifiers unless `activation` names another function.

    Formula: $y = L_n(\ldots f(L_1(x)) \ldots)$ with affine layers L.
    Reads as: nested maxima (or another function) with decimals.
    Trained as: Adam 1e-3. `hidden` lists the widths, by default one hidden layer of 100.
    Paper: baseline of Mistry et al. 2022 (widths 1 and 100) and of Mistry's thesis, chapter 7 (six layers of 16).

    >>> import torch
    >>> MLP(3, 1, hidden=(8,))(torch.ones(5, 3)).shape
    torch.Size([5, 1])
    """

    paper = "Baseline of Mistry et al. 2022"
    operations = "baseline"
    hidden = Option[Sequence[int]](
        (100,),
        "the widths of the hidden layers",
        "a list of whole numbers of at least 1",
        need_of(Sequence[Count]).holds,
    )
    activation = Option("relu", "the hidden layers' function", f"{NAMES} or prelu", HIDDEN.__contains__)

    def assemble(self, weights: Mapping[str, Weight]) -> None:
        widths = [self.in_features, *self.hidden]
        self.stack(
            [*(self._hidden(a, b) for a, b in pairwise(widths)), Linear(widths[-1], self.out_features, self.runs)]
        )

    def _hidden(self, inputs: int, outputs: int) -> Unit:
        layer = LAYERS.get(self.activation)
        if layer is None:
            return Dense(inputs, outputs, self.runs, activation=self.activation)
        return layer(inputs, outputs, self.runs)


class LSTM(Unit):
    r"""An LSTM that reads its inputs one after another; the output is the last hidden state.

    Formula: $c_t = \sigma(f_t) c_{t-1} + \sigma(i_t) \tanh(j_t)$, $h_t = \sigma(o_t) \tanh(c_t)$ with
    $(i, f, j, o)_t = U x_t + V h_{t-1} + b$.
    Reads as: nested squashings with decimals.
    Trained as: Adam 1e-3; all parameters start at U[-1/sqrt(h), 1/sqrt(h)) with h outputs.
    Paper: Hochreiter and Schmidhuber 1997, baseline of Madsen and Johansen 2020.

    >>> import torch
    >>> LSTM(3, 1)(torch.ones(5, 3)).shape
    torch.Size([5, 1])
    """

    paper = MADSEN
    operations = "baseline"
    U = free("4*out", uniform_within(_lstm_bound))
    V = free("4*out out", uniform_within(_lstm_bound))
    b = free("4*out", uniform_within(_lstm_bound))

    def compute(self, x: Tensor) -> Tensor:
        u, v, b = self.U.unsqueeze(-1), self.V, self.b.unsqueeze(-1)
        h = torch.zeros_like(u[..., : self.out_features, :] * x[..., :1, :])
        c = h
        for t in range(x.shape[-2]):
            i, f, j, o = (u * x[..., t : t + 1, :] + v @ h + b).chunk(4, -2)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(j)
            h = torch.sigmoid(o) * torch.tanh(c)
        return h

    def formula(self, x: Sequence[Scalar]) -> list[Scalar]:
        u, v, b = self.numbers("U"), self.numbers("V"), self.numbers("b")
        n = self.out_features
        h: list[Scalar] = [0] * n
        c: list[Scalar] = [0] * n
        for a in x:
            z = [u[k] * a + dot(v[k], h) + b[k] for k in range(4 * n)]
            i, f, j, o = (z[k * n : (k + 1) * n] for k in range(4))
            c = [sigmoid(f[k]) * c[k] + sigmoid(i[k]) * tanh(j[k]) for k in range(n)]
            h = [sigmoid(o[k]) * tanh(c[k]) for k in range(n)]
        return h
