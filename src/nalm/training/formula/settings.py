"""All numbers of the search for a formula in one place."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """Defaults that need no tuning; an experiment is a difference to them. They were chosen on U[1,2) and U[-2,2).

    Attributes:
        attempts: choices of open factors that are trained side by side, per output.
        damping: of the first Levenberg-Marquardt step of an attempt, relative to the curvature.
        patience: steps in which an attempt must halve its error, or begin anew with other factors.
        longest: steps after which an attempt begins anew in any case, unless it is on the grid.
        close: mean squared error (of the angle, see `angle.py`) below which the nearest grid point is looked at.
        agreements: fresh batches in a row that must confirm a grid point before the layer takes it.
        longer: once a formula was found, the search goes on for as long as it took, and these steps, for a shorter one.
        doubts: batches in a row that must contradict the layer's formula before it is given up.
        rounding: units of rounding by which inputs and targets may be off for a batch to confirm a grid point.
        one_term: share of attempts with a single term.
        one_factor, two_factors: shares of terms with so many factors.
        alike: share of terms whose factors all multiply or all divide; in the others each does as it likes.
        dividing: share of factors, or of terms alike, that divide.
        reciprocal: share of attempts with several terms that are one divided by their sum.
    """

    attempts: int = 64
    damping: float = 1e-2
    patience: int = 20
    longest: int = 150
    close: float = 1e-6
    agreements: int = 3
    longer: int = 20
    doubts: int = 20
    rounding: float = 8.0
    one_term: float = 0.5
    one_factor: float = 0.35
    two_factors: float = 0.4
    alike: float = 0.5
    dividing: float = 0.4
    reciprocal: float = 0.25
