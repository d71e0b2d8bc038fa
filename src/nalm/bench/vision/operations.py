"""What is computed of digits, and when a head that is given the true digits counts as exact."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from nalm.bench.find import nearest
from nalm.bench.tasks.logic import RELATIONS, share_wrong


def relative_error(results: Tensor, targets: Tensor) -> float:
    """How far a head is from its operation when it is given the true digits: the largest error, relative to targets
    above 1. Below 1e-5 it counts as exact: float32 keeps seven digits."""
    error = (results.double() - targets.double()).abs() / targets.double().abs().clamp(min=1)
    return float(error.nan_to_num(torch.inf).max())


def share_decided_wrong(results: Tensor, targets: Tensor) -> float:
    """The share of decisions that are wrong when a head is given the true digits."""
    return float(share_wrong(results, targets))


@dataclass(frozen=True)
class Operation:
    """What is computed of digits.

    Attributes:
        exact: on tensors `(samples, 1)`, to `(samples, outputs)`.
        smallest: digit that may occur; division has no zeros.
        decimals: that a result is rounded to before it is compared.
        idle: what an input that is left out should look like.
        off: how far results for the true digits are from their targets.
    """

    exact: Callable[[Tensor, Tensor], Tensor]
    smallest: int = 0
    decimals: int = 0
    idle: float = 1.0
    off: Callable[[Tensor, Tensor], float] = relative_error


def _decision(relation: Callable[[Tensor, Tensor], Tensor]) -> Operation:
    """Whether a relation holds, and whether it does not: the two outputs of a status register."""

    def both(a: Tensor, b: Tensor) -> Tensor:
        holds = relation(a, b).to(a.dtype)
        return torch.cat([holds, 1 - holds], -1)

    return Operation(both, off=share_decided_wrong)


ARITHMETIC = {
    "mul": Operation(torch.mul),
    "div": Operation(torch.div, smallest=1, decimals=5),
    "add": Operation(torch.add, idle=0.0),
}
OPERATIONS = {**ARITHMETIC, **{name: _decision(relation) for name, relation in RELATIONS.items()}}


def check_operation(name: str, valid: tuple[str, ...]) -> None:
    """Refuse an operation that a task does not have."""
    if name not in valid:
        raise ValueError(f"There is no operation {name!r}. {nearest(name, valid)}")


def running(labels: Tensor, operation: str) -> Tensor:
    """Sums or products of all beginnings of sequences `(samples, length)`, in float64.

    >>> running(torch.tensor([[2, 3, 4]]), "mul").tolist()
    [[2.0, 6.0, 24.0]]
    """
    return labels.double().cumprod(-1) if operation == "mul" else labels.double().cumsum(-1)
