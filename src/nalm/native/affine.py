"""Values with two long axes, features x samples, kept symbolic.

The inputs of a wide layer, (100 features, 128 samples) per run, are never formed. They stay a sum of terms
`f[feature] * s[sample] * u[feature, sample]` in which `u` is a matrix of uniforms that every range of a seed shares (or
nothing, for a plain outer product). With `x = lo + (hi - lo) u` a layer `W x` is therefore
`lo sum(W) + (hi - lo) (W u)`: one matrix product per run on shared data, and none at all for what only the seed
decides, such as the target's sums.
"""

from __future__ import annotations

from dataclasses import dataclass

from nalm.native.algebra import Algebra
from nalm.native.errors import Unsupported
from nalm.native.values import LONG, Value, Varies, split


@dataclass(frozen=True)
class Matrix:
    """A drawn matrix less a half: element (f, s) is number `base + f * stride + s` of draw `draw`.

    Uniforms around zero, because `sum(g * u)` with a mean of one half would lose digits against what it is added to.
    """

    draw: int
    base: int
    stride: int


@dataclass(frozen=True)
class Term:
    """f[feature] * s[sample] * matrix[feature, sample]."""

    f: Value
    s: Value
    matrix: Matrix | None


@dataclass(frozen=True)
class Separable:
    """A sum of terms."""

    terms: tuple[Term, ...]


Entry = Value | Separable  # what an array of the lowering holds


class Arithmetic:
    """The operations that values with two long axes survive: + - * and the sums that end them."""

    def __init__(self, graph: Algebra) -> None:
        self.graph = graph
        self.one = graph.constant(1.0)

    def matrix(self, matrix: Matrix) -> Separable:
        """The drawn numbers themselves."""
        return Separable((Term(self.one, self.one, matrix), Term(self.one, self.graph.constant(0.5), None)))

    def add(self, a: Entry, b: Entry) -> Entry:
        """a + b."""
        if _plain(a, b):
            return self.graph.add(a, b)  # type: ignore[arg-type]
        return Separable(_merged(self.graph, (*self._terms(a), *self._terms(b))))

    def sub(self, a: Entry, b: Entry) -> Entry:
        """a - b."""
        if _plain(a, b):
            return self.graph.sub(a, b)  # type: ignore[arg-type]
        return self.add(a, self.mul(self.graph.constant(-1.0), b))

    def mul(self, a: Entry, b: Entry) -> Entry:
        """a b; at most one of two multiplied terms may hold drawn numbers."""
        if _plain(a, b):
            return self.graph.mul(a, b)  # type: ignore[arg-type]
        return Separable(_merged(self.graph, tuple(self._times(p, q) for p in self._terms(a) for q in self._terms(b))))

    def div(self, a: Entry, b: Entry) -> Entry:
        """a / b."""
        if _plain(a, b):
            return self.graph.div(a, b)  # type: ignore[arg-type]
        if isinstance(b, Separable):
            raise _not_affine("division")
        return self.mul(a, self.graph.div(self.one, b))

    def total(self, a: Entry, axis: Varies, size: int) -> Entry:
        """The sum over a long axis of `size` entries."""
        if isinstance(a, Separable):
            sums = [self._total(term, axis, size) for term in a.terms]
            result: Entry = sums[0]
            for other in sums[1:]:
                result = self.add(result, other)
            return result
        return self._plain_total(a, axis, size)

    def _plain_total(self, value: Value, axis: Varies, size: int) -> Value:
        front, back = split(value)
        if back is None or not back.varies & axis:
            return self.graph.mul(self.graph.constant(float(size)), value)
        op = "sum_samples" if axis == Varies.SAMPLE else "sum_features"
        result = self.graph.reduce(op, (back,), axis, (1,))
        return result if front is None else self.graph.mul(front, result)

    def _total(self, term: Term, axis: Varies, size: int) -> Entry:
        if axis == Varies.SAMPLE:
            ending, staying, op = term.s, term.f, "contract_samples"
        else:
            ending, staying, op = term.f, term.s, "contract_features"
        if term.matrix is None:
            return self.mul(staying, self._plain_total(ending, axis, size))
        front, back = split(ending)
        ones = self.graph.make("ones", data=int(axis), varies=axis)
        contracted = self._contract(op, ones if back is None else back, term.matrix)
        return self.mul(contracted if front is None else self.graph.mul(front, contracted), staying)

    def _contract(self, op: str, vector: Value, matrix: Matrix) -> Value:
        """The product of a vector with a drawn matrix, which leaves the matrix's other axis."""
        other = Varies.FEATURE if op == "contract_samples" else Varies.SAMPLE
        varies = (vector.varies & ~LONG) | other | Varies.STEP
        value = self.graph.make(op, (vector,), matrix, varies=varies)
        # Samples are summed after the features of a level are done, so what they leave belongs to the next level.
        value.level = vector.level + (op == "contract_samples")
        return value

    def _terms(self, a: Entry) -> tuple[Term, ...]:
        if isinstance(a, Separable):
            return a.terms
        if a.kind == "bool":
            raise _not_affine("a comparison")
        return (Term(a, self.one, None),) if a.varies & Varies.FEATURE else (Term(self.one, a, None),)

    def _times(self, p: Term, q: Term) -> Term:
        if p.matrix is not None and q.matrix is not None:
            raise _not_affine("the product of two")
        return Term(self.graph.mul(p.f, q.f), self.graph.mul(p.s, q.s), p.matrix or q.matrix)


def _plain(a: Entry, b: Entry) -> bool:
    return isinstance(a, Value) and isinstance(b, Value) and (a.axes | b.axes) != LONG


def _merged(graph: Algebra, terms: tuple[Term, ...]) -> tuple[Term, ...]:
    """Terms that differ in one factor only become one, so that a sum of many outer products stays short."""
    merged: list[Term] = []
    for term in terms:
        for i, other in enumerate(merged):
            if other.matrix == term.matrix and other.f is term.f:
                merged[i] = Term(term.f, graph.add(other.s, term.s), term.matrix)
                break
            if other.matrix == term.matrix and other.s is term.s:
                merged[i] = Term(graph.add(other.f, term.f), term.s, term.matrix)
                break
        else:
            merged.append(term)
    return tuple(merged)


def _not_affine(what: str) -> Unsupported:
    return Unsupported(what, "acts on a value with two long axes (features x samples) that is not affine")
