"""Reimann and Schwung, "Neural Logic Rule Layers", 2019: NLRL; Faber and Wattenhofer, "Neural Status Registers", 2020:
NSR. Neither text states initial values; ours are named below."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import torch
from torch import Tensor

from nalm.core.option import Option, number_above
from nalm.core.scalar import Scalar, dot, guarded, product, sigmoid, tanh
from nalm.core.start import normal, uniform
from nalm.core.unit import Unit
from nalm.core.weight import LOGISTIC, SOFTMAX, Weight, free
from nalm.units.nau import tree_product

EPSILON = 1e-7


class NLRL(Unit):
    r"""Neural logic rule layer: AND or OR of selected, possibly negated, truth values.

    Formula: $\hat x = (1 - n) x + n (1 - x)$, $\mathrm{OR} = 1 - \prod_i (1 - A_i \hat x_i)$,
    $\mathrm{AND} = \prod_i (|\hat x_i| + \epsilon)^{A_i}$, $y = (1 - s)\,\mathrm{AND} + s\,\mathrm{OR}$ with negation
    gates n and output gate s logistic, epsilon 1e-7.
    Reads as: a conjunction (product of magnitudes) or disjunction of literals, for inputs of 0 and 1.
    Trained as: plain Adam; the text gives no settings. `block="and"` or `"or"` keeps one block and turns the output
    gate into a negation (De Morgan). The thesis's prose has the output gate the other way round; this is its formula.
    Paper: Reimann and Schwung 2019. Ours: gates start at N(0, 0.2^2), A at U[0.25, 0.75) with projection to [0, 1].

    >>> import torch
    >>> NLRL(3, 1)(torch.ones(5, 3)).shape
    torch.Size([5, 1])
    """

    paper = "Reimann and Schwung, Neural Logic Rule Layers, 2019"
    operations = "and or not"
    negatives = False
    n = Weight("out in", start=normal(0, 0.2), grid=(0, 1), link=LOGISTIC, counts=False)
    A = Weight("out in", start=uniform(0.25, 0.75), box=(0, 1), grid=(0, 1))
    s = Weight("out", start=normal(0, 0.2), grid=(0, 1), link=LOGISTIC, counts=False)
    block = Option[Literal["both", "and", "or"]](
        "both", "which blocks there are", "'both', 'and' or 'or'", {"both", "and", "or"}.__contains__
    )

    def compute(self, x: Tensor) -> Tensor:
        n, a, s = self.n.unsqueeze(-1), self.A.unsqueeze(-1), self.s.unsqueeze(-1)
        x = x.unsqueeze(-3)
        literal = (1 - n) * x + n * (1 - x)  # (*runs, out, in, samples)
        conjunction = torch.exp((a * torch.log(literal.abs() + EPSILON)).sum(-2))
        disjunction = 1 - tree_product(1 - a * literal)
        no = {"both": conjunction, "and": conjunction, "or": disjunction}[self.block]
        yes = {"both": disjunction, "and": 1 - conjunction, "or": 1 - disjunction}[self.block]
        return (1 - s) * no + s * yes

    def formula(self, x: Sequence[Scalar]) -> list[Scalar]:
        gates = zip(self.numbers("n"), self.numbers("A"), self.numbers("s"), strict=True)
        return [self._output(x, *own) for own in gates]

    def _output(self, x: Sequence[Scalar], n: Sequence[Scalar], a: Sequence[Scalar], s: Scalar) -> Scalar:
        literals = [(1 - m) * v + m * (1 - v) for m, v in zip(n, x, strict=True)]
        conjunction = product(guarded(v, EPSILON) ** w for v, w in zip(literals, a, strict=True))
        disjunction = 1 - product(1 - w * v for v, w in zip(literals, a, strict=True))
        no = disjunction if self.block == "or" else conjunction
        yes = disjunction if self.block == "both" else 1 - no
        return (1 - s) * no + s * yes


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and value >= 1


class NSR(Unit):
    r"""Neural status register: compares two selected inputs.

    Formula: $d = \lambda\,(\mathrm{softmax}(V_1) x - \mathrm{softmax}(V_2) x)$,
    $z = \sum_r w^{\pm}_r \tanh d_r + w^0_r (1 - 2 \tanh^2 d_r) + b_r$, outputs $\sigma(z)$ and $1 - \sigma(z)$.
    Reads as: the probability that a comparison (<, >, =, ...) of two inputs holds, and of its negation; the scales have
    no grid, so a formula keeps their decimals.
    Trained as: plain Adam; the text gives no settings. `scale` is lambda, chosen inversely to typical differences of
    the inputs; `redundancy` is the number of operand pairs r per decision.
    Paper: Faber and Wattenhofer 2020. Ours: selectors start at N(0, 1), scales and shift at N(0, 0.5^2).

    Outputs come in pairs, so `out_features` is twice the number of decisions.

    >>> import torch
    >>> NSR(3, 2)(torch.ones(5, 3)).shape
    torch.Size([5, 2])
    """

    paper = "Faber and Wattenhofer, Neural Status Registers, 2020"
    operations = "< > = != <= >="
    V1 = Weight("redundancy decisions in", start=normal(0, 1), grid=(0, 1), link=SOFTMAX)
    V2 = Weight("redundancy decisions in", start=normal(0, 1), grid=(0, 1), link=SOFTMAX)
    w_sign = free("redundancy decisions", normal(0, 0.5))
    w_zero = free("redundancy decisions", normal(0, 0.5))
    b = free("redundancy decisions", normal(0, 0.5))
    scale = number_above(0, 1.0, "lambda, chosen inversely to typical differences of the inputs")
    redundancy = Option(1, "operand pairs per decision", "a whole number of at least 1", _is_count)

    @property
    def decisions(self) -> int:
        """Each decision has two outputs: it holds, it does not."""
        return self.out_features // 2

    def check(self) -> None:
        if self.out_features % 2:
            raise ValueError(f"NSR: out_features is {self.out_features}; it needs an even number, two per decision.")

    def compute(self, x: Tensor) -> Tensor:
        x = x.unsqueeze(-3)  # (*runs, 1, in, samples)
        bit = torch.tanh(self.scale * (self.V1 @ x - self.V2 @ x))  # (*runs, redundancy, decisions, samples)
        w_sign, w_zero, b = (w.unsqueeze(-1) for w in (self.w_sign, self.w_zero, self.b))
        y = torch.sigmoid((w_sign * bit + w_zero * (1 - 2 * bit.square()) + b).sum(-3))
        return torch.cat([y, 1 - y], -2)

    def formula(self, x: Sequence[Scalar]) -> list[Scalar]:
        z: list[Scalar] = [0] * self.decisions
        names = ("V1", "V2", "w_sign", "w_zero", "b")
        for pair in zip(*(self.numbers(name) for name in names), strict=True):
            for o, (v1, v2, w_sign, w_zero, b) in enumerate(zip(*pair, strict=True)):
                bit = tanh(self.scale * (dot(v1, x) - dot(v2, x)))
                z[o] = z[o] + w_sign * bit + w_zero * (1 - 2 * bit**2) + b
        y = [sigmoid(v) for v in z]
        return [*y, *(1 - v for v in y)]
