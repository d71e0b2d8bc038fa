"""Vector-matrix products with drawn matrices: the only loops over two long axes.

Both keep a tile of accumulators in registers, several runs wide, because the runs of a seed share the matrix: each row
of uniforms is loaded once for all of them. Partial sums are put away every few dozen terms, which halves the digits a
long sum loses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from itertools import product

from nalm.native.affine import Matrix
from nalm.native.code import Code, LoopPlace
from nalm.native.layout import TILE
from nalm.native.printer import fma
from nalm.native.schedule import LEAVES
from nalm.native.text import FLOATS, LANES
from nalm.native.values import Value

_REGISTERS = 24  # accumulators; the rest of thirty-two hold what is loaded
_BLOCKS = TILE // LANES  # vectors of samples, or features, in a tile
_TERMS = 32  # features summed before a partial sum is put away
Lanes = tuple[str, str | None]  # first lane and one past the last; None for what the lanes of a slot share


def _by_matrix(values: list[Value]) -> Iterable[tuple[Matrix, list[Value]]]:
    groups: dict[Matrix, list[Value]] = {}
    for value in values:
        groups.setdefault(value.data, []).append(value)
    return groups.items()


def _tiled(e: Code, first: str | int, last: str | int, size: int, body: Callable[[str, int], None]) -> None:
    """Calls body(start, count) over a range: tiles of `size`, then the rest one by one."""
    w = e.w
    count = w.op(f"sub i64 {last}, {first}")
    tiles = w.op(f"sdiv i64 {count}, {size}")
    rest = w.op(f"add i64 {first}, {w.op(f'mul i64 {tiles}, {size}')}")
    with w.loop(first, rest, size) as i:
        body(i, size)
    with w.loop(rest, last) as i:
        body(i, 1)


def contract_features(e: Code, values: list[Value], place: LoopPlace, lanes: Lanes) -> None:
    """Rows `y[sample] = sum over features of v[feature] * matrix[feature, sample]`, for every lane."""
    for matrix, group in _by_matrix(values):
        if lanes[1] is None:
            _row_tile(e, matrix, group, place, lanes[0], 1, shared=True)
        else:
            size = max(1, _REGISTERS // (_BLOCKS * len(group)))
            _tiled(e, lanes[0], lanes[1], size, partial(_row_tile, e, matrix, group, place))


def _row_tile(
    e: Code, matrix: Matrix, group: list[Value], place: LoopPlace, lane: str, count: int, shared: bool = False
) -> None:
    w, features = e.w, e.features
    cells = list(product(range(count), group))
    start = w.at(w.at(place.draws, e.layout.draws[matrix.draw] + matrix.base), place.chunk)
    units = [w.op(f"add i64 {lane}, {i}") for i in range(count)]
    rows = [e.row_start(e.layout.rows[v], place.slot if shared else units[i], place.chunk) for i, v in cells]
    slots = {cell: w.slot() for cell in product(range(len(cells)), range(_BLOCKS))}
    with w.loop(0, place.length, TILE) as s:
        outs = {(c, b): w.at(w.at(rows[c], s), b * LANES) for c, b in slots}
        for out in outs.values():
            w.store("zeroinitializer", out)
        with w.loop(0, features, _TERMS) as begin:
            for slot in slots.values():
                w.store("zeroinitializer", slot)
            with w.loop(begin, _least(e, w.op(f"add i64 {begin}, {_TERMS}"), features)) as f:
                row = w.at(w.at(start, s), w.op(f"mul i64 {f}, {matrix.stride}"))
                data = [w.load(w.at(row, b * LANES), align=e.row_align) for b in range(_BLOCKS)]
                for c, (i, value) in enumerate(cells):
                    weight = w.spread(w.load(w.at(_vector(e, value.args[0], f), units[i]), "float", 4))
                    for b in range(_BLOCKS):
                        w.store(fma(w, weight, data[b], w.load(slots[c, b])), slots[c, b])
            for cell, out in outs.items():
                w.store(w.op(f"fadd {FLOATS} {w.load(out)}, {w.load(slots[cell])}"), out)


def _least(e: Code, a: str, b: int) -> str:
    return e.w.op(f"select i1 {e.w.op(f'icmp slt i64 {a}, {b}')}, i64 {a}, i64 {b}")


def _vector(e: Code, vector: Value, f: str) -> str:
    """Where the lanes of a contracted vector lie at a feature."""
    if vector.op in LEAVES:
        return e.lane_address(vector, f)
    return e.wide_address(vector, f)


def contract_samples(e: Code, values: list[Value], place: LoopPlace, lanes: tuple[str, str], shared: bool) -> None:
    """Columns `g[feature] = sum over samples of v[sample] * matrix[feature, sample]`, for every lane."""
    for matrix, group in _by_matrix(values):
        size = 1 if shared else max(1, _REGISTERS // (_BLOCKS * len(group)))
        stop = e.w.op(f"add i64 {lanes[0]}, 1") if shared else lanes[1]

        def columns(lane: str, count: int, matrix: Matrix = matrix, group: list[Value] = group) -> None:
            def tile(feature: str, height: int) -> None:
                _column_tile(e, matrix, list(product(range(count), group)), place, (lane, feature, height), shared)

            _tiled(e, 0, e.features, _BLOCKS, tile)

        _tiled(e, lanes[0], stop, size, columns)
        if shared:
            _share(e, group, lanes)


def _column_tile(
    e: Code,
    matrix: Matrix,
    cells: list[tuple[int, Value]],
    place: LoopPlace,
    corner: tuple[str, str, int],
    shared: bool,
) -> None:
    w = e.w
    lane, feature, height = corner
    base = w.at(w.at(place.draws, e.layout.draws[matrix.draw] + matrix.base), place.chunk)
    start = w.at(base, w.op(f"mul i64 {feature}, {matrix.stride}"))
    units = {i: w.op(f"add i64 {lane}, {i}") for i, _ in cells}
    rows = [e.row_start(e.layout.rows[v.args[0]], place.slot if shared else units[i], place.chunk) for i, v in cells]
    slots = {cell: w.slot() for cell in product(range(len(cells)), range(height))}
    for slot in slots.values():
        w.store("zeroinitializer", slot)
    with w.loop(0, place.length, LANES) as s:
        data = [w.load(w.at(w.at(start, h * matrix.stride), s), align=e.row_align) for h in range(height)]
        for c in range(len(cells)):
            vector = w.load(w.at(rows[c], s), align=e.row_align)
            for h in range(height):
                w.store(fma(w, vector, data[h], w.load(slots[c, h])), slots[c, h])
    for (c, h), slot in slots.items():
        i, value = cells[c]
        e.deposit(w.at(e.wide_address(value, w.op(f"add i64 {feature}, {h}")), units[i]), e.horizontal(w.load(slot)))


def _share(e: Code, group: list[Value], lanes: tuple[str, str]) -> None:
    """Copies the first lane's columns to the other lanes of the slot."""
    w = e.w
    for value in group:
        with w.loop(0, e.features) as f:
            start = e.wide_address(value, f)
            number = w.load(w.at(start, lanes[0]), "float", 4)
            with w.loop(lanes[0], lanes[1]) as lane:
                w.store(number, w.at(start, lane), "float", 4)
