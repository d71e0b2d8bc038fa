"""From a plan to the kernel: loops over tiles, steps, levels, slots, lanes and samples."""

from __future__ import annotations

from dataclasses import dataclass

from nalm.native.code import Code, LoopPlace
from nalm.native.contract import contract_features, contract_samples
from nalm.native.features import emit_features
from nalm.native.layout import CHUNK, Layout
from nalm.native.philox import BLOCK, DRAW
from nalm.native.printer import instruction
from nalm.native.rows import emit_rows
from nalm.native.schedule import Level, Plan
from nalm.native.text import LANES, Writer, literal
from nalm.native.values import Value, Varies, reachable

KERNEL = "nalm.kernel"
TILE_WORDS = 2 + 2 * LANES  # slots, first lane of each slot and one past the last, seed of each slot
_SIGNATURE = (
    f'void @"{KERNEL}"(ptr noalias %state, ptr noalias readonly %consts, ptr noalias %metrics, '
    "ptr noalias readonly %clock, ptr noalias readonly %tiles, i64 %first, i64 %steps, i64 %from, i64 %to, "
    "ptr noalias %scratch)"
)


@dataclass(frozen=True)
class Sizes:
    """Numbers per run in the arrays the kernel works on."""

    state: int
    consts: int
    clock: int
    draws: list[tuple[int, int]]  # (stream, count)


class Emitter(Code):
    """Writes the kernel of one plan."""

    def __init__(self, plan: Plan, layout: Layout, sizes: Sizes) -> None:
        super().__init__(plan, layout, Writer(_SIGNATURE, "#0"))
        self.sizes = sizes

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
                    w.store(self.scalar(value), w.at(self.state, leaf.data[0] * LANES))
                for i, value in enumerate(self.plan.program.metrics):
                    w.store(self.scalar(value), w.at(metrics, i * LANES))
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
                with w.loop(0, count) as entry, w.loop(first, last) as lane:
                    number = w.load(w.at(w.at(base, start), entry), "float", 4)
                    place = w.op(f"add i64 {w.op(f'mul i64 {entry}, {LANES}')}, {lane}")
                    w.store(number, w.at(w.at("%scratch", target), place), "float", 4)

    def _lane_draws(self) -> list[tuple[int, int]]:
        return list(zip(self.layout.draws, self.layout.lane_draws, strict=True))

    def _slot_draws(self, slot: str) -> str:
        return self.w.at("%scratch", self.w.op(f"mul i64 {slot}, {self.layout.draw_pitch}"))

    def _lanes_of(self, slot: str) -> tuple[str, str]:
        first = self.w.at(self.w.at(self.tile, 1, "i64"), slot, "i64")
        return self.w.load(first, "i64", 8), self.w.load(self.w.at(first, 1, "i64"), "i64", 8)

    # Scalars: lanes are runs.

    def _line(self, values: list[Value]) -> None:
        """Straight-line code for values without a long axis."""
        for value in values:
            if value not in self.scalars:
                self.scalars[value] = self._scalar_code(value)
            if value in self.layout.lanes and value.op != "sum_samples":
                self.keep(value, self.scalars[value], self.w.at("%scratch", self.layout.lanes[value]))

    def _scalar_code(self, value: Value) -> str:
        w = self.w
        if value.op == "clock":
            return w.spread(w.load(w.at(self.clock, value.data), "float", 4))
        if value.op == "sum_samples":
            return w.load(w.at("%scratch", self.layout.lanes[value]))
        if value.op in ("state", "const", "draw"):
            return w.load(self.lane_address(value, None))
        return instruction(w, value, [self.scalar(a) for a in value.args])

    # A level.

    def _level(self, level: Level) -> None:
        self._line(level.scalars)
        if level.features.busy:
            emit_features(self, level.features)
        if not (level.seed.busy or level.runs.busy):
            return
        w = self.w
        if self.samples <= CHUNK:
            self._chunk(level, "0", self.samples)
            return
        for value in [*level.seed.sums, *level.runs.sums]:
            w.store("zeroinitializer", w.at("%scratch", self.layout.lanes[value]))
        for value in [*level.seed.products, *level.runs.products]:
            with w.loop(0, self.features) as f:
                address = w.at("%scratch", w.op(f"mul i64 {f}, {LANES}"))
                w.store("zeroinitializer", w.at(address, self.layout.wide[value]))
        with w.loop(0, self.samples, CHUNK) as chunk:
            left = w.op(f"sub i64 {self.samples}, {chunk}")
            last = w.op(f"icmp slt i64 {left}, {CHUNK}")
            length = w.op(f"select i1 {last}, i64 {left}, i64 {CHUNK}")
            self._chunk(level, chunk, CHUNK if self.samples % CHUNK == 0 else length)

    def _chunk(self, level: Level, chunk: str, length: str | int) -> None:
        w = self.w
        with w.loop(0, self.slots) as slot:
            first, last = self._lanes_of(slot)
            shared = LoopPlace(self._slot_draws(slot), slot, first, chunk, length)
            contract_features(self, [v for v in level.products if not v.varies & Varies.RUN], shared, (first, None))
            contract_features(self, [v for v in level.products if v.varies & Varies.RUN], shared, (first, last))
            if level.seed.busy:
                emit_rows(self, level.seed, shared, (first, last))
            contract_samples(self, level.seed.products, shared, (first, last), True)
            if level.runs.busy:
                with w.loop(first, last) as lane:
                    own = LoopPlace(shared.draws, slot, lane, chunk, length)
                    emit_rows(self, level.runs, own, (lane, w.op(f"add i64 {lane}, 1")))
            contract_samples(self, level.runs.products, shared, (first, last), False)


def functions_used(plan: Plan) -> set[str]:
    """The operations of a plan, to decide which mathematical functions its module needs."""
    return {v.op for v in reachable([*(v for _, v in plan.program.stores), *plan.program.metrics])}
