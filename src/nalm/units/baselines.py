"""What arithmetic units are compared with: dense layers, an MLP, a product unit, a quadratic layer, an LSTM."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor

from nalm.scalar import Scalar, cos, dot, negative, pi, product, relu, sigmoid, symbolic, tanh, whole
from nalm.unit import Unit
from nalm.units.nau import tree_product
from nalm.weight import Weight, constant, glorot_bound, uniform_within

MADSEN = "Baseline of Madsen and Johansen, Neural Arithmetic Units, ICLR 2020"


def free(shape: str, start: object) -> Weight:
    """A weight without a grid."""
    return Weight(shape, start=start, pulls=(), counts=False)  # type: ignore[arg-type]


def _he_bound(fan: tuple[int, int]) -> float:
    return math.sqrt(6 / fan[0])


def _affine(unit: Unit, x: Sequence[Scalar]) -> list[Scalar]:
    return [dot(row, x) + b for row, b in zip(unit.numbers("W"), unit.numbers("b"), strict=True)]


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
        return _affine(self, x)


class ReLU(Unit):
    r"""A dense layer with a rectifier.

    Formula: $y = \max(W x + b, 0)$.
    Reads as: a rectified sum with decimals.
    Trained as: Adam 1e-3; W starts He uniform, b at zero.
    Paper: baseline of Madsen and Johansen 2020.

    >>> import torch
    >>> ReLU(3, 1)(torch.ones(5, 3)).shape
    torch.Size([5, 1])
    """

    paper = MADSEN
    operations = "baseline"
    W = free("out in", uniform_within(_he_bound))
    b = free("out", constant(0.0))

    def compute(self, x: Tensor) -> Tensor:
        return torch.relu(self.W @ x + self.b.unsqueeze(-1))

    def formula(self, x: Sequence[Scalar]) -> list[Scalar]:
        return [relu(v) for v in _affine(self, x)]


class ReLU6(Unit):
    r"""A dense layer with a rectifier cut at 6.

    Formula: $y = \min(\max(W x + b, 0), 6)$.
    Reads as: a rectified sum with decimals.
    Trained as: Adam 1e-3; W starts He uniform, b at zero.
    Paper: baseline of Madsen and Johansen 2020.

    >>> import torch
    >>> ReLU6(3, 1)(torch.ones(5, 3)).shape
    torch.Size([5, 1])
    """

    paper = MADSEN
    operations = "baseline"
    W = free("out in", uniform_within(_he_bound))
    b = free("out", constant(0.0))

    def compute(self, x: Tensor) -> Tensor:
        return (self.W @ x + self.b.unsqueeze(-1)).clamp(0, 6)

    def formula(self, x: Sequence[Scalar]) -> list[Scalar]:
        return [relu(v, 6.0) for v in _affine(self, x)]


class MLP(Unit):
    r"""A multilayer perceptron with rectifiers.

    Formula: $y = L_n(\ldots \max(L_1(x), 0) \ldots)$ with affine layers L.
    Reads as: nested maxima with decimals.
    Trained as: Adam 1e-3. `hidden` lists the widths, by default one hidden layer of 100.
    Paper: baseline of Mistry et al. 2022 (widths 1 and 100) and of Mistry's thesis, chapter 7 (six layers of 16).

    >>> import torch
    >>> MLP(3, 1, hidden=(8,))(torch.ones(5, 3)).shape
    torch.Size([5, 1])
    """

    paper = "Baseline of Mistry et al. 2022"
    operations = "baseline"

    def __init__(
        self,
        in_features: int,
        out_features: int,
        runs: Sequence[int] = (),
        *,
        seed: int | Sequence[int] | None = None,
        hidden: Sequence[int] = (100,),
    ) -> None:
        super().__init__(in_features, out_features, runs)
        widths = [in_features, *hidden]
        self.layers = torch.nn.ModuleList(
            [*(ReLU(a, b, runs) for a, b in pairwise(widths)), Linear(widths[-1], out_features, runs)]
        )
        self.reset_parameters(seed)

    def compute(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer.compute(x)
        return x

    def formula(self, x: Sequence[Scalar]) -> list[Scalar]:
        values = list(x)
        for layer in self.layers:
            values = layer.formula(values)
        return values


class ProductUnit(Unit):
    r"""Product unit: powers of the inputs, real part taken for negative ones.

    Formula: $y_o = \prod_i |x_i|^{W_{oi}} \cos(\pi \sum_i W_{oi} [x_i < 0])$.
    Reads as: a product of powers. A zero input under a negative exponent gives infinity.
    Trained as: plain Adam; W starts Xavier uniform (no source states it).
    Paper: Durbin and Rumelhart 1989.

    >>> import torch
    >>> ProductUnit(3, 1)(torch.ones(5, 3)).shape
    torch.Size([5, 1])
    """

    paper = "Durbin and Rumelhart, Product Units, Neural Computation 1989"
    operations = "* / powers"
    W = Weight("out in", start=uniform_within(glorot_bound), grid=(-2, -1, 0, 1, 2))

    def compute(self, x: Tensor) -> Tensor:
        size = tree_product(torch.pow(x.abs().unsqueeze(-3), self.W.unsqueeze(-1)))
        return size * torch.cos(self.W @ (math.pi * (x < 0).to(x.dtype)))

    def formula(self, x: Sequence[Scalar]) -> list[Scalar]:
        return [self._row(x, row) for row in self.numbers("W")]

    def _row(self, x: Sequence[Scalar], row: Sequence[Scalar]) -> Scalar:
        if any(symbolic(a) for a in x) and all(whole(w) for w in row):
            return product(a**w for a, w in zip(x, row, strict=True))
        size = product(abs(a) ** w for a, w in zip(x, row, strict=True))
        return size * cos(dot(row, [pi(a) * negative(a) for a in x]))


class Quadratic(Unit):
    r"""Quadratic layer: all products of two affine forms.

    Formula: $y = (W_1 x + b_1) \odot (W_2 x + b_2) + W_3 x^2 + c$.
    Reads as: a quadratic polynomial with decimals.
    Trained as: plain Adam; weights start Xavier uniform, biases at zero (no source states it).
    Paper: Mistry's thesis, equation 7.1, after Fan et al. 2020.

    >>> import torch
    >>> Quadratic(3, 1)(torch.ones(5, 3)).shape
    torch.Size([5, 1])
    """

    paper = "Baseline of Mistry, thesis 2023, chapter 7"
    operations = "baseline"
    W1 = free("out in", uniform_within(glorot_bound))
    W2 = free("out in", uniform_within(glorot_bound))
    W3 = free("out in", uniform_within(glorot_bound))
    b1 = free("out", constant(0.0))
    b2 = free("out", constant(0.0))
    c = free("out", constant(0.0))

    def compute(self, x: Tensor) -> Tensor:
        b1, b2, c = (b.unsqueeze(-1) for b in (self.b1, self.b2, self.c))
        return (self.W1 @ x + b1) * (self.W2 @ x + b2) + self.W3 @ x.square() + c

    def formula(self, x: Sequence[Scalar]) -> list[Scalar]:
        parts = zip(*(self.numbers(name) for name in ("W1", "b1", "W2", "b2", "W3", "c")), strict=True)
        squares = [a * a for a in x]
        return [(dot(r1, x) + b1) * (dot(r2, x) + b2) + dot(r3, squares) + c for r1, b1, r2, b2, r3, c in parts]


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
    U = free("4*out", uniform_within(lambda fan: 1 / math.sqrt(fan.outputs)))
    V = free("4*out out", uniform_within(lambda fan: 1 / math.sqrt(fan.outputs)))
    b = free("4*out", uniform_within(lambda fan: 1 / math.sqrt(fan.outputs)))

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
