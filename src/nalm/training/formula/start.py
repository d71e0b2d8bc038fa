"""How an attempt begins: which factors are open is drawn, and the terms are scaled to fit a batch."""

from __future__ import annotations

import torch
from torch import Tensor

from nalm.training.formula import angle
from nalm.training.formula.settings import Settings
from nalm.training.formula.shape import Numbers, compute

SMALLEST_SHARE = 1e-2  # a term begins with at least this share of the target, or it would not learn


def draws(terms: int, factors: int, inputs: int) -> int:
    """Uniforms that one attempt needs."""
    return 2 + terms * (3 + factors + factors * inputs)


def draw(u: Tensor, terms: int, factors: int, inputs: int, settings: Settings) -> Numbers:
    """Attempts from uniforms `(..., draws)`."""
    s = settings
    lead = u.shape[:-1]
    few, turned, rest = u[..., 0], u[..., 1], u[..., 2:].reshape(*lead, terms, -1)
    count, alike, together = rest[..., 0], rest[..., 1], rest[..., 2]
    each = rest[..., 3 : 3 + factors]
    width = 1 + (count > s.one_factor).to(torch.int64) + (count > s.one_factor + s.two_factors).to(torch.int64)
    resting = torch.arange(factors).expand(*lead, terms, factors) >= width.clamp(max=factors).unsqueeze(-1)
    divides = torch.where((alike < s.alike).unsqueeze(-1), together.unsqueeze(-1), each) < s.dividing
    one = (few < s.one_term).unsqueeze(-1)
    opened = torch.where(one & (torch.arange(terms) > 0), 0.0, 1.0).to(u.dtype).expand(*lead, terms)
    resting = resting | (opened == 0).unsqueeze(-1)
    powers = torch.where(divides, -1.0, 1.0).to(u.dtype).masked_fill(resting, 0.0)
    outer = torch.where((turned < s.reciprocal) & ~one.squeeze(-1), -1.0, 1.0).to(u.dtype)
    sums = 2 * rest[..., 3 + factors :].reshape(*lead, terms, factors, inputs) - 1
    return Numbers(sums * (powers != 0).unsqueeze(-1), powers, opened.contiguous(), outer)


def fitted(numbers: Numbers, x: Tensor, target: Tensor) -> Numbers:
    """The same with sums scaled so that the terms, each times a number, fit a batch best (variable projection)."""
    target = torch.where(numbers.outer.unsqueeze(-1) < 0, 1 / target, target).nan_to_num(0.0, 0.0, 0.0)
    inner = Numbers(numbers.sums, numbers.powers, numbers.open, torch.ones_like(numbers.outer))
    count = (numbers.powers != 0).sum(-1).clamp(min=1)
    scale = angle.scale_of(target)
    size = compute(inner, x).terms.abs().median(-1).values
    inner = _scaled(inner, scale / size.clamp(min=torch.finfo(size.dtype).tiny), count)
    terms = compute(inner, x).terms
    weight = 1 / (1 + (terms.abs().sum(-2) / scale).square()).sqrt() / (1 + (target / scale).square()).sqrt()
    design = (terms / scale.unsqueeze(-1) * weight.unsqueeze(-2)).nan_to_num(0.0)  # at a pole: infinity times nothing
    moments = design @ design.mT
    ridge = 1e-6 * moments.diagonal(dim1=-2, dim2=-1).mean(-1)[..., None, None] + torch.finfo(x.dtype).tiny
    moments = moments + ridge * torch.eye(moments.shape[-1], dtype=x.dtype)
    share = torch.linalg.solve_ex(moments, design @ (target / scale * weight).unsqueeze(-1))[0].squeeze(-1)
    share = torch.where(share.abs() < SMALLEST_SHARE, SMALLEST_SHARE, share)
    scaled = _scaled(inner, share, count)
    return Numbers(scaled.sums, numbers.powers, numbers.open, numbers.outer)


def _scaled(numbers: Numbers, share: Tensor, count: Tensor) -> Numbers:
    """Each term times its share, spread evenly over its factors; the sign goes to the first."""
    each = (share.abs() ** (1 / count)).unsqueeze(-1) ** numbers.powers
    first = torch.arange(numbers.powers.shape[-1]) == 0
    each = torch.where(first & (share < 0).unsqueeze(-1), -each, each)
    return Numbers(numbers.sums * each.unsqueeze(-1), numbers.powers, numbers.open, numbers.outer)
