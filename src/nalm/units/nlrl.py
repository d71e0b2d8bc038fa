"""Reimann and Schwung, "Neural Logic Rule Layers", 2019: NLRL. The text states no initial values; ours are below."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import torch
from torch import Tensor

from nalm.core.option import Option
from nalm.core.scalar import Scalar, guarded, product
from nalm.core.start import normal, uniform
from nalm.core.unit import Unit
from nalm.core.weight import LOGISTIC, Weight
from nalm.units.nau import tree_product

EPSILON = 1e-7


def _is_one(gate: Scalar) -> bool:
    return bool(gate > 0.5)


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

    def logic(self, x: Sequence[Any]) -> list[Any]:
        from sympy import And, Not, Or

        outputs = []
        for negated, used, output in zip(self.numbers("n"), self.numbers("A"), self.numbers("s"), strict=True):
            gates = zip(x, negated, used, strict=True)
            literals = [Not(v) if _is_one(m) else v for v, m, a in gates if _is_one(a)]
            no = Or(*literals) if self.block == "or" else And(*literals)
            yes = Or(*literals) if self.block == "both" else Not(no)
            outputs.append(yes if _is_one(output) else no)
        return outputs

    def _output(self, x: Sequence[Scalar], n: Sequence[Scalar], a: Sequence[Scalar], s: Scalar) -> Scalar:
        literals = [(1 - m) * v + m * (1 - v) for m, v in zip(n, x, strict=True)]
        conjunction = product(guarded(v, EPSILON) ** w for v, w in zip(literals, a, strict=True))
        disjunction = 1 - product(1 - w * v for v, w in zip(literals, a, strict=True))
        no = disjunction if self.block == "or" else conjunction
        yes = disjunction if self.block == "both" else 1 - no
        return (1 - s) * no + s * yes
