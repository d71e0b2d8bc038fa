"""One value, one to four instructions."""

from __future__ import annotations

from nalm.native.errors import Unsupported
from nalm.native.maths import FUNCTIONS
from nalm.native.text import BITS, FLOATS, LANES, Writer, splat
from nalm.native.values import Value, is_number, number

_BINARY = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}
_COMPARE = {"lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge", "eq": "oeq", "ne": "une"}
_INTRINSIC = {"sqrt": "sqrt", "abs": "fabs", "floor": "floor", "ceil": "ceil", "trunc": "trunc", "round": "roundeven"}


def constant(value: Value) -> str:
    """A constant as a vector operand."""
    if value.kind == "bool":
        return f"splat (i1 {'true' if value.data else 'false'})"
    return splat(float(number(value)))


def intrinsic(name: str, arity: int = 1) -> str:
    """Declares an LLVM operation on a vector of floats."""
    return f"declare {FLOATS} @llvm.{name}.v{LANES}f32({', '.join([FLOATS] * arity)})\n"


def call(writer: Writer, name: str, *operands: str) -> str:
    """Calls a function of vectors."""
    return writer.op(f"call {FLOATS} @{name}({', '.join(f'{FLOATS} {o}' for o in operands)})")


def fma(writer: Writer, a: str, b: str, c: str) -> str:
    """a b + c with one rounding."""
    return call(writer, f"llvm.fma.v{LANES}f32", a, b, c)


def negated(writer: Writer, a: str) -> str:
    """-a, exactly."""
    return writer.op(f"fneg {FLOATS} {a}")


def instruction(writer: Writer, value: Value, args: list[str]) -> str:
    """Prints an elementwise value; returns its name."""
    op = value.op
    if op == "ones":
        return splat(1.0)
    if op == "mul" and is_number(value.args[0], -1.0):
        return negated(writer, args[1])
    if op in _BINARY:
        return writer.op(f"{_BINARY[op]} {FLOATS} {args[0]}, {args[1]}")
    if op in _COMPARE:
        return writer.op(f"fcmp {_COMPARE[op]} {FLOATS} {args[0]}, {args[1]}")
    if op in ("fma", "fms", "fnma"):
        a, b, c = args
        if op == "fms":
            return fma(writer, a, b, negated(writer, c))
        return fma(writer, a if op == "fma" else negated(writer, a), b, c)
    if op == "select":
        type_ = BITS if value.kind == "bool" else FLOATS
        return writer.op(f"select {BITS} {args[0]}, {type_} {args[1]}, {type_} {args[2]}")
    if op in ("min", "max"):
        return _extreme(writer, op, value.args[0].op == "constant", *args)
    if op in ("and", "or", "xor"):
        return writer.op(f"{op} {BITS} {args[0]}, {args[1]}")
    if op == "not":
        return writer.op(f"xor {BITS} {args[0]}, splat (i1 true)")
    if op == "float":
        return writer.op(f"select {BITS} {args[0]}, {FLOATS} {splat(1.0)}, {FLOATS} {splat(0.0)}")
    if op in _INTRINSIC:
        return call(writer, f"llvm.{_INTRINSIC[op]}.v{LANES}f32", *args)
    if op in FUNCTIONS or op == "wrap":
        return call(writer, f"nalm.{op}", *args)
    raise Unsupported(op, "has no instruction")


def _extreme(writer: Writer, op: str, constant_first: bool, a: str, b: str) -> str:
    """min or max; a NaN in either argument is the result, as in torch."""
    wins = writer.op(f"fcmp {'olt' if op == 'min' else 'ogt'} {FLOATS} {a}, {b}")
    chosen = writer.op(f"select {BITS} {wins}, {FLOATS} {a}, {FLOATS} {b}")  # b if either is NaN
    if constant_first:
        return chosen
    missing = writer.op(f"fcmp uno {FLOATS} {a}, {a}")
    return writer.op(f"select {BITS} {missing}, {FLOATS} {a}, {FLOATS} {chosen}")


def declarations() -> str:
    """Everything `instruction` may call, except the library's own functions."""
    return intrinsic("fma", 3) + "".join(intrinsic(name) for name in _INTRINSIC.values())
