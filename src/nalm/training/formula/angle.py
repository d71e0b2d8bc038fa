"""Errors as angles. A quotient that passes through infinity changes its angle only a little: y and 1/y are treated
alike, no pole is an obstacle, and no target is so large that it drowns the others."""

from __future__ import annotations

import math

import torch
from torch import Tensor


def scale_of(target: Tensor) -> Tensor:
    """The size that becomes an angle of 45 degrees: the median of |target|, `(..., 1)`."""
    return target.abs().median(-1, keepdim=True).values.clamp(min=torch.finfo(target.dtype).tiny)


def error(output: Tensor, target: Tensor, scale: Tensor) -> Tensor:
    """The angle between output and target, in [-pi/2, pi/2]; infinity and minus infinity are the same."""
    difference = torch.atan(output / scale) - torch.atan(target / scale)
    return difference - math.pi * (difference / math.pi).round()


def slope(output: Tensor, scale: Tensor) -> Tensor:
    """Derivative of the angle by the output."""
    return scale / (scale.square() + output.square())


def loss(output: Tensor, target: Tensor, scale: Tensor) -> Tensor:
    """Mean of the squared sine of the angle, 1 where it is not a number, `(...)`."""
    return error(output, target, scale).sin().square().nan_to_num(1.0, 1.0, 1.0).mean(-1)
