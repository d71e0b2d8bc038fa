"""What one batch tells a unit: its inputs, its output, the loss gradient there and the curvature."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from nalm.training.rule.batch import Pass
from nalm.training.rule.watch import Watched


@dataclass(frozen=True)
class Feedback:
    """All uses of a unit in one step, joined along the samples; float64.

    Attributes:
        x: inputs `(*runs, in, samples)`.
        y: outputs `(*runs, out, samples)`.
        delta: gradient of the loss at y.
        probe: `(probes, *runs, out, samples)`; the sum over probes of its outer product is the curvature at y.
        uses: how many calls the samples come from.
    """

    x: Tensor
    y: Tensor
    delta: Tensor
    probe: Tensor
    uses: int

    @cached_property
    def curvature(self) -> Tensor:
        """Of each output on its own, `(*runs, out, samples)`."""
        return self.probe.square().sum(0)

    @cached_property
    def weight(self) -> Tensor:
        """How much each sample counts: its share of the curvature, `(*runs, out, samples)`."""
        h = self.curvature
        return h / h.sum(-1, keepdim=True).clamp(min=1e-300)

    @cached_property
    def implied(self) -> Tensor:
        """The value each output should have had: a Newton step; the output itself where the loss does not see it."""
        h = self.curvature
        return self.y - torch.where(h > 0, self.delta / h, 0.0)


def gather(watched: Sequence[Watched], one: Pass) -> list[Feedback | None]:
    """Feedback for each unit from a pass whose graph is still there; None if the loss does not depend on it."""
    nodes = [use.y for unit in watched for use in unit.uses]
    if not nodes:
        return [None] * len(watched)
    # after a backward pass the gradients are there; otherwise ask for them alone, and leave all parameters as they are
    deltas = [y.grad for y in nodes]
    if all(d is None for d in deltas):
        with torch.enable_grad():
            total = one.loss.sum()
        deltas = list(torch.autograd.grad(total, nodes, retain_graph=True, allow_unused=True))
    else:  # a probe would add itself to a retained gradient
        deltas = [None if d is None else d.clone() for d in deltas]
    sent = [torch.autograd.grad(one.output, nodes, p, retain_graph=True, allow_unused=True) for p in one.probes]
    columns = [torch.stack([_or_zero(s[i], y) for s in sent]) for i, y in enumerate(nodes)]
    place, result = 0, []
    for unit in watched:
        end = place + len(unit.uses)
        result.append(_joined(unit, deltas[place:end], columns[place:end]))
        place = end
    return result


def _joined(one: Watched, deltas: Sequence[Tensor | None], columns: Sequence[Tensor]) -> Feedback | None:
    if all(delta is None for delta in deltas):
        return None
    return Feedback(
        _along_samples([u.x for u in one.uses]),
        _along_samples([u.y.detach() for u in one.uses]),
        _along_samples([_or_zero(d, u.y) for d, u in zip(deltas, one.uses, strict=True)]),
        _along_samples(columns),
        len(one.uses),
    )


def _along_samples(parts: Sequence[Tensor]) -> Tensor:
    return (parts[0] if len(parts) == 1 else torch.cat(list(parts), -1)).double()


def _or_zero(gradient: Tensor | None, like: Tensor) -> Tensor:
    return torch.zeros_like(like) if gradient is None else gradient
