"""One pass over a chunk of samples; lanes are samples."""

from __future__ import annotations

from nalm.native.code import Code, LoopPlace, Names
from nalm.native.maths import FUNCTIONS
from nalm.native.printer import constant, fma, instruction, negated
from nalm.native.schedule import Loop
from nalm.native.text import BITS, FLOATS, LANES, splat
from nalm.native.values import Value, Varies


def emit_rows(code: Code, loop: Loop, place: LoopPlace, lanes: tuple[str, str]) -> None:
    """Computes and buffers rows, and gives their sums to the lanes from the first to before the last."""
    w = code.w
    vectors = [v.args[0] for v in loop.products]
    used = {a for v in [*loop.values, *loop.sums] for a in v.args} | set(vectors)
    fixed: Names = {}
    for value in sorted(used, key=lambda v: v.uid):
        if not value.axes and value.op != "constant":
            address = w.at(w.at("%scratch", code.layout.lanes[value]), place.lane)
            fixed[value] = code.recall(value, w.spread(w.load(address, "float", 4)))
    sums = {value: w.slot() for value in loop.sums}
    for slot in sums.values():
        w.store("zeroinitializer", slot)
    blocks = _blocks(code, loop)
    with w.loop(0, place.length, blocks * LANES) as first:
        places = [w.op(f"add i64 {first}, {i * LANES}") for i in range(blocks)]
        masks = [_mask(code, place, s, blocks) for s in places]
        names = [dict(fixed) for _ in places]
        for value in loop.ordered:
            for own, s in zip(names, places, strict=True):
                own[value] = instruction(w, value, [_row(code, a, own, place, s) for a in value.args])
                if value in code.layout.rows and value not in vectors:
                    code.keep(value, own[value], _row_address(code, value, place, s))
        for own, s, mask in zip(names, places, masks, strict=True):
            for value in dict.fromkeys(vectors):
                name = _masked(code, _row(code, value, own, place, s), mask)
                code.keep(value, name, _row_address(code, value, place, s))
            for value, slot in sums.items():
                args = [_masked(code, _row(code, a, own, place, s), mask) for a in value.args]
                _accumulate(code, value, slot, args)
    _give(code, {value: code.horizontal(w.load(slot)) for value, slot in sums.items()}, lanes)


def _blocks(code: Code, loop: Loop) -> int:
    """How many blocks of samples go side by side: two where long chains of operations leave the machine waiting."""
    slow = any(value.op in FUNCTIONS for value in loop.values)
    return 2 if slow and code.samples > LANES else 1


def _row(code: Code, value: Value, names: Names, place: LoopPlace, s: str) -> str:
    if value.op == "constant":
        return constant(value)
    if value not in names:
        w = code.w
        if value.op == "row":
            draw, base = value.data
            start = w.at(place.draws, code.layout.draws[draw] + base)
            address = w.at(start, w.op(f"add i64 {place.chunk}, {s}"))
        else:
            address = _row_address(code, value, place, s)
        names[value] = code.recall(value, w.load(address, align=code.row_align))
    return names[value]


def _row_address(code: Code, value: Value, place: LoopPlace, s: str) -> str:
    buffer = code.layout.rows[value]
    unit = place.lane if value.varies & Varies.RUN else place.slot
    return code.w.at(code.row_start(buffer, unit, place.chunk), s)


def _mask(code: Code, place: LoopPlace, s: str, blocks: int) -> str | None:
    """Which lanes of a block are samples at all; None if all are."""
    if code.samples % (blocks * LANES) == 0:
        return None
    w = code.w
    left = w.op(f"sub i64 {code.samples}, {w.op(f'add i64 {place.chunk}, {s}')}")
    lanes = ", ".join(f"i32 {i}" for i in range(LANES))
    return w.op(f"icmp slt <{LANES} x i32> <{lanes}>, {w.spread(w.op(f'trunc i64 {left} to i32'), 'i32')}")


def _masked(code: Code, name: str, mask: str | None) -> str:
    return name if mask is None else code.w.op(f"select {BITS} {mask}, {FLOATS} {name}, {FLOATS} {splat(0.0)}")


def _give(code: Code, totals: Names, lanes: tuple[str, str]) -> None:
    """Gives sums over samples to the lanes they belong to, in one loop: thousands would cost the compiler minutes."""
    if not totals:
        return
    with code.w.loop(*lanes) as lane:
        for value, total in totals.items():
            code.deposit(code.w.at(code.w.at("%scratch", code.layout.lanes[value]), lane), total)


def _accumulate(code: Code, value: Value, slot: str, args: list[str]) -> None:
    """Adds the terms of a sum, one after the other."""
    w, rest = code.w, iter(args)
    for sign, factors in value.data:
        term, old = next(rest), w.load(slot)
        if factors == 2:
            term = term if sign > 0 else negated(w, term)
            w.store(fma(w, term, next(rest), old), slot)
        else:
            w.store(w.op(f"{'fadd' if sign > 0 else 'fsub'} {FLOATS} {old}, {term}"), slot)
