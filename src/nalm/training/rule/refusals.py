"""What `step` refuses, with an error or a warning that names the way out."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from nalm.training.rule.watch import Watched

MANY_REFUSED = 10  # batches in a row that are not finite, before we say so


def refuse_misuse(optimiser: torch.optim.Optimizer, closure: Any) -> None:
    """Raise what a step cannot work with: no function, a GradScaler."""
    if not callable(closure):
        raise TypeError(
            "step needs the function that computes output and loss, optimiser.step(evaluate, x, target), "
            "and calls backward itself."
        )
    if getattr(optimiser, "grad_scale", None) is not None or getattr(optimiser, "found_inf", None) is not None:
        raise ValueError(
            "A GradScaler cannot scale gradients that step computes itself. Call optimiser.step(evaluate, ...) "
            "without the scaler, and use bfloat16 in autocast, which needs none."
        )


def company() -> int:
    """How many processes train together."""
    together = torch.distributed.is_available() and torch.distributed.is_initialized()
    return torch.distributed.get_world_size() if together else 1


def refuse_company(processes: int) -> None:
    """Raise if there is more than one process."""
    if processes > 1:
        raise ValueError(
            f"LocalGaussNewton sees the batch of its own process only: these {processes} would drift apart. "
            "Find the units' numbers in one process, freeze them, and train the rest in several."
        )


def checked(
    told: Any, watched: Sequence[Watched], runs: tuple[int, ...], needs_gradients: bool
) -> tuple[Tensor, Tensor]:
    """Output and loss, as the function of the user has told them."""
    output, loss = told if isinstance(told, tuple) and len(told) == 2 else (None, told)
    if not isinstance(output, Tensor) or not isinstance(loss, Tensor):
        raise TypeError(
            "The function must return two tensors, the model's output and the loss: output, loss. If a trainer calls "
            "step for you, turn that off and call it yourself (Lightning: self.automatic_optimization = False)."
        )
    if tuple(loss.shape) != runs:
        raise ValueError(
            f"The loss has shape {tuple(loss.shape)}; it needs shape {runs}, a mean over the samples"
            + (" of each run." if runs else ".")
        )
    if needs_gradients and not output.requires_grad:
        raise ValueError("The output does not depend on anything trainable; was it detached, or under no_grad?")
    if any(use.y.grad is not None for one in watched for use in one.uses):
        raise ValueError("The function has called backward; leave that to step, which needs the graph.")
    return output, loss


class Refused:
    """Counts batches that are not finite, from which nothing is learned.

    Attributes:
        count: of all of them.
        in_a_row: since the last one that was finite.
    """

    def __init__(self) -> None:
        self.count = self.in_a_row = 0

    def one_more(self) -> None:
        """Refuse a batch; say so if there are many in a row."""
        self.count += 1
        self.in_a_row += 1
        if self.in_a_row == MANY_REFUSED:
            warnings.warn(
                f"{MANY_REFUSED} batches in a row gave an output or a loss that is not finite; nothing is learned from "
                "them. Look at the data, the learning rate, and inputs of a division near zero.",
                stacklevel=5,
            )
