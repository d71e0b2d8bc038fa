"""How weights start. Each start is an inverse CDF: it turns uniforms on [0, 1) into initial values, so that all weights
of all units come from one generator. Starts are partial functions, not closures, so that units can be pickled."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor


class Fan(NamedTuple):
    """The sizes a start may depend on."""

    inputs: int
    outputs: int


Start = Callable[[Tensor, Fan], Tensor]
"""Uniforms on [0, 1) and the layer's sizes to initial values."""


def uniform(low: float, high: float) -> Start:
    """U[low, high)."""
    return partial(_uniform, low, high)


def uniform_within(bound: Callable[[Fan], float]) -> Start:
    """U[-r, r) with r depending on the layer's sizes."""
    return partial(_uniform_within, bound)


def normal(mean: float, deviation: float | Callable[[Fan], float]) -> Start:
    """N(mean, deviation^2)."""
    return partial(_normal, mean, deviation)


def constant(value: float) -> Start:
    """The same value everywhere."""
    return partial(_constant, value)


def glorot_bound(fan: Fan) -> float:
    """sqrt(6 / (in + out)), the bound of the Xavier uniform initialisation."""
    return math.sqrt(6 / (fan.inputs + fan.outputs))


def _uniform(low: float, high: float, u: Tensor, _fan: Fan) -> Tensor:
    return low + (high - low) * u


def _uniform_within(bound: Callable[[Fan], float], u: Tensor, fan: Fan) -> Tensor:
    r = bound(fan)
    return -r + 2 * r * u


def _normal(mean: float, deviation: float | Callable[[Fan], float], u: Tensor, fan: Fan) -> Tensor:
    sd = deviation(fan) if callable(deviation) else deviation
    # uniforms are multiples of 2**-24 including 0: the half step keeps the quantile finite
    quantile: Tensor = torch.special.ndtri(u.double() + 2.0**-25)
    return mean + sd * quantile.to(u.dtype)


def _constant(value: float, u: Tensor, _fan: Fan) -> Tensor:
    return torch.full_like(u, value)
