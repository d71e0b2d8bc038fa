"""Units that hold given numbers, for tests of the rule's parts."""

from __future__ import annotations

from typing import Any

import torch

import nalm
from nalm.training.rule.ruled import Ruled, ruled


def unit_of(kind: type[nalm.Unit], held: list[list[float]], **options: Any) -> Ruled:
    """A unit whose form holds these numbers, one list for each output."""
    unit = kind(len(held[0]), len(held), seed=0, **options)
    (one,) = ruled(unit)
    with torch.no_grad():
        one.form.write(unit, torch.tensor(held))
    return one
