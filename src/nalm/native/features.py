"""One pass over the long feature axis; lanes are runs."""

from __future__ import annotations

from nalm.native.code import Code, Names
from nalm.native.printer import constant, fma, instruction, negated
from nalm.native.schedule import Loop
from nalm.native.text import FLOATS
from nalm.native.values import Value


def emit_features(code: Code, loop: Loop) -> None:
    """Computes, sums, buffers and stores what a loop over the features is there for."""
    w = code.w
    sums = {value: (w.slot(), w.slot()) for value in loop.sums}  # the sum, and what its roundings lost
    for slot in (slot for pair in sums.values() for slot in pair):
        w.store("zeroinitializer", slot)
    with w.loop(0, code.features) as f:
        names = dict(code.scalars)
        for value in loop.ordered:
            names[value] = instruction(w, value, [_feature(code, a, names, f) for a in value.args])
            if value in code.layout.wide:
                code.keep(value, names[value], code.wide_address(value, f))
        for value, pair in sums.items():
            _compensated(code, value, pair, [_feature(code, a, names, f) for a in value.args])
        new = [(leaf, _feature(code, value, names, f)) for leaf, value in loop.stores]
        for leaf, name in new:
            w.store(name, code.lane_address(leaf, f))
    for value, (slot, _) in sums.items():
        code.scalars[value] = w.load(slot)


def _feature(code: Code, value: Value, names: Names, f: str) -> str:
    if value.op == "constant":
        return constant(value)
    if value not in names:
        address = code.lane_address(value, f) if value.op in ("state", "const", "draw") else code.wide_address(value, f)
        names[value] = code.recall(value, code.w.load(address))
    return names[value]


def _compensated(code: Code, value: Value, pair: tuple[str, str], args: list[str]) -> None:
    """Kahan's sum: an error here would be the same in every sample, and no average would remove it."""
    w, rest = code.w, iter(args)
    for sign, factors in value.data:
        term, old, lost = next(rest), w.load(pair[0]), w.load(pair[1])
        term = term if sign > 0 else negated(w, term)
        minus = negated(w, lost)
        term = fma(w, term, next(rest), minus) if factors == 2 else w.op(f"fadd {FLOATS} {term}, {minus}")
        new = w.op(f"fadd {FLOATS} {old}, {term}")
        w.store(w.op(f"fsub {FLOATS} {w.op(f'fsub {FLOATS} {new}, {old}')}, {term}"), pair[1])
        w.store(new, pair[0])
