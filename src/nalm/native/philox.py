"""The draws in LLVM IR: bit for bit what `nalm.core.uniforms.uniforms` returns.

Sixteen counters are two vectors of eight 64-bit words, the even and the odd lanes. A product of 32-bit words fills the
64 bits, so no word is ever moved between lanes: the lower half of a word is taken by the next multiplication, which
ignores the upper half.
"""

from __future__ import annotations

from nalm.core.uniforms import LANES, MULTIPLIERS, ROUNDS, WEYL, WORDS
from nalm.native.text import FLOATS, INTS, Writer, splat

_HALF = LANES // 2
_WORDS = f"<{_HALF} x i64>"
BLOCK = LANES * WORDS
DRAW = "nalm.draw"


def _splat64(number: int) -> str:
    return f"splat (i64 {number})"


def _spread64(w: Writer, scalar: str) -> str:
    first = w.op(f"insertelement {_WORDS} poison, i64 {scalar}, i64 0")
    return w.op(f"shufflevector {_WORDS} {first}, {_WORDS} poison, <{_HALF} x i32> zeroinitializer")


def _round(w: Writer, c: list[str], keys: tuple[str, str]) -> list[str]:
    products = []
    for word, multiplier in ((c[0], MULTIPLIERS[0]), (c[2], MULTIPLIERS[1])):
        low = w.op(f"and {_WORDS} {word}, {_splat64(0xFFFFFFFF)}")
        products.append(w.op(f"mul {_WORDS} {low}, {_splat64(multiplier)}"))
    mixed = []
    for product, word, key in ((products[1], c[1], keys[0]), (products[0], c[3], keys[1])):
        high = w.op(f"lshr {_WORDS} {product}, {_splat64(32)}")
        mixed.append(w.op(f"xor {_WORDS} {w.op(f'xor {_WORDS} {high}, {word}')}, {key}"))
    return [mixed[0], products[1], mixed[1], products[0]]


def draw() -> str:
    """A function that writes `blocks * 64` uniforms of (seed, stream, step), less the offset, to `out`."""
    arguments = "ptr noalias %out, i64 %blocks, i64 %seed, i64 %stream, i64 %step, float %offset"
    w = Writer(f"internal void @{DRAW}({arguments})", "noinline #0")
    offset = w.spread("%offset")
    keys: list[tuple[str, str]] = []
    key = ["%seed", "%stream"]
    for _ in range(ROUNDS):
        keys.append((_spread64(w, key[0]), _spread64(w, key[1])))
        key = [w.op(f"add i64 {k}, {weyl}") for k, weyl in zip(key, WEYL, strict=True)]
    step = _spread64(w, "%step")
    step_high = w.op(f"lshr {_WORDS} {step}, {_splat64(32)}")
    with w.loop(0, "%blocks") as block:
        first = _spread64(w, w.op(f"mul i64 {block}, {LANES}"))
        halves = []
        for parity in (0, 1):
            lanes = ", ".join(f"i64 {2 * i + parity}" for i in range(_HALF))
            counter = [w.op(f"add {_WORDS} {first}, <{lanes}>"), step, step_high, _splat64(0)]
            for pair in keys:
                counter = _round(w, counter, pair)
            halves.append(counter)
        out = w.at("%out", w.op(f"mul i64 {block}, {BLOCK}"))
        for word, (even, odd) in enumerate(zip(*halves, strict=True)):
            both = [f"{INTS} {w.op(f'bitcast {_WORDS} {half} to {INTS}')}" for half in (even, odd)]
            # The lower halves, even and odd lanes in turn. (A shift would be folded into the last multiplication.)
            picks = ", ".join(f"i32 {2 * i + LANES * parity}" for i in range(_HALF) for parity in (0, 1))
            bits = w.op(f"shufflevector {both[0]}, {both[1]}, {INTS} <{picks}>")
            whole = w.op(f"sitofp {INTS} {w.op(f'lshr {INTS} {bits}, splat (i32 8)')} to {FLOATS}")
            number = w.op(f"fmul {FLOATS} {whole}, {splat(2.0**-24)}")
            w.store(w.op(f"fsub {FLOATS} {number}, {offset}"), w.at(out, LANES * word))
    return w.finish()
