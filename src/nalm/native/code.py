"""What all loops of a kernel share: the writer, the plan, and where things lie."""

from __future__ import annotations

from dataclasses import dataclass

from nalm.native.layout import CHUNK, Buffer, Layout
from nalm.native.printer import constant
from nalm.native.schedule import Plan
from nalm.native.text import BITS, FLOATS, LANES, Writer, splat
from nalm.native.values import Value

Names = dict[Value, str]


@dataclass(frozen=True)
class LoopPlace:
    """Where a loop over samples stands: the slot's uniforms, its unit of buffers, the lane whose scalars it reads."""

    draws: str
    slot: str
    lane: str
    chunk: str
    length: str | int


class Code:
    """A kernel being written, inside the loop over tiles."""

    def __init__(self, plan: Plan, layout: Layout, writer: Writer) -> None:
        self.plan = plan
        self.layout = layout
        self.w = writer
        self.samples = plan.program.samples
        self.features = plan.program.features
        self.row_align = 64 if self.samples % LANES == 0 else 4
        self.scalars: Names = {}  # values without a long axis, one lane per run
        self.state = self.consts = ""  # where the tile's numbers begin

    def scalar(self, value: Value) -> str:
        """A value without a long axis."""
        return constant(value) if value.op == "constant" else self.scalars[value]

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

    def wide_address(self, value: Value, f: str) -> str:
        """Where the lanes of a buffered value lie at a feature."""
        w = self.w
        return w.at(w.at("%scratch", self.layout.wide[value]), w.op(f"mul i64 {f}, {LANES}"))

    def row_start(self, buffer: Buffer, unit: str, chunk: str) -> str:
        """Where a unit's samples of the chunk begin."""
        w = self.w
        start = w.at(w.at("%scratch", buffer.start), w.op(f"mul i64 {unit}, {buffer.pitch}"))
        return w.at(start, chunk) if buffer.whole else start

    def keep(self, value: Value, name: str, address: str) -> None:
        """Writes a value to memory; booleans as zero and one."""
        if value.kind == "bool":
            name = self.w.op(f"select {BITS} {name}, {FLOATS} {splat(1.0)}, {FLOATS} {splat(0.0)}")
        self.w.store(name, address, align=self.row_align)

    def recall(self, value: Value, name: str) -> str:
        """What was loaded from memory, as the value it was."""
        return name if value.kind == "float" else self.w.op(f"fcmp une {FLOATS} {name}, {splat(0.0)}")

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

    def deposit(self, address: str, total: str) -> None:
        """Writes the sum over a chunk of samples, or adds it to those of earlier chunks."""
        if self.samples > CHUNK:
            total = self.w.op(f"fadd float {self.w.load(address, 'float', 4)}, {total}")
        self.w.store(total, address, "float", 4)
