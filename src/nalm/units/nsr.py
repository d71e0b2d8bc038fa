"""Faber and Wattenhofer, "Neural Status Registers", 2020: NSR, alone, in a case distinction and in a loop. The text
states no initial values; ours are below."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from nalm.core.containers import Mixture
from nalm.core.option import count, positive
from nalm.core.scalar import Scalar, dot, sigmoid, tanh
from nalm.core.start import normal
from nalm.core.unit import Unit
from nalm.core.weight import SOFTMAX, Weight, free
from nalm.units.nau import NAU

NSR_PAPER = "Faber and Wattenhofer, Neural Status Registers, 2020"


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

    paper = NSR_PAPER
    operations = "< > = != <= >="
    V1 = Weight("redundancy decisions in", start=normal(0, 1), grid=(0, 1), link=SOFTMAX)
    V2 = Weight("redundancy decisions in", start=normal(0, 1), grid=(0, 1), link=SOFTMAX)
    w_sign = free("redundancy decisions", normal(0, 0.5))
    w_zero = free("redundancy decisions", normal(0, 0.5))
    b = free("redundancy decisions", normal(0, 0.5))
    scale = positive(1.0, "lambda, chosen inversely to typical differences of the inputs")
    redundancy = count(1, "operand pairs per decision")

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

    def logic(self, x: Sequence[Any]) -> list[Any]:
        """Which of <, =, > make each decision true, for differences that saturate tanh."""
        from sympy import Not

        parts = [self.numbers(name) for name in ("V1", "V2", "w_sign", "w_zero", "b")]
        holds = []
        for decision in range(self.decisions):
            pairs = [[part[r][decision] for part in parts] for r in range(self.redundancy)]
            holds.append(_relation(x, pairs))
        return [*holds, *(Not(h) for h in holds)]


def _relation(x: Sequence[Any], pairs: Sequence[Sequence[Any]]) -> Any:
    """One decision as a relation; the operands of a pair are the inputs with the largest and smallest difference of
    selectors, which for two inputs is no approximation."""
    import sympy

    operands: tuple[int, int] | None = None
    less = equal = greater = 0.0
    for v1, v2, w_sign, w_zero, b in pairs:
        weights = [p - q for p, q in zip(v1, v2, strict=True)]
        first, second = weights.index(max(weights)), weights.index(min(weights))
        operands = operands or (first, second)
        if {first, second} != set(operands):
            raise ValueError("NSR: its redundant pairs compare different inputs, so it is no single relation.")
        sign = 1 if (first, second) == operands else -1
        less += -sign * w_sign - w_zero + b
        equal += w_zero + b
        greater += sign * w_sign - w_zero + b
    assert operands is not None  # redundancy is at least 1
    a, b = (x[i] for i in operands)
    relations = {
        (True, False, False): sympy.Lt(a, b),
        (False, True, False): sympy.Eq(a, b),
        (False, False, True): sympy.Gt(a, b),
        (True, True, False): sympy.Le(a, b),
        (False, True, True): sympy.Ge(a, b),
        (True, False, True): sympy.Ne(a, b),
    }
    truth = (less > 0, equal > 0, greater > 0)
    return relations.get(truth, sympy.true if all(truth) else sympy.false)


class NSRChoice(Mixture):
    r"""A case distinction: a status register chooses between two sums.

    Formula: $y = c \odot A x + (1 - c) \odot B x$ with A and B neural addition units and c the decisions of an NSR.
    Reads as: a sum with decimals; `read_logic(unit.condition)` is the condition, `read(unit.first)` and
    `read(unit.second)` are the two cases.
    Trained as: Adam 1e-3; the text gives no settings. `scale` and `redundancy` are those of the NSR.
    Paper: Faber and Wattenhofer 2020, piecewise functions.

    >>> import torch
    >>> NSRChoice(3, 1)(torch.ones(5, 3)).shape
    torch.Size([5, 1])
    """

    paper = NSR_PAPER
    operations = "+ - where < > ="
    scale = NSR.scale
    redundancy = NSR.redundancy

    def assemble(self, weights: Mapping[str, Weight]) -> None:
        sizes = self.in_features, self.out_features, self.runs
        twice = self.in_features, 2 * self.out_features, self.runs
        self.condition = NSR(*twice, scale=self.scale, redundancy=self.redundancy)
        self.first = NAU(*sizes)
        self.second = NAU(*sizes)

    def gate(self, x: Tensor) -> Tensor:
        return self.condition.compute(x)[..., : self.out_features, :]

    def gate_formula(self, x: Sequence[Scalar]) -> Sequence[Scalar]:
        return self.condition.formula(x)[: self.out_features]


class RecurrentNSR(Unit):
    r"""A case distinction in a loop over a list: each element and the state decide the next state.

    Formula: $h_1 = x_1$, $h_t = \mathrm{NSRChoice}(x_t, h_{t-1})$; each output has a loop of its own.
    Reads as: nested sums with decimals; each of its `cells` reads like an NSRChoice.
    Trained as: the NSRChoice.
    Paper: Faber and Wattenhofer 2020, the minimum of a list.

    >>> import torch
    >>> RecurrentNSR(5, 1)(torch.ones(7, 5)).shape
    torch.Size([7, 1])
    """

    paper = NSR_PAPER
    operations = "min max of a list"
    scale = NSR.scale
    redundancy = NSR.redundancy

    def assemble(self, weights: Mapping[str, Weight]) -> None:
        self.cells = torch.nn.ModuleList(
            NSRChoice(2, 1, self.runs, scale=self.scale, redundancy=self.redundancy) for _ in range(self.out_features)
        )

    def compute(self, x: Tensor) -> Tensor:
        outputs = []
        for cell in self.cells:
            state = x[..., :1, :]
            for t in range(1, self.in_features):
                element = x[..., t : t + 1, :].expand_as(state)
                state = cell.compute(torch.cat([element, state], -2))  # type: ignore[operator]
            outputs.append(state.expand(*self.runs, *state.shape[-2:]))
        return torch.cat(outputs, -2)

    def formula(self, x: Sequence[Scalar]) -> list[Scalar]:
        outputs = []
        for cell in self.cells:
            state = x[0]
            for element in x[1:]:
                (state,) = cell.formula([element, state])  # type: ignore[operator]
            outputs.append(state)
        return outputs


class NSRCount(Unit):
    r"""Counting in a loop over a list: how many elements stand in a relation to the first input.

    Formula: $y_o = \sum_{t>1} \mathrm{NAU}_o(c_t, 1 - c_t)$ with $c_t$ the decision of one NSR on $(x_t, x_1)$.
    Reads as: a sum with decimals; `read_logic(unit.condition)` is what is counted.
    Trained as: the NSRChoice.
    Paper: Faber and Wattenhofer 2020, counting occurrences.

    >>> import torch
    >>> NSRCount(5, 1)(torch.ones(7, 5)).shape
    torch.Size([7, 1])
    """

    paper = NSR_PAPER
    operations = "count of < > ="
    scale = NSR.scale
    redundancy = NSR.redundancy

    def check(self) -> None:
        if self.in_features < 2:
            raise ValueError(f"NSRCount: in_features is {self.in_features}; it needs at least 2, a number and a list.")

    def assemble(self, weights: Mapping[str, Weight]) -> None:
        self.condition = NSR(2, 2, self.runs, scale=self.scale, redundancy=self.redundancy)
        self.gain = NAU(2, self.out_features, self.runs)

    def compute(self, x: Tensor) -> Tensor:
        wanted = x[..., :1, :]
        total = torch.zeros_like(wanted)
        for t in range(1, self.in_features):
            pair = torch.cat([x[..., t : t + 1, :], wanted], -2)
            total = total + self.gain.compute(self.condition.compute(pair))
        return total

    def formula(self, x: Sequence[Scalar]) -> list[Scalar]:
        counted = [self.gain.formula(self.condition.formula([element, x[0]])) for element in x[1:]]
        return [sum(parts) for parts in zip(*counted, strict=True)]
