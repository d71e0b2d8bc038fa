"""The ladder of shapes, cheapest first."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from . import factored, products, sums
from .formula import Formula
from .judge import Candidate, judge
from .problem import Problem


@dataclass(frozen=True)
class Rung:
    """One shape: its name and the formulas it proposes."""

    name: str
    propose: Callable[[Problem], Iterator[Formula]]


def rungs(problem: Problem) -> Iterator[Rung]:
    yield Rung("sum", sums.sum_of_inputs)
    yield Rung("product", products.product_of_powers)
    yield Rung("sum of powers", sums.sum_of_powers)
    yield Rung("quotient of sums", factored.quotient_of_sums)
    yield Rung("product of 2 sums", lambda p: factored.product_of_sums(p, 2, starts=3))
    yield Rung("product of 3 sums", lambda p: factored.product_of_sums(p, 3, starts=6))


def climb(problem: Problem, tried: list[Candidate] | None = None) -> Candidate | None:
    for rung in rungs(problem):
        for formula in rung.propose(problem):
            candidate = judge(problem, formula, rung.name)
            if tried is not None:
                tried.append(candidate)
            if candidate.found:
                return candidate
    return None
