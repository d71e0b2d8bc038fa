"""Which loop computes which value.

One step of a tile of up to sixteen runs is a list of levels, one more for every reduction over a long axis that the
step nests. A level is

    scalars      lanes are runs       everything without a long axis, one straight line of code
    features     lanes are runs       one pass over the long feature axis
    products     lanes are samples    vector-matrix products over the features
    seed rows    lanes are samples    once per seed: what all its runs share
    run rows     lanes are samples    once per run
    products     lanes are samples    vector-matrix products over the samples

Values that outlive their loop go through a buffer, unless computing them again costs no more than a load. New state is
stored in the last pass over its axis, after everything that could still read the old.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from nalm.native.lower import Program
from nalm.native.values import Value, Varies, reachable

LEAVES = {"constant", "state", "const", "draw", "row", "clock"}
_CHEAP = {"add", "sub", "mul", "fma", "fms", "fnma"}
LoopName = Literal["features", "seed", "runs"]


@dataclass
class Loop:
    """One pass over a long axis: the values it computes, and what it does with them."""

    level: int
    name: LoopName
    values: set[Value] = field(default_factory=set)
    sums: list[Value] = field(default_factory=list)
    stores: list[tuple[Value, Value]] = field(default_factory=list)
    products: list[Value] = field(default_factory=list)  # contractions of what this loop computes, after it

    @property
    def ordered(self) -> list[Value]:
        """Its values, arguments first."""
        return sorted(self.values, key=lambda v: v.uid)

    @property
    def busy(self) -> bool:
        """Whether there is anything to do."""
        return bool(self.values or self.sums or self.stores or self.products)


@dataclass
class Level:
    """Work between two reductions, in the order of the module's table."""

    scalars: list[Value]
    features: Loop
    seed: Loop
    runs: Loop
    products: list[Value] = field(default_factory=list)  # contractions over features that this level's rows need


@dataclass
class Plan:
    """The schedule of a program."""

    program: Program
    prelude: list[Value]  # scalars that no step changes
    levels: list[Level]
    broadcast: set[Value]  # scalars that loops over samples read, one lane at a time
    buffered: dict[Value, set[int]]  # values that outlive their loop, with the levels that touch them
    stores: list[tuple[Value, Value]]  # new state without a feature axis


class _Planner:
    def __init__(self, levels: list[Level]) -> None:
        self.levels = levels
        self.home: dict[Value, int] = {}
        self.broadcast: set[Value] = set()
        self.buffered: dict[Value, set[int]] = {}

    def buffer(self, value: Value, level: int) -> None:
        self.buffered.setdefault(value, {self.home.get(value, level)}).add(level)

    def demand(self, roots: Iterable[Value], loop: Loop) -> None:
        """Makes a loop compute the roots, reusing what earlier loops left in buffers."""
        pending = list(roots)
        while pending:
            value = pending.pop()
            if not value.axes:
                if loop.name != "features" and value.op != "constant":
                    self.broadcast.add(value)
            elif value.op not in LEAVES and value not in loop.values:
                pending += self._place(value, loop)

    def _place(self, value: Value, loop: Loop) -> tuple[Value, ...]:
        if value.op == "contract_features":
            if value not in self.home:
                self.home[value] = loop.level
                self.levels[loop.level].products.append(value)
            self.buffer(value, loop.level)
            return ()
        if value.op == "contract_samples":
            self.buffer(value, loop.level)
            return ()
        shared = loop.name == "runs" and not value.varies & Varies.RUN
        if (shared or value in self.home) and not _cheap(value):
            if value not in self.home:
                self.demand([value], self.levels[loop.level].seed)
            self.buffer(value, loop.level)
            return ()
        loop.values.add(value)
        self.home.setdefault(value, loop.level)
        return value.args


def _cheap(value: Value) -> bool:
    return value.op in _CHEAP and all(a.op in LEAVES or not a.axes for a in value.args)


def plan(program: Program) -> Plan:
    """Schedules a program."""
    values = reachable([*(v for _, v in program.stores), *program.metrics])
    depth = max((v.level for v in values), default=0) + 2
    levels = [Level([], Loop(n, "features"), Loop(n, "seed"), Loop(n, "runs")) for n in range(depth)]
    planner = _Planner(levels)
    scalars = [v for v in values if not v.axes and v.op != "constant"]
    prelude = [v for v in scalars if v.level == 0 and not v.varies & Varies.STEP]
    for value in scalars:
        if value.level or value.varies & Varies.STEP:
            levels[value.level].scalars.append(value)
    _plan_samples(planner, levels, values)
    wide = [(leaf, value) for leaf, value in program.stores if leaf.axes]
    _plan_features(planner, levels, values, wide)
    while len(levels) > 1 and not (levels[-1].scalars or any(_loops_busy(levels[-1]))):
        levels.pop()
    stores = [(leaf, value) for leaf, value in program.stores if not leaf.axes]
    return Plan(program, prelude, levels, planner.broadcast, planner.buffered, stores)


def _loops_busy(level: Level) -> list[bool]:
    return [level.features.busy, level.seed.busy, level.runs.busy, bool(level.products)]


def _plan_samples(planner: _Planner, levels: list[Level], values: list[Value]) -> None:
    sinks = [v for v in values if v.op in ("sum_samples", "contract_samples")]
    for n, level in enumerate(levels):
        for value in (v for v in sinks if v.level == n + 1):
            run = any(a.varies & Varies.RUN for a in value.args)
            loop = level.runs if run else level.seed
            planner.demand(value.args, loop)
            if value.op == "sum_samples":
                loop.sums.append(value)
            else:
                loop.products.append(value)
                planner.home[value] = n
                planner.buffered.setdefault(value.args[0], {n}).add(n)


def _plan_features(
    planner: _Planner, levels: list[Level], values: list[Value], wide: list[tuple[Value, Value]]
) -> None:
    contracted = [v for level in levels for v in level.products]
    for n, level in enumerate(levels):
        for value in values:
            if value.op == "sum_features" and value.level == n + 1:
                planner.demand(value.args, level.features)
                level.features.sums.append(value)
        for value in contracted:
            vector = value.args[0]
            if vector.level == n and vector.op not in LEAVES:
                planner.demand([vector], level.features)
                planner.buffer(vector, n)
    if wide:
        last = max((n for n, level in enumerate(levels) if level.products), default=-1) + 1
        n = max([last, *(value.level for _, value in wide), *_reading_levels(levels)])
        planner.demand([value for _, value in wide], levels[n].features)
        levels[n].features.stores = wide


def _reading_levels(levels: list[Level]) -> list[int]:
    return [n for n, level in enumerate(levels) if level.features.busy]
