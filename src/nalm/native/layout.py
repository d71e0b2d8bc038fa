"""Where everything lies in a thread's scratch memory, in floats from its start."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nalm.native.philox import BLOCK
from nalm.native.schedule import Plan
from nalm.native.text import LANES
from nalm.native.values import Value, Varies

CHUNK = 128  # samples that the loops of one level finish before they turn to the next
TILE = 64  # samples a matrix product works on at once; rows are padded to whole tiles
_DRAW_BYTES = 256 * 1024  # of uniforms a tile may hold: about what a second-level cache keeps


@dataclass(frozen=True)
class Buffer:
    """A value that outlives its loop: address of (unit, index) is `start + unit * pitch + index`.

    The unit is a lane or, for what the runs of a seed share, a slot. `whole` buffers hold every sample, others a chunk.
    """

    start: int
    pitch: int
    whole: bool


@dataclass(frozen=True)
class Layout:
    """The scratch memory of one thread."""

    size: int
    slots: int  # how many seeds a tile may hold
    lanes: dict[Value, int]  # vectors of one number per run
    wide: dict[Value, int]  # the same along the feature axis
    rows: dict[Value, Buffer]
    draws: list[int]  # start of each draw's uniforms
    draw_pitch: int  # from one slot's uniforms to the next
    lane_draws: list[int]  # start of each draw's numbers spread over lanes, -1 if it has samples


def layout(plan: Plan, draws: dict[str, tuple[int, ...]]) -> Layout:
    """Lays out the scratch memory of a plan."""
    cursor = 0

    def take(count: int) -> int:
        nonlocal cursor
        start, cursor = cursor, cursor + -(-count // LANES) * LANES
        return start

    samples, features = plan.program.samples, plan.program.features
    sums = [v for level in plan.levels for loop in (level.seed, level.runs) for v in loop.sums]
    lanes = {v: take(LANES) for v in sorted({*plan.broadcast, *sums}, key=lambda v: v.uid)}
    wide: dict[Value, int] = {}
    rows: dict[Value, Buffer] = {}
    counts = [-(-int(np.prod(shape)) // BLOCK) * BLOCK for shape in draws.values()]
    pitch = sum(counts) + TILE  # a vector may be read past the last row
    slots = int(np.clip(_DRAW_BYTES // (4 * pitch), 1, LANES))
    for value, levels in sorted(plan.buffered.items(), key=lambda item: item[0].uid):
        if value.varies & Varies.FEATURE:
            wide[value] = take(features * LANES)
        else:
            whole = len(levels) > 1
            length = -(-(samples if whole else min(samples, CHUNK)) // TILE) * TILE
            units = LANES if value.varies & Varies.RUN else slots if whole else 1
            rows[value] = Buffer(take(units * length), length if units > 1 else 0, whole)
    starts = [take(count) for count in counts]
    take(TILE)
    cursor += (slots - 1) * pitch
    lane_draws = [-1 if samples in shape else take(int(np.prod(shape)) * LANES) for shape in draws.values()]
    return Layout(cursor, slots, lanes, wide, rows, starts, pitch, lane_draws)
