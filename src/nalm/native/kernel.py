"""The public face: compile a step, run it over many runs and steps."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nalm.core.denormals import denormals_flushed
from nalm.native.emit import KERNEL, TILE_WORDS, Emitter, Sizes, functions_used
from nalm.native.errors import Unsupported
from nalm.native.fuse import fuse
from nalm.native.layout import Layout, layout
from nalm.native.lower import Inputs, Program, lower
from nalm.native.machine import Machine
from nalm.native.maths import functions
from nalm.native.philox import draw
from nalm.native.printer import declarations
from nalm.native.schedule import plan
from nalm.native.text import LANES
from nalm.native.trace import Shapes, Step, Trace, trace

Floats = NDArray[np.float32]
_WIDE = 32  # features beyond this many are looped over, if the step allows it
_ATTRIBUTES = 'attributes #0 = { nounwind "prefer-vector-width"="512" "min-legal-vector-width"="512" }\n'


class Kernel:
    """A compiled step. Made by `compile_step`."""

    def __init__(self, inputs: Inputs, metrics: tuple[str, ...], streams: list[int], program: Program, cpu: str | None):
        self.inputs = inputs
        self.metrics = metrics
        self._plan = plan(fuse(program))
        self._layout: Layout = layout(self._plan, inputs.draws)
        counts = [int(np.prod(shape)) for shape in inputs.draws.values()]
        self._sizes = Sizes(
            _count(inputs.state), _count(inputs.consts), len(inputs.clock), list(zip(streams, counts, strict=True))
        )
        kernel = Emitter(self._plan, self._layout, self._sizes).kernel()
        self.ir = declarations() + functions(functions_used(self._plan)) + draw() + kernel + _ATTRIBUTES
        self.machine = Machine(self.ir, cpu)
        pointer, word = ctypes.c_void_p, ctypes.c_int64
        self._call = self.machine.function(KERNEL, *[pointer] * 5, *[word] * 4, pointer)
        self._local = threading.local()

    def run(
        self,
        state: Mapping[str, Floats],
        consts: Mapping[str, Floats],
        seeds: NDArray[Any],
        clock: Floats,
        first_step: int,
        alive: NDArray[np.bool_] | None = None,
        threads: int = 1,
        flush: bool = False,
    ) -> dict[str, Floats]:
        """Runs one step per row of `clock` and updates `state` in place.

        Args:
            state: per name an array `(runs, *shape)`; so is `consts`.
            seeds: `(runs,)`; runs of equal seed share their draws.
            clock: `(steps, names)`, the clock's values at each step.
            first_step: the number of the first step, which the draws depend on.
            alive: runs to work on; the others are left untouched, and their metrics are NaN.
            threads: how many tiles of up to sixteen runs are worked on at once.
            flush: count denormal numbers as zero, which training never misses: each costs a hundred cycles.

        Returns:
            The metrics of the last step, per name an array `(runs,)`.
        """
        seeds = np.asarray(seeds).astype(np.int64)
        table = np.ascontiguousarray(clock, dtype=np.float32).reshape(len(clock), len(self.inputs.clock))
        where = np.arange(len(seeds)) if alive is None else np.flatnonzero(alive)
        tiles, runs = _tiles(seeds, where, self._layout.slots)
        packed = _pack(state, self.inputs.state, runs, len(seeds))
        results = _aligned((len(tiles), len(self.metrics), LANES))
        constants = _pack(consts, self.inputs.consts, runs, len(seeds))
        arrays: list[NDArray[Any]] = [packed, constants, results, table, tiles]
        addresses = [a.ctypes.data for a in arrays]

        def work(start: int, stop: int) -> None:
            with denormals_flushed() if flush else nullcontext():
                self._call(*addresses, first_step, len(table), start, stop, self._scratch())

        if threads == 1 or len(tiles) == 1:
            work(0, len(tiles))
        else:
            with ThreadPoolExecutor(threads) as pool:
                list(pool.map(lambda tile: work(tile, tile + 1), range(len(tiles))))
        _unpack(packed, state, self.inputs.state, runs)
        used = runs >= 0
        measured = np.full((len(self.metrics), len(seeds)), np.nan, np.float32)
        measured[:, runs[used]] = results.swapaxes(1, 2)[used].T
        return dict(zip(self.metrics, measured, strict=True))

    def _scratch(self) -> int:
        """The address of this thread's scratch memory, aligned to a vector."""
        if not hasattr(self._local, "memory"):
            self._local.memory = _aligned((self._layout.size,))
        return int(self._local.memory.ctypes.data)


def compile_step(
    step: Step,
    *,
    state: Shapes,
    consts: Shapes,
    draws: Mapping[str, tuple[int, Sequence[int]]],
    clock: Sequence[str],
    samples: int,
    seed_consts: Sequence[str] = (),
    cpu: str | None = None,
) -> Kernel:
    """Compiles the step of one run to machine code that runs many.

    Args:
        step: a pure function `(state, consts, draws, clock) -> (new state, metrics)` of dicts of tensors.
        state: the shape of each tensor the step carries on, by name; `consts` of what differs between runs only.
        draws: `(stream, shape)` of each array of uniforms, drawn as `nalm.core.uniforms` does; samples last.
        clock: names of the numbers that depend on the step alone.
        samples: the size of the sample axis. No other axis may have this size.
        seed_consts: names of consts that are equal for runs of equal seed, so that their work can be shared.
        cpu: the processor to compile for; this machine's if None.

    Raises:
        Unsupported: in one line, which operation or hazard the native engine refuses.
    """
    shapes = {name: tuple(shape) for name, (_, shape) in draws.items()}
    inputs = Inputs(
        {name: tuple(shape) for name, shape in state.items()},
        {name: tuple(shape) for name, shape in consts.items()},
        shapes,
        tuple(clock),
        frozenset(seed_consts),
    )
    traced = trace(step, inputs.state, inputs.consts, shapes, clock)
    program = _lowered(traced, inputs, samples)
    return Kernel(inputs, traced.metrics, [stream for stream, _ in draws.values()], program, cpu)


def _lowered(traced: Trace, inputs: Inputs, samples: int) -> Program:
    """Loops over a wide feature axis where the step is affine in it, unrolls it otherwise."""
    shapes = [*inputs.state.values(), *inputs.consts.values(), *inputs.draws.values()]
    wide = max((size for shape in shapes for size in shape if size > _WIDE and size != samples), default=None)
    if wide is not None:
        try:
            return lower(traced, inputs, samples, wide)
        except Unsupported:
            pass
    return lower(traced, inputs, samples, None)


def _count(shapes: Mapping[str, tuple[int, ...]]) -> int:
    return sum(int(np.prod(shape)) for shape in shapes.values())


def _tiles(
    seeds: NDArray[np.int64], where: NDArray[np.int64], slots: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Packs runs into tiles: `(tiles, TILE_WORDS)` for the kernel, and `(tiles, LANES)` run numbers, -1 if empty."""
    order = where[np.argsort(seeds[where], kind="stable")]
    starts = np.flatnonzero(np.diff(seeds[order], prepend=-1))
    groups = [g[i : i + LANES] for g in np.split(order, starts[1:]) for i in range(0, len(g), LANES)]
    tiles: list[list[NDArray[np.int64]]] = []
    for group in groups:
        if not len(group):
            continue
        if not tiles or len(tiles[-1]) == slots or sum(map(len, tiles[-1])) + len(group) > LANES:
            tiles.append([])
        tiles[-1].append(group)
    words = np.zeros((len(tiles), TILE_WORDS), np.int64)
    runs = np.full((len(tiles), LANES), -1, np.int64)
    for i, tile in enumerate(tiles):
        ends = np.cumsum([len(group) for group in tile])
        words[i, 0] = len(tile)
        words[i, 2 : 2 + len(tile)] = ends
        words[i, 2 + LANES : 2 + LANES + len(tile)] = [seeds[group[0]] for group in tile]
        runs[i, : ends[-1]] = np.concatenate(tile)
    return words, runs


def _pack(arrays: Mapping[str, Floats], shapes: Shapes, runs: NDArray[np.int64], count: int) -> Floats:
    """The runs of each tile side by side: `(tiles, numbers, LANES)`, aligned to a vector."""
    for name, shape in shapes.items():
        if name not in arrays or arrays[name].shape != (count, *shape) or arrays[name].dtype != np.float32:
            got = f"{arrays[name].dtype} {arrays[name].shape}" if name in arrays else "nothing"
            raise ValueError(f"'{name}' must be float32 of shape {(count, *shape)}, got {got}")
    flat = [arrays[name].reshape(count, -1) for name in shapes]
    numbers = np.concatenate(flat, axis=1) if flat else np.zeros((count, 0), np.float32)
    packed = _aligned((len(runs), numbers.shape[1], LANES))
    packed[...] = numbers[runs].swapaxes(1, 2)
    return packed


def _unpack(packed: Floats, arrays: Mapping[str, Floats], shapes: Shapes, runs: NDArray[np.int64]) -> None:
    """Writes the numbers of each tile back to its runs."""
    used, offset = runs >= 0, 0
    for name, shape in shapes.items():
        size = int(np.prod(shape))
        new = packed[:, offset : offset + size].swapaxes(1, 2)[used]
        arrays[name][runs[used]] = new.reshape(-1, *shape)
        offset += size


def _aligned(shape: tuple[int, ...]) -> Floats:
    """An array that begins where a vector may."""
    count = int(np.prod(shape))
    memory = np.zeros(count + LANES, np.float32)
    first = -memory.ctypes.data % 64 // 4
    return memory[first : first + count].reshape(shape)
