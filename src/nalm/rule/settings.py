"""All numbers of the rule in one place. They were chosen on the tasks named in docs/results/training-rule.md."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """Defaults that need no tuning; an experiment is a difference to them.

    Attributes:
        memory: share of a running second moment that stays at each step.
        damping: added to second moments, relative to their mean eigenvalue.
        pace: step size of units between learned layers, relative to the largest safe step.
        trust: largest relative change of the network's output that one step of a stack may predict.
        decisive: a grid point that is this many times better, or worse, is taken, or left, at once.
        patience: and one that is merely not worse, or worse, after this many steps in a row.
        glide: in a network, share of the way to the grid per step.
        explains: in a network, a grid point that leaves less than this share unexplained is approached...
        doubts: ... and one that leaves more than this share unexplained is left.
    """

    memory: float = 0.95
    damping: float = 1e-9
    pace: float = 0.3
    trust: float = 0.5
    decisive: float = 2.0
    patience: int = 20
    glide: float = 0.02
    explains: float = 0.03
    doubts: float = 0.1
    snap: bool = True
