"""Vectors with Python's operators that print LLVM IR: the notation of `maths`."""

from __future__ import annotations

from dataclasses import dataclass

from nalm.native.text import LANES, Writer, literal


@dataclass(frozen=True)
class Vector:
    """A named vector of sixteen numbers; `type` is float, double, i1, i32 or i64."""

    w: Writer
    name: str
    type: str = "float"

    @property
    def llvm(self) -> str:
        """Its LLVM type."""
        return f"<{LANES} x {self.type}>"

    def like(self, x: Vector | float) -> Vector:
        """A number as a vector of this type; vectors pass."""
        if isinstance(x, Vector):
            return x
        text = literal(x) if self.type in ("float", "double") else str(int(x))
        return Vector(self.w, f"splat ({self.type} {text})", self.type)

    def _op(self, op: str, other: Vector | float, result: str | None = None) -> Vector:
        return Vector(self.w, self.w.op(f"{op} {self.llvm} {self.name}, {self.like(other).name}"), result or self.type)

    def _arithmetic(self, op: str, other: Vector | float) -> Vector:
        return self._op(op if self.type.startswith("i") else f"f{op}", other)

    def __add__(self, other: Vector | float) -> Vector:
        return self._arithmetic("add", other)

    def __sub__(self, other: Vector | float) -> Vector:
        return self._arithmetic("sub", other)

    def __rsub__(self, other: float) -> Vector:
        return self.like(other) - self

    def __mul__(self, other: Vector | float) -> Vector:
        return self._arithmetic("mul", other)

    def __truediv__(self, other: Vector | float) -> Vector:
        return self._op("fdiv", other)

    def __rtruediv__(self, other: float) -> Vector:
        return self.like(other) / self

    def __neg__(self) -> Vector:
        return Vector(self.w, self.w.op(f"fneg {self.llvm} {self.name}"), self.type)

    def __and__(self, other: Vector | int) -> Vector:
        return self._op("and", other)

    def __or__(self, other: Vector | int) -> Vector:
        return self._op("or", other)

    def __xor__(self, other: Vector | int) -> Vector:
        return self._op("xor", other)

    def __lshift__(self, count: int) -> Vector:
        return self._op("shl", count)

    def __rshift__(self, count: int) -> Vector:
        """An arithmetic shift: the sign is kept."""
        return self._op("ashr", count)

    def __lt__(self, other: Vector | float) -> Vector:
        return self._op("fcmp olt", other, "i1")

    def __gt__(self, other: Vector | float) -> Vector:
        return self._op("fcmp ogt", other, "i1")

    def equals(self, other: Vector | float) -> Vector:
        """Elementwise equality of floats or integers."""
        return self._op("icmp eq" if self.type.startswith("i") else "fcmp oeq", other, "i1")

    def differs(self, other: Vector | float) -> Vector:
        """Elementwise inequality of floats; NaN differs from itself."""
        return self._op("fcmp une", other, "i1")

    def where(self, a: Vector | float, b: Vector | float) -> Vector:
        """a where this holds, else b; one of the two is a vector."""
        model = a if isinstance(a, Vector) else b
        assert isinstance(model, Vector)
        left, right = model.like(a), model.like(b)
        text = f"select {self.llvm} {self.name}, {model.llvm} {left.name}, {model.llvm} {right.name}"
        return Vector(self.w, self.w.op(text), model.type)

    def cast(self, op: str, type_: str) -> Vector:
        """A conversion such as bitcast, fpext, fptrunc."""
        return Vector(self.w, self.w.op(f"{op} {self.llvm} {self.name} to <{LANES} x {type_}>"), type_)

    def call(self, name: str, *others: Vector) -> Vector:
        """A function of this vector and others of its type."""
        arguments = ", ".join(f"{v.llvm} {v.name}" for v in (self, *others))
        return Vector(self.w, self.w.op(f"call {self.llvm} @{name}({arguments})"), self.type)

    def intrinsic(self, name: str, *others: Vector) -> Vector:
        """One of LLVM's own operations."""
        return self.call(f"llvm.{name}.v{LANES}f{32 if self.type == 'float' else 64}", *others)

    def fma(self, factor: Vector | float, term: Vector | float) -> Vector:
        """self * factor + term with one rounding."""
        return self.intrinsic("fma", self.like(factor), self.like(term))

    def below(self, bound: float) -> Vector:
        """The smaller of self and a number; NaN stays."""
        return (self.like(bound) < self).where(bound, self)

    def above(self, bound: float) -> Vector:
        """The larger of self and a number; NaN stays."""
        return (self.like(bound) > self).where(bound, self)

    def polynomial(self, *coefficients: float) -> Vector:
        """Horner's rule, highest power first."""
        result = self.like(coefficients[0])
        for c in coefficients[1:]:
            result = result.fma(self, c)
        return result
