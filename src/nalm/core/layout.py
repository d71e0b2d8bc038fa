"""From PyTorch's usual layout `(..., features)` to the one units compute in, `(*runs, features, samples)`, and back.

Written with `transpose`, because the older ONNX exporter (`dynamo=False`) does not know `mT`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import torch
from torch import Tensor

from nalm.core.arguments import Index, Need, need_of

Runs = Annotated[
    int | Sequence[int],
    Need("a number of copies, or the sizes of their axes: (2, 3)", need_of(Index | Sequence[Index]).holds),
]


def check_input(
    unit: str, features: tuple[int, int], runs: tuple[int, ...], x: Any, weight: Tensor | None = None
) -> None:
    """Raise an error that names the unit, what it got and what it needs; 0 input features mean any number.

    Args:
        weight: a parameter of the unit; the inputs need its type and place, unless torch converts them itself.
    """
    inputs, outputs = features
    if not isinstance(x, Tensor):
        raise TypeError(
            f"{unit} got a {type(x).__module__}.{type(x).__name__}; it needs a tensor. "
            "Convert with torch.as_tensor(x, dtype=torch.float32)."
        )
    if not x.dtype.is_floating_point:
        raise TypeError(f"{unit} got {x.dtype} inputs; it needs floating point. Convert with x.float().")
    if weight is not None and x.device != weight.device:
        raise ValueError(
            f"{unit} is on {weight.device} and got inputs on {x.device}. Convert with x.to({str(weight.device)!r})."
        )
    if weight is not None and x.dtype != weight.dtype and not torch.is_autocast_enabled(x.device.type):
        raise TypeError(f"{unit} holds {weight.dtype} and got {x.dtype} inputs. Convert with x.to({weight.dtype}).")
    if x.dim() == 0 or x.shape[-1] == 0 or (inputs and x.shape[-1] != inputs):
        raise ValueError(
            f"{unit}({inputs}, {outputs}) got inputs of shape {tuple(x.shape)}; "
            f"the last axis needs {inputs or 'one or more'} features."
        )
    if x.dim() > 2 and tuple(x.shape[: len(runs)]) != runs:
        raise ValueError(
            f"{unit} with runs={runs} got inputs of shape {tuple(x.shape)}; "
            f"they need to start with the runs axes, or be (samples, {inputs}) shared by all runs."
        )


def samples_last(x: Tensor, runs: tuple[int, ...]) -> tuple[Tensor, tuple[int, ...]]:
    """`(*runs, *batch, in)` to `(*runs, in, samples)` and the batch shape; up to two axes are shared by all runs."""
    lead = () if x.dim() <= 2 else tuple(x.shape[: len(runs)])
    batch = tuple(x.shape[len(lead) : -1])
    return x.reshape(*lead, -1, x.shape[-1]).transpose(-2, -1), batch


def features_last(y: Tensor, runs: tuple[int, ...], batch: tuple[int, ...]) -> Tensor:
    """`(*runs, out, samples)` to `(*runs, *batch, out)`."""
    return y.transpose(-2, -1).reshape(*runs, *batch, y.shape[-2])
