"""Occam's razor in bits: what the data say against what the formula costs to write down."""

from __future__ import annotations

import math

import numpy as np

from .formula import Formula, inputs, real_constants, size
from .problem import ROUNDING, Problem

SPARE_BITS = 20.0
"""How many bits of evidence must be left after paying for the formula's own description."""


def evidence_bits(problem: Problem) -> float:
    """How many bits the target pins down: for each row, its spread over what rounding and noise leave open."""
    height = float(np.max(np.abs(problem.y))) or 1.0
    y = problem.y / height  # squares of very small numbers would vanish
    spread = float(np.std(y))
    floor = (ROUNDING + problem.noise) * np.maximum(np.abs(y), 1e-300)
    return float(np.sum(np.maximum(np.log2(spread / floor + 1) - 2, 0)))


def description_bits(formula: Formula, columns: int) -> float:
    """About how many bits name a formula: which inputs, joined how, and each real constant in full."""
    return size(formula) * (math.log2(columns + 2) + 2.5) + 24 * len(real_constants(formula)) + len(inputs(formula))
