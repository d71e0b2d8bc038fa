"""The words of a verdict: a candidate, what may be said of it, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from nalm.solver.data.problem import Problem
from nalm.solver.formula.algebra import Formula, renumbered, size


class Status(StrEnum):
    """What is claimed about a formula."""

    EXACT = "exact"
    REAL = "real coefficient"
    AMBIGUOUS = "ambiguous"
    APPROXIMATION = "approximation"
    NONE = "none"


@dataclass(frozen=True)
class Fitted:
    """A fitted real number and its standard deviation."""

    value: float
    deviation: float

    @property
    def digits(self) -> int:
        """How many digits it is written with: 1 for 0.3, 4 for 8.314."""
        return next(n for n in range(1, 18) if float(f"{self.value:.{n}g}") == self.value)


@dataclass(frozen=True)
class Candidate:
    """One formula that was tried, with its errors.

    `backward_error` is in units of what rounding (and known noise) explains: below 4 (6) means equal.
    `constants` are the fitted real numbers with their standard deviations.
    """

    formula: Formula
    shape: str
    backward_error: float
    relative_error: float
    constants: tuple[Fitted, ...] = ()

    @property
    def complexity(self) -> int:
        """The size of its formula: symbols, numbers and operations."""
        return size(self.formula)


@dataclass(frozen=True)
class Verdict:
    """What is claimed about a candidate, and why it is not more; only this package makes one."""

    candidate: Candidate
    status: Status
    reasons: tuple[str, ...] = ()

    @property
    def found(self) -> bool:
        """Is it claimed to be the law (with or without a real coefficient)?"""
        return self.status in (Status.EXACT, Status.REAL)

    def because(self, *reasons: str) -> Verdict:
        """The same with reasons put before its own."""
        return replace(self, reasons=(*reasons, *self.reasons))

    def doubted(self, *reasons: str) -> Verdict:
        """The same candidate, no longer claimed: ambiguous, with reasons put before its own."""
        return replace(self, status=Status.AMBIGUOUS).because(*reasons)

    def over(self, columns: Sequence[int]) -> Verdict:
        """The same about a larger table, of which `columns` are those that the formula reads from."""
        return replace(self, candidate=replace(self.candidate, formula=renumbered(self.candidate.formula, columns)))


@dataclass(frozen=True, eq=False)
class Finding:
    """What a search ends with: the problem as it was understood (its noise, its digits), all tried, and the verdict."""

    problem: Problem
    tried: tuple[Verdict, ...]
    verdict: Verdict

    def over(self, columns: Sequence[int]) -> Finding:
        """The same about a larger table, of which `columns` were searched."""
        return Finding(self.problem, tuple(verdict.over(columns) for verdict in self.tried), self.verdict.over(columns))
