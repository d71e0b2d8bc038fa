"""From a plan to the kernel: loops over tiles, steps, levels, slots, lanes and samples."""

from __future__ import annotations

from dataclasses import dataclass

from .contract import contract_features, contract_samples
from .layout import CHUNK, Buffer, Layout
from .philox import BLOCK, DRAW
from .printer import constant, fma, instruction, negated
from .schedule import Level, Loop, Plan
from .text import BITS, FLOATS, LANES, Writer, literal, splat
from .values import Value, Varies, reachable

KERNEL = "nalm.kernel"
TILE_WORDS = 2 + 2 * LANES  # slots, first lane of each slot and one past the last, seed of each slot
_SIGNATURE = (
    f'void @"{KERNEL}"(ptr noalias %state, ptr noalias readonly %consts, ptr noalias %metrics, '
    "ptr noalias readonly %clock, ptr noalias readonly %tiles, i64 %first, i64 %steps, i64 %from, i64 %to, "
    "ptr noalias %scratch)"
)
Names = dict[Value, str]


@dataclass(frozen=True)
class Sizes:
    """Numbers per run in the arrays the kernel works on."""

    state: int
    consts: int
    clock: int
    draws: list[tuple[int, int]]  # (stream, count)


@dataclass(frozen=True)
class Place:
    """Where a loop over samples stands: the slot's uniforms, its unit of buffers, the lane whose scalars it reads."""

    draws: str
    slot: str
    lane: str
    chunk: str
    length: str | int


class Emitter:
    """Writes the kernel of one plan."""

    def __init__(self, plan: Plan, layout: Layout, sizes: Sizes) -> None:
        self.plan = plan
        self.layout = layout
        self.sizes = sizes
        self.samples = plan.program.samples
        self.w = Writer(_SIGNATURE, "#0")
        self.scalars: Names = {}
        self.row_align = 64 if self.samples % LANES == 0 else 4

    def kernel(self) -> str:
        """The text of the kernel function."""
        w, sizes = self.w, self.sizes
        with w.loop("%from", "%to") as tile:
            self.state = w.at("%state", w.op(f"mul i64 {tile}, {sizes.state * LANES}"))
            self.consts = w.at("%consts", w.op(f"mul i64 {tile}, {sizes.consts * LANES}"))
            metrics = w.at("%metrics", w.op(f"mul i64 {tile}, {len(self.plan.program.metrics) * LANES}"))
            self.tile = w.at("%tiles", w.op(f"mul i64 {tile}, {TILE_WORDS}"), "i64")
            self.slots = w.load(self.tile, "i64", 8)
            self._line(self.plan.prelude)
            with w.loop(0, "%steps") as step:
                self.clock = w.at("%clock", w.op(f"mul i64 {step}, {sizes.clock}"))
                self._draws(w.op(f"add i64 %first, {step}"))
                for level in self.plan.levels:
                    self._level(level)
                for leaf, value in self.plan.stores:
                    w.store(self._scalar(value), w.at(self.state, leaf.data[0] * LANES))
                for i, value in enumerate(self.plan.program.metrics):
                    w.store(self._scalar(value), w.at(metrics, i * LANES))
        return w.finish()

    def _draws(self, step: str) -> None:
        w = self.w
        with w.loop(0, self.slots) as slot:
            seed = w.load(w.at(self.tile, w.op(f"add i64 {slot}, {2 + LANES}"), "i64"), "i64", 8)
            base = self._slot_draws(slot)
            for i, ((stream, count), start) in enumerate(zip(self.sizes.draws, self.layout.draws, strict=True)):
                arguments = f"ptr {w.at(base, start)}, i64 {-(-count // BLOCK)}, i64 {seed}, i64 {stream}, i64 {step}"
                offset = literal(0.5 if i in self.plan.program.matrices else 0.0)
                w.do(f"call void @{DRAW}({arguments}, float {offset})")
            spread = [(s, self.sizes.draws[d][1], t) for d, (s, t) in enumerate(self._lane_draws()) if t >= 0]
            for start, count, target in spread:
                first, last = self._lanes_of(slot)
                with w.loop(0, count) as i, w.loop(first, last) as lane:
                    number = w.load(w.at(w.at(base, start), i), "float", 4)
                    place = w.op(f"add i64 {w.op(f'mul i64 {i}, {LANES}')}, {lane}")
                    w.store(number, w.at(w.at("%scratch", target), place), "float", 4)

    def _lane_draws(self) -> list[tuple[int, int]]:
        return list(zip(self.layout.draws, self.layout.lane_draws, strict=True))

    def _slot_draws(self, slot: str) -> str:
        return self.w.at("%scratch", self.w.op(f"mul i64 {slot}, {self.layout.draw_pitch}"))

    def _lanes_of(self, slot: str) -> tuple[str, str]:
        first = self.w.at(self.w.at(self.tile, 1, "i64"), slot, "i64")
        return self.w.load(first, "i64", 8), self.w.load(self.w.at(first, 1, "i64"), "i64", 8)

    # Scalars: lanes are runs.

    def _scalar(self, value: Value) -> str:
        return constant(value) if value.op == "constant" else self.scalars[value]

    def _line(self, values: list[Value]) -> None:
        """Straight-line code for values without a long axis."""
        for value in values:
            if value not in self.scalars:
                self.scalars[value] = self._scalar_code(value)
            if value in self.layout.lanes and value.op != "sum_samples":
                self._keep(value, self.scalars[value], self.w.at("%scratch", self.layout.lanes[value]))

    def _scalar_code(self, value: Value) -> str:
        w = self.w
        if value.op == "clock":
            return w.spread(w.load(w.at(self.clock, value.data), "float", 4))
        if value.op == "sum_samples":
            return w.load(w.at("%scratch", self.layout.lanes[value]))
        if value.op in ("state", "const", "draw"):
            return w.load(self.lane_address(value, None))
        return instruction(w, value, [self._scalar(a) for a in value.args])

    def lane_address(self, leaf: Value, feature: str | None) -> str:
        """Of an input without samples, at a feature or at none."""
        w = self.w
        if leaf.op == "draw":
            draw, base, stride = leaf.data
            start = w.at("%scratch", self.layout.lane_draws[draw] + base * LANES)
        else:
            base, stride = leaf.data
            start = w.at(self.state if leaf.op == "state" else self.consts, base * LANES)
        return start if feature is None else w.at(start, w.op(f"mul i64 {feature}, {stride * LANES}"))

    def _keep(self, value: Value, name: str, address: str) -> None:
        if value.kind == "bool":
            name = self.w.op(f"select {BITS} {name}, {FLOATS} {splat(1.0)}, {FLOATS} {splat(0.0)}")
        self.w.store(name, address, align=self.row_align)

    def _recall(self, value: Value, name: str) -> str:
        return name if value.kind == "float" else self.w.op(f"fcmp une {FLOATS} {name}, {splat(0.0)}")

    # A level.

    def _level(self, level: Level) -> None:
        self._line(level.scalars)
        if level.features.busy:
            self._features(level.features)
        if not (level.seed.busy or level.runs.busy):
            return
        w = self.w
        if self.samples <= CHUNK:
            self._chunk(level, "0", self.samples)
            return
        for value in [*level.seed.sums, *level.runs.sums]:
            w.store("zeroinitializer", w.at("%scratch", self.layout.lanes[value]))
        for value in [*level.seed.products, *level.runs.products]:
            with w.loop(0, self.plan.program.features) as f:
                address = w.at("%scratch", w.op(f"mul i64 {f}, {LANES}"))
                w.store("zeroinitializer", w.at(address, self.layout.wide[value]))
        with w.loop(0, self.samples, CHUNK) as chunk:
            left = w.op(f"sub i64 {self.samples}, {chunk}")
            whole = w.op(f"icmp slt i64 {left}, {CHUNK}")
            length = w.op(f"select i1 {whole}, i64 {left}, i64 {CHUNK}")
            self._chunk(level, chunk, CHUNK if self.samples % CHUNK == 0 else length)

    def _chunk(self, level: Level, chunk: str, length: str | int) -> None:
        w = self.w
        with w.loop(0, self.slots) as slot:
            first, last = self._lanes_of(slot)
            shared = Place(self._slot_draws(slot), slot, first, chunk, length)
            contract_features(self, [v for v in level.products if not v.varies & Varies.RUN], shared, (first, None))
            contract_features(self, [v for v in level.products if v.varies & Varies.RUN], shared, (first, last))
            if level.seed.busy:
                self._rows(level.seed, shared, (first, last))
            contract_samples(self, level.seed.products, shared, (first, last), True)
            if level.runs.busy:
                with w.loop(first, last) as lane:
                    own = Place(shared.draws, slot, lane, chunk, length)
                    self._rows(level.runs, own, (lane, w.op(f"add i64 {lane}, 1")))
            contract_samples(self, level.runs.products, shared, (first, last), False)

    # Features: lanes are runs.

    def _features(self, loop: Loop) -> None:
        w = self.w
        sums = {value: (w.slot(), w.slot()) for value in loop.sums}  # the sum, and what its roundings lost
        for slot in (slot for pair in sums.values() for slot in pair):
            w.store("zeroinitializer", slot)
        with w.loop(0, self.plan.program.features) as f:
            names = dict(self.scalars)
            for value in loop.ordered:
                names[value] = instruction(w, value, [self._feature(a, names, f) for a in value.args])
                if value in self.layout.wide:
                    self._keep(value, names[value], self.wide_address(value, f))
            for value, pair in sums.items():
                self._compensated(value, pair, [self._feature(a, names, f) for a in value.args])
            new = [(leaf, self._feature(value, names, f)) for leaf, value in loop.stores]
            for leaf, name in new:
                w.store(name, self.lane_address(leaf, f))
        for value, (slot, _) in sums.items():
            self.scalars[value] = w.load(slot)

    def _compensated(self, value: Value, pair: tuple[str, str], args: list[str]) -> None:
        """Kahan's sum: an error here would be the same in every sample, and no average would remove it."""
        w, rest = self.w, iter(args)
        for sign, factors in value.data:
            term, old, lost = next(rest), w.load(pair[0]), w.load(pair[1])
            term = term if sign > 0 else negated(w, term)
            if factors == 2:
                term = fma(w, term, next(rest), negated(w, lost))
            else:
                term = w.op(f"fsub {FLOATS} {term}, {lost}")
            new = w.op(f"fadd {FLOATS} {old}, {term}")
            w.store(w.op(f"fsub {FLOATS} {w.op(f'fsub {FLOATS} {new}, {old}')}, {term}"), pair[1])
            w.store(new, pair[0])

    def wide_address(self, value: Value, f: str) -> str:
        """Where the lanes of a buffered value lie at a feature."""
        w = self.w
        return w.at(w.at("%scratch", self.layout.wide[value]), w.op(f"mul i64 {f}, {LANES}"))

    def _feature(self, value: Value, names: Names, f: str) -> str:
        if value.op == "constant":
            return constant(value)
        if value not in names:
            address = self.lane_address(value, f) if value.op in ("state", "const", "draw") else self.wide_address(value, f)
            names[value] = self._recall(value, self.w.load(address))
        return names[value]

    def _accumulate(self, value: Value, slot: str, args: list[str]) -> None:
        """Adds the terms of a sum, one after the other."""
        w, rest = self.w, iter(args)
        for sign, factors in value.data:
            term, old = next(rest), w.load(slot)
            if factors == 2:
                term = term if sign > 0 else negated(w, term)
                w.store(fma(w, term, next(rest), old), slot)
            else:
                w.store(w.op(f"{'fadd' if sign > 0 else 'fsub'} {FLOATS} {old}, {term}"), slot)

    # Rows: lanes are samples.

    def _rows(self, loop: Loop, place: Place, lanes: tuple[str, str]) -> None:
        w = self.w
        vectors = [v.args[0] for v in loop.products]
        used = {a for v in [*loop.values, *loop.sums] for a in v.args} | set(vectors)
        fixed: Names = {}
        for value in sorted(used, key=lambda v: v.uid):
            if not value.axes and value.op != "constant":
                address = w.at(w.at("%scratch", self.layout.lanes[value]), place.lane)
                fixed[value] = self._recall(value, w.spread(w.load(address, "float", 4)))
        sums = {value: w.slot() for value in loop.sums}
        for slot in sums.values():
            w.store("zeroinitializer", slot)
        with w.loop(0, place.length, LANES) as s:
            names = dict(fixed)
            mask = self._mask(place, s)
            for value in loop.ordered:
                names[value] = instruction(w, value, [self._row(a, names, place, s) for a in value.args])
                if value in self.layout.rows and value not in vectors:
                    self._keep(value, names[value], self._row_address(value, place, s))
            for value in dict.fromkeys(vectors):
                name = self._masked(self._row(value, names, place, s), mask)
                self._keep(value, name, self._row_address(value, place, s))
            for value, slot in sums.items():
                self._accumulate(value, slot, [self._masked(self._row(a, names, place, s), mask) for a in value.args])
        for value, slot in sums.items():
            self._give(value, self.horizontal(w.load(slot)), lanes)

    def _row(self, value: Value, names: Names, place: Place, s: str) -> str:
        if value.op == "constant":
            return constant(value)
        if value not in names:
            w = self.w
            if value.op == "row":
                draw, base = value.data
                start = w.at(place.draws, self.layout.draws[draw] + base)
                address = w.at(start, w.op(f"add i64 {place.chunk}, {s}"))
            else:
                address = self._row_address(value, place, s)
            names[value] = self._recall(value, w.load(address, align=self.row_align))
        return names[value]

    def _row_address(self, value: Value, place: Place, s: str) -> str:
        buffer = self.layout.rows[value]
        unit = place.lane if value.varies & Varies.RUN else place.slot
        return self.w.at(self.row_start(buffer, unit, place.chunk), s)

    def row_start(self, buffer: Buffer, unit: str, chunk: str) -> str:
        """Where a unit's samples of the chunk begin."""
        w = self.w
        start = w.at(w.at("%scratch", buffer.start), w.op(f"mul i64 {unit}, {buffer.pitch}"))
        return w.at(start, chunk) if buffer.whole else start

    def _mask(self, place: Place, s: str) -> str | None:
        """Which lanes of a block are samples at all; None if all are."""
        if self.samples % LANES == 0:
            return None
        w = self.w
        left = w.op(f"sub i64 {self.samples}, {w.op(f'add i64 {place.chunk}, {s}')}")
        lanes = ", ".join(f"i32 {i}" for i in range(LANES))
        return w.op(f"icmp slt <{LANES} x i32> <{lanes}>, {w.spread(w.op(f'trunc i64 {left} to i32'), 'i32')}")

    def _masked(self, name: str, mask: str | None) -> str:
        return name if mask is None else self.w.op(f"select {BITS} {mask}, {FLOATS} {name}, {FLOATS} {splat(0.0)}")

    def horizontal(self, vector: str) -> str:
        """The sum of sixteen lanes, by halves: the same tree on every machine."""
        w, size = self.w, LANES
        while size > 1:
            half = size // 2
            parts = []
            for first in (0, half):
                lanes = ", ".join(f"i32 {first + i}" for i in range(half))
                type_ = f"<{size} x float>"
                parts.append(w.op(f"shufflevector {type_} {vector}, {type_} poison, <{half} x i32> <{lanes}>"))
            vector = w.op(f"fadd <{half} x float> {parts[0]}, {parts[1]}")
            size = half
        return w.op(f"extractelement <1 x float> {vector}, i64 0")

    def _give(self, value: Value, total: str, lanes: tuple[str, str]) -> None:
        """Gives a sum over samples to the lanes it belongs to."""
        start = self.w.at("%scratch", self.layout.lanes[value])
        with self.w.loop(*lanes) as lane:
            self.deposit(self.w.at(start, lane), total)

    def deposit(self, address: str, total: str) -> None:
        """Writes the sum over a chunk of samples, or adds it to those of earlier chunks."""
        if self.samples > CHUNK:
            total = self.w.op(f"fadd float {self.w.load(address, 'float', 4)}, {total}")
        self.w.store(total, address, "float", 4)


def functions_used(plan: Plan) -> set[str]:
    """The operations of a plan, to decide which mathematical functions its module needs."""
    return {v.op for v in reachable([*(v for _, v in plan.program.stores), *plan.program.metrics])}
