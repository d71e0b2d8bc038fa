"""Ours: one layer for formulas of several steps, a sum of products and quotients of sums, all in one piece."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from nalm.core.option import count
from nalm.core.scalar import Scalar, dot, product
from nalm.core.start import constant, uniform
from nalm.core.unit import Unit
from nalm.core.weight import Weight


def _power(base: Tensor, exponent: Tensor) -> Tensor:
    """base, 1 or 1 / base for exponents 1, 0 and -1, a mixture of two of them between."""
    down = exponent < 0
    below = torch.where(down, base, 1.0)  # where it is not divided by, a zero must not reach the gradient
    size = exponent.abs()
    return size * torch.where(down, 1 / below, base) + (1 - size)


def _power_formula(base: Scalar, exponent: Scalar) -> Scalar:
    size = abs(exponent)
    return size * (1 / base if exponent < 0 else base) + (1 - size)


class FormulaLayer(Unit):
    r"""A sum of terms, each a product and quotient of signed sums of inputs, or one divided by all that.

    Formula: $y = \left(\sum_k c_k \prod_j (\sum_i W_{kji} x_i)^{P_{kj}}\right)^{e}$ per output, with P in {-1, 0, 1}
    (a factor divides, rests or multiplies), c in {-1, 0, 1} and e in {-1, 1}; between whole values a power is the
    mixture $|p|\,z^{\pm 1} + 1 - |p|$.
    Reads as: formulas such as (a + b) c, 1/(a b) + c or (a b + c)(c - d); all sixteen two-step expressions of Mistry's
    thesis and 56 of the 64 three-step ones with two `terms` of three `factors`; products of four need four `factors`.
    Trained as: by `nalm.FormulaLearner`, which tries many choices of P, c and e side by side; W alone has a useful
    gradient.
    Paper: ours; the form is the one `nalm.solve` calls sums of products of sums.

    >>> import torch
    >>> FormulaLayer(3, 1)(torch.ones(5, 3)).shape
    torch.Size([5, 1])
    """

    paper = "nalm, 2026"
    operations = "+ - * /"
    terms = count(2, "terms of the sum")
    factors = count(3, "factors of a term")
    W = Weight("out terms factors in", start=uniform(-1, 1), box=(-1, 1), grid=(-1, 0, 1))
    P = Weight("out terms factors", start=uniform(0.5, 1.0), box=(-1, 1), grid=(-1, 0, 1))
    c = Weight("out terms", start=uniform(0.5, 1.0), box=(-1, 1), grid=(-1, 0, 1))
    e = Weight("out", start=constant(0.9), box=(-1, 1), grid=(-1, 1))

    def compute(self, x: Tensor) -> Tensor:
        sums = (self.W @ x[..., None, None, :, :]).unbind(-2)  # one (*runs, out, terms, samples) per factor
        powers = self.P.unsqueeze(-1).unbind(-2)
        c = self.c.unsqueeze(-1)
        terms = c
        for base, exponent in zip(sums, powers, strict=True):
            terms = terms * _power(base, exponent)
        if not self.training:  # a term that is left out is 0, not infinity times 0 where its divisor vanishes
            terms = torch.where(c == 0, 0.0, terms)
        total, outer = terms.sum(-2), self.e.unsqueeze(-1)
        up = (1 + outer) / 2
        return up * total + (1 - up) * _power(total, (up - 1).sign())

    def formula(self, x: Sequence[Scalar]) -> list[Scalar]:
        outputs = []
        rows = zip(*(self.numbers(name) for name in ("W", "P", "c", "e")), strict=True)
        for weights, exponents, coefficients, outer in rows:
            total: Scalar = 0
            for factors, powers, coefficient in zip(weights, exponents, coefficients, strict=True):
                if coefficient != 0:
                    bases = [(dot(row, x), p) for row, p in zip(factors, powers, strict=True) if p != 0]
                    total = total + coefficient * product(_power_formula(base, p) for base, p in bases)
            outputs.append(total if outer == 1 else (1 + outer) / 2 * total + (1 - outer) / 2 / total)
        return outputs
