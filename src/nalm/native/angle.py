"""Huge angles: the remainder after whole turns, for sin and cos.

Where every lane is moderate, which is always but in a diverging run, this is one comparison and a branch. Elsewhere the
angle is multiplied by enough bits of 1 / 2 pi that only the fraction of a turn is left (Payne and Hanek, 1983).
"""

from __future__ import annotations

import math

from nalm.native.text import BITS, FLOATS, LANES, Writer, literal, splat

LIMIT = 65536.0  # up to here three constants for pi / 2 keep every digit
_TURNS = 0x28BE60DB9391054A7F09D5F47D4D377036D8A5664F10E4107F9458EAF7AEF1  # 2**248 / 2 pi, rounded down


def wrap() -> str:
    """The functions `nalm.wrap`, inlined, and `nalm.turn`, which it rarely calls."""
    w = Writer(f"internal {FLOATS} @nalm.wrap({FLOATS} %x)", "alwaysinline #0")
    size = w.op(f"call {FLOATS} @llvm.fabs.v{LANES}f32({FLOATS} %x)")
    huge = w.op(f"fcmp ogt {FLOATS} {size}, {splat(LIMIT)}")
    some = w.op(f"call i1 @llvm.vector.reduce.or.v{LANES}i1({BITS} {huge})")
    result = w.slot()
    w.store("%x", result)
    with w.unlikely(some):
        w.store(w.op(f"call {FLOATS} @nalm.turn({FLOATS} %x)"), result)
    text = w.finish(f"ret {FLOATS} {w.load(result)}")
    declaration = f"declare i1 @llvm.vector.reduce.or.v{LANES}i1({BITS})\n"
    return declaration + _turn() + text


def _turn() -> str:
    w = Writer(f"internal {FLOATS} @nalm.turn({FLOATS} %x)", "noinline cold #0")
    result = w.slot()
    w.store("%x", result)
    with w.loop(0, LANES) as lane:
        place = w.at(result, lane)
        x = w.load(place, "float", 4)
        w.store(_remainder(w, x), place, "float", 4)
    return w.finish(f"ret {FLOATS} {w.load(result)}")


def _remainder(w: Writer, x: str) -> str:
    """One angle, between -pi and pi; moderate ones stay, infinities become NaN."""
    bits = w.op(f"bitcast float {x} to i32")
    exponent = w.op(f"and i32 {w.op(f'lshr i32 {bits}, 23')}, 255")
    mantissa = w.op(
        f"or i32 {w.op(f'and i32 {bits}, 8388607')}, 8388608"
    )  # the angle is mantissa * 2**(exponent - 150)
    huge = w.op(f"icmp ugt i32 {exponent}, 142")
    above = w.op(f"sub i32 {exponent}, 142")
    shift = w.op(f"zext i32 {w.op(f'select i1 {huge}, i32 {above}, i32 0')} to i256")
    fraction = w.op(f"lshr i256 {w.op(f'shl i256 {_TURNS}, {shift}')}, 128")  # of 2**(exponent - 150) / 2 pi
    product = w.op(f"mul i128 {w.op(f'trunc i256 {fraction} to i128')}, {w.op(f'zext i32 {mantissa} to i128')}")
    upper = w.op(f"lshr i128 {product}, 64")
    turn = w.op(f"sitofp i64 {w.op(f'trunc i128 {upper} to i64')} to double")
    angle = w.op(f"fptrunc double {w.op(f'fmul double {turn}, {literal(2 * math.pi * 2.0**-64)}')} to float")
    negative = w.op(f"icmp slt i32 {bits}, 0")
    signed = w.op(f"select i1 {negative}, float {w.op(f'fneg float {angle}')}, float {angle}")
    finite = w.op(f"icmp ult i32 {exponent}, 255")
    wrapped = w.op(f"select i1 {finite}, float {signed}, float {w.op(f'fsub float {x}, {x}')}")
    return w.op(f"select i1 {huge}, float {wrapped}, float {x}")
