"""All numbers of the rule in one place. They were chosen on the tasks named in docs/results/training-rule.md."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """Defaults that need no tuning; an experiment is a difference to them.

    Attributes:
        memory: share of a running second moment that stays at each step.
        damping: added to second moments, relative to their mean eigenvalue.
        pace: largest share of a joint step that is taken.
        trust: largest relative change of the output that a joint step may predict.
        balance: share of the imbalance between the rows of a product of sums that is removed per step.
        attempt: steps without progress after which a stack without a grid point begins anew.
        snap: whether grid points are used at all.
        decisive: a grid point that is this many times better, or worse, is taken, or left, at once.
        patience: and one that is merely not worse, or worse, when so many more steps said so than not.
        slow: in a network, share of the data step that is taken, because neighbours learn too.
        glide: in a network, share of the way to the grid per step.
        explains: in a network, a grid point that leaves less than this share unexplained is approached...
        doubts: ... and one that leaves more than this share unexplained is left.
    """

    memory: float = 0.9
    damping: float = 1e-9
    pace: float = 0.5
    trust: float = 1.0
    balance: float = 0.05
    attempt: int = 100
    snap: bool = True
    decisive: float = 2.0
    patience: int = 20
    slow: float = 0.3
    glide: float = 0.02
    explains: float = 0.03
    doubts: float = 0.1
