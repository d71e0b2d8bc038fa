"""What a search returns: the formula, the verdict, the evidence, and everything else that was tried."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from nalm.core.arguments import checks_arguments
from nalm.solver.data.columns import rows_for
from nalm.solver.formula.calculus import Array, evaluate
from nalm.solver.formula.notation import neat, to_sympy
from nalm.solver.formula.recognised import recognised
from nalm.solver.verdict.candidate import Candidate, Fitted, Status, Verdict

if TYPE_CHECKING:
    from nalm.core.expression import Expression
    from nalm.core.unit import Unit


CANDIDATE_HEAD = ("", "formula", "shape", "size", "error", "verdict")


@dataclass(frozen=True)
class Evidence:
    """Why a verdict was given.

    Attributes:
        backward_error: the largest error over the rows, in units of what float32 rounding and the noise explain.
        samples: rows used.
        noise: the relative noise of the target that was given or, if it was unknown and needed, estimated.
        constants: each fitted real number with its standard deviation.
        notes: what else there is to know, in plain sentences.
        additive: the noise in the unit of the target, where it was estimated as the same for all rows.
    """

    backward_error: float
    samples: int
    noise: float
    constants: tuple[Fitted, ...] = ()
    notes: tuple[str, ...] = ()
    additive: float = 0.0


@dataclass(frozen=True)
class Solution:
    """The result of `nalm.solve`.

    `status` is `exact`, `real coefficient`, `ambiguous` (a formula fits, but so do others), `approximation` (no law was
    found; the formula predicts, and its error was measured on rows it was not fitted to) or `none`. The last two never
    mean that no law exists.
    """

    verdict: Verdict
    evidence: Evidence
    names: tuple[str, ...]
    tried: tuple[Verdict, ...] = field(repr=False)
    unit: Unit | None = field(repr=False)
    seconds: float

    @property
    def chosen(self) -> Candidate:
        """The candidate that was chosen."""
        return self.verdict.candidate

    @property
    def status(self) -> Status:
        """The verdict in a word or two."""
        return self.verdict.status

    @property
    def exact(self) -> bool:
        """Whether every number in the formula is known exactly."""
        return self.status is Status.EXACT

    @property
    def accuracy(self) -> str:
        """How well the formula agrees, in the measure that fits its status."""
        if self.status is Status.APPROXIMATION:
            return f"error {self.chosen.relative_error:.2g} of the target's size at rows held out"
        if self.status is Status.NONE:
            return f"error {self.chosen.relative_error:.2g} of the target's size at the rows it was fitted to"
        if self.evidence.noise or self.evidence.additive:
            return f"largest error {self.evidence.backward_error:.2g} times the noise"
        return f"backward error {self.evidence.backward_error:.2g}"

    @property
    def expression(self) -> Expression:
        """The formula as the same object that `nalm.read` gives."""
        return expression_of(self.chosen, self.names, self.unit)

    @property
    def front(self) -> list[Verdict]:
        """The best of what was tried, one for each complexity, and the chosen one, simplest first."""
        return pareto(self.tried, self.verdict)

    @property
    def candidates(self) -> list[dict[str, Any]]:
        """The front as plain data, the chosen one marked."""
        return [
            {
                "chosen": verdict is self.verdict,
                "formula": str(expression_of(verdict.candidate, self.names)),
                "shape": verdict.candidate.shape,
                "complexity": verdict.candidate.complexity,
                "relative_error": verdict.candidate.relative_error,
                "backward_error": verdict.candidate.backward_error,
                "status": str(verdict.status),
            }
            for verdict in self.front
        ]

    def candidate_lines(self) -> list[tuple[str, ...]]:
        """The front as texts under `CANDIDATE_HEAD`, the chosen one marked; numbers of the others have four digits."""
        return [
            (
                ">" if verdict is self.verdict else "",
                self._as_text(verdict),
                verdict.candidate.shape,
                str(verdict.candidate.complexity),
                f"{verdict.candidate.relative_error:.1e}",
                str(verdict.status),
            )
            for verdict in self.front
        ]

    def _as_text(self, verdict: Verdict) -> str:
        import sympy

        expression = expression_of(verdict.candidate, self.names)
        if verdict is self.verdict or verdict.found:
            return str(expression)
        (written,) = expression.outputs
        return str(written.xreplace({number: sympy.Float(number, 4) for number in written.atoms(sympy.Float)}))

    def with_notes(self, notes: Sequence[str]) -> Solution:
        """The same with notes put before its own."""
        return replace(self, evidence=replace(self.evidence, notes=(*notes, *self.evidence.notes)))

    @checks_arguments
    def at(self, index: int | None = None) -> Candidate:
        """An entry of the front by its place; the chosen one for None."""
        if index is None:
            return self.chosen
        front = self.front
        if not -len(front) <= index < len(front):
            raise IndexError(f"there are {len(front)} equations, 0 to {len(front) - 1}; got {index}")
        return front[index].candidate

    def expression_at(self, index: int | None = None) -> Expression:
        """The formula of an entry of the front; the chosen one for None."""
        return self.expression if index is None else expression_of(self.at(index), self.names)

    def predict(self, X: Any, index: int | None = None) -> Array:
        """Values at new rows of the chosen formula, or of an entry of the front; a DataFrame's columns go by name."""
        return evaluate(self.at(index).formula, rows_for(X, self.names))

    def __str__(self) -> str:
        head = f"{self.expression}   [{self.status}, {self.accuracy}]"
        return "\n".join([head, *(f"  note: {note}" for note in self.evidence.notes)])

    def _repr_latex_(self) -> str:
        return self.expression._repr_latex_()

    def _repr_html_(self) -> str:
        """In a notebook: the formula, the verdict, the notes, and what else was tried."""
        from nalm.core.notebook import mathml, paragraph, table

        said = [f"{self.status}, {self.accuracy}", *(f"Note: {note}" for note in self.evidence.notes)]
        return (
            mathml(self.expression.sympy)
            + "".join(map(paragraph, said))
            + table(CANDIDATE_HEAD, self.candidate_lines())
        )


def expression_of(candidate: Candidate, names: Sequence[str], unit: Unit | None = None) -> Expression:
    """A candidate's formula over its column names."""
    import sympy

    from nalm.core.expression import Expression

    symbols = tuple(sympy.Symbol(name, real=True) for name in names)
    written = neat(to_sympy(candidate.formula, symbols, recognised_in(candidate)))
    return Expression((written,), symbols, not candidate.constants, unit)


def recognised_in(candidate: Candidate) -> dict[float, str]:
    """Which of its fitted numbers have a name: 2*pi and its likes, as SymPy writes them."""
    names = {constant.value: recognised(constant.value, constant.deviation) for constant in candidate.constants}
    return {value: name for value, name in names.items() if name}


def pareto(tried: Sequence[Verdict], chosen: Verdict, most: int = 20) -> list[Verdict]:
    """The candidates that no simpler one beats, each formula once, and the chosen one; simplest first."""
    kept: list[Verdict] = []
    least = float("inf")
    for verdict in sorted([*tried, chosen], key=lambda v: (v.candidate.complexity, v.candidate.relative_error)):
        candidate = verdict.candidate
        new = candidate.formula not in {chosen.candidate.formula, *(v.candidate.formula for v in kept)}
        if verdict is chosen or (candidate.relative_error < least and new):
            kept.append(verdict)
        least = min(least, candidate.relative_error)
    return kept if len(kept) <= most else [*kept[: most - 1], kept[-1]]
