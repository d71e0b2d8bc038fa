"""The numbers of many formulas at once, and what they compute with which slopes."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass
class Numbers:
    """Numbers of formulas with any leading axes, float64.

    Attributes:
        sums: coefficients of the sums, `(..., terms, factors, in)`.
        powers: 1 for a factor that multiplies, -1 for one that divides, 0 for one at rest, `(..., terms, factors)`.
        open: 1 for terms that count, `(..., terms)`.
        outer: 1, or -1 for one divided by the sum of terms, `(...)`.
    """

    sums: Tensor
    powers: Tensor
    open: Tensor
    outer: Tensor

    def __getitem__(self, index: Tensor | tuple[Tensor, ...]) -> Numbers:
        return Numbers(self.sums[index], self.powers[index], self.open[index], self.outer[index])

    def put(self, index: Tensor | tuple[Tensor, ...], other: Numbers) -> None:
        """Store others in some places."""
        for name in ("sums", "powers", "open", "outer"):
            getattr(self, name)[index] = getattr(other, name)

    def symbols(self) -> Tensor:
        """How long each formula is: inputs in factors that are used, `(...)`."""
        used = (self.powers != 0) & (self.open != 0).unsqueeze(-1)
        return ((self.sums != 0).sum(-1) * used).sum((-2, -1))


@dataclass
class Computed:
    """What formulas compute on samples: each factor's base, each term, their sum and the output."""

    bases: Tensor  # (..., terms, factors, samples)
    terms: Tensor  # (..., terms, samples)
    output: Tensor  # (..., samples)


def compute(numbers: Numbers, x: Tensor) -> Computed:
    """Outputs for inputs `(..., in, samples)`."""
    powers = numbers.powers.unsqueeze(-1)
    bases = torch.where(powers == 0, 1.0, numbers.sums @ x[..., None, :, :])
    terms = torch.where(powers < 0, 1 / bases, bases).prod(-2) * numbers.open.unsqueeze(-1)
    total = terms.sum(-2)
    return Computed(bases, terms, torch.where(numbers.outer.unsqueeze(-1) < 0, 1 / total, total))


def by_total(numbers: Numbers, output: Tensor) -> Tensor:
    """Derivative of the output by the sum of terms."""
    return torch.where(numbers.outer.unsqueeze(-1) < 0, -output.square(), 1.0)


def slopes(numbers: Numbers, x: Tensor, now: Computed) -> Tensor:
    """Derivatives of the output by all coefficients, `(..., terms * factors * in, samples)`."""
    by_base = numbers.powers.unsqueeze(-1) * now.terms.unsqueeze(-2) / now.bases
    by_base = by_base * by_total(numbers, now.output)[..., None, None, :]
    return (by_base.unsqueeze(-2) * x[..., None, None, :, :]).flatten(-4, -2)


def rounding(numbers: Numbers, x: Tensor, now: Computed) -> Tensor:
    """What one unit of relative rounding in every input may change in the output, `(..., samples)`."""
    sizes = numbers.sums.abs() @ x.abs()[..., None, :, :]
    relative = torch.where(numbers.powers.unsqueeze(-1) == 0, 0.0, sizes / now.bases.abs()).sum(-2)
    return (now.terms.abs() * relative).sum(-2) * by_total(numbers, now.output).abs()


def to_grid(numbers: Numbers) -> Numbers:
    """The nearest grid point of each formula's direction: sums scaled to a largest coefficient of 1, and rounded."""
    largest = numbers.sums.abs().amax(-1, keepdim=True)
    return Numbers((numbers.sums / largest).nan_to_num(0.0).round(), numbers.powers, numbers.open, numbers.outer)
